package worker

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"pawl/run"
	"pawl/store"
	"pawl/store/socket"
	"pawl/view"
)

// A feed passes what a runner shows on to those who follow the run, in this process and in
// others. It remembers what is live, so that who comes later sees the answer that streams
// from its beginning, and what waits.
type feed struct {
	// showing keeps updates in order: one at a time is passed on.
	showing sync.Mutex
	closed  bool
	watch   func(view.Update) // of the caller of Create or Open; nil: none
	queues  []*queue
	listen  *socket.Listener // nil: no other process can follow

	// mu guards what is below. It is held for no call of anybody.
	mu   sync.Mutex
	live live
}

// live is what has been shown and is not an event yet.
type live struct {
	seq      int64 // of the last event
	n        int64 // counts the updates that are remembered here
	answer   []view.Delta
	progress []view.Progress
	stopping *run.Interrupted
	waiting  []run.CallID
}

// add takes an update in.
func (l *live) add(u view.Update) {
	if u.Event == nil && u.Notice == "" && u.Below == "" {
		l.n++
	}
	switch {
	case u.Drop:
		l.answer = nil
	case u.Delta != nil:
		l.answer = appendDelta(l.answer, *u.Delta)
	case u.Progress != nil:
		l.progress = setProgress(l.progress, *u.Progress)
	case u.Stopping != nil:
		l.stopping = u.Stopping
	case u.Waiting != nil:
		l.waiting = u.Waiting
	case u.Event != nil:
		l.seq = u.Event.Seq
		switch p := u.Event.Payload.(type) {
		case run.Replied, run.RequestFailed:
			l.answer = nil
		case run.Interrupted:
			l.answer, l.stopping = nil, nil
		case run.CallSettled:
			l.progress = slices.DeleteFunc(slices.Clone(l.progress), func(q view.Progress) bool { return q.Call == p.Call })
		case run.Ended:
			l.answer, l.progress, l.stopping = nil, nil, nil
		}
	}
}

// maxDelta bounds a delta that others are joined to, in bytes: an answer that grows by a
// letter at a time is not copied whole for each of them.
const maxDelta = 4 << 10

// appendDelta joins deltas of one kind: what is remembered of an answer is few of them.
func appendDelta(all []view.Delta, d view.Delta) []view.Delta {
	if n := len(all); n > 0 && d.Tool == "" && len(all[n-1].Text)+len(all[n-1].Thinking)+len(all[n-1].Arguments) < maxDelta {
		last := &all[n-1]
		switch {
		case d.Text != "" && last.Text != "":
			last.Text += d.Text
			return all
		case d.Thinking != "" && last.Thinking != "":
			last.Thinking += d.Thinking
			return all
		case d.Arguments != "" && (last.Arguments != "" || last.Tool != ""):
			last.Arguments += d.Arguments
			return all
		}
	}
	return append(all, d)
}

// setProgress replaces what a call has printed.
func setProgress(all []view.Progress, p view.Progress) []view.Progress {
	for i := range all {
		if all[i].Call == p.Call {
			all[i] = p
			return all
		}
	}
	return append(all, p)
}

// updates returns what is live, to be shown to somebody who comes now.
func (l *live) updates() []view.Update {
	var all []view.Update
	for _, d := range l.answer {
		all = append(all, view.Update{Delta: &d})
	}
	for _, p := range l.progress {
		all = append(all, view.Update{Progress: &p})
	}
	if len(l.waiting) > 0 {
		all = append(all, view.Update{Waiting: l.waiting})
	}
	if l.stopping != nil {
		all = append(all, view.Update{Stopping: l.stopping})
	}
	return all
}

// Viewers returns how many other processes follow the run at this moment. It may be called
// from any goroutine.
func (r *Runner) Viewers() int {
	if r.feed.listen == nil {
		return 0
	}
	return r.feed.listen.Viewers()
}

// JobsRun reports whether a background job of the run is running. It may be called from any goroutine.
func (r *Runner) JobsRun() bool { return r.env.Session.JobsRun() }

// show passes an update on.
func (f *feed) show(u view.Update) {
	f.showing.Lock()
	defer f.showing.Unlock()
	f.mu.Lock()
	f.live.add(u)
	f.mu.Unlock()
	if f.watch != nil {
		f.watch(u)
	}
	for _, q := range f.queues {
		q.put(u)
	}
	if f.listen == nil || f.listen.Viewers() == 0 {
		return
	}
	f.listen.Broadcast(f.live.line(u, false)) // f.live changes under showing only
}

