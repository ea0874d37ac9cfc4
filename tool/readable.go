package tool

import (
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/visible"
)

// escapes are the sequences that command terminals (ECMA-48, sections 5.3 to 5.6):
// CSI, OSC and its like up to their end, and the short ones.
var escapes = lazy.Regexp(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

// readable returns a text that comes from elsewhere as valid UTF-8 without
// anything that a person would not see and a model or a terminal would: commands
// to terminals, other control characters, and characters without a shape that
// text can be hidden in or turned around with.
func readable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.Contains(s, "\x1b") {
		s = escapes().ReplaceAllString(s, "")
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return '\n'
		case visible.Useless(r):
			return -1
		}
		return r
	}, s)
}
