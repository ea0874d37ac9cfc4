package editor

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Match returns the indexes of the candidates that have the characters of query in its
// order, the best first. Upper case is ignored. Characters in a row, at the start of a word
// and in the last element of a path count more; of equals the shorter comes first, then the
// one that comes first in candidates. An empty query matches all, in their order.
func Match(query string, candidates []string) []int {
	all := make([]int, 0, len(candidates))
	if query = strings.ToLower(query); query == "" {
		for i := range candidates {
			all = append(all, i)
		}
		return all
	}
	type ranked struct{ index, score int }
	var found []ranked
	for i, c := range candidates {
		if s, ok := score(query, c); ok {
			found = append(found, ranked{i, s})
		}
	}
	slices.SortFunc(found, func(a, b ranked) int {
		switch {
		case a.score != b.score:
			return b.score - a.score
		case len(candidates[a.index]) != len(candidates[b.index]):
			return len(candidates[a.index]) - len(candidates[b.index])
		}
		return a.index - b.index
	})
	for _, f := range found {
		all = append(all, f.index)
	}
	return all
}

// How a match is scored. The figures are chosen so that a run of characters is worth more
// than word starts that are scattered, and a match in the last element of a path more than
// the same in its folders.
const (
	scoreChar  = 16
	scoreRow   = 12 // after the character matched before
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
		if stem, _, _ := strings.Cut(name, "."); len(query) == len(name) || len(query) == len(stem) && hasPrefixFold(stem, query) {
			n += scoreWhole
		}
	}
	return n, true
}

// align finds the shortest place that ends where the first match ends, and returns its
// score.
func align(query, text string) (n int, ok bool) {
	// Forward to where the first match ends, then back to where it begins at the latest.
	q, end := query, -1
	for i, r := range text {
		first, size := utf8.DecodeRuneInString(q)
		if lower(r) != first {
			continue
		}
		if q = q[size:]; q == "" {
			end = i + utf8.RuneLen(r)
			break
		}
	}
	if end < 0 {
		return 0, false
	}
	start := end
	for q = query; q != ""; {
		last, size := utf8.DecodeLastRuneInString(q)
		r, width := utf8.DecodeLastRuneInString(text[:start])
		start -= width
		if lower(r) == last {
			q = q[:len(q)-size]
		}
	}
	// The query is matched from there, each character where it is best of the next two.
	prev, _ := utf8.DecodeLastRuneInString(text[:start])
	gap, inRow := 0, false
	q = query
	for i, r := range text[start:end] {
		first, size := utf8.DecodeRuneInString(q)
		if lower(r) != first || q == "" {
			inRow, prev = false, r
			gap++
			continue
		}
		n += scoreChar - min(gap, maxGap)*scoreGap
		gap = 0
		switch at := start + i; {
		case at == 0:
			n += scoreFirst
		case inRow:
			n += scoreRow
		case startOfWord(prev, r):
			n += scoreStart
		}
		inRow, prev = true, r
		q = q[size:]
	}
	return n, true
}

func lower(r rune) rune {
	switch {
	case r >= 'A' && r <= 'Z':
		return r + 'a' - 'A'
	case r < utf8.RuneSelf:
		return r
	}
	return unicode.ToLower(r)
}

func startOfWord(prev, r rune) bool {
	return !unicode.IsLetter(prev) && !unicode.IsDigit(prev) || unicode.IsLower(prev) && unicode.IsUpper(r) || unicode.IsLetter(prev) && unicode.IsDigit(r)
}
