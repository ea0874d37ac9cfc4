package worker

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestWhatIsStoredMayBeginWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	var stores tally
	var stored atomic.Int64
	var calls sync.WaitGroup
	for range 8 { // a sync.WaitGroup panics here: it is used again before a wait of it has returned
		calls.Go(func() {
			for range 2000 {
				before := stored.Load()
				stores.Go(func() { stored.Add(1) })
				stores.Wait()
				if stored.Load() == before {
					t.Error("a wait did not wait for what had begun before it")
				}
			}
		})
	}
	calls.Wait()
	if n := stored.Load(); n != 16000 {
		t.Errorf("%d stored", n)
	}
}
