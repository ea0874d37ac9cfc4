package script

import "unicode/utf8"

// Pieces cuts a text as a model streams it: a few characters to a piece, or, for
// one that is long, some two hundred pieces. An empty text has none.
func Pieces(s string) []string {
	size := max(12, len(s)/200)
	var cut []string
	for len(s) > 0 {
		n := whole(s, size)
		cut = append(cut, s[:n])
		s = s[n:]
	}
	return cut
}

// Half returns the first half of a text.
func Half(s string) string { return s[:whole(s, len(s)/2)] }

// whole returns the first end of a character in s at n or after it.
func whole(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}
