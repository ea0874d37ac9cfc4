package cli

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A markdown renders Markdown line by line, so that what streams is final as soon as its
// line has ended. It knows headings, lists, quotes, rules, code between fences, and what
// [style.spans] knows; tables and all else stand as they were written.
type markdown struct {
	style
	fence string // that ends the code; "": outside of code
	blank bool   // the last line was blank: several in a row are one
	began bool
}

var (
	headingLine = regexp.MustCompile(`^ {0,3}(#{1,6}) +(.*?)(?: +#+)? *$`)
	listLine    = regexp.MustCompile(`^( *)([-*+]|\d{1,9}[.)]) +(.*)$`)
	quoteLine   = regexp.MustCompile(`^ {0,3}> ?(.*)$`)
	ruleLine    = regexp.MustCompile(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$`)
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

// line returns one line of the source, which is safe to print, as lines of at most width
// columns. With peek it is still growing: what it does to the lines after it is left out,
// and long words are broken.
func (m *markdown) line(text string, width int, peek bool) []string {
	text = strings.ReplaceAll(strings.TrimRight(text, " \r"), "\t", "    ")
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
		code := "  " + m.paint(accent, text)
		if peek {
			return strings.Split(ansi.HardwrapWc(code, width, true), "\n")
		}
		return []string{code}
	}
	if f := fenceOf(text); f != "" {
		if !peek {
			m.fence = f
		}
		return nil
	}
	if text == "" {
		if m.blank || !m.began {
			return nil
		}
		return []string{""}
	}
	if h := headingLine.FindStringSubmatch(text); h != nil {
		if !m.color {
			return m.wrap([]span{{text, plain}}, width, peek)
		}
		return m.wrap([]span{{h[2], heading}}, width, peek)
	}
	if ruleLine.MatchString(text) {
		return []string{m.paint(faint, strings.Repeat("-", min(width, 24)))}
	}
	if strings.HasPrefix(strings.TrimLeft(text, " "), "|") { // a table
		if peek {
			return []string{m.clip(text, width)}
		}
		return []string{text}
	}
	if l := listLine.FindStringSubmatch(text); l != nil {
		mark := l[2]
		if !m.ascii && strings.ContainsAny(mark, "-*+") {
			mark = "•"
		}
		mark = l[1] + mark + " "
		if len(mark) > width/2 {
			mark = ""
		}
		return hang(mark, m.wrap(m.spans(l[3], plain), width-cells(mark), peek))
	}
	if q := quoteLine.FindStringSubmatch(text); q != nil {
		lines := m.wrap(m.spans(q[1], italic), width-2, peek)
		for i := range lines {
			lines[i] = m.paint(faint, m.glyph(glyphGutter)) + " " + lines[i]
		}
		return lines
	}
	return m.wrap(m.spans(text, plain), width, peek)
}

// hang puts mark before the first line, and blanks of the same width before the others.
func hang(mark string, lines []string) []string {
	indent := strings.Repeat(" ", cells(mark))
	for i := range lines {
		switch {
		case i == 0:
			lines[i] = mark + lines[i]
		case lines[i] != "":
			lines[i] = indent + lines[i]
		}
	}
	return lines
}
