package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl/app"
	"pawl/board"
	"pawl/forms"
	"pawl/internal/build"
	"pawl/task"
)

const (
	// pingEvery is how often a stream without news has a comment, so that both sides see
	// that the connection works.
	pingEvery = 15 * time.Second
	// slowest is how long a client may take to accept what was sent. After that it is
	// closed, and connects again with the id of the last event that it got.
	slowest = 20 * time.Second
	// pageLength is how many facts are read from the store at once.
	pageLength = 256
	// maxStreams is how many streams may be open at once.
	maxStreams = 500
)

// A fact is a durable event of a stream. IDs grow, and a stream that begins after an id
// has all facts after it.
type fact struct {
	id   int64
	data any
}

// A source is what a stream is read from.
type source struct {
	// facts returns the next facts after an id, at most pageLength of them.
	facts func(ctx context.Context, after int64) ([]fact, error)
	// changed has a value when there may be new facts.
	changed <-chan struct{}
	// live has what is shown while it happens and is no fact. It is read only while all
	// facts are sent, and a full channel loses what is put into it. It may be nil.
	live <-chan any
}

// StreamInput are the parameters of a stream.
type StreamInput struct {
	LastEventID int64 `header:"Last-Event-ID" minimum:"0" doc:"The stream begins after this event; browsers send it when they connect again"`
	After       int64 `query:"after" minimum:"0" doc:"The stream begins after this event, if there is no Last-Event-ID"`
}

// after returns the event after which the stream begins.
func (in StreamInput) after() int64 {
	if in.LastEventID > 0 {
		return in.LastEventID
	}
	return in.After
}

// handleStream registers an operation that is a stream of server-sent events with data of a type. open returns
// its source; done is called when the stream has ended.
func handleStream[I any](s *Server, o operation, data reflect.Type, open func(ctx context.Context, in *I) (src source, after int64, done func(), err error)) {
	d := s.describe(o)
	d.Responses = map[string]*huma.Response{"200": {Description: "Server-sent events; the schema is that of their data",
		Content: map[string]*huma.MediaType{"text/event-stream": {Schema: s.schema(data, "")}}}}
	s.register(d, reflect.TypeFor[I](), reflect.TypeFor[sender](), func(ctx context.Context, in any) (any, error) {
		if !s.feed.enter() {
			return nil, tooMany("too many event streams are open")
		}
		src, after, done, err := open(ctx, in.(*I))
		if err != nil {
			s.feed.leave()
			return nil, err
		}
		return sender(func(w http.ResponseWriter, r *http.Request) {
			defer s.feed.leave()
			defer done()
			if err := s.stream(r.Context(), w, src, after); err != nil && r.Context().Err() == nil && !errors.Is(err, errClient) {
				s.log.Warn("an event stream ended", "request", requestOf(r.Context()).id, "error", err)
			}
		}), nil
	})
}

// errClient says that a client did not accept what was sent.
var errClient = errors.New("the client is gone, or too slow")

// stream writes events until the client goes, is too slow, or the server stops.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, src source, after int64) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out := &eventWriter{w: w, rc: http.NewResponseController(w), slowest: s.slowest}
	out.text("retry: 1000\n: pawl " + build.Version() + "\n\n")
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		facts, err := src.facts(ctx, after)
		if err != nil {
			return err
		}
		for _, f := range facts {
			if err := out.event(f.id, f.data); err != nil {
				return err
			}
			after = f.id
		}
		if err := out.flush(); err != nil {
			return err
		}
		if len(facts) > 0 {
			continue // what came meanwhile may have been told before
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.stopped.Done():
			out.text("event: shutdown\ndata: {}\n\n")
			return out.flush()
		case <-src.changed:
		case v := <-src.live:
			if err := out.event(0, v); err != nil {
				return err
			}
		case <-ping.C:
			out.text(": ping\n\n") // and it is flushed
		}
	}
}

// An eventWriter writes events to a client.
type eventWriter struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	slowest time.Duration
	err     error
}

func (o *eventWriter) text(t string) {
	if o.err != nil {
		return
	}
	// A writer without deadlines is that of a test.
	_ = o.rc.SetWriteDeadline(time.Now().Add(o.slowest))
	if _, err := o.w.Write([]byte(t)); err != nil {
		o.err = fmt.Errorf("%w: %w", errClient, err)
	}
}

// event writes an event; without an id, if it is 0.
func (o *eventWriter) event(id int64, data any) error {
	b, ok := data.(json.RawMessage)
	if !ok {
		var err error
		if b, err = json.Marshal(data); err != nil { // it escapes line ends
			return err
		}
	}
	line := "data: " + string(b) + "\n\n"
	if id > 0 {
		line = "id: " + strconv.FormatInt(id, 10) + "\n" + line
	}
	o.text(line)
	return o.err
}

func (o *eventWriter) flush() error {
	if o.err == nil {
		if err := o.rc.Flush(); err != nil {
			o.err = fmt.Errorf("%w: %w", errClient, err)
		}
	}
	return o.err
}

// A feed wakes streams when tasks change, in this process or in another.
type feed struct {
	ws   *app.Workspace
	done sync.WaitGroup

	mu      sync.Mutex
	streams int
	subs    map[chan struct{}]bool
	wakes   int64 // how often the streams were woken

	// What was read last, for all streams that are as far: the events after a position, as they were when the streams had
	// been woken so often. Who writes more of them wakes the streams after that.
	read    sync.Mutex
	after   int64
	since   int64
	current []fact
}

