package command

import (
	"strings"
	"time"

	"pawl/internal/text"
	visibility "pawl/internal/visible"
	"pawl/view"
)

// Visible makes text safe to print; see [visibility.Escape].
func Visible(text string) string { return visibility.Escape(text) }

// Quoted is text between quotation marks, as visible.
func Quoted[S ~string](text S) string { return visibility.Quote(text) }

// OneLine returns text on one line of at most n characters, cut with a mark.
func OneLine(s string, n int) string { return view.OneLine(s, n) }

// Prefixed puts prefix before every line of text.
func Prefixed(text, prefix string) string {
	return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix)
}

// Said returns a text of an agent's as it stands among lines of pawl's, marked, so that no line of it is taken for one of them.
func Said(text string) string { return Prefixed(Visible(text), "| ") }

// MaxTitle is the length of a call's line in characters.
const MaxTitle = view.MaxLine

// Plural returns "1 step", "2 steps".
func Plural(n int, word string) string {
	return text.Plural(int64(n), word)
}

// Stamp is a point in time for people, in their own zone.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// ShellWord quotes s for a command line that is shown to be copied.
func ShellWord(s string) string { return text.ShellWord(s) }
