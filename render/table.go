package render

import (
	"slices"
	"strings"
)

const (
	maxTable  = 200 // lines of a table that are aligned with each other
	leastCell = 6   // columns to which a column of a table is made narrower
)

// tableLine reports whether a line is one of a table.
func tableLine(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "|") }

// tableCells returns the cells of a line of a table. A bar in code or after a backslash ends none.
func tableCells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var cells []string
	start, inCode := 0, false
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			i++
		case line[i] == '`':
			inCode = !inCode
		case line[i] == '|' && !inCode:
			cells = append(cells, strings.TrimSpace(line[start:i]))
			start = i + 1
		}
	}
	if rest := strings.TrimSpace(line[start:]); rest != "" {
		cells = append(cells, rest)
	}
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], `\|`, "|")
	}
	return cells
}

// tableRule reports whether cells are those of the line below the head of a table.
func tableRule(cells []string) bool {
	return len(cells) > 0 && !slices.ContainsFunc(cells, func(c string) bool {
		return strings.Trim(c, "-:") != "" || !strings.Contains(c, "-")
	})
}

// tableLines returns a table with its columns aligned. One that is no table, or has no room for its
// columns, stands as it was written.
func (m *Markdown) tableLines(source []string, width int, peek bool) []string {
	if len(source) == 0 {
		return nil
	}
	asWritten := func() []string {
		lines := slices.Clone(source)
		for i := range lines {
			if peek {
				lines[i] = m.Clip(lines[i], width)
			}
		}
		return lines
	}
	if len(source) < 2 {
		return asWritten()
	}
	rule := tableCells(source[1])
	columns := len(rule)
	if !tableRule(rule) || len(tableCells(source[0])) != columns {
		return asWritten()
	}
	var rows [][]string
	for i, line := range source {
		if cells := tableCells(line); i != 1 {
			for len(cells) < columns {
				cells = append(cells, "")
			}
			rows = append(rows, cells[:columns]) // more than the head has are not part of it
		}
	}
	widths, ok := m.tableWidths(rows, columns, width-3*(columns-1))
	if !ok {
		return asWritten()
	}
	gutter := " " + m.Paint(Faint, m.Glyph(GlyphGutter)) + " "
	var lines []string
	for i, row := range rows {
		paint := Plain
		if i == 0 {
			paint = Bold
		}
		lines = append(lines, m.tableRow(row, rule, widths, paint, gutter)...)
		if i == 0 {
			dash, cross := "─", "─┼─"
			if m.ASCII {
				dash, cross = "-", "-+-"
			}
			var below []string
			for _, w := range widths {
				below = append(below, strings.Repeat(dash, w))
			}
			lines = append(lines, m.Paint(Faint, strings.Join(below, cross)))
		}
	}
	return lines
}

// tableWidths returns the widths of columns, which are together at most room. The widest are made
// narrower.
func (s Style) tableWidths(rows [][]string, columns, room int) (widths []int, ok bool) {
	widths = make([]int, columns)
	total := 0
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], 1, s.cellWidth(row[i]))
		}
		total += widths[i]
	}
	for total > room {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= leastCell {
			return nil, false
		}
		second := leastCell
		for i, w := range widths {
			if i != widest {
				second = max(second, min(w, widths[widest]-1))
			}
		}
		cut := min(total-room, max(1, widths[widest]-second))
		widths[widest] -= cut
		total -= cut
	}
	return widths, true
}

// cellWidth returns how many columns a cell takes on one line.
func (s Style) cellWidth(cell string) int {
	n := 0
	for _, sp := range s.Spans(cell, Plain) {
		n += Cells(sp.Text)
	}
	return n
}

// tableRow returns a row of a table; a cell that is too wide takes several lines.
func (s Style) tableRow(row, rule []string, widths []int, paint Paint, gutter string) []string {
	cells := make([][]string, len(row))
	height := 1
	for i, cell := range row {
		cells[i] = s.Wrap(s.Spans(cell, paint), widths[i], true)
		height = max(height, len(cells[i]))
	}
	var lines []string
	for n := range height {
		var b strings.Builder
		for i := range cells {
			if i > 0 {
				b.WriteString(gutter)
			}
			text := ""
			if n < len(cells[i]) {
				text = cells[i][n]
			}
			pad := max(0, widths[i]-Cells(text))
			left := 0
			switch {
			case strings.HasPrefix(rule[i], ":") && strings.HasSuffix(rule[i], ":"):
				left = pad / 2
			case strings.HasSuffix(rule[i], ":"):
				left = pad
			}
			b.WriteString(strings.Repeat(" ", left) + text)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", pad-left))
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}