// facts returns what read returns for a position. It is read once for all streams that are woken together.
func (f *feed) facts(after int64, read func() ([]fact, error)) ([]fact, error) {
	f.mu.Lock()
	wakes := f.wakes
	f.mu.Unlock()
	f.read.Lock()
	defer f.read.Unlock()
	if f.since == wakes && f.after == after && wakes > 0 {
		return f.current, nil
	}
	facts, err := read()
	if err == nil {
		f.after, f.since, f.current = after, wakes, facts
	}
	return facts, err
}

// pollFeed is how often the store is read for what other processes have written, while a
// stream is open.
const pollFeed = 25 * time.Millisecond

func newFeed(ctx context.Context, ws *app.Workspace) *feed {
	f := &feed{ws: ws, subs: map[chan struct{}]bool{}}
	ws.OnTaskChange(func(task.ID) { f.wake() })
	f.done.Go(func() { f.poll(ctx) })
	return f
}

// poll wakes the streams when another process has changed a task.
func (f *feed) poll(ctx context.Context) {
	tick := time.NewTicker(pollFeed)
	defer tick.Stop()
	var last int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !f.followed() {
			continue
		}
		// What cannot be read now is read by the streams, whose clients are told.
		if end, err := board.Of(f.ws).FeedEnd(ctx); err != nil || end != last {
			last = end
			f.wake()
		}
	}
}

// followed reports whether a stream is open.
func (f *feed) followed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs) > 0
}

// subscribe returns a channel that has a value when a task may have changed.
func (f *feed) subscribe() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	f.mu.Lock()
	f.subs[c] = true
	f.mu.Unlock()
	return c, func() {
		f.mu.Lock()
		delete(f.subs, c)
		f.mu.Unlock()
	}
}

func (f *feed) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wakes++
	for c := range f.subs {
		select {
		case c <- struct{}{}:
		default: // it is awake
		}
	}
}

// enter counts a stream. It reports false if there are too many.
func (f *feed) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.streams >= maxStreams {
		return false
	}
	f.streams++
	return true
}

func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams--
}

// wait waits until the feed has stopped.
func (f *feed) wait() { f.done.Wait() }

// BoardInput are the parameters of the stream of all tasks.
type BoardInput struct {
	LastEventID int64 `header:"Last-Event-ID" minimum:"0" doc:"The stream begins after this event; browsers send it when they connect again"`
	After       int64 `query:"after" minimum:"-1" default:"-1" doc:"The stream begins after this event, if there is no Last-Event-ID; 0: with the first event there is, -1: now"`
}

// A PositionLine is the first line of a stream that begins now.
type PositionLine struct {
	Type string `json:"type"` // position
}

func (s *Server) streamOperations() {
	handleStream(s, operation{method: http.MethodGet, path: "/events", id: "follow-tasks", tag: "events",
		summary: "Follow all tasks", more: "A server-sent event for each event of any task, as those of one task, with card, how the task stands then, as list-tasks has it. " +
			"The ids are positions that hold for all tasks. A stream that begins now has an event of type position first: what is listed after that misses nothing. A task that was removed is an event of type task_removed."},
		reflect.TypeFor[forms.BoardLine](), s.followTasks)
	type input struct {
		TaskInput
		StreamInput
	}
	handleStream(s, operation{method: http.MethodGet, path: "/tasks/{task}/events", id: "follow-task", tag: "events",
		summary: "Follow a task", more: "A server-sent event for each event of its history, as pawl task show --history --json prints it. The ids are its seq."},
		reflect.TypeFor[forms.TaskLine](), func(ctx context.Context, in *input) (source, int64, func(), error) {
			if _, err := s.board.Load(ctx, in.Task); err != nil {
				return source{}, 0, nil, err
			}
			changed, done := s.feed.subscribe()
			facts := func(ctx context.Context, after int64) ([]fact, error) {
				lines, err := s.history(ctx, in.Task, after, pageLength)
				facts := make([]fact, len(lines))
				for i, l := range lines {
					facts[i] = fact{l.Seq, l}
				}
				return facts, err
			}
			return source{facts: facts, changed: changed}, in.after(), done, nil
		})
}

// followTasks opens the stream of all tasks.
func (s *Server) followTasks(ctx context.Context, in *BoardInput) (source, int64, func(), error) {
	after, now := in.LastEventID, false
	if after == 0 {
		if after, now = in.After, in.After < 0; now {
			var err error
			if after, err = s.board.FeedEnd(ctx); err != nil {
				return source{}, 0, nil, err
			}
		}
	}
	changed, done := s.feed.subscribe()
	facts := func(ctx context.Context, after int64) ([]fact, error) {
		if now {
			now = false
			return []fact{{after, PositionLine{"position"}}}, nil
		}
		return s.feed.facts(after, func() ([]fact, error) { return s.boardFacts(ctx, after) })
	}
	return source{facts: facts, changed: changed}, after, done, nil
}

// boardFacts returns the next events of all tasks, encoded.
func (s *Server) boardFacts(ctx context.Context, after int64) ([]fact, error) {
	entries, err := s.board.Feed(ctx, after, pageLength)
	last := map[task.ID]int{}
	for i, e := range entries {
		last[e.Task] = i
	}
	facts := make([]fact, len(entries))
	for i, e := range entries {
		line, lerr := forms.BoardLineOf(e)
		if lerr != nil {
			return facts[:i], lerr
		}
		if e.Event.Payload != nil && last[e.Task] == i {
			if sum, err := s.board.Summary(ctx, e.Task); err == nil { // else it was removed since
				line.Card = &forms.TaskListOf([]task.Summary{sum}, "").Items[0]
			}
		}
		b, lerr := json.Marshal(line) // it escapes line ends
		if lerr != nil {
			return facts[:i], lerr
		}
		facts[i] = fact{e.Position, json.RawMessage(b)}
	}
	return facts, err
}
