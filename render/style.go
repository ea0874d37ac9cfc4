package render

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A Style says with which colours and characters text is drawn. The zero value draws
// without colours, in UTF-8.
type Style struct {
	Color bool
	ASCII bool // only ASCII of pawl's own; what others wrote stays
	// Links says that addresses in Markdown are hyperlinks of the terminal (OSC 8). They are
	// written out in any case: what a link says must not hide where it leads.
	Links bool
	// Words has words in place of signs, as a screen reader reads them aloud.
	Words bool
	// Expands names the key that shows what is left out of an output. Empty: there is none.
	Expands string
}

// Spoken returns the style that is written for a screen reader: words in place of signs, no
// colours.
func (s Style) Spoken() Style { return Style{ASCII: true, Words: true, Expands: s.Expands} }

// A Paint is a kind of text. Colour is never the only sign of it: a glyph or a word says
// the same. The colours are those of terminals with 16, so that a person's theme decides
// what they look like.
type Paint int

const (
	Plain   Paint = iota
	Good          // done, added
	Bad           // failed, removed
	Warning       // waits, refused, retried
	Accent        // code, commands, paths
	Faint         // can be skipped
	Bold
	Italic
	Heading
	Keyword // of code
	Literal // strings in code
	Number  // in code
	Link
)

var paints = map[Paint]ansi.Style{
	Good:    ansi.NewStyle().ForegroundColor(ansi.Green),
	Bad:     ansi.NewStyle().ForegroundColor(ansi.Red),
	Warning: ansi.NewStyle().ForegroundColor(ansi.Yellow),
	Accent:  ansi.NewStyle().ForegroundColor(ansi.Cyan),
	Faint:   ansi.NewStyle().Faint(),
	Bold:    ansi.NewStyle().Bold(),
	Italic:  ansi.NewStyle().Italic(true),
	Heading: ansi.NewStyle().Bold().Underline(true),
	Keyword: ansi.NewStyle().ForegroundColor(ansi.Magenta),
	Literal: ansi.NewStyle().ForegroundColor(ansi.Green),
	Link:    ansi.NewStyle().Underline(true),
	Number:  ansi.NewStyle().ForegroundColor(ansi.Cyan),
}

// StyleOf returns the style that the environment asks for.
func StyleOf(getenv func(name string) string) Style {
	s := Style{Color: wantsColor(getenv)}
	s.Links = s.Color && hyperlinks(getenv)
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			s.ASCII = !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
			return s
		}
	}
	s.ASCII = true // the locale is POSIX
	return s
}

// hyperlinks reports whether the terminal is known to understand OSC 8. Multiplexers are not: those that
// do not know it pass on a part.
func hyperlinks(getenv func(name string) string) bool {
	if getenv("TMUX") != "" || getenv("STY") != "" {
		return false
	}
	for _, name := range []string{"VTE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION", "ALACRITTY_WINDOW_ID", "KONSOLE_VERSION"} {
		if getenv(name) != "" {
			return true
		}
	}
	switch getenv("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm", "ghostty", "vscode":
		return true
	}
	return false
}

// Dumb reports whether the terminal can only print: TERM says so, or names none.
func Dumb(getenv func(name string) string) bool {
	term := getenv("TERM")
	return term == "" || term == "dumb"
}

// wantsColor reports whether colours are wanted on a terminal; see no-color.org and
// bixense.com/clicolors.
func wantsColor(getenv func(name string) string) bool {
	return getenv("NO_COLOR") == "" && !Dumb(getenv) && (getenv("CLICOLOR") != "0" || ForcesColor(getenv))
}

// ForcesColor reports whether colours are wanted where no terminal is.
func ForcesColor(getenv func(name string) string) bool {
	v := getenv("CLICOLOR_FORCE")
	return v != "" && v != "0" && getenv("NO_COLOR") == ""
}

// Paint returns text, which is safe to print and on one line, in p.
func (s Style) Paint(p Paint, text string) string {
	if !s.Color || p == Plain || text == "" {
		return text
	}
	return paints[p].Styled(text)
}

// A Glyph says at the left what a line is.
type Glyph int

const (
	GlyphPerson   Glyph = iota // what the person types, or has typed and was not delivered yet
	GlyphSaid                  // what the person has said, on each line
	GlyphWords                 // the agent's
	GlyphDone                  // a call that has ended well
	GlyphRunning               // a call that runs
	GlyphPending               // a call that has not started
	GlyphFailed                // a call that has failed
	GlyphRefused               // a call that was refused
	GlyphStopped               // a call that was interrupted or has not run
	GlyphSelected              // what enter chooses
	GlyphQuestion              // it waits for the person
	GlyphRetry                 // a request is sent again
	GlyphOpen
	GlyphActive
	GlyphChecked
	GlyphGutter // before the output of a call
	GlyphEnd    // before its last line
	GlyphCut
	GlyphMinus // in a count
)

var glyphs = map[Glyph][2]string{ // in UTF-8, in ASCII
	GlyphPerson: {"›", ">"}, GlyphSaid: {"▌", ">"}, GlyphWords: {"•", "*"}, GlyphDone: {"●", "o"}, GlyphRunning: {"◐", "="}, GlyphPending: {"○", "."}, GlyphFailed: {"✗", "x"}, GlyphRefused: {"⊘", "-"},
	GlyphStopped: {"⊘", "-"}, GlyphSelected: {"›", ">"},
	GlyphQuestion: {"?", "?"}, GlyphRetry: {"↻", "~"}, GlyphOpen: {"☐", "[ ]"}, GlyphActive: {"▸", "[>]"}, GlyphChecked: {"✓", "[x]"},
	GlyphGutter: {"│", "|"}, GlyphEnd: {"└", "+"}, GlyphCut: {"…", "..."}, GlyphMinus: {"−", "-"},
}

var glyphWords = map[Glyph]string{
	GlyphPerson: "you:", GlyphSaid: "you:", GlyphWords: "agent:", GlyphDone: "done:", GlyphRunning: "running:", GlyphPending: "not started:", GlyphFailed: "failed:", GlyphRefused: "refused:",
	GlyphStopped: "stopped:", GlyphSelected: "selected:", GlyphQuestion: "question:", GlyphRetry: "retry:", GlyphOpen: "open:", GlyphActive: "in progress:", GlyphChecked: "done:",
	GlyphGutter: "", GlyphEnd: "", GlyphCut: "...", GlyphMinus: "-",
}

// Glyph returns the characters of g.
func (s Style) Glyph(g Glyph) string {
	if s.Words {
		return glyphWords[g]
	}
	if s.ASCII {
		return glyphs[g][1]
	}
	return glyphs[g][0]
}

// Dot returns what separates the parts of a line.
func (s Style) Dot() string {
	if s.Words {
		return ", "
	}
	if s.ASCII {
		return " - "
	}
	return " · "
}
