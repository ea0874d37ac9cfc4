package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"pawl/run"
)

// pollIdle is how often is looked for what no one has told the runners that wait.
const pollIdle = time.Second

// idle are the runners that wait between two turns. What happens is told to them at once, by a
// face or through their sockets. For what is not - a sender that could not reach the socket, a
// rule that another process has stored - one goroutine looks for all of them, so that a thousand
// runs that wait for a person cost what one does.
type idle struct {
	mu      sync.Mutex
	waiters map[run.ID]*waiter
	stop    context.CancelFunc // of the goroutine, which runs while there are waiters
	stopped chan struct{}
}

// A waiter is a runner that waits.
type waiter struct {
	id      run.ID
	version *string       // of the rules on which calls wait; nil: none does
	rules   atomic.Bool   // they have changed
	parked  bool          // calls wait for runs below, at which it looks itself
	told    chan struct{} // has a value when there is something to look at
}

// enter adds a runner that waits.
func (w *Worker) enter(r *waiter) {
	w.idle.mu.Lock()
	defer w.idle.mu.Unlock()
	if len(w.idle.waiters) == 0 {
		ctx, stop := context.WithCancel(context.Background())
		stopped := make(chan struct{})
		w.idle.waiters, w.idle.stop, w.idle.stopped = map[run.ID]*waiter{}, stop, stopped
		go func() {
			defer close(stopped)
			w.watch(ctx)
		}()
	}
	w.idle.waiters[r.id] = r
}

// leave removes a runner. The last one waits for the goroutine to end.
func (w *Worker) leave(r *waiter) {
	w.idle.mu.Lock()
	delete(w.idle.waiters, r.id)
	last, stopped := len(w.idle.waiters) == 0, w.idle.stopped
	if last {
		w.idle.stop()
	}
	w.idle.mu.Unlock()
	if last {
		<-stopped
	}
}

// watch looks for what concerns the runners that wait, until ctx is done.
func (w *Worker) watch(ctx context.Context) {
	poll := time.NewTicker(pollIdle)
	defer poll.Stop()
	for {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
		w.look(ctx)
	}
}

// look tells the runners that have rows in their inbox, those that wait on rules which have changed,
// and those with parked calls.
func (w *Worker) look(ctx context.Context) {
	w.idle.mu.Lock()
	waiters := make(map[run.ID]*waiter, len(w.idle.waiters))
	var ids, parked []run.ID
	for id, r := range w.idle.waiters {
		waiters[id] = r
		if r.version != nil {
			ids = append(ids, id)
		}
		if r.parked {
			parked = append(parked, id)
		}
	}
	w.idle.mu.Unlock()
	rows, err := w.Store.Inboxes(ctx)
	if err != nil {
		w.debug("inboxes", "error", err)
	}
	if len(ids) > 0 {
		for i, version := range w.Authorizer.Versions(ids...) {
			if r := waiters[ids[i]]; version != *r.version {
				r.rules.Store(true)
				rows = append(rows, r.id)
			}
		}
	}
	for _, id := range append(rows, parked...) {
		if r := waiters[id]; r != nil {
			select {
			case r.told <- struct{}{}:
			default: // it has not looked yet
			}
		}
	}
}
