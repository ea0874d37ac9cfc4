package cli

import (
	"strings"
	"time"

	"pawl/internal/text"
	visibility "pawl/internal/visible"
	"pawl/view"
)

// visible makes text safe to print; see [visibility.Escape].
func visible(text string) string { return visibility.Escape(text) }

// quoted is text between quotation marks, as visible.
func quoted[S ~string](text S) string { return visibility.Quote(text) }

// oneLine returns text on one line of at most n characters, cut with a mark.
func oneLine(s string, n int) string { return view.OneLine(s, n) }

// prefixed puts prefix before every line of text.
func prefixed(text, prefix string) string {
	return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix)
}

// maxTitle is the length of a call's line in characters.
const maxTitle = view.MaxLine

// plural returns "1 step", "2 steps".
func plural(n int, word string) string {
	return text.Plural(int64(n), word)
}

// stamp is a point in time for people, in their own zone.
func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// shellWord quotes s for a command line that is shown to be copied.
func shellWord(s string) string { return text.ShellWord(s) }