// greeting returns what is live as lines.
func (f *feed) greeting() [][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines [][]byte
	for _, u := range f.live.updates() {
		lines = append(lines, f.live.line(u, true))
	}
	return lines
}

// subscribe returns a queue of all updates from now on, what is live first.
func (f *feed) subscribe() *queue {
	f.showing.Lock()
	defer f.showing.Unlock()
	q := &queue{more: make(chan struct{}, 1)}
	if f.closed {
		q.end()
		return q
	}
	f.mu.Lock()
	for _, u := range f.live.updates() {
		q.put(u)
	}
	f.mu.Unlock()
	f.queues = append(f.queues, q)
	return q
}

func (f *feed) unsubscribe(q *queue) {
	f.showing.Lock()
	defer f.showing.Unlock()
	f.queues = slices.DeleteFunc(f.queues, func(other *queue) bool { return other == q })
}

// close ends all queues.
func (f *feed) close() {
	f.showing.Lock()
	defer f.showing.Unlock()
	for _, q := range f.queues {
		q.end()
	}
	f.queues, f.watch, f.closed = nil, nil, true
}

// maxDeltas is how many live updates may wait in a queue before more are dropped: they are
// for people who watch, and a slow reader must not fill the memory. Events are never
// dropped.
const maxDeltas = 10_000

// A queue holds updates for one follower. Its writer never waits.
type queue struct {
	mu    sync.Mutex
	items []view.Update
	live  int // of items, not events
	ended bool
	more  chan struct{}
}

func (q *queue) put(u view.Update) {
	q.mu.Lock()
	keep := u.Event != nil || q.live < maxDeltas || u.Delta == nil && u.Progress == nil
	if keep {
		q.items = append(q.items, u)
		if u.Event == nil {
			q.live++
		}
	}
	q.mu.Unlock()
	q.wake()
}

