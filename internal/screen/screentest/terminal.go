// Package screentest has a terminal for tests of what is drawn on one.
package screentest

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// A Terminal is a terminal in memory, with what has scrolled off. It knows text with wide characters,
// line ends, the cursor up, down and to a column, erasing, styles, synchronized output, wrapping
// that can be switched off, hyperlinks, and a cursor that can be hidden. Anything else fails the test.
type Terminal struct {
	Reflows bool // lines that were wrapped are wrapped anew when the width changes, as in tmux
	// PushesTop says that a terminal that becomes lower keeps the rows below the cursor, unless
	// they are blank, as xterm does. Otherwise they are deleted, as in tmux.
	PushesTop bool
	Keeps     bool // a terminal that becomes higher gets blank rows, not those that have scrolled off
	ByRune    bool // the width of an emoji is that of its characters together

	Styled bool // it was written to with styles
	Hidden bool // the cursor
	Frames int  // synchronized outputs
	// Displaced says that the row with the cursor has scrolled off in a resize: the cursor is on
	// another one since.
	Displaced bool

	tb            testing.TB
	mu            sync.Mutex
	width, height int
	rows          []row // what has scrolled off, and the height rows of the screen
	row, col      int   // of the cursor, in rows; col is width if the next character wraps
	cut           bool  // lines are not wrapped
}

type row struct {
	cells   []string // "" after a wide character
	wrapped bool     // the next row continues it
}

// New returns a terminal that is blank.
func New(tb testing.TB, width, height int) *Terminal {
	return &Terminal{tb: tb, Reflows: true, width: width, height: height, rows: make([]row, height)}
}

// Size returns the size of the terminal.
func (m *Terminal) Size() (width, height int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.width, m.height
}

// Cursor returns the row and column of the cursor on the screen.
func (m *Terminal) Cursor() (row, col int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.row - m.top(), m.col
}

func (m *Terminal) top() int { return len(m.rows) - m.height }

// Write shows what is written.
func (m *Terminal) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var state byte
	for rest := string(p); rest != ""; {
		seq, width, n, next := ansi.DecodeSequence(rest, state, nil)
		state, rest = next, rest[n:]
		if m.ByRune && (width > 0 || seq[0] >= 0x80) {
			width = ansi.StringWidthWc(seq)
		}
		m.take(seq, width)
	}
	return len(p), nil
}

// take takes in one character or sequence.
func (m *Terminal) take(seq string, width int) {
	if width > 0 {
		m.put(seq, width)
		return
	}
	switch seq {
	case "\r":
		m.col = 0
		return
	case "\n":
		m.down()
		return
	case "\x1b[?2026h":
		m.Frames++
		return
	case "\x1b[?2026l":
		return
	case "\x1b[?7h", "\x1b[?7l":
		m.cut = seq == "\x1b[?7l"
		return
	case "\x1b[?25h", "\x1b[?25l":
		m.Hidden = seq == "\x1b[?25l"
		return
	case "\x1b[J":
		m.erase()
		for i := m.row + 1; i < len(m.rows); i++ {
			m.rows[i] = row{}
		}
		return
	}
	body, isCSI := strings.CutPrefix(seq, "\x1b[")
	if strings.HasPrefix(seq, "\x1b]8;") {
		m.Styled = true
		return
	}
	if !isCSI {
		if seq[0] < 0x80 {
			m.tb.Errorf("the terminal was sent %q", seq)
		}
		return // a character without width
	}
	n, err := strconv.Atoi(body[:len(body)-1])
	switch body[len(body)-1] {
	case 'm':
		m.Styled = true
		return
	case 'A':
		m.row = max(m.row-n, m.top())
	case 'B':
		m.row = min(m.row+n, len(m.rows)-1)
	case 'G':
		m.col = n - 1
	default:
		m.tb.Errorf("the terminal was sent %q", seq)
	}
	m.col = min(m.col, m.width-1)
	if err != nil || n < 1 {
		m.tb.Errorf("the terminal was sent %q", seq)
	}
}

