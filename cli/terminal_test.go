package cli

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// A terminal is a small terminal for tests: it knows what the display writes - text with
// wide characters, line ends, cursor up, erase below, styles, synchronized output - and
// fails the test at anything else. Like most terminals it breaks lines that do not fit,
// and breaks them anew when its width changes.
type terminal struct {
	t      *testing.T
	mu     sync.Mutex
	width  int
	height int
	lines  []termLine // with what has scrolled off; each is one row
	row    int        // of the cursor in lines
	col    int
	styled bool // it was written to with styles
	frames int  // synchronized outputs
}

type termLine struct {
	cells   []string // "" after a wide character
	wrapped bool     // the next row continues it
}

func newTerminal(t *testing.T, width, height int) *terminal {
	return &terminal{t: t, width: width, height: height, lines: make([]termLine, 1)}
}

func (m *terminal) size() (int, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.width, m.height
}

func (m *terminal) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var state byte
	for rest := p; len(rest) > 0; {
		seq, width, n, next := ansi.DecodeSequence(rest, state, nil)
		state = next
		m.put(string(seq), width)
		rest = rest[n:]
	}
	return len(p), nil
}

// put takes in one character or sequence.
func (m *terminal) put(seq string, width int) {
	switch {
	case width > 0:
		if m.col+width > m.width {
			m.lines[m.row].wrapped = true
			m.down()
			m.col = 0
		}
		line := &m.lines[m.row]
		for len(line.cells) < m.col+width {
			line.cells = append(line.cells, " ")
		}
		line.cells[m.col] = seq
		for i := 1; i < width; i++ {
			line.cells[m.col+i] = ""
		}
		m.col += width
	case seq == "\r":
		m.col = 0
	case seq == "\n":
		m.down()
	case seq == "\x1b[?2026h":
		m.frames++
	case seq == "\x1b[?2026l":
	case strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m"):
		m.styled = true
	case seq == "\x1b[J":
		m.lines = m.lines[:m.row+1]
		m.lines[m.row].cells = m.lines[m.row].cells[:min(m.col, len(m.lines[m.row].cells))]
		m.lines[m.row].wrapped = false
	case strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "A"):
		n, err := strconv.Atoi(seq[2 : len(seq)-1])
		if err != nil {
			m.t.Errorf("the terminal was sent %q", seq)
		}
		m.row = max(m.row-n, len(m.lines)-m.height, 0)
	default:
		m.t.Errorf("the terminal was sent %q", seq)
	}
}

func (m *terminal) down() {
	if m.row++; m.row == len(m.lines) {
		m.lines = append(m.lines, termLine{})
	}
}

// resize breaks all lines anew. The cursor is at the start of the last row.
func (m *terminal) resize(width int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.lines
	m.lines, m.row, m.col, m.width = make([]termLine, 1), 0, 0, width
	for i, l := range old {
		for c := 0; c < len(l.cells); c++ {
			w := 1
			for c+w < len(l.cells) && l.cells[c+w] == "" {
				w++
			}
			m.put(l.cells[c], w)
			c += w - 1
		}
		if !l.wrapped && i < len(old)-1 {
			m.down()
			m.col = 0
		}
	}
}

// text returns all that can be seen and scrolled back to.
func (m *terminal) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for i, l := range m.lines {
		line := strings.Join(l.cells, "")
		if !l.wrapped {
			line = strings.TrimRight(line, " ") + "\n"
		}
		if i == len(m.lines)-1 && line == "\n" {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestTheTerminalOfTheTestsIsOne(t *testing.T) {
	t.Parallel()
	m := newTerminal(t, 10, 5)
	fmt.Fprint(m, "one\r\ntwo 日本語 four\r\nthree\r\n\x1b[1A\x1b[Jx")
	if got, want := m.text(), "one\ntwo 日本語 four\nx\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	m.resize(4)
	m.resize(30)
	if got, want := m.text(), "one\ntwo 日本語 four\nx\n"; got != want {
		t.Errorf("after resizing: %q, want %q", got, want)
	}
}
