package screentest

import (
	"fmt"
	"testing"
)

// What is written can be read, and a width that comes back has the same rows.
func TestTerminalBreaksLinesAnew(t *testing.T) {
	t.Parallel()
	m := New(t, 10, 5)
	fmt.Fprint(m, "one\r\ntwo 日本語 four\r\nthree\r\n\x1b[1A\x1b[Jx")
	for _, width := range []int{10, 4, 30, 3, 10} {
		m.Resize(width, 5)
		if got, want := m.Text(), "one\ntwo 日本語 four\nx\n"; got != want {
			t.Errorf("at width %d: %q, want %q", width, got, want)
		}
	}
}

// A line that is exactly as wide as the terminal does not wrap before the next character.
func TestTerminalWrapsLate(t *testing.T) {
	t.Parallel()
	m := New(t, 5, 3)
	fmt.Fprint(m, "12345\r\nab")
	if row, col := m.Cursor(); row != 1 || col != 2 {
		t.Errorf("the cursor is at %d, %d", row, col)
	}
	fmt.Fprint(m, "\x1b[?7lcdefgh\x1b[?7h")
	if got, want := m.Text(), "12345\nabcdh\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Rows scroll off at the top, and come back when the terminal becomes higher.
func TestTerminalScrolls(t *testing.T) {
	t.Parallel()
	m := New(t, 10, 3)
	fmt.Fprint(m, "1\r\n2\r\n3\r\n4\r\n5")
	if got := m.Scrollback(); got != "1\n2\n" {
		t.Errorf("scrolled off: %q", got)
	}
	m.Resize(10, 4)
	if got := m.Scrollback(); got != "1\n" {
		t.Errorf("scrolled off: %q", got)
	}
	fmt.Fprint(m, "\x1b[9A\x1b[J")
	if got := m.Text(); got != "1\n2\n" {
		t.Errorf("%q", got)
	}
}
