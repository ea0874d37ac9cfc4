package helper

import (
	"slices"
	"testing"
)

// A shell whose child is killed before it says so in the output of the command.
func TestParentsAreEndedBeforeTheirChildren(t *testing.T) {
	t.Parallel()
	parents := map[int]int{7: 1, 9: 7, 3: 9, 8: 1, 2: 8}
	pids := []int{3, 2, 9, 8, 7}
	parentsFirst(pids, parents)
	for i, pid := range pids {
		for above := parents[pid]; above != 1; above = parents[above] {
			if !slices.Contains(pids[:i], above) {
				t.Errorf("%d comes before %d, which it is below: %v", pid, above, pids)
			}
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(pids)))) != 5 {
		t.Errorf("%v", pids)
	}
}
