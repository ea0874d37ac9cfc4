package tool

import (
	"regexp"
	"strings"

	"pawl/internal/visible"
)

// escapes are the sequences that command terminals (ECMA-48, sections 5.3 to 5.6):
// CSI, OSC and its like up to their end, and the short ones.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

// readable returns a text that comes from elsewhere as valid UTF-8 without
// anything that a person would not see and a model or a terminal would: commands
// to terminals, other control characters, and characters without a shape that
// text can be hidden in or turned around with.
func readable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.Contains(s, "\x1b") {
		s = escapes.ReplaceAllString(s, "")
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return '\n'
		case invisible(r):
			return -1
		}
		return r
	}, s)
}

// invisible reports whether a character has no shape and no use in plain text. The
// joiner U+200C and the marks U+200E and U+200F have one, in Persian and Hebrew.
func invisible(r rune) bool {
	return visible.Hidden(r) && !visible.Ordinary(r) && r != 0x200c && r != 0x200e && r != 0x200f
}
