package stable

import (
	"cmp"
	"maps"
	"slices"
	"testing"
)

type pair struct{ key, place int }

func byKey(a, b pair) int { return cmp.Compare(a.key, b.key) }

func TestSortDoesWhatSortStableFuncDoes(t *testing.T) {
	t.Parallel()
	for n := range 200 {
		var s []pair
		for i := range n {
			s = append(s, pair{i * 7919 % 13, i})
		}
		want := slices.Clone(s)
		slices.SortStableFunc(want, byKey)
		if Sort(s, byKey); !slices.Equal(s, want) {
			t.Fatalf("%d elements: %v, want %v", n, s, want)
		}
	}
}

func TestSortedCollectsASequence(t *testing.T) {
	t.Parallel()
	got := Sorted(maps.Keys(map[pair]bool{{3, 0}: true, {1, 0}: true, {2, 0}: true}), byKey)
	if want := []pair{{1, 0}, {2, 0}, {3, 0}}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}
