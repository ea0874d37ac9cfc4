package cli

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pawl/config"
)

// A style is how the display writes: with which colours, and with which characters.
type style struct {
	color bool
	ascii bool // no characters beyond ASCII of its own
}

// A paint is a kind of text. Colour is never the only sign of it: a glyph or a word says
// the same. The colours are those of terminals with 16, so that a person's theme decides
// what they look like.
type paint int

const (
	plain   paint = iota
	good          // done, added
	bad           // failed, removed
	warning       // waits, refused, retried
	accent        // code, commands, paths
	faint         // can be skipped
	bold
	italic
	heading
)

var paints = map[paint]ansi.Style{
	good:    ansi.NewStyle().ForegroundColor(ansi.Green),
	bad:     ansi.NewStyle().ForegroundColor(ansi.Red),
	warning: ansi.NewStyle().ForegroundColor(ansi.Yellow),
	accent:  ansi.NewStyle().ForegroundColor(ansi.Cyan),
	faint:   ansi.NewStyle().Faint(),
	bold:    ansi.NewStyle().Bold(),
	italic:  ansi.NewStyle().Italic(true),
	heading: ansi.NewStyle().Bold().Underline(true),
}

// styleOf returns the style that the environment asks for.
func styleOf(env config.Env) style {
	s := style{color: wantsColor(env)}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env.Get(name); v != "" {
			v = strings.ToLower(v)
			s.ascii = !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
			return s
		}
	}
	s.ascii = true // the locale is POSIX
	return s
}

// wantsColor reports whether colours are wanted on a terminal; see no-color.org and
// bixense.com/clicolors.
func wantsColor(env config.Env) bool {
	return env.Get("NO_COLOR") == "" && env.Get("TERM") != "dumb" && (env.Get("CLICOLOR") != "0" || forcesColor(env))
}

// forcesColor reports whether colours are wanted where no terminal is.
func forcesColor(env config.Env) bool {
	v := env.Get("CLICOLOR_FORCE")
	return v != "" && v != "0" && env.Get("NO_COLOR") == ""
}

// paint returns text, which is safe to print and on one line, in p.
func (s style) paint(p paint, text string) string {
	if !s.color || p == plain || text == "" {
		return text
	}
	return paints[p].Styled(text)
}

// A glyph says at the left what a line is.
type glyph int

const (
	glyphPerson   glyph = iota // what the person says
	glyphWords                 // the agent's
	glyphDone                  // a call that has ended well
	glyphRunning               // a call that runs
	glyphPending               // a call that has not started
	glyphFailed                // a call that has failed
	glyphRefused               // a call that was refused
	glyphQuestion              // it waits for the person
	glyphRetry                 // a request is sent again
	glyphOpen
	glyphActive
	glyphChecked
	glyphGutter // before the output of a call
	glyphCut
	glyphMinus // in a count
)

var glyphs = map[glyph][2]string{ // in UTF-8, in ASCII
	glyphPerson: {"›", ">"}, glyphWords: {"•", "*"}, glyphDone: {"●", "o"}, glyphRunning: {"◐", "="}, glyphPending: {"○", "."}, glyphFailed: {"✗", "x"}, glyphRefused: {"⊘", "-"},
	glyphQuestion: {"?", "?"}, glyphRetry: {"↻", "~"}, glyphOpen: {"☐", "[ ]"}, glyphActive: {"▸", "[>]"}, glyphChecked: {"✓", "[x]"},
	glyphGutter: {"│", "|"}, glyphCut: {"…", "..."}, glyphMinus: {"−", "-"},
}

func (s style) glyph(g glyph) string {
	if s.ascii {
		return glyphs[g][1]
	}
	return glyphs[g][0]
}

// dot separates the parts of a line.
func (s style) dot() string {
	if s.ascii {
		return " - "
	}
	return " · "
}

// cells returns how many columns text takes: of the two ways in which terminals count, the
// one that gives more.
func cells(text string) int { return max(ansi.StringWidth(text), ansi.StringWidthWc(text)) }

