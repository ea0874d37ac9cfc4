package main

import (
	"cmp"
	"fmt"
	"slices"
)

// didYouMean returns a question that names what is nearest to got, or nothing when
// nothing is near.
func didYouMean(got string, names []string) string {
	near := nearest(got, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// nearest returns the name with the fewest edits to got, if those are at most half
// of it and never more than three; else "".
func nearest(got string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	best := slices.MinFunc(names, func(x, y string) int { return cmp.Compare(edits(got, x), edits(got, y)) })
	if d := edits(got, best); d > 3 || d > (len(got)+1)/2 {
		return ""
	}
	return best
}

// edits is the Levenshtein distance in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			same := corner
			if a[i] != b[j] {
				same++
			}
			row[j+1] = min(same, above+1, row[j]+1)
			corner = above
		}
	}
	return row[len(b)]
}
