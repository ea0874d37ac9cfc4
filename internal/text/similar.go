package text

import (
	"fmt"
	"path"
	"strings"

	"pawl/internal/stable"
)

// maxName is the length, in bytes, beyond which a name is not compared: no file, tool or
// option has a longer one.
const maxName = 255

// Distance returns the number of bytes that have to be inserted, deleted, replaced or
// swapped with their neighbour to turn a into b (optimal string alignment). Its time is
// the product of the lengths.
func Distance(a, b string) int {
	older, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			next[j+1] = min(cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], older[j-1]+1)
			}
		}
		older, row, next = row, next, older
	}
	return row[len(b)]
}

// Similar returns at most n of the candidates that name was probably meant to be, the
// likeliest first: equal but for case, a part of it, equal but for the file extension, or
// a few letters off.
func Similar(name string, candidates []string, n int) []string {
	return similar(name, candidates, n, func(low, candidate string, distance int) (int, bool) {
		switch {
		case candidate == low:
			return 0, true
		case len(low) >= 3 && len(candidate) >= 3 && (strings.Contains(candidate, low) || strings.Contains(low, candidate)):
			return min(distance, 1), true
		case stem(candidate) == stem(low):
			return min(distance, 2), true
		}
		return distance, distance <= 1+len(low)/4
	})
}

// Typo returns the candidate with the smallest [Distance] to name, or "" if that is more
// than three or more than half of the name.
func Typo(name string, candidates []string) string {
	found := similar(name, candidates, 1, func(_, _ string, distance int) (int, bool) {
		return distance, distance <= min(3, max(1, len(name)/2))
	})
	return strings.Join(found, "")
}

// Ranked returns the names, the most similar to name first. The order of equally similar
// ones is kept.
func Ranked(name string, names []string) []string {
	const compared = 60 // bytes of each
	return similar(First(name, compared), names, len(names), func(_, _ string, distance int) (int, bool) { return distance, true })
}

// similar ranks candidates by a score; ok is false for one that is left out. Names are
// compared in lower case.
func similar(name string, candidates []string, n int, score func(low, candidate string, distance int) (int, bool)) []string {
	if len(name) > maxName {
		return nil
	}
	type scored struct {
		name  string
		score int
	}
	low := strings.ToLower(name)
	var found []scored
	for _, c := range candidates {
		l := strings.ToLower(First(c, maxName))
		if s, ok := score(low, l, Distance(low, l)); ok {
			found = append(found, scored{c, s})
		}
	}
	stable.Sort(found, func(a, b scored) int { return a.score - b.score })
	var names []string
	for _, f := range found[:min(n, len(found))] {
		names = append(names, f.name)
	}
	return names
}

func stem(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }

// Named returns the index of what has a name, or of the only one that it is short for: one of a plugin, which is called
// plugin:name. -1: there is none, or more than one.
func Named[T any](name string, all []T, nameOf func(T) string) int {
	short := -1
	for i, one := range all {
		switch of := nameOf(one); {
		case of == name:
			return i
		case name != "" && strings.HasSuffix(of, ":"+name) && short >= 0:
			short = len(all)
		case name != "" && strings.HasSuffix(of, ":"+name):
			short = i
		}
	}
	if short == len(all) {
		return -1
	}
	return short
}

// DidYouMean returns the end of a sentence that names the candidate most like name; ""
// if none is.
func DidYouMean(name string, candidates []string) string {
	if near := Typo(name, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
