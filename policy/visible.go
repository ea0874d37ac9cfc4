package policy

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns text for a terminal in which everything can be seen: control
// characters, characters without width, those that turn the direction of text around
// or are blank without being a space are written as \u{202e}; bytes that are no UTF-8
// as \x{ff}; and long runs of blanks, which push text off the screen, are counted.
// Line breaks and tabs stay.
func Visible(text string) string {
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
			fmt.Fprintf(&b, "\\x{%02x}", text[0])
		case unseen(c):
			fmt.Fprintf(&b, "\\u{%x}", c)
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

// unseen reports whether a character cannot be seen, or not for what it is.
func unseen(c rune) bool {
	switch c {
	case '\n', '\t', ' ':
		return false
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0: // blank, and called letters, marks or symbols
		return true
	}
	// Variation selectors (Mn) can carry a hidden text as the tags (Cf) can.
	return !unicode.IsGraphic(c) || unicode.Is(unicode.Zs, c) || unicode.Is(unicode.Variation_Selector, c)
}
