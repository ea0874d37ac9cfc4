// Package screen draws on the normal screen of a terminal: lines that are finished go into what
// the terminal scrolls back to, and below them stands a live part that is drawn again and again.
//
// The terminal, not this package, decides what a resize does to the rows that are on the screen,
// and it may do so before, between and after two frames. What is finished is printed once and is
// not touched again. Where a resize makes the place of the live part uncertain, a row of the live
// part remains rather than that a finished one is erased. In detail:
//
//   - A frame is one write, between the marks of synchronized output.
//   - With a hidden cursor, and for half a second after a resize, the cursor stands on the first row of
//     the live part, where terminals keep it in every resize. To erase the live part nothing has to
//     be counted, and it does not matter when a resize happens, or how many frames are on their way
//     then. A caller that draws frames by itself, as while text streams, hides the cursor. (After a
//     resize a cursor that belongs into the live part is hidden; one below it is not, so that a caller
//     with such a cursor changes nothing that it has to restore.)
//   - Otherwise the cursor stands where the caller wants it, and the rows above it in the live part
//     are counted. Terminals that break lines anew when they become narrower ("reflow") need another
//     count than those that do not: see [Reflows]. If the terminal becomes narrower while a frame is
//     on its way, rows of the live part may remain; if it becomes wider again while the first
//     frame after it became narrower is on its way, rows above the live part are lost. So a caller
//     should draw after a change of the size only when no other has followed for a moment.
//   - A live part that has more rows than the terminal after a resize has scrolled off in part, and so
//     can one with blank rows below it, in tmux. What has scrolled off remains.
//
// Characters whose width terminals disagree about are followed, in the live part, by the column
// that the next character belongs to. Where the cursor is visible, such characters can make the count
// of rows too small by one when a terminal breaks lines anew.
package screen

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// A Screen draws on a terminal. It is not safe for concurrent use.
type Screen struct {
	w       io.Writer
	reflows bool

	lines   []line // of the live part on the screen
	at      Cursor // where the cursor was left
	forced  bool   // the next frame is drawn as a whole
	width   int    // of the last frame; 0: none
	height  int
	resized time.Time // when the last change of the size was noticed
}

// A Frame is what the terminal shows.
type Frame struct {
	Width, Height int // of the terminal now
	// Above are lines that are finished. They may be wider than the terminal, which breaks
	// them then.
	Above []string
	// Live are the lines of the live part. What is wider than the terminal is cut, and if
	// there are more than Height-1 lines the first are left out.
	Live   []string
	Cursor Cursor
	Now    time.Time
}

// A Cursor is a place in the live part.
type Cursor struct {
	Row, Col int // Row may be that after the last line
	Hidden   bool
}

// Settle is how long after a resize the cursor stays on the first row: for longer than there is
// between two resizes when a person drags the edge of a window.
const Settle = 500 * time.Millisecond

// New returns a screen. reflows says that the terminal breaks lines anew when it becomes
// narrower; where it is not known it must be false.
func New(w io.Writer, reflows bool) *Screen { return &Screen{w: w, reflows: reflows} }

// SetReflows says what the terminal does, once that is known; see [New].
func (s *Screen) SetReflows(reflows bool) { s.reflows = reflows }