// put shows one character.
func (m *Terminal) put(seq string, width int) {
	if m.col+width > m.width {
		if m.cut {
			m.col = max(0, m.width-width)
		} else {
			m.rows[m.row].wrapped = true
			m.down()
			m.col = 0
		}
	}
	r := &m.rows[m.row]
	for len(r.cells) < m.col+width {
		r.cells = append(r.cells, " ")
	}
	for i := m.col; i > 0 && r.cells[i] == ""; i-- { // the half of a wide character is none
		r.cells[i-1], r.cells[i] = " ", " "
	}
	r.cells[m.col] = seq
	for i := 1; i < width; i++ {
		r.cells[m.col+i] = ""
	}
	m.col += width
	for i := m.col; i < len(r.cells) && r.cells[i] == ""; i++ {
		r.cells[i] = " "
	}
}

// erase erases from the cursor to the end of its row.
func (m *Terminal) erase() {
	r := &m.rows[m.row]
	r.cells = r.cells[:min(m.col, len(r.cells))]
	r.wrapped = false
}

func (m *Terminal) down() {
	if m.row++; m.row == len(m.rows) {
		m.rows = append(m.rows, row{})
	}
}

// Resize changes the size.
func (m *Terminal) Resize(width, height int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resizeHeight(height)
	if width != m.width && m.Reflows {
		m.reflow(width)
	}
	m.width = width
	m.col = min(m.col, width-1)
}

func (m *Terminal) resizeHeight(height int) {
	for m.height > height {
		last := len(m.rows) - 1
		if m.row < last && (!m.PushesTop || len(m.rows[last].cells) == 0) {
			m.rows = m.rows[:last]
		} // else the first row scrolls off
		m.height--
	}
	for m.height < height {
		if m.Keeps || m.top() == 0 {
			m.rows = append(m.rows, row{})
		}
		m.height++
	}
	if m.row < m.top() {
		m.row, m.col, m.Displaced = m.top(), 0, true
	}
}

// reflow breaks all lines anew. The cursor stays with its character.
func (m *Terminal) reflow(width int) {
	old, at, col := m.rows, m.row, m.col
	if col >= len(old[at].cells) {
		col = -1 // the end of its line
	}
	m.rows, m.width = []row{{}}, width
	m.row, m.col = 0, 0
	cursorRow, cursorCol := 0, 0
	end := -1 // the row of the line that the cursor is at the end of
	for i, r := range old {
		for c := 0; c < len(r.cells); {
			w := 1
			for c+w < len(r.cells) && r.cells[c+w] == "" {
				w++
			}
			cut := m.cut
			m.cut = false
			m.put(r.cells[c], w)
			m.cut = cut
			if i == at && col >= c && col < c+w {
				cursorRow, cursorCol = m.row, m.col-w
			}
			c += w
		}
		if i == at && col < 0 {
			end = m.row
		}
		if !r.wrapped || i == len(old)-1 {
			if end >= 0 {
				cursorRow, cursorCol, end = m.row, m.col, -1
			}
			if i < len(old)-1 {
				m.down()
				m.col = 0
			}
		}
	}
	for len(m.rows) < m.height {
		m.rows = append(m.rows, row{})
	}
	m.row, m.col = cursorRow, cursorCol
	if m.row < m.top() {
		m.row, m.col, m.Displaced = m.top(), 0, true
	}
}

// Text returns all that can be seen and scrolled back to, without blank rows at the end.
func (m *Terminal) Text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if all := strings.TrimRight(text(m.rows), "\n"); all != "" {
		return all + "\n"
	}
	return ""
}

// Scrollback returns what can be scrolled back to.
func (m *Terminal) Scrollback() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return text(m.rows[:m.top()])
}

func text(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		line := strings.Join(r.cells, "")
		if !r.wrapped {
			line = strings.TrimRight(line, " ") + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
