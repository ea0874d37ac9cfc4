package tool

import (
	"bytes"
	"strings"
	"unicode"

	"pawl/internal/text"
)

// failed returns err as the result of a call, for the model.
func failed(err error) Result { return ErrorResult(err.Error()) }

// stopped is the result of a call that was stopped before it did anything.
func stopped() Result { return notStarted("stopped before it did anything") }

// notStarted is the result of a call that did nothing.
func notStarted(why string) Result {
	r := ErrorResult(why)
	r.NotStarted = true
	return r
}

// The forms of package text that results of tools have.
func count(n int, one, many string) string  { return text.Count(int64(n), one, many) }
func commas(n int64) string                 { return text.Commas(n) }
func size(n int64) string                   { return text.Size(n) }
func clip(s string, n int) string           { return text.OneLine(s, n) }
func tell(format string, args ...any) error { return text.Tell(format, args...) }

// printable returns a file's name for a line of a result: a line break in it
// would make it two.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, name)
}

// clipLine returns a line of a file for showing, at most n characters of it,
// without its line end; a cut line ends in a mark.
func clipLine(line []byte, n int) string {
	s, cut := cutLine(line, n)
	if cut {
		s += "…"
	}
	return s
}

// cutLine returns the first n characters of a line of a file, and whether there
// are more. What is not UTF-8 is replaced.
func cutLine(line []byte, n int) (s string, cut bool) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	// A character has at most four bytes: what is beyond need not be looked at.
	if cut = len(line) > 4*n; cut {
		line = line[:4*n]
	}
	s = strings.ToValidUTF8(string(line), "\uFFFD")
	first := text.First(s, n)
	return first, cut || len(first) < len(s)
}

// lineCount returns the number of lines; the last may end without a line break.
func lineCount(content []byte) int {
	n := bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}
