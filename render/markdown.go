package render

import (
	"strings"

	"pawl/internal/lazy"

	"github.com/charmbracelet/x/ansi"
)

// A Markdown renders Markdown line by line, so that what streams is final as soon as its
// line has ended; a table when it has ended. It knows headings, lists, quotes, rules, tables, code
// between fences, and what [Style.Spans] knows; all else stands as it was written.
type Markdown struct {
	Style
	fence string   // that ends the code; "": outside of code
	code  code     // between fences
	table []string // lines of a table that may continue
	blank bool     // the last line was blank: several in a row are one
	began bool
}

var (
	headingLine = lazy.Regexp(`^ {0,3}(#{1,6}) +(.*?)(?: +#+)? *$`)
	listLine    = lazy.Regexp(`^( *)([-*+]|\d{1,9}[.)]) +(.*)$`)
	quoteLine   = lazy.Regexp(`^ {0,3}> ?(.*)$`)
	ruleLine    = lazy.Regexp(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$`)
)

// fenceOf returns the fence that a line consists of, with at most the name of a language.
func fenceOf(line string) string {
	trimmed := strings.TrimLeft(line, " ")
	for _, c := range []byte("`~") {
		if n := leading(trimmed, c); n >= 3 && !strings.ContainsRune(trimmed[n:], '`') {
			return trimmed[:n]
		}
	}
	return ""
}

// Line returns one line of the source, which is safe to print, as lines of at most width
// columns, after those of a table that it ends. With peek it is still growing: what it does to
// the lines after it is left out, and long words are broken. After the last line End returns the
// rest.
func (m *Markdown) Line(text string, width int, peek bool) []string {
	text = strings.ReplaceAll(strings.TrimRight(text, " \r"), "\t", "    ")
	if m.fence == "" && tableLine(text) && len(m.table) < maxTable {
		m.table = append(m.table[:len(m.table):len(m.table)], text) // a copy that peeks has its own
		m.began, m.blank = true, false
		return nil
	}
	lines := m.End(width, peek)
	return append(lines, m.line(text, width, peek)...)
}

// End returns the lines of a table that nothing follows.
func (m *Markdown) End(width int, peek bool) []string {
	table := m.table
	m.table = nil
	return m.tableLines(table, width, peek)
}

// line returns the lines of a line that is not part of a table.
func (m *Markdown) line(text string, width int, peek bool) []string {
	if !peek {
		defer func() { m.began, m.blank = true, text == "" }()
	}
	if m.fence != "" {
		if f := fenceOf(text); strings.HasPrefix(f, m.fence) && strings.TrimSpace(text) == f {
			if !peek {
				m.fence = ""
			}
			return nil
		}
		code := "  " + m.codeLine(text)
		if peek {
			return strings.Split(ansi.HardwrapWc(code, width, true), "\n")
		}
		return []string{code}
	}
	if f := fenceOf(text); f != "" {
		if !peek {
			m.fence = f
			language, _, _ := strings.Cut(strings.TrimSpace(strings.TrimLeft(text, " `~")), " ")
			m.code = code{syntax: syntaxOf(language)}
		}
		return nil
	}
	if text == "" {
		if m.blank || !m.began {
			return nil
		}
		return []string{""}
	}
	if h := headingLine().FindStringSubmatch(text); h != nil {
		if !m.Color && !m.Words {
			return m.Wrap([]Span{{Text: text, Paint: Plain}}, width, peek)
		}
		return m.Wrap([]Span{{Text: h[2], Paint: Heading}}, width, peek)
	}
	if ruleLine().MatchString(text) {
		return []string{m.Paint(Faint, strings.Repeat("-", min(width, 24)))}
	}
	if l := listLine().FindStringSubmatch(text); l != nil {
		mark := l[2]
		if !m.ASCII && strings.ContainsAny(mark, "-*+") {
			mark = "•"
		}
		mark = l[1] + mark + " "
		if len(mark) > width/2 {
			mark = ""
		}
		return Hang(mark, m.Wrap(m.Spans(l[3], Plain), width-Cells(mark), peek))
	}
	if q := quoteLine().FindStringSubmatch(text); q != nil {
		lines := m.Wrap(m.Spans(q[1], Italic), width-2, peek)
		for i := range lines {
			lines[i] = m.Paint(Faint, m.Glyph(GlyphGutter)) + " " + lines[i]
		}
		return lines
	}
	return m.Wrap(m.Spans(text, Plain), width, peek)
}

// codeLine returns a line of code with its colours.
func (m *Markdown) codeLine(text string) string {
	switch {
	case !m.Color:
		return text
	case m.code.syntax == nil || len(text) > maxMarkup:
		return m.Paint(Accent, text)
	}
	var b strings.Builder
	for _, sp := range m.code.spans(text) {
		b.WriteString(m.Paint(sp.Paint, sp.Text))
	}
	return b.String()
}