func (q *queue) end() {
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// take returns what is in the queue, and whether nothing will follow.
func (q *queue) take() (items []view.Update, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items, q.live = q.items, nil, 0
	return items, q.ended
}

// Follow yields the run's events after number after, and then what is new as it happens,
// until Close, the end of ctx, or an error of the store. It may be called from any
// goroutine, also while the run is driven, and any number of times at once; a slow reader
// delays nothing.
func (r *Runner) Follow(ctx context.Context, after int64) iter.Seq2[view.Update, error] {
	return func(yield func(view.Update, error) bool) {
		q := r.feed.subscribe()
		defer r.feed.unsubscribe(q)
		f := follower{store: r.w.Store, id: r.id, last: after, yield: yield}
		if to := r.State().Seq; to > after && !f.read(ctx, to) { // later events are shown
			return
		}
		for {
			items, ended := q.take()
			for _, u := range items {
				if u.Event != nil && u.Event.Seq <= f.last {
					continue
				}
				if !f.pass(u) {
					return
				}
			}
			if ended {
				return
			}
			select {
			case <-q.more:
			case <-ctx.Done():
				return
			}
		}
	}
}

// A follower yields the updates of a run in order.
type follower struct {
	store store.Store
	id    run.ID
	last  int64 // the last event that was yielded
	heard int64 // the last live update, by its number
	yield func(view.Update, error) bool
}

func (f *follower) pass(u view.Update) bool {
	if u.Event != nil {
		f.last = u.Event.Seq
	}
	return f.yield(u, nil)
}

// read yields the events that are new in the store, up to number to if that is not 0, and
// reports whether to continue.
func (f *follower) read(ctx context.Context, to int64) bool {
	for e, err := range f.store.Events(ctx, f.id, f.last) {
		switch {
		case errors.Is(err, store.ErrNotFound): // it is written with its first turn
			return true
		case err != nil && ctx.Err() != nil:
			return false
		case err != nil:
			f.yield(view.Update{}, err)
			return false
		}
		if !f.pass(view.Update{Event: &e}) {
			return false
		}
		if f.last == to {
			break
		}
	}
	return ctx.Err() == nil
}

// pollRun is how often a follower looks for events and for the owner when it hears nothing.
const pollRun = 250 * time.Millisecond

// Follow is [Runner.Follow] for a run that another process may drive. It ends after the
// last event when no process drives the run. It writes nothing.
func Follow(ctx context.Context, s store.Store, id run.ID, after int64) iter.Seq2[view.Update, error] {
	return func(yield func(view.Update, error) bool) {
		f := follower{store: s, id: id, last: after, yield: yield}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		poll := time.NewTicker(pollRun)
		defer poll.Stop()
		for {
			owner, owned, err := s.Owner(ctx, id)
			if err != nil {
				if ctx.Err() == nil {
					yield(view.Update{}, err)
				}
				return
			}
			if !f.read(ctx, 0) || !owned {
				return
			}
			if !f.hear(ctx, owner.Socket, poll.C) {
				return
			}
		}
	}
}

// hear yields what an owner broadcasts, and events, until its socket is closed or, without
// one, for one tick of poll. It reports whether to continue.
func (f *follower) hear(ctx context.Context, addr string, poll <-chan time.Time) bool {
	lines := make(chan line, 64)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v, err := socket.Dial(ctx, addr)
	if err == nil { // else there is none, or the owner has just died
		defer v.Close()
		context.AfterFunc(ctx, func() { v.Close() })
		go receive(ctx, v, lines)
	}
	for quiet := false; ; {
		select {
		case l, ok := <-lines:
			if !ok {
				return ctx.Err() == nil
			}
			if !f.line(ctx, l) {
				return false
			}
			quiet = false
		case <-poll:
			if err != nil {
				return true
			}
			if quiet && !f.read(ctx, 0) { // a line can be missed by a reader that is too slow
				return false
			}
			quiet = true
		case <-ctx.Done():
			return false
		}
	}
}

func receive(ctx context.Context, v *socket.Viewer, lines chan<- line) {
	defer close(lines)
	for b, err := range v.Lines() {
		var l line
		if err != nil || json.Unmarshal(b, &l) != nil { // a line of a newer pawl ends it too: its events are polled
			return
		}
		select {
		case lines <- l:
		case <-ctx.Done():
			return
		}
	}
}

// line yields what a line says, and reports whether to continue. Events are yielded no
// further than it says, so that all comes in the order in which the owner showed it.
func (f *follower) line(ctx context.Context, l line) bool {
	if l.Seq > f.last && !f.read(ctx, l.Seq) {
		return false
	}
	u := l.update()
	switch {
	case u.Delta == nil && u.Progress == nil && u.Stopping == nil && u.Waiting == nil && u.Below == "" && !u.Drop && u.Notice == "":
		return true // it was about an event
	case u.Delta != nil && l.Seq < f.last, l.N != 0 && !l.Greeting && l.N <= f.heard:
		return true // of an answer that has ended; or the greeting had it
	}
	f.heard = max(f.heard, l.N)
	return f.pass(u)
}

// A line is an update as it goes to other processes, or that there is a new event, which
// they read from the store.
type line struct {
	Seq      int64            `json:"seq"`         // of the last event that was shown before
	N        int64            `json:"n,omitempty"` // counts what the greeting has too, so that nobody gets it twice
	Greeting bool             `json:"greeting,omitempty"`
	Delta    *view.Delta      `json:"delta,omitempty"`
	Drop     bool             `json:"drop,omitempty"`
	Progress *view.Progress   `json:"progress,omitempty"`
	Stopping *run.Interrupted `json:"stopping,omitempty"`
	Waiting  []run.CallID     `json:"waiting,omitzero"`
	Below    run.ID           `json:"below,omitempty"`
	Notice   string           `json:"notice,omitempty"`
}

func (l line) update() view.Update {
	return view.Update{Delta: l.Delta, Drop: l.Drop, Progress: l.Progress, Stopping: l.Stopping, Waiting: l.Waiting, Below: l.Below, Notice: l.Notice}
}

// line returns an update as the line that is broadcast after it was added.
func (l *live) line(u view.Update, greeting bool) []byte {
	out := line{Seq: l.seq, Greeting: greeting, Delta: u.Delta, Drop: u.Drop, Progress: u.Progress, Stopping: u.Stopping, Waiting: u.Waiting, Below: u.Below, Notice: u.Notice}
	if u.Event == nil && u.Notice == "" && u.Below == "" {
		out.N = l.n
	}
	b, _ := json.Marshal(out) // all of it can be encoded
	return b
}
