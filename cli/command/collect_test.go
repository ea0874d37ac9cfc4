package command

import (
	"runtime"
	"testing"
)

func TestTheHeapMayGrowToEightMegabytesOrByHalf(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 200}, {1, 200}, {2 * mb, 200}, {4 * mb, 100}, {5 * mb, 60}, {6 * mb, 50}, {8 * mb, 50}, {40 * mb, 50}, {1 << 62, 50}} {
		if got := growth(c.live); got != c.want {
			t.Errorf("growth(%d) = %d, want %d", c.live, got, c.want)
		}
	}
}

func TestEachCollectionIsFollowedByACall(t *testing.T) {
	t.Parallel()
	called := make(chan bool)
	over := t.Context().Done()
	afterCollection(func() {
		select {
		case called <- true:
		case <-over:
		}
	})
	for range 3 {
		runtime.GC()
		<-called
	}
}
