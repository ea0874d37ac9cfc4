package api

import (
	"context"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"

	"pawl/forms"
	"pawl/run"
	"pawl/view"
)

// pollRun is how long the stream of a run that is not driven waits before it checks whether another process drives the run.
// The wait doubles while nothing is found, up to maxPollRun.
const (
	pollRun    = 250 * time.Millisecond
	maxPollRun = 2 * time.Second
)

// maxLive is how many live lines may wait for a slow client before more are dropped.
const maxLive = 1000

// runStream registers the events of a run.
func (s *Server) runStream() {
	type input struct {
		RunInput
		StreamInput
	}
	handleStream(s, operation{method: http.MethodGet, path: "/runs/{run}/events", id: "follow-run", tag: "events",
		summary: "Follow a run", more: "A server-sent event for each line of docs/stream-json.md. Events of the log have their seq as id; deltas, progress, notices and what waits have none, and a slow client may miss some."},
		reflect.TypeFor[forms.EventLine](), func(ctx context.Context, in *input) (source, int64, func(), error) {
			if _, err := s.ws.Run(ctx, in.Run); err != nil {
				return source{}, 0, nil, err
			}
			f := &runFollower{s: s, id: in.Run, durable: make(chan fact, pageLength), live: make(chan any, maxLive), changed: make(chan struct{}, 1)}
			ctx, cancel := context.WithCancel(ctx)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				f.follow(ctx, in.after())
			}()
			done := func() { cancel(); <-ended }
			return source{facts: f.facts, changed: f.changed, live: f.live}, in.after(), done, nil
		})
}

// A runFollower is the source of the stream of a run. The events come from whoever drives
// the run, in order; they are read from the store once, when the stream begins.
type runFollower struct {
	s       *Server
	id      run.ID
	durable chan fact // full: the client is slow, and who drives the run keeps what follows
	live    chan any
	changed chan struct{}
	lines   forms.Lines
	failed  atomic.Pointer[error] // why the events cannot be read
}

// facts returns the next events of the run.
func (f *runFollower) facts(context.Context, int64) ([]fact, error) {
	var facts []fact
	for len(facts) < pageLength {
		select {
		case next := <-f.durable:
			facts = append(facts, next)
			continue
		default:
		}
		if err := f.failed.Load(); err != nil && len(facts) == 0 {
			return nil, *err
		}
		break
	}
	return facts, nil
}

// follow passes on the events after a number and what is live, until ctx is done. A run can
// be released and driven again, here or by another process, any number of times.
func (f *runFollower) follow(ctx context.Context, after int64) {
	if err := f.remember(ctx, after); err != nil {
		f.fail(err)
		return
	}
	wait := pollRun
	for ctx.Err() == nil {
		session, changed := f.s.sessions.get(f.id)
		elsewhere, cancel := context.WithCancel(ctx)
		updates := f.s.ws.Follow(elsewhere, f.id, after)
		if session != nil {
			updates = session.Follow(ctx, after)
		} else {
			go f.cancelWhenDriven(elsewhere, cancel)
		}
		for u, err := range updates {
			if err != nil && elsewhere.Err() != nil {
				break
			}
			if err != nil {
				cancel()
				f.fail(err)
				return
			}
			if u.Event == nil {
				f.show(ctx, u)
				continue
			}
			select {
			case f.durable <- fact{u.Event.Seq, f.lines.Event(*u.Event)}:
				after, wait = u.Event.Seq, pollRun
				f.wake()
			case <-ctx.Done():
				cancel()
				return
			}
		}
		switch {
		case session != nil: // it was closed
			f.s.sessions.remove(session)
		case elsewhere.Err() != nil: // what is live is shown again from its beginning
			f.show(ctx, view.Update{Drop: true})
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(wait):
			wait = min(2*wait, maxPollRun)
		}
	}
}

// cancelWhenDriven calls cancel when this process drives the run, or ctx is done.
func (f *runFollower) cancelWhenDriven(ctx context.Context, cancel func()) {
	for ctx.Err() == nil {
		session, changed := f.s.sessions.get(f.id)
		if session != nil {
			cancel()
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// remember reads the events up to a number: lines about calls need what was before them.
func (f *runFollower) remember(ctx context.Context, to int64) error {
	if to == 0 {
		return nil
	}
	for e, err := range f.s.ws.Events(ctx, f.id, 0) {
		if err != nil {
			return err
		}
		if e.Seq > to {
			return nil
		}
		f.lines.Event(e)
	}
	return nil
}

// fail ends the stream, after what was read.
func (f *runFollower) fail(err error) {
	f.failed.Store(&err)
	f.wake()
}

func (f *runFollower) wake() {
	select {
	case f.changed <- struct{}{}:
	default: // it is awake
	}
}

// show passes on what is live, unless the client is too slow.
func (f *runFollower) show(ctx context.Context, u view.Update) {
	var none forms.Lines
	line := none.Line(u)
	if u.Waiting != nil || u.Below != "" {
		all, err := f.s.ws.Approvals(ctx, f.id)
		if err != nil {
			return // it is decided meanwhile
		}
		line = forms.WaitingLineOf(all)
	}
	select {
	case f.live <- line:
	default:
	}
}
