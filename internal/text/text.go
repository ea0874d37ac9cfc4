// Package text has the small operations on text for people and models that several
// packages need: cutting with a mark, numbers and sizes in words, similar names,
// differences, errors that are sentences. It knows nothing of what the text is about, and does not make it safe for
// a terminal.
//
// Lengths are in characters (runes). Invalid UTF-8 is passed through, except where noted.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Mark stands where text was cut.
const Mark = "…"

// First returns the first n characters of s.
func First(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n <= 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Last returns the last n characters of s.
func Last(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

// Clip returns the first n characters of s, followed by [Mark] if there are more.
func Clip(s string, n int) string {
	if short := First(s, n); len(short) < len(s) {
		return short + Mark
	}
	return s
}

// Prefix returns as many whole characters of the beginning of s as have at most n bytes.
func Prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// OneLine returns s on one line of at most n characters, each run of white space as one
// blank and the last character a [Mark] if it was cut. Invalid UTF-8 becomes U+FFFD.
func OneLine(s string, n int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(First(s, n)) < len(s) {
		return First(s, n-1) + Mark
	}
	return s
}

// Commas returns n with a comma between each three digits: 1,234,567.
func Commas(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural returns "1 step" or "2,000 steps".
func Plural(n int64, word string) string { return Count(n, word, word+"s") }

// Count returns "1 entry" or "2,000 entries".
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Commas(n) + " " + many
}

// Size returns a number of bytes in decimal units: 40.2 MB is 40,200,000 bytes.
func Size(n int64) string {
	const k, units = 1000, " kMGT"
	if n < k {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), 0
	for v >= k-0.05 && unit < len(units)-1 { // 999.95 is shown as 1000.0
		v /= k
		unit++
	}
	return fmt.Sprintf("%.1f %cB", v, units[unit])
}

// Tagged returns content between a tag with attributes and its end, each on a line. The tag is
// numbered if something in the content would end it: a file does not say where it ends.
func Tagged(tag, attributes, content string) string {
	name, low := tag, strings.ToLower(content)
	for n := 2; strings.Contains(low, "</"+name); n++ {
		name = tag + "-" + strconv.Itoa(n)
	}
	if attributes != "" {
		attributes = " " + attributes
	}
	return "<" + name + attributes + ">\n" + content + "\n</" + name + ">"
}

// ShellWord quotes s for a command line that is shown to be copied.
func ShellWord(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=@%+", r))
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Section returns the words in a [section] of a list; what follows # and a blank at the beginning of a line are remarks.
func Section(list, section string) (words []string) {
	_, list, _ = strings.Cut(list, "["+section+"]\n")
	list, _, _ = strings.Cut(list, "\n[")
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, "# ") {
			words = append(words, strings.Fields(line)...)
		}
	}
	return words
}

// Tell returns an error that is whole sentences, for the model to read as they
// are and for nobody to wrap.
func Tell(format string, args ...any) error { return told(fmt.Sprintf(format, args...)) }

type told string

func (t told) Error() string { return string(t) }