// Draw draws a frame. What has not changed since the last one is not written, and nothing is
// if nothing has.
func (s *Screen) Draw(f Frame) error {
	f.Width, f.Height = max(f.Width, 1), max(f.Height, 1)
	resized := s.width > 0 && (f.Width != s.width || f.Height != s.height)
	if resized {
		s.resized = f.Now
	}
	lines, at := fit(f)
	parked := at.Hidden || s.Unsettled(f.Now)
	if parked {
		at = Cursor{Hidden: at.Hidden || at.Row < len(lines)} // it would be seen in the wrong place
	}
	same := common(lines, s.lines)
	// The cursor does not move down over lines that stay to a place below them: if the terminal
	// has become narrower meanwhile, it would come to a row too far up.
	whole := resized || s.forced || len(f.Above) > 0 || len(s.lines) == 0 || at.Row > s.at.Row && same > s.at.Row
	if same == len(lines) && same == len(s.lines) && at == s.at && !s.forced && len(f.Above) == 0 && (!resized || len(lines) == 0) {
		s.width, s.height = f.Width, f.Height
		return nil
	}
	var out strings.Builder
	out.WriteString("\x1b[?2026h")
	if at.Hidden && (!s.at.Hidden || s.forced) {
		out.WriteString("\x1b[?25l")
	}
	row := 0 // of the live part, that the cursor is in
	if whole {
		out.WriteString(s.top(f.Width))
		for _, l := range f.Above {
			out.WriteString(l + "\r\n")
		}
	} else {
		row = s.at.Row
	}
	if parked || !s.reflows {
		out.WriteString("\x1b[?7l") // each line is one row, whatever the width is when the terminal reads it
	}
	old := s.lines
	if whole {
		old = nil
	}
	row = update(&out, row, old, lines)
	if parked || !s.reflows {
		out.WriteString("\x1b[?7h")
	}
	if at.Row == len(lines) && row == at.Row-1 {
		out.WriteString("\r\n")
		row++
	}
	move(&out, row, at.Row)
	if at.Col > 0 {
		fmt.Fprintf(&out, "\x1b[%dG", at.Col+1)
	}
	if !at.Hidden && s.at.Hidden {
		out.WriteString("\x1b[?25h")
	}
	out.WriteString("\x1b[?2026l")
	s.lines, s.at, s.forced, s.width, s.height = lines, at, false, f.Width, f.Height
	_, err := io.WriteString(s.w, out.String())
	return err
}

// Unsettled reports whether the size has changed less than [Settle] ago: the cursor is not where the
// last frame wants it before a frame is drawn after that time. A caller that draws only when something
// has changed has to draw once more then.
func (s *Screen) Unsettled(now time.Time) bool {
	return !s.resized.IsZero() && now.Sub(s.resized) < Settle
}

// Erase removes the live part and shows the cursor. width is that of the terminal now.
func (s *Screen) Erase(width int) error {
	out := s.top(max(width, 1))
	if s.at.Hidden {
		out += "\x1b[?25h"
	}
	s.lines, s.at, s.forced = nil, Cursor{}, false
	if out == "" {
		return nil
	}
	_, err := io.WriteString(s.w, out)
	return err
}

// Forget leaves what is drawn where it is, and draws the next frame where the cursor is then: as
// after the process was stopped and others have used the terminal.
func (s *Screen) Forget() {
	s.lines, s.at.Row, s.at.Col, s.forced = nil, 0, 0, true
}

// top returns what moves the cursor to the first row of the live part and erases from there.
func (s *Screen) top(width int) string {
	if len(s.lines) == 0 {
		return ""
	}
	rows := s.at.Row
	if s.reflows {
		rows = min(s.above(width, ansi.StringWidth), s.above(width, ansi.StringWidthWc))
	}
	var out strings.Builder
	move(&out, rows, 0)
	return out.String() + "\x1b[J"
}

// above returns how many rows of the live part are above the cursor, on a terminal that has broken
// them anew to width, and of which count is the way to count columns.
func (s *Screen) above(width int, count func(string) int) int {
	rows := 0
	for _, l := range s.lines[:s.at.Row] {
		rows += l.rows(width, l.cells, count)
	}
	if s.at.Row < len(s.lines) {
		rows += s.lines[s.at.Row].rows(width, s.at.Col+1, count) - 1
	}
	return rows
}

// move moves the cursor from one row of the screen to another, to the first column.
func move(out *strings.Builder, from, to int) {
	out.WriteString("\r")
	switch {
	case to < from:
		fmt.Fprintf(out, "\x1b[%dA", from-to)
	case to > from: // if the rows below are gone, because the terminal has become lower, they are made
		out.WriteString(strings.Repeat("\n", to-from))
	}
}

// common returns how many lines at the beginning are the same.
func common(a, b []line) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// update writes lines over those that are on the screen, from the first that differs on, and
// returns the row that the cursor is in then. It does not skip lines after that one: if the
// terminal has become narrower meanwhile, the rows above the cursor would not be those of lines.
func update(out *strings.Builder, row int, old, lines []line) int {
	first := common(old, lines)
	if len(old) > 0 {
		if first == len(lines) && first == len(old) {
			return row
		}
		first = max(0, min(first, len(old)-1, len(lines)-1))
		move(out, row, first)
		out.WriteString("\x1b[J")
		row = first
	}
	for i, l := range lines[first:] {
		if i > 0 {
			out.WriteString("\r\n")
			row++
		}
		out.WriteString(l.text)
	}
	return row
}

