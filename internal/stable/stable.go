// Package stable sorts slices by a comparison, with one compiled sort for all types of
// elements. slices.SortFunc and slices.SortStableFunc are compiled once for each
// type: 20 KB of the binary for every struct that is sorted.
package stable

import (
	"iter"
	"slices"
	"sort"
)

// Sort sorts s so that compare is not positive for neighbors. Equal elements keep
// their order.
func Sort[E any](s []E, compare func(a, b E) int) {
	sort.SliceStable(s, func(i, j int) bool { return compare(s[i], s[j]) < 0 })
}

// Sorted returns the elements of seq, sorted as Sort does.
func Sorted[E any](seq iter.Seq[E], compare func(a, b E) int) []E {
	s := slices.Collect(seq)
	Sort(s, compare)
	return s
}
