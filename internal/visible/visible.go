// Package visible says which characters a person cannot see, or not for what they are.
// Text that a person decides on (a command, a rule, a file to be trusted) is shown
// with these escaped, and text from elsewhere that a model reads comes without them.
//
// The lists are those of Unicode 15 as the standard library has them, and the
// characters that are blank though Unicode calls them letters, marks or symbols.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape returns text with every character that could move the cursor, hide other text or
// set the clipboard written as \uXXXX. Newlines, tabs and what is [Ordinary] stay; carriage
// returns are removed, because they end the lines of Windows and redraw progress bars.
func Escape(text string) string {
	safe := func(r rune) bool {
		return r == '\n' || r == '\t' || !unicode.IsControl(r) && (!Hidden(r) || Ordinary(r))
	}
	if strings.IndexFunc(text, func(r rune) bool { return !safe(r) }) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case safe(r):
			b.WriteRune(r)
		case r != '\r':
			b.WriteString(Code(r))
		}
	}
	return b.String()
}

// Line returns text escaped and on one line, such as the name of a file or a sentence with one.
func Line(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(Escape(text))
}

// Quote returns text between quotation marks, escaped and on one line, for a sentence that a person reads. (%q
// would use the escapes of Go.)
func Quote[S ~string](text S) string { return `"` + Line(string(text)) + `"` }

// Code returns a character as \uXXXX, or as \UXXXXXXXX if it has no such code.
func Code(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf("\\U%08x", r)
	}
	return fmt.Sprintf("\\u%04x", r)
}

// Hidden reports whether a character has no shape of its own, or changes how others
// are shown: control characters, marks of direction and of no width, tags and
// variation selectors, and blanks other than the space. Line ends, tabs and the space
// are not hidden.
func Hidden(r rune) bool {
	if ' ' <= r && r < 0x7f { // most of all text
		return false
	}
	switch r {
	case '\n', '\t':
		return false
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	// Variation selectors (Mn) can carry a hidden text as the tags (Cf) can.
	return !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r) || unicode.Is(unicode.Variation_Selector, r)
}

// Ordinary reports whether a hidden character is common in honest text: a blank that
// does not break, the joiner and the variation selectors of emoji, and what is not
// known here and has a shape of its own, as newer emoji and private symbols.
func Ordinary(r rune) bool {
	switch {
	case unicode.Is(unicode.Zs, r), r == 0x200d, r == 0xfe0e, r == 0xfe0f:
		return true
	case unicode.IsGraphic(r), unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp):
		return false
	}
	return r != 0x2065 && (r < 0xfff0 || r > 0xffff) && (r < 0xe0000 || r > 0xe0fff) // those have none: Default_Ignorable_Code_Point
}

// Useless reports whether a character is hidden and has no use in plain text: what a
// model reads comes without it. The joiner U+200C and the marks U+200E and U+200F have
// a use, in Persian and Hebrew.
func Useless(r rune) bool {
	return Hidden(r) && !Ordinary(r) && r != 0x200c && r != 0x200e && r != 0x200f
}

// Strip returns text without what is [Useless].
func Strip(text string) string {
	return strings.Map(func(r rune) rune {
		if Useless(r) {
			return -1
		}
		return r
	}, text)
}

// RightToLeft reports whether a character belongs to a script that is written from
// right to left: terminals show the text around it in another order than it is read
// by a program.
func RightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc || r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}

// JSON makes JSON safe to print, as [Escape] does for text, and keeps it JSON:
// what is not to be seen can only be in strings, and is escaped there.
func JSON(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if c := raw[i]; c >= ' ' && c < 0x7f || c == '\n' {
			out = append(out, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(raw[i:])
		switch high, low := utf16.EncodeRune(r); {
		case Escape(string(r)) == string(r):
			out = utf8.AppendRune(out, r)
		case r == '\r': // only between values
		case high != utf8.RuneError:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}
