package app

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"pawl/approval"
	"pawl/request"
	"pawl/run"
	"pawl/runlog"
	"pawl/task"
	"pawl/view"
	"pawl/worker"
)

// A Session is a run that this process drives. It works in the background: what a face
// wants is handed in by a method, which returns when it is in the log, and what happens is
// seen with Follow. All methods may be called from any goroutine.
//
// A session is at rest when its turn has ended or waits for a person. It then continues by
// itself when that person answers, in this process or in another.
type Session struct {
	conversation
	worker *worker.Worker
	runner *worker.Runner

	changes []run.ConfigChange // recorded with what is handed in first
	asked   run.Output
	added   string // of folders that the model is told of with the next words

	stop  context.CancelFunc // ends drive
	begun chan struct{}      // closed when something was handed in
	done  chan struct{}      // closed when drive has ended

	mu      sync.Mutex
	turn    context.Context // of the turn that is driven, or of the next
	cancel  context.CancelCauseFunc
	driving bool
	closing bool          // Close was called: nothing more is taken
	rest    chan struct{} // closed while the session is at rest
	work    chan struct{} // closed while it is not
	err     error         // why it cannot be driven any more

	close func() error // closes once
}

func (w *Workspace) session(d *worker.Worker, r *worker.Runner) *Session {
	ctx, stop := context.WithCancel(context.Background())
	s := &Session{worker: d, runner: r, stop: stop,
		begun: make(chan struct{}), done: make(chan struct{}), rest: make(chan struct{})}
	s.conversation = conversation{w, r.ID(), s}
	s.restNow()
	s.turn, s.cancel = context.WithCancelCause(context.Background())
	s.close = sync.OnceValue(s.closeOnce)
	go s.drive(ctx)
	return s
}

// State returns the run's state after the last event, for reading only.
func (s *Session) State() run.State { return s.runner.State() }

// Follow yields the run's events after number after, and then what is new as it happens,
// until Close or the end of ctx; see [worker.Runner.Follow].
func (s *Session) Follow(ctx context.Context, after int64) iter.Seq2[view.Update, error] {
	return s.runner.Follow(ctx, after)
}

// drive drives the run whenever there is something to do, until the session is closed. It
// does not begin by itself, so that what others have put into the inbox of a resumed run
// is read together with what is handed in first.
func (s *Session) drive(ctx context.Context) {
	defer s.driven()
	select {
	case <-s.begun:
	case <-ctx.Done():
		return
	}
	for s.runner.Await(ctx) == nil {
		s.mu.Lock()
		if s.closing {
			s.mu.Unlock()
			return
		}
		turn := s.turn
		s.driving = true
		s.runner.Attend() // before anyone can see that it is driven: an interrupt counts from here on
		s.busy()
		s.mu.Unlock()
		_, err := s.runner.Run(turn)
		if err != nil {
			err = errors.Join(err, s.runner.Close()) // what was posted meanwhile is returned
		}
		s.mu.Lock()
		s.driving, s.err = false, err
		if turn.Err() != nil { // it was interrupted: the next turn is not
			s.turn, s.cancel = context.WithCancelCause(context.Background())
		}
		if err != nil || !s.runner.HasMail() {
			s.restNow()
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// driven says that the run is not driven any more.
func (s *Session) driven() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.done)
	if !isClosed(s.rest) {
		s.restNow()
	}
}

// restNow says that the session is at rest. s.mu is held.
func (s *Session) restNow() {
	close(s.rest)
	s.work = make(chan struct{})
}

// Busy returns a channel that is closed when the session is not at rest: at once if it works.
func (s *Session) Busy() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.work
}

// Over reports whether the run is not driven any more.
func (s *Session) Over() bool { return isClosed(s.done) }

// over reports whether the run is not driven any more, or will not be. s.mu is held.
func (s *Session) over() bool { return s.closing || s.err != nil || isClosed(s.done) }

