package controller

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// What stands where something else is needed is named, with what to write instead:
// the model that reads it has made one of a dozen mistakes, and each has a cure. It
// is never cured here.

// ends is said of text that stops inside of an object.
const ends = "the answer ends before the object is closed; it was cut off or a bracket is missing. Send the whole object, a shorter one if need be"

// peek returns the byte where reading failed, 0 at the end.
func (r *reader) peek() byte {
	if r.at < len(r.s) {
		return r.s[r.at]
	}
	return 0
}

// insteadOfName says what stands where the name of a member is needed.
func (r *reader) insteadOfName() string {
	switch c := r.peek(); {
	case c == '}':
		return "there is a comma before }; the last member has none behind it"
	case letter(c):
		return "a name stands in double quotes"
	}
	return r.insteadOf("a name in double quotes")
}

// insteadOfValue says what stands where a value is needed.
func (r *reader) insteadOfValue() string {
	rest := r.s[r.at:]
	for _, w := range []struct{ prefix, cure string }{
		{"True", "true"}, {"False", "false"}, {"None", "null"}, {"undefined", "null"},
		{"NaN", "null, or leave it out"}, {"Infinity", "a finite number"},
	} {
		if strings.HasPrefix(rest, w.prefix) {
			return fmt.Sprintf("JSON has no %s; write %s", w.prefix, w.cure)
		}
	}
	switch c := r.peek(); {
	case c == ']' || c == '}':
		return fmt.Sprintf("a value is missing before %c, or there is a comma too many", c)
	case c == '+' || c == '.':
		return "a number begins with a digit or a minus"
	case letter(c):
		return "a string stands in double quotes"
	}
	return r.insteadOf("a value")
}

// insteadOf says what stands where something is needed.
func (r *reader) insteadOf(needed string) string {
	if r.at >= len(r.s) {
		return ends
	}
	char, _ := utf8.DecodeRuneInString(r.s[r.at:])
	switch char {
	case '\'', '`', '‘', '’', '“', '”', '„', '«':
		return fmt.Sprintf("JSON has no %c for strings; use straight double quotes", char)
	case '/', '#':
		return "JSON has no comments; leave them out"
	case '"':
		return fmt.Sprintf(`%s is needed here; if the double quote belongs to the text of a string, write it as \"`, needed)
	case utf8.RuneError:
		return fmt.Sprintf("%s is needed here", needed)
	}
	what := fmt.Sprintf("%s is needed here, not %q", needed, char)
	if r.at > 0 && r.s[r.at-1] == '"' { // the commonest mistake there is: quotes in quotes
		what += `; if the double quote before it belongs to the text of a string, write it as \"`
	}
	return what
}

// rawControl says what to write instead of a control character in a string.
func rawControl(c byte) string {
	switch c {
	case '\n':
		return `a string holds a line break as it is; write \n`
	case '\r':
		return `a string holds a carriage return as it is; write \r`
	case '\t':
		return `a string holds a tab as it is; write \t`
	}
	return fmt.Sprintf(`a string holds the control character 0x%02x as it is; write \u%04x`, c, c)
}
