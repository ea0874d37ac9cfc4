package editor

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Match returns the indexes of the candidates that have the characters of query in its
// order, the best first. Upper case is ignored. Characters in a row, at the start of a word
// and in the last element of a path count more; of equals the shorter comes first, then the
// one that comes first in candidates. An empty query matches all, in their order.
func Match(query string, candidates []string) []int {
	all := make([]int, 0, len(candidates))
	query = strings.ToLower(query)
	ascii := strings.IndexFunc(query, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	const maxIndex, maxLen = 1<<28 - 1, 1<<16 - 1
	var ranks []uint64 // score, length and index, so that a larger number comes first
	for i, c := range candidates[:min(len(candidates), maxIndex)] {
		switch {
		case query == "":
			all = append(all, i)
			continue
		case !ascii:
			if c = strings.ToLower(c); !subsequence(query, c) {
				continue
			}
		}
		if n, ok := score(query, c); ok {
			ranks = append(ranks, uint64(max(n, 0))<<44|uint64(maxLen-min(len(c), maxLen))<<28|uint64(maxIndex-i))
		}
	}
	slices.Sort(ranks)
	for _, r := range slices.Backward(ranks) {
		all = append(all, maxIndex-int(r&maxIndex))
	}
	return all
}

// subsequence reports whether text has the characters of query in their order.
func subsequence(query, text string) bool {
	for _, q := range query {
		i := strings.IndexRune(text, q)
		if i < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		text = text[i+n:]
	}
	return true
}

// How a match is scored. The figures are chosen so that a run of characters is worth more
// than word starts that are scattered, and a match in the last element of a path more than
// the same in its folders.
const (
	scoreChar  = 16
	scoreRow   = 24 // after the character matched before
	scoreStart = 10 // at the start of a word
	scoreFirst = 12 // at the start of the text that is searched
	scoreBase  = 20 // all in the last element
	scoreWhole = 40 // the query is all of the last element, or all but what follows a dot
	scoreGap   = 1  // taken off for each character between, up to maxGap
	maxGap     = 12
)

// score returns how well a query in lower case matches text.
func score(query, text string) (n int, ok bool) {
	base := strings.LastIndexByte(strings.TrimSuffix(text, "/"), '/') + 1
	n, ok = align(query, text)
	if !ok || base == 0 && strings.IndexByte(query, '/') >= 0 {
		return n, ok
	}
	if m, inBase := align(query, text[base:]); inBase {
		n = max(n, m+scoreBase)
		name := strings.TrimSuffix(text[base:], "/")
		if stem, _, _ := strings.Cut(name, "."); len(query) == len(name) || len(query) == len(stem) {
			n += scoreWhole
		}
	}
	return n, true
}

// align finds the shortest place that ends where the first match ends, and returns its
// score. It compares bytes.
func align(query, text string) (n int, ok bool) {
	// Forward to where the first match ends, then back to where it begins at the latest.
	q, end := 0, 0
	for ; q < len(query); end++ {
		if end == len(text) {
			return 0, false
		}
		if lower[text[end]] == query[q] {
			q++
		}
	}
	start := end
	for q > 0 {
		start--
		if lower[text[start]] == query[q-1] {
			q--
		}
	}
	gap := 0
	for i := start; i < end; i++ {
		if lower[text[i]] != query[q] {
			gap++
			continue
		}
		n += scoreChar - min(gap, maxGap)*scoreGap
		switch {
		case i == 0:
			n += scoreFirst
		case gap == 0 && q > 0:
			n += scoreRow
		case startOfWord(text[i-1], text[i]):
			n += scoreStart
		}
		gap = 0
		q++
	}
	return n, true
}

// lower has the lower case of each byte.
var lower = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
		if i >= 'A' && i <= 'Z' {
			table[i] += 'a' - 'A'
		}
	}
	return table
}()

// startOfWord reports whether a word begins at a byte: after a separator, and in fooBar and
// foo1.
func startOfWord(prev, b byte) bool {
	digit := func(b byte) bool { return b >= '0' && b <= '9' }
	letter := func(b byte) bool { return lower[b] >= 'a' && lower[b] <= 'z' || b >= utf8.RuneSelf }
	upper := func(b byte) bool { return lower[b] != b }
	return !letter(prev) && !digit(prev) || letter(prev) && !upper(prev) && upper(b) || letter(prev) && digit(b)
}