// A line is a line of the live part as it is written.
type line struct {
	text  string
	cells int
	wide  string // its characters, if some of them take several columns, which are not broken; else empty
}

// fit returns the lines of a frame as they are written, and the place of the cursor in them.
func fit(f Frame) ([]line, Cursor) {
	at := f.Cursor
	most := max(1, f.Height-1)
	live := f.Live
	if cut := len(live) - most; cut > 0 {
		if !at.Hidden {
			cut = max(0, min(cut, at.Row))
		}
		live, at.Row = live[cut:min(len(live), cut+most)], at.Row-cut
	}
	at.Row = max(0, min(at.Row, len(live)))
	at.Col = max(0, min(at.Col, f.Width-1))
	if at.Row == len(live) {
		at.Col = 0
	}
	if at.Hidden {
		at.Row, at.Col = 0, 0
	}
	lines := make([]line, len(live))
	for i, text := range live {
		pad := 0
		if i == at.Row && at.Col > 0 {
			pad = at.Col + 1 // terminals keep the cursor with the character below it
		}
		lines[i] = fitLine(text, f.Width, pad)
	}
	return lines, at
}

// fitLine returns a line of at most width columns, padded to at least pad.
func fitLine(text string, width, pad int) line {
	if plain(text) {
		text = text[:min(len(text), width)]
		text += strings.Repeat(" ", max(0, pad-len(text)))
		return line{text: text, cells: len(text)}
	}
	var out, characters strings.Builder
	l := line{}
	due, before, start := false, 0, 0 // the terminal may be at another column after the character at start
	for seq, cells := range pieces(text) {
		switch {
		case cells == 0:
			out.WriteString(seq)
			continue
		case l.cells+cells > width:
			width = 0 // only styles follow
			continue
		case due:
			fmt.Fprintf(&out, "\x1b[%dG", l.cells+1)
		}
		due, before, start = disputed(seq), out.Len(), l.cells
		out.WriteString(seq)
		characters.WriteString(seq)
		l.cells += cells
	}
	switch n := pad - l.cells; {
	case n > 0:
		if due {
			fmt.Fprintf(&out, "\x1b[%dG", l.cells+1)
		}
		out.WriteString(strings.Repeat(" ", n))
		characters.WriteString(strings.Repeat(" ", n))
		l.cells += n
		l.text = out.String()
	case due: // a blank in its last column makes the line as long as it is counted
		l.text = out.String()
		l.text = fmt.Sprintf("%s\x1b[%dG \x1b[%dG%s", l.text[:before], l.cells, start+1, l.text[before:])
	default:
		l.text = out.String()
	}
	l.wide = characters.String()
	return l
}

// rows returns how many rows the first n columns of a line take when it is broken anew to width.
func (l line) rows(width, n int, count func(string) int) int {
	if l.wide == "" {
		return max(1, (n+width-1)/width)
	}
	rows, used := 1, 0
	take := func(cells int) {
		if used+cells > width && used > 0 {
			rows, used = rows+1, 0
		}
		used += cells
	}
	for seq, cells := range pieces(l.wide) {
		if n <= 0 {
			break
		}
		n -= cells
		own := min(count(seq), cells)
		if own > 0 {
			take(own)
		}
		for range cells - own { // columns that are not written
			take(1)
		}
	}
	return rows
}

// disputed reports whether terminals disagree about the width of a character.
func disputed(seq string) bool { return ansi.StringWidth(seq) != ansi.StringWidthWc(seq) }

// plain reports whether text is printable ASCII.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// Cells returns how many columns text takes. Terminals count in two ways; of each character it is the
// one that gives more.
func Cells(text string) int {
	if plain(text) {
		return len(text)
	}
	n := 0
	for _, cells := range pieces(text) {
		n += cells
	}
	return n
}

// pieces yields the characters and control sequences of text with the columns that they take.
func pieces(text string) func(yield func(seq string, cells int) bool) {
	return func(yield func(string, int) bool) {
		var state byte
		for text != "" {
			seq, cells, n, next := ansi.DecodeSequence(text, state, nil)
			state = next
			text = text[n:]
			if cells > 0 || seq[0] >= 0x80 {
				cells = max(cells, ansi.StringWidthWc(seq))
			}
			if !yield(seq, cells) {
				return
			}
		}
	}
}
