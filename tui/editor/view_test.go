package editor

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pawl/internal/golden"
)

// Frames are what a person sees at 40 and 80 columns; the cursor is shown as ▏ before the
// character it is on, which takes no column of its own in the terminal.
func TestFrames(t *testing.T) {
	t.Parallel()
	code := "func Total(items []Item) int {\n\tsum := 0\n\tfor _, it := range items {\n\t\tsum += it.Price * it.Count // 合計\n\t}\n\treturn sum\n}"
	scenes := []struct {
		name string
		rows int
		make func(e *Editor)
	}{
		{"empty", 6, func(e *Editor) {}},
		{"one line", 6, func(e *Editor) { press(e, "the tests of package cart fail") }},
		{"words are not broken", 6, func(e *Editor) {
			press(e, "the tests of package cart fail; find out why and repair it, then run all tests again<alt+b><alt+b>")
		}},
		{"a long word is", 6, func(e *Editor) { press(e, "see https://example.com/"+strings.Repeat("path/", 18)) }},
		{"code", 10, func(e *Editor) { press(e, strings.NewReplacer("\n", "<ctrl+j>").Replace(code)+"<up><up><end>") }},
		{"emoji and CJK", 6, func(e *Editor) {
			press(e, "👨‍👩‍👧 family 👍🏽 ok 🇩🇪 漢字かな交じり文を書くときには単語の間に空白を入れないので、どこででも改行できます。終わり<left><left>")
		}},
		{"combining marks", 6, func(e *Editor) { press(e, "e\u0301 a\u0308o\u0302 x\u0301\u0302\u0303 नमस्ते<left><left>") }},
		{"right to left", 6, func(e *Editor) { press(e, "שלום עולם and العربية<alt+b>") }},
		{"units", 6, func(e *Editor) {
			press(e, "compare ")
			e.Paste(strings.Repeat("x\n", 12345))
			press(e, " with ")
			e.InsertImage(nil)
			press(e, " and ")
			e.Paste(strings.Repeat("y", 4321))
			press(e, "<left>")
		}},
		{"rows around the cursor", 3, func(e *Editor) { press(e, "1<ctrl+j>2<ctrl+j>3<ctrl+j>4<ctrl+j>5<ctrl+j>6<up><up><up>") }},
		{"blanks at the end", 6, func(e *Editor) { press(e, strings.Repeat("ab ", 13)+"<left>"+strings.Repeat(" ", 40)) }},
		{"exactly as wide", 6, func(e *Editor) { press(e, strings.Repeat("x", 39)+"<ctrl+j>"+strings.Repeat("y", 79)) }},
	}
	for _, width := range []int{40, 80} {
		var b bytes.Buffer
		for _, s := range scenes {
			e := &Editor{}
			e.View(width, s.rows)
			s.make(e)
			lines, row, col := e.View(width, s.rows)
			fmt.Fprintf(&b, "== %s (cursor at %d, %d)\n", s.name, row, col)
			for i, line := range lines {
				if i == row {
					line = withCursor(line, col)
				}
				b.WriteString(line + "\n")
			}
			if above, below := e.Hidden(); above+below > 0 {
				fmt.Fprintf(&b, "-- %d above, %d below\n", above, below)
			}
		}
		golden.Compare(t, fmt.Sprintf("%d.frame", width), b.Bytes())
	}
}

// withCursor puts a mark before the character in a column.
func withCursor(line string, col int) string {
	used, i := 0, 0
	for i < len(line) && used < col {
		next := nextCluster(line, i)
		used += cells(line[i:next])
		i = next
	}
	return line[:i] + strings.Repeat(" ", max(0, col-used)) + "▏" + line[i:]
}

// The view moves as little as it must.
func TestTheViewFollowsTheCursor(t *testing.T) {
	t.Parallel()
	var e Editor
	press(&e, "1<ctrl+j>2<ctrl+j>3<ctrl+j>4<ctrl+j>5")
	for _, c := range []struct{ typed, want string }{
		{"", "3 4 5/2"}, {"<up>", "3 4 5/1"}, {"<up>", "3 4 5/0"}, {"<up>", "2 3 4/0"}, {"<down>", "2 3 4/1"}, {"<ctrl+home>", "1 2 3/0"}, {"<ctrl+end>", "3 4 5/2"},
	} {
		press(&e, c.typed)
		lines, row, _ := e.View(40, 3)
		if got := fmt.Sprintf("%s/%d", strings.Join(lines, " "), row); got != c.want {
			t.Errorf("%s: %s, want %s", c.typed, got, c.want)
		}
	}
	e.SetText("1")
	if lines, _, _ := e.View(40, 3); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}

func BenchmarkKeyInALongText(b *testing.B) {
	var e Editor
	e.SetText(strings.Repeat("a line of some words that is not short\n", 2500)) // 100 KB
	for b.Loop() {
		press(&e, "x")
		e.View(80, 10)
		press(&e, "<backspace>")
		e.View(80, 10)
	}
}

func BenchmarkKey(b *testing.B) {
	var e Editor
	e.SetText("the tests of package cart fail; find out why and repair it")
	for b.Loop() {
		press(&e, "x")
		e.View(80, 10)
		press(&e, "<backspace>")
		e.View(80, 10)
	}
}

// Hidden returns how many rows the last View did not show.
func (e *Editor) Hidden() (above, below int) {
	return e.top, max(0, len(e.layout.rows)-e.top-e.visible)
}
