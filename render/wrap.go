package render

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pawl/internal/screen"
)

// Cells returns how many columns text takes; see [screen.Cells].
func Cells(text string) int { return screen.Cells(text) }

// broken returns a word in pieces that fit width columns. The first cut fits unless the two
// ways to count differ.
func broken(word string, width int) []string {
	for cut := width; ; cut-- {
		pieces := strings.Split(ansi.HardwrapWc(word, cut, true), "\n")
		if cut == 1 || !slices.ContainsFunc(pieces, func(p string) bool { return Cells(p) > width }) {
			return pieces
		}
	}
}

// Clip returns text, cut with a mark if it takes more than n columns.
func (s Style) Clip(text string, n int) string {
	if n <= 0 {
		return ""
	}
	mark := s.Glyph(GlyphCut)
	if Cells(text) <= n {
		return text
	}
	for cut := n; cut > 0; cut-- { // the first cut fits unless the two ways to count differ
		if t := ansi.Truncate(text, cut, mark); Cells(t) <= n {
			return t
		}
	}
	return ""
}

// A Span is a piece of a line in one paint.
type Span struct {
	Text  string
	Paint Paint
	Link  string // an address that text leads to; empty: none
}

// maxMarkup bounds how long a line may be to be read as Markdown, in bytes.
const maxMarkup = 8192

// Spans reads the marks of Markdown inside a line: code, Bold, Italic. Without colours the
// marks stay; with words in place of signs they go.
func (s Style) Spans(line string, base Paint) []Span {
	if !s.Color && !s.Words || len(line) > maxMarkup {
		return []Span{{Text: line, Paint: base}}
	}
	var all []Span
	add := func(text string, p Paint) {
		if text != "" {
			all = append(all, Span{Text: text, Paint: p})
		}
	}
	start := 0 // of what is not in all yet
	for i := 0; i < len(line); {
		mark, p := "", Plain
		switch {
		case line[i] == '[':
			label, address, ok := linkAt(line[i:])
			if !ok {
				i++
				continue
			}
			add(line[start:i], base)
			i += len(label) + len(address) + len("[]()")
			start = i
			all = append(all, Span{Text: label, Paint: Link, Link: address})
			if label != address {
				add(" (", Faint)
				all = append(all, Span{Text: address, Paint: Faint, Link: address})
				add(")", Faint)
			}
			continue
		case line[i] == '\\' && i+1 < len(line) && strings.IndexByte("\\`*_", line[i+1]) >= 0:
			add(line[start:i], base)
			start = i + 1
			i += 2
			continue
		case line[i] == '`':
			mark, p = line[i:i+leading(line[i:], '`')], Accent
		case strings.HasPrefix(line[i:], "**"):
			mark, p = "**", Bold
		case line[i] == '*':
			mark, p = "*", Italic
		case strings.HasPrefix(line[i:], "__") && opens(line, i):
			mark, p = "__", Bold
		case line[i] == '_' && opens(line, i):
			mark, p = "_", Italic
		default:
			i++
			continue
		}
		inner, ok := enclosed(line, i+len(mark), mark)
		if !ok {
			i += len(mark)
			continue
		}
		add(line[start:i], base)
		add(inner, p)
		i += len(mark) + len(inner) + len(mark)
		start = i
	}
	add(line[start:], base)
	return all
}

// linkAt returns the parts of a link that text begins with: [label](address). An address that could
// be anything but one of the web is none.
func linkAt(text string) (label, address string, ok bool) {
	label, rest, found := strings.Cut(text[1:], "](")
	address, _, closed := strings.Cut(rest, ")")
	ok = found && closed && label != "" && !strings.ContainsAny(label, "[]`") && len(address) <= maxAddress &&
		(strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")) &&
		strings.IndexFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	return label, address, ok
}

// maxAddress bounds the address of a link, in bytes.
const maxAddress = 2000

// leading returns how many bytes c a text begins with.
func leading(text string, c byte) int {
	n := 0
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

// opens reports whether the mark at i of line is not inside a word, as in snake_case.
func opens(line string, i int) bool {
	return i == 0 || !letter(line[i-1])
}

func letter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// enclosed returns what stands between i and the next mark.
func enclosed(line string, i int, mark string) (inner string, ok bool) {
	n := strings.Index(line[i:], mark)
	if n <= 0 {
		return "", false
	}
	inner = line[i : i+n]
	after := i + n + len(mark)
	switch {
	case mark[0] == '`':
		return inner, leading(line[i+n:], '`') == len(mark)
	case inner[0] == ' ' || inner[n-1] == ' ':
		return "", false
	case mark[0] == '_' && after < len(line) && letter(line[after]):
		return "", false
	}
	return inner, true
}

// Wrap breaks spans into lines of at most width columns, between words. A word that is
// longer has a line of its own, and is broken if hard: the terminal breaks it else, and
// it can be copied whole.
func (s Style) Wrap(spans []Span, width int, hard bool) []string {
	var lines []string
	var line []Span
	used := 0
	add := func(text string, of Span) {
		if n := len(line); n > 0 && line[n-1].Paint == of.Paint && line[n-1].Link == of.Link {
			line[n-1].Text += text
		} else {
			of.Text = text
			line = append(line, of)
		}
		used += Cells(text)
	}
	end := func() {
		var b strings.Builder
		for i, sp := range line {
			if i == len(line)-1 {
				sp.Text = strings.TrimRight(sp.Text, " ")
			}
			text := s.Paint(sp.Paint, sp.Text)
			if s.Links && sp.Link != "" && text != "" {
				text = ansi.SetHyperlink(sp.Link) + text + ansi.ResetHyperlink()
			}
			b.WriteString(text)
		}
		text := b.String()
		if hard { // where the two ways to count differ it can be wider than the sum of its parts
			text = s.Clip(text, width)
		}
		lines = append(lines, text)
		line, used = nil, 0
	}
	for _, sp := range spans {
		for text := sp.Text; text != ""; {
			blanks := leading(text, ' ')
			if blanks > 0 {
				switch {
				case used == 0 && len(lines) > 0: // a line does not begin with them
				case used+blanks <= width:
					add(text[:blanks], sp)
				case used > 0:
					end()
				}
				text = text[blanks:]
				continue
			}
			n := strings.IndexByte(text, ' ')
			if n < 0 {
				n = len(text)
			}
			word := text[:n]
			text = text[n:]
			w := Cells(word)
			if used > 0 && used+w > width {
				end()
			}
			if w > width && (hard || w > utf8.RuneCountInString(word)) { // writing without blanks is broken anywhere
				pieces := broken(word, width)
				for _, piece := range pieces[:len(pieces)-1] {
					add(piece, sp)
					end()
				}
				word = pieces[len(pieces)-1]
			}
			add(word, sp)
		}
	}
	if used > 0 || len(lines) == 0 {
		end()
	}
	return lines
}

// Hang puts mark before the first line, and blanks of the same width before the others.
func Hang(mark string, lines []string) []string {
	indent := strings.Repeat(" ", Cells(mark))
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
