package editor

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A row is a part of the text that is shown in one row.
type row struct {
	start, end int  // in bytes; a newline at the end is not part of it
	soft       bool // it ends where the width does, and the next goes on
}

// A layout is the rows of a text, kept until one of these changes.
type layout struct {
	text  string
	width int
	rows  []row
}

const tabWidth = 4

// View returns the text as lines that are less than width columns wide, at most maxRows
// and those around the cursor, and where the cursor is in them: row and col are from 0, and
// col is less than width. The lines are safe to print. What is below or above is told by
// [Editor.Hidden].
//
// Terminals count the columns of some characters, emoji above all, in two ways. View counts
// the larger. Whoever draws the lines must do the same, by moving to the column of what
// follows such a character, as package internal/screen does.
//
// Lines are broken after blanks, else anywhere. Blanks at the end of a row that do not fit
// are not shown.
func (e *Editor) View(width, maxRows int) (lines []string, row, col int) {
	width, maxRows = max(width, 2), max(maxRows, 1)
	e.width = width
	rows := e.rows(width)
	row, col = e.position(rows)
	e.visible = min(maxRows, len(rows))
	e.top = min(max(e.top, row-e.visible+1), row, len(rows)-e.visible)
	for _, r := range rows[e.top : e.top+e.visible] {
		lines = append(lines, e.line(r))
	}
	return lines, row - e.top, col
}

// rows returns the rows of the text. There is at least one.
func (e *Editor) rows(width int) []row {
	if e.layout.rows != nil && e.layout.width == width && e.layout.text == e.text {
		return e.layout.rows
	}
	e.layout = layout{text: e.text, width: width}
	for start := 0; ; {
		end := len(e.text)
		if i := strings.IndexByte(e.text[start:], '\n'); i >= 0 {
			end = start + i
		}
		e.wrap(start, end)
		if end == len(e.text) {
			return e.layout.rows
		}
		start = end + 1
	}
}

// wrap adds the rows of one line.
func (e *Editor) wrap(start, end int) {
	limit := e.layout.width - 1 // the last column is for the cursor
	used := 0
	split, usedAtSplit := start, 0 // where the row can end
	for i := start; i < end; {
		next := nextCluster(e.text, i)
		_, w := e.cell(e.text[i:next])
		blank := e.text[i] == ' ' || e.text[i] == '\t'
		if w > 1 && !blank { // writing without blanks, and units
			split, usedAtSplit = i, used
		}
		for used+w > limit && i > start && !blank {
			if split <= start {
				split, usedAtSplit = i, used
			}
			e.layout.rows = append(e.layout.rows, row{start, split, true})
			start, used = split, used-usedAtSplit
			usedAtSplit = 0
		}
		used += w
		if blank || w > 1 {
			split, usedAtSplit = next, used
		}
		i = next
	}
	e.layout.rows = append(e.layout.rows, row{start, end, false})
}

// cell returns how a grapheme cluster is shown, and how many columns it takes: of the two
// ways in which terminals count, the one that gives more.
func (e *Editor) cell(cluster string) (shown string, width int) {
	shown, width = e.shown(cluster)
	if limit := e.layout.width - 1; width > limit {
		return cut(shown, limit, e.mark())
	}
	return shown, width
}

func (e *Editor) shown(cluster string) (shown string, width int) {
	if len(cluster) == 1 && cluster[0] != '\t' {
		return cluster, 1
	}
	r, n := utf8.DecodeRuneInString(cluster)
	switch {
	case r == '\t':
		n := min(tabWidth, e.layout.width-1)
		return strings.Repeat(" ", n), n
	case isUnit(r):
		if u := e.units[r]; u != nil {
			return u.label, len(u.label)
		}
		return "", 0
	}
	if width = cells(cluster); width > 0 {
		return cluster, width
	}
	// A character with no shape of its own, and nothing before it that it is part of. To
	// leave it out would join what is around it.
	switch {
	case e.ASCII:
		return "?", 1
	case unicode.IsMark(r) && n == len(cluster):
		return "◌" + cluster, 1
	}
	return "◌", 1
}

func (e *Editor) mark() string {
	if e.ASCII {
		return "."
	}
	return "…"
}

// cells returns how many columns text takes: of the two ways in which terminals count, the
// one that gives more.
func cells(text string) int { return max(ansi.StringWidth(text), ansi.StringWidthWc(text)) }

// cut returns as much of text as fits n columns, with a mark at its end.
func cut(text string, n int, mark string) (string, int) {
	if w := cells(text); w <= n {
		return text, w
	}
	for fits := n; fits > 0; fits-- { // the first fits unless the two ways to count differ
		if t := ansi.Truncate(text, fits, mark); cells(t) <= n {
			return t, cells(t)
		}
	}
	return "", 0
}

// line returns how a row is shown.
func (e *Editor) line(r row) string {
	var b strings.Builder
	used := 0
	for i := r.start; i < r.end; {
		next := nextCluster(e.text, i)
		shown, w := e.cell(e.text[i:next])
		if used+w > e.layout.width-1 {
			b.WriteString(strings.Repeat(" ", e.layout.width-1-used)) // a blank that does not fit
			break
		}
		b.WriteString(shown)
		used += w
		i = next
	}
	return b.String()
}

// position returns the row of the cursor, and its column in it.
func (e *Editor) position(rows []row) (n, col int) {
	for n = len(rows) - 1; n > 0 && rows[n].start > e.at; n-- {
	}
	return n, e.column(rows[n], e.at)
}

// column returns the column of offset at in a row.
func (e *Editor) column(r row, at int) int {
	col := 0
	for i := r.start; i < at; {
		next := nextCluster(e.text, i)
		_, w := e.cell(e.text[i:next])
		col += w
		i = next
	}
	return min(col, e.layout.width-1)
}

// offset returns which offset of a row is in a column, or before it.
func (e *Editor) offset(r row, col int, soft bool) int {
	used := 0
	for i := r.start; i < r.end; {
		next := nextCluster(e.text, i)
		_, w := e.cell(e.text[i:next])
		if used+w > col || soft && next == r.end { // the end of a soft row is the start of the next
			return i
		}
		used += w
		i = next
	}
	return r.end
}
