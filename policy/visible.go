package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"pawl/internal/lazy"
	"pawl/internal/visible"
)

// Visible returns text for a terminal in which everything can be seen, in the order in
// which a program reads it: hidden characters (see [visible.Hidden]) and letters that
// are written from right to left are written as \u202e (see [visible.Code]); bytes that are not UTF-8 as
// \xff; and long runs of blanks and of empty lines, which push text off the screen,
// are counted. Other line ends and tabs stay.
func Visible(text string) string {
	text = emptyLines().ReplaceAllStringFunc(text, func(lines string) string {
		return fmt.Sprintf("\n[%d empty lines]\n", strings.Count(lines, "\n")-1)
	})
	var b strings.Builder
	for len(text) > 0 {
		if n := len(text) - len(strings.TrimLeft(text, " \t")); n > maxBlanks {
			fmt.Fprintf(&b, "[%d blanks]", n)
			text = text[n:]
			continue
		}
		c, n := utf8.DecodeRuneInString(text)
		switch {
		case c == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "\\x%02x", text[0])
		case visible.Hidden(c), visible.RightToLeft(c):
			b.WriteString(visible.Code(c))
		default:
			b.WriteRune(c)
		}
		text = text[n:]
	}
	return b.String()
}

// maxBlanks is how many blanks in a row are shown: more than any indentation that a
// person writes.
const maxBlanks = 40

// emptyLines matches more empty lines in a row than maxEmpty.
var emptyLines = lazy.Regexp(`\n(?:[ \t]*\n){4,}`)
