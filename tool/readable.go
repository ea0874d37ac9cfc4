package tool

import (
	"regexp"
	"strings"
	"unicode"
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
		case unicode.IsControl(r), invisible(r):
			return -1
		}
		return r
	}, s)
}

// invisible reports whether a character has no shape and no use in plain text. The
// joiners U+200C and U+200D have one, in Persian and in emoji, and so have the
// marks U+200E and U+200F.
func invisible(r rune) bool {
	switch {
	case r >= 0xe0000 && r <= 0xe0fff: // tags, variation selectors 17 to 256
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // turn the direction
	case r == 0x200b, r >= 0x2060 && r <= 0x2064, r == 0xfeff, r == 0x180e, r == 0x3164, r == 0x115f, r == 0x1160:
	case r >= 0xfff9 && r <= 0xfffb: // interlinear annotations
	default:
		return false
	}
	return true
}
