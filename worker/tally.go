package worker

import "sync"

// A tally counts what is under way, to be waited for. Unlike a [sync.WaitGroup] it may
// be added to while somebody waits: calls beside each other store their results, and
// ask for those of others, in any order.
type tally struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed when n is 0 again
}

// Go calls f on a goroutine of its own.
func (t *tally) Go(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		t.zero = make(chan struct{})
	}
	t.n++
	go func() {
		defer t.done()
		f()
	}()
}

func (t *tally) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 {
		close(t.zero)
	}
}

// Wait returns when everything that was under way is done.
func (t *tally) Wait() {
	t.mu.Lock()
	n, zero := t.n, t.zero
	t.mu.Unlock()
	if n > 0 {
		<-zero
	}
}