// busy says that the session is not at rest. s.mu is held.
func (s *Session) busy() {
	if isClosed(s.rest) {
		s.rest = make(chan struct{})
		close(s.work)
	}
	if !isClosed(s.begun) {
		close(s.begun)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Wait waits until the session is at rest or closed, and returns the state then. An error
// says why the run cannot be driven any more, as a log that cannot be written, or is that
// of ctx.
func (s *Session) Wait(ctx context.Context) (run.State, error) {
	s.mu.Lock()
	rest := s.rest
	s.mu.Unlock()
	select {
	case <-rest:
	case <-ctx.Done():
		return s.State(), context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runner.State(), s.err
}

// hand hands in requests, and waits for the log. If ctx ends before the log has what may begin a turn,
// the turn that it begins is interrupted, and the log has both. A turn that is driven already is not:
// then the end of ctx only ends the wait.
func (s *Session) hand(ctx context.Context, _ string, requests ...request.Request) error {
	begins := len(requests) == 0 || slices.ContainsFunc(requests, request.Request.Begins)
	s.mu.Lock()
	first := begins && !s.driving
	if ctx.Err() != nil {
		if !first {
			s.mu.Unlock()
			return context.Cause(ctx)
		}
		s.cancel(worker.StopOf(ctx))
	}
	wait, err := s.post(func(changes []request.Request) func(context.Context) error {
		all := append(changes, requests...)
		if first {
			return s.runner.Post(ctx, all...)
		}
		return s.runner.Post(context.Background(), all...)
	})
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := wait(ctx); err == nil || ctx.Err() == nil || !first {
		return err
	}
	s.Interrupt(worker.StopOf(ctx).Interrupted)
	return wait(context.Background())
}

// ForTask hands in what is recorded together with actions on the task that the run belongs
// to: both are, or neither; see [worker.Runner.PostForTask]. Without words the run continues.
// While a turn is open the words are delivered with the next results, as message id.
func (s *Session) ForTask(ctx context.Context, id string, words []run.Part, actions []task.Action) error {
	var r request.Request = request.Continue{}
	if len(words) > 0 {
		r = request.Say{ID: id, Delivery: run.Steer, Parts: words}
	}
	s.mu.Lock()
	wait, err := s.post(func(changes []request.Request) func(context.Context) error {
		return s.runner.PostForTask(actions, append(changes, r)...)
	})
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return wait(ctx)
}

// post posts what is handed in, after the changes that are recorded with it. wait waits for the log.
// s.mu is held.
func (s *Session) post(post func(changes []request.Request) func(context.Context) error) (wait func(context.Context) error, err error) {
	if s.over() {
		return nil, errors.Join(worker.ErrClosed, s.err)
	}
	changes := s.changes
	first := make([]request.Request, len(changes))
	for i, c := range changes {
		first[i] = request.Configure{Change: c}
	}
	s.changes = nil
	s.busy()
	recorded := post(first)
	return func(ctx context.Context) error {
		err := recorded(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil && ctx.Err() == nil && len(s.changes) == 0 {
			s.changes = changes // they were refused together with the rest
		}
		if errors.Is(err, worker.ErrClosed) {
			return errors.Join(err, s.err)
		}
		return err
	}, nil
}

// Prompt says something to the agent and returns when that is in the log: it begins a turn,
// or answers the open question. While a turn is open it is delivered with the next results,
// as Steer does.
func (s *Session) Prompt(ctx context.Context, parts ...run.Part) error {
	return s.Say(ctx, string(runlog.NewID(time.Now())), run.Steer, parts...)
}

// Reply is Prompt, but if one run below this one waits with a question, it is the answer to that. If several
// do, the error is a [*runlog.QuestionsError].
func (s *Session) Reply(ctx context.Context, parts ...run.Part) error {
	switch open, err := s.Questions(); {
	case err != nil:
		return err
	case len(open) > 1:
		return &runlog.QuestionsError{Run: s.id, Questions: open}
	case len(open) == 1:
		return s.Answer(ctx, open[0], parts...)
	}
	return s.Prompt(ctx, parts...)
}

// Say says something to the agent as message id, by which it can be withdrawn until it is
// delivered: with the next results, or when the turn has ended. Without an open turn it is a
// prompt.
func (s *Session) Say(ctx context.Context, id string, delivery run.Delivery, parts ...run.Part) error {
	return s.tell(parts, func(parts []run.Part) error { return s.conversation.Say(ctx, id, delivery, parts...) })
}

// Answer answers an open question of the agent, or of one that it has started. An error says that the answer
// does not count, as when the question was answered before.
func (s *Session) Answer(ctx context.Context, q runlog.Question, parts ...run.Part) error {
	if q.Run != "" && q.Run != s.id {
		return s.conversation.Answer(ctx, q, parts...)
	}
	return s.tell(parts, func(parts []run.Part) error { return s.conversation.Answer(ctx, q, parts...) })
}

// tell sends words to the agent, and with them what it must be told with its next message. hand hands them in.
func (s *Session) tell(parts []run.Part, hand func(parts []run.Part) error) error {
	s.mu.Lock()
	asked, added := s.asked, s.added
	s.asked, s.added = run.Output{}, ""
	s.mu.Unlock()
	parts = parts[:len(parts):len(parts)]
	if asked.Schema != "" {
		parts = append(parts, run.Text(resultPrompt(asked)))
	}
	if added != "" {
		parts = append(parts, run.Text(added))
	}
	err := hand(parts)
	if err != nil { // it was told nothing
		s.mu.Lock()
		s.asked, s.added = asked, added
		s.mu.Unlock()
	}
	return err
}

// Continue lets the run continue without words: an open turn where it was, or a new turn. If
// the run waits for an answer, the error is a [*runlog.QuestionError].
func (s *Session) Continue(ctx context.Context) error {
	c := request.Continue{}
	if t := s.State().Turn; t.Open() {
		c.Turn = t.N
	}
	err := s.hand(ctx, "", c)
	if q, ok := errors.AsType[*request.QuestionError](err); ok {
		return &runlog.QuestionError{Run: s.id, Question: runlog.QuestionOf(run.CallState{Call: q.Call})}
	}
	return err
}

// Begin lets the run be driven without words: an open turn continues, and what others have put
// into the inbox of the run is read.
func (s *Session) Begin(ctx context.Context) error { return s.hand(ctx, "") }

// Finished reports whether the run needs words to continue: its last turn has completed, and
// nothing has come since, neither a message nor a change of its configuration.
func (s *Session) Finished(ctx context.Context) (bool, error) {
	if len(s.changes) > 0 || !s.State().Finished() {
		return false, nil
	}
	log, err := s.w.writing()
	if err != nil {
		return false, err
	}
	waiting, err := log.Inbox(ctx, s.id)
	return len(waiting) == 0, err
}

// Configure changes the run's configuration from the next step on. A turn that a process has left
// open is not continued by it: then the change is recorded with what is handed in first.
func (s *Session) Configure(ctx context.Context, c run.ConfigChange) error {
	s.mu.Lock()
	state := s.State()
	if !isClosed(s.begun) && state.Turn.Open() {
		defer s.mu.Unlock()
		state.Config = s.changed(state.Config)
		if err := s.runner.CheckConfig(state, c); err != nil {
			return err
		}
		s.changes = append(s.changes, c)
		return nil
	}
	s.mu.Unlock()
	return s.conversation.Configure(ctx, c)
}

// Config returns the configuration in which the run continues: its own, with what waits in its inbox and what is
// recorded with the next thing that is handed in.
func (s *Session) Config() run.Config {
	state := s.State()
	if log, err := s.w.writing(); err == nil {
		if c, _, err := waiting(context.Background(), log, state); err == nil { // else it is not known yet
			state.Config = c
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed(state.Config)
}

// changed returns a configuration with what is recorded with the next thing that is handed in. s.mu is held.
func (s *Session) changed(c run.Config) run.Config {
	for _, change := range s.changes {
		c = change.Apply(c)
	}
	return c
}

// decide answers a call of this run, which this process drives.
func (s *Session) decide(ctx context.Context, d request.Decide) error { return s.hand(ctx, "", d) }

// attend lets a run be driven that a process has left with an open turn: it takes what is
// answered to the runs below it.
func (s *Session) attend(ctx context.Context) error {
	s.mu.Lock()
	begun := isClosed(s.begun)
	s.mu.Unlock()
	if begun {
		return nil
	}
	return s.Begin(ctx)
}

// Approvals returns the calls that wait for a person, of this run and of those below it, with what
// the person has to see.
func (s *Session) Approvals() ([]approval.Approval, error) { return s.w.approvals(s.worker, s.State()) }

// Interrupt stops the turn that is driven, waits for a person, or is about to begin. When
// it returns nothing new starts and running operations are cancelled; the event follows. It
// reports whether there was a turn to stop.
func (s *Session) Interrupt(f run.Interrupted) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.runner.State().Turn
	switch {
	case s.over():
		return false
	case s.runner.Interrupt(f):
		return true
	case s.driving:
		return false
	case s.runner.HasMail(): // the turn is about to begin, or to continue
		s.cancel(worker.Stop{Interrupted: f})
		return true
	case !t.Open() || f.Turn != 0 && f.Turn != t.N:
		return false
	}
	// It waits for a person: the run is driven to take the interrupt.
	s.cancel(worker.Stop{Interrupted: f})
	s.busy()
	s.runner.Post(context.Background())
	return true
}

// A Reason is why a session ends, as hooks of [run.SessionEnd] are told it: the words of Claude Code (npm
// @anthropic-ai/claude-agent-sdk 0.3.330, sdk.d.ts, read 2026-11-28).
type Reason string

const (
	ForClear  Reason = "clear"             // another conversation begins
	ForResume Reason = "resume"            // one is continued
	ForExit   Reason = "prompt_input_exit" // the person leaves the terminal
)

// Ends says why Close is about to be called; without it the reason is other.
func (s *Session) Ends(why Reason) { s.runner.Ends(string(why)) }

// Close interrupts a turn that is driven as a shutdown, ends background jobs and releases
// the run. A turn that waits for a person stays open, and what was handed in and is not in
// the log is returned with [worker.ErrClosed]. It may be called several times; each call
// returns when the run is released.
func (s *Session) Close() error { return s.close() }

func (s *Session) closeOnce() error {
	s.mu.Lock()
	s.closing = true
	rest, driving := s.rest, s.driving
	s.mu.Unlock()
	if driving && runlog.WaitsForPerson(context.Background(), s.worker.Store, s.runner.State()) { // it is seen to wait for a person a moment before it is at rest, and its turn stays open
		select {
		case <-rest:
		case <-time.After(restPatience):
		}
	}
	s.runner.Interrupt(run.Interrupted{Cause: run.ByShutdown})
	s.stop()
	<-s.done
	return s.runner.Close()
}

// restPatience is how long a run that waits for a person may take to come to rest.
const restPatience = time.Second

// Viewers returns how many other processes follow the run at this moment.
func (s *Session) Viewers() int { return s.runner.Viewers() }

// JobsRun reports whether a background job of the run is running.
func (s *Session) JobsRun() bool { return s.runner.JobsRun() }
