package external

import (
	"slices"
	"testing"
)

// The shell around a program was seen to end, its trap not run, because the program had its signal first.
func TestAProgramIsSignalledBeforeWhatItHasStarted(t *testing.T) {
	tree := members{90: "1000", 41: "999", 12: "1001", 91: "1000", 7: "1001"} // 7 and 12: numbers of processes begin anew
	if got, want := tree.oldestFirst(), []int{41, 90, 91, 7, 12}; !slices.Equal(got, want) {
		t.Errorf("signalled in the order %v, want %v", got, want)
	}
}
