package webpage

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// This half of the reader writes what the other half finds: words into lines,
// lines into blocks, cells into rows.

// text takes in text.
func (r *reader) text(s string) {
	if n := len(r.open); n > 0 && r.open[n-1].name == atom.Title && r.hidden == 0 {
		if r.title.Len() < 1000 {
			r.title.WriteString(s)
		}
		return
	}
	if r.hidden > 0 {
		return
	}
	if r.pre > 0 && r.cell() == nil {
		r.line = append(r.line, s...)
		return
	}
	for len(s) > 0 {
		c, n := utf8.DecodeRuneInString(s)
		if unicode.IsSpace(c) {
			r.blank = true
		} else {
			r.word()
			r.line = append(r.line, s[:n]...)
		}
		s = s[n:]
	}
}

// word writes the blank that is due.
func (r *reader) word() {
	if n := len(r.line); r.blank && n > 0 && r.line[n-1] != '\n' && r.line[n-1] != ' ' {
		r.line = append(r.line, ' ')
	}
	r.blank = false
}

func (r *reader) picture(attr map[string]string) {
	alt := strings.Join(strings.Fields(attr["alt"]), " ")
	if alt == "" {
		return // decoration
	}
	r.word()
	if to := r.address(attr["src"]); to != "" && r.links {
		r.line = append(r.line, "!["+alt+"]("+to+")"...)
		return
	}
	r.line = append(r.line, "[image: "+alt+"]"...)
}

// address returns where a link leads, whole; empty for what leads nowhere else.
func (r *reader) address(href string) string {
	href = strings.TrimSpace(href)
	if href == "" || strings.HasPrefix(href, "#") || len(href) > 2000 {
		return ""
	}
	to, err := r.base.Parse(href)
	if err != nil {
		return ""
	}
	switch to.Scheme {
	case "http", "https", "mailto", "ftp":
		return to.String()
	}
	return ""
}

// endLink makes a link of the text since its beginning.
func (r *reader) endLink(e element) {
	if e.href == "" || !r.links || e.from > len(r.line) {
		return
	}
	text := strings.TrimSpace(string(r.line[e.from:]))
	if text == "" {
		return
	}
	r.line = append(r.line[:e.from], "["+text+"]("+e.href+")"...)
}

// flush ends the block that is being read.
func (r *reader) flush() {
	if r.cell() != nil {
		r.blank = true // in a cell, blocks are words apart
		return
	}
	if r.pre > 0 {
		return
	}
	// A link around blocks is one in each of them.
	if a := r.nearest(atom.A); a != nil {
		r.endLink(*a)
		a.from = 0
	}
	block := strings.Trim(string(r.line), " \n")
	r.line, r.blank = r.line[:0], false
	if block != "" {
		r.write(block)
	}
}

// flushCode ends a block that keeps its blanks.
func (r *reader) flushCode(language string) {
	code := strings.Trim(strings.ReplaceAll(string(r.line), "\r\n", "\n"), "\n")
	r.line, r.blank = r.line[:0], false
	if strings.TrimSpace(code) == "" {
		return
	}
	if r.links {
		fence := "```"
		for strings.Contains(code, fence) {
			fence += "`"
		}
		code = fence + language + "\n" + code + "\n" + fence
	}
	r.write(code)
}

// write writes a block behind the marks of the lists and quotations it is in.
func (r *reader) write(block string) {
	first, others := "", ""
	for i := range r.open {
		e := &r.open[i]
		switch {
		case e.name == atom.Blockquote:
			first, others = first+"> ", others+"> "
		case e.indent > 0 || e.mark != "":
			mark := strings.Repeat(" ", e.indent)
			others += mark
			if e.mark != "" {
				mark, e.mark = e.mark, ""
			}
			first += mark
		}
		if len(first) > 100 {
			break // deeper says nothing more
		}
	}
	if r.out.Len() > 0 {
		r.out.WriteByte('\n')
		if r.apart {
			r.out.WriteByte('\n')
		}
	}
	r.apart = false
	r.out.WriteString(first + strings.ReplaceAll(block, "\n", "\n"+others))
}

// page ends the reading.
func (r *reader) page() Page {
	r.closeTo(0)
	r.flush()
	p := Page{Title: strings.Join(strings.Fields(r.title.String()), " "), Text: r.out.String()}
	marked := r.mainPart == theMain || r.articles == 1
	if n := r.mainEnd - r.mainStart; marked && n >= minMain && n < len(p.Text) {
		p.Text, p.Main = strings.Trim(p.Text[r.mainStart:r.mainEnd], "\n"), true
	}
	return p
}

// codeLanguage returns the programming language that a class names, as highlighters
// write it.
func codeLanguage(attr map[string]string) string {
	for class := range strings.FieldsSeq(attr["class"]) {
		for _, prefix := range []string{"language-", "lang-", "highlight-source-"} {
			if l, ok := strings.CutPrefix(class, prefix); ok && len(l) < 20 && !strings.Contains(l, "`") {
				return l
			}
		}
	}
	return ""
}

// standsApart reports whether empty lines are around an element here.
func (r *reader) standsApart(name atom.Atom) bool {
	return paragraphs[name] && r.nearest(atom.Li) == nil && r.cell() == nil
}

// cell returns the row of the cell that text goes to; nil outside of one, and in a
// table that is there for the layout.
func (r *reader) cell() *element {
	in := false
	for i := len(r.open) - 1; i >= 0 && r.count[atom.Tr] > 0; i-- {
		switch r.open[i].name {
		case atom.Td, atom.Th, atom.Caption:
			in = in || r.open[i].name != atom.Caption
		case atom.Tr:
			if !in || r.open[i].layout {
				return nil
			}
			return &r.open[i]
		case atom.Table:
			return nil
		}
	}
	return nil
}

// leaveCell makes a layout of the table that a structure begins in.
func (r *reader) leaveCell() {
	row := r.cell()
	if row == nil {
		return
	}
	row.layout = true
	line := append([]byte(nil), r.line...)
	for _, c := range row.cells {
		r.line = append(r.line[:0], c...)
		r.flush()
	}
	row.cells = nil
	r.line = append(r.line[:0], line...)
	r.flush()
}

// row writes a row of a table.
func (r *reader) row(e element) {
	if len(e.cells) == 0 || strings.Join(e.cells, "") == "" {
		return
	}
	if len(e.cells) == 1 {
		r.line = append(r.line, e.cells[0]...)
		r.flush()
		return
	}
	r.line = append(r.line, "| "+strings.Join(e.cells, " | ")+" |"...)
	r.flush()
	if table := r.nearest(atom.Table); table != nil {
		if table.rows++; table.rows == 1 {
			r.line = append(r.line, strings.Repeat("| --- ", len(e.cells))+"|"...)
			r.flush()
		}
	}
}
