package api

import (
	"context"
	"net/http"
	"time"

	"pawl/app"
	"pawl/run"
	"pawl/view"
)

// pollRun is how often a stream looks whether another process drives its run.
const pollRun = 250 * time.Millisecond

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
		func(ctx context.Context, in *input) (source, int64, func(), error) {
			if _, err := s.ws.Run(ctx, in.Run); err != nil {
				return source{}, 0, nil, err
			}
			f := &runFollower{s: s, id: in.Run, live: make(chan any, maxLive), changed: make(chan struct{}, 1)}
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

// A runFollower is the source of the stream of a run.
type runFollower struct {
	s       *Server
	id      run.ID
	live    chan any
	changed chan struct{}

	lines app.Lines // of facts, which the stream alone reads
	read  int64     // the last event that lines has had
}

// facts returns the next events of the run.
func (f *runFollower) facts(ctx context.Context, after int64) ([]fact, error) {
	var facts []fact
	for e, err := range f.s.ws.Events(ctx, f.id, f.read) {
		if err != nil {
			return facts, err
		}
		line := f.lines.Event(e)
		if f.read = e.Seq; e.Seq <= after {
			continue
		}
		if facts = append(facts, fact{e.Seq, line}); len(facts) == pageLength {
			break
		}
	}
	return facts, nil
}

// follow says what is live, and that there are new events, until ctx is done. A run can be
// released and driven again, here or by another process, any number of times.
func (f *runFollower) follow(ctx context.Context, after int64) {
	poll := time.NewTicker(pollRun)
	defer poll.Stop()
	for ctx.Err() == nil {
		session, changed := f.s.sessions.get(f.id)
		updates := f.s.ws.Follow(ctx, f.id, after)
		if session != nil {
			updates = session.Follow(ctx, after)
		}
		for u, err := range updates {
			if err != nil {
				break // the facts have the same error, or the run continues elsewhere
			}
			if u.Event != nil {
				after = u.Event.Seq
				f.wake()
			} else {
				f.show(ctx, u)
			}
		}
		if session != nil { // it was closed
			f.s.sessions.remove(session)
		}
		f.wake()
		select {
		case <-ctx.Done():
		case <-changed:
		case <-poll.C:
		}
	}
}

func (f *runFollower) wake() {
	select {
	case f.changed <- struct{}{}:
	default: // it is awake
	}
}

// show passes on what is live, unless the client is too slow.
func (f *runFollower) show(ctx context.Context, u view.Update) {
	var none app.Lines
	line := none.Line(u)
	if len(u.Waiting) > 0 {
		all, err := f.s.ws.Approvals(ctx, f.id)
		if err != nil {
			return // it is decided meanwhile
		}
		waiting := app.WaitingLine{Type: "waiting"}
		for _, a := range all {
			waiting.Calls = append(waiting.Calls, a.Waiting())
		}
		line = waiting
	}
	select {
	case f.live <- line:
	default:
	}
}