// broken returns a word in pieces that fit width columns. The first cut fits unless the two
// ways to count differ.
func broken(word string, width int) []string {
	for cut := width; ; cut-- {
		pieces := strings.Split(ansi.HardwrapWc(word, cut, true), "\n")
		if cut == 1 || !slices.ContainsFunc(pieces, func(p string) bool { return cells(p) > width }) {
			return pieces
		}
	}
}

// clip returns text, cut with a mark if it takes more than n columns.
func (s style) clip(text string, n int) string {
	if n <= 0 {
		return ""
	}
	mark := s.glyph(glyphCut)
	if cells(text) <= n {
		return text
	}
	for cut := n; cut > 0; cut-- { // the first cut fits unless the two ways to count differ
		if t := ansi.Truncate(text, cut, mark); cells(t) <= n {
			return t
		}
	}
	return ""
}

// A span is a piece of a line in one paint.
type span struct {
	text  string
	paint paint
}

// maxMarkup bounds how long a line may be to be read as Markdown, in bytes.
const maxMarkup = 8192

// spans reads the marks of Markdown inside a line: code, bold, italic. Without colours the
// marks stay.
func (s style) spans(line string, base paint) []span {
	if !s.color || len(line) > maxMarkup {
		return []span{{line, base}}
	}
	var all []span
	add := func(text string, p paint) {
		if text != "" {
			all = append(all, span{text, p})
		}
	}
	start := 0 // of what is not in all yet
	for i := 0; i < len(line); {
		mark, p := "", plain
		switch {
		case line[i] == '\\' && i+1 < len(line) && strings.IndexByte("\\`*_", line[i+1]) >= 0:
			add(line[start:i], base)
			start = i + 1
			i += 2
			continue
		case line[i] == '`':
			mark, p = line[i:i+leading(line[i:], '`')], accent
		case strings.HasPrefix(line[i:], "**"):
			mark, p = "**", bold
		case line[i] == '*':
			mark, p = "*", italic
		case strings.HasPrefix(line[i:], "__") && opens(line, i):
			mark, p = "__", bold
		case line[i] == '_' && opens(line, i):
			mark, p = "_", italic
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

// wrap breaks spans into lines of at most width columns, between words. A word that is
// longer has a line of its own, and is broken if hard: the terminal breaks it else, and
// it can be copied whole.
func (s style) wrap(spans []span, width int, hard bool) []string {
	var lines []string
	var line []span
	used := 0
	add := func(text string, p paint) {
		if n := len(line); n > 0 && line[n-1].paint == p {
			line[n-1].text += text
		} else {
			line = append(line, span{text, p})
		}
		used += cells(text)
	}
	end := func() {
		var b strings.Builder
		for i, sp := range line {
			if i == len(line)-1 {
				sp.text = strings.TrimRight(sp.text, " ")
			}
			b.WriteString(s.paint(sp.paint, sp.text))
		}
		text := b.String()
		if hard { // where the two ways to count differ it can be wider than the sum of its parts
			text = s.clip(text, width)
		}
		lines = append(lines, text)
		line, used = nil, 0
	}
	for _, sp := range spans {
		for text := sp.text; text != ""; {
			blanks := leading(text, ' ')
			if blanks > 0 {
				if (used > 0 || len(lines) == 0) && used+blanks <= width {
					add(text[:blanks], sp.paint)
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
			w := cells(word)
			if used > 0 && used+w > width {
				end()
			}
			if w > width && (hard || w > utf8.RuneCountInString(word)) { // writing without blanks is broken anywhere
				pieces := broken(word, width)
				for _, piece := range pieces[:len(pieces)-1] {
					add(piece, sp.paint)
					end()
				}
				word = pieces[len(pieces)-1]
			}
			add(word, sp.paint)
		}
	}
	if used > 0 || len(lines) == 0 {
		end()
	}
	return lines
}
