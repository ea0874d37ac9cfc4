// Package worker carries runs forward: it performs the commands that a run owes
// and records what came of them.
//
// The loop itself is [run.Runner], which is pure: check, append durably, adopt. What
// this package adds is the world: the clock, the model, tools, the decision of the
// permission rules, the inbox, child runs and those who watch. A worker that stops at
// any instant and another that takes over do the same as one that never stopped.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"pawl/llm"
	"pawl/output"
	"pawl/permission"
	"pawl/run"
	"pawl/sandbox"
	"pawl/store"
	"pawl/tool"
)

// A Config is what a [Worker] works with.
type Config struct {
	Store store.Store    // required
	Tools *tool.Registry // required
	// Provider returns the provider for a model of the form provider/name, and
	// the name that this provider knows it by. Required.
	Provider func(model string) (llm.Provider, string, error)
	// Agent is what gives an external agent its turns; nil: runs of external agents
	// cannot be driven.
	Agent      Agent
	Authorizer Authorizer // required
	OnAsk      OnAsk
	// Structured reports whether a model's provider can be asked for an answer that
	// fits a JSON Schema; nil: none can.
	Structured func(model string) bool
	// Price adds what usage of a model costs, when that is known; nil: unknown.
	Price func(model string, u run.Usage) run.Usage
	// Check returns why a run must not work with a configuration on this machine (a
	// mode that needs a sandbox, a model without a key); nil: anything goes.
	Check func(c run.Config) error
	// StateDir is the folder of the workspace in the user's state folder.
	StateDir string
	// Own are pawl's own folders and files, where no call writes: absolute, with
	// links resolved.
	Own []string
	// Sandbox is what confines the commands of runs; nil: they have the person's own
	// authority.
	Sandbox *sandbox.Policy
	// Outputs is where results are stored, and OutputLimits what is delivered inline
	// (zero: the defaults); nil: results are bounded by their tools and not stored.
	Outputs      *output.Store
	OutputLimits output.Limits
	// Root: commands have the machine's authority; see [permission.Request].
	Root bool
	// SocketDir is where the owner's socket is made (see [store.RuntimeDir]);
	// empty: none.
	SocketDir string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is for diagnostics, never file contents or keys; nil: none.
	Log *slog.Logger
}

// A Worker drives runs. It is safe for concurrent use, and one may drive many runs.
type Worker struct{ Config }

// New returns a worker, or says which part it lacks.
func New(c Config) (*Worker, error) {
	switch {
	case c.Store == nil:
		return nil, errors.New("a worker needs a store")
	case c.Tools == nil:
		return nil, errors.New("a worker needs tools")
	case c.Provider == nil:
		return nil, errors.New("a worker needs a source of models")
	case c.Authorizer == nil:
		return nil, errors.New("a worker needs an authorizer: without one nothing may run")
	}
	return &Worker{c}, nil
}

// An Authorizer says what may run. It is safe for concurrent use.
type Authorizer interface {
	// Decide decides whether a call of a run may run.
	Decide(id run.ID, m permission.Mode, r permission.Request) permission.Decision
	// Propose returns the rules that a person means by allowing a call for always.
	Propose(id run.ID, m permission.Mode, r permission.Request) permission.Proposal
	// AddRules stores rules that a person has made; they count when it returns.
	AddRules(id run.ID, rules permission.Rules) error
	// Version identifies the rules that count for a run: as long as it is the same, and
	// so is the run, a call that needs approval is not decided on again.
	Version(id run.ID) string
}

// OnAsk says what becomes of a call that needs a person's approval.
type OnAsk string

const (
	AskDeny OnAsk = "deny" // it is refused, and the model is told what would be allowed
	AskWait OnAsk = "wait" // it waits: Run returns with the turn open, and a decision can be given later
	AskFail OnAsk = "fail" // the turn fails
)

// A Runner owns one run and drives it. Run is called by one goroutine at a time;
// Interrupt and Wake from any.
type Runner struct {
	w      *Worker
	id     run.ID
	lease  store.Lease
	listen *store.Listener
	watch  func(View)
	env    tool.Env

	// What follows belongs to the goroutine in Run.
	core     *run.Runner
	created  *run.Created // not on disk yet: it goes with the first turn
	fresh    bool         // the log was replayed, and what was under way is not settled yet
	ops      map[string]*operation
	rows     map[int64]bool        // rows of the inbox that this process has offered to the run
	calls    map[string]int64      // rows that are calls from outside, by key
	asked    map[run.CallID]string // when it was found that a person has to decide: see Decide
	leads    map[run.CallID][]string
	resolved map[run.CallID]arguments // of the last message's calls
	storing  tally                    // results that are being stored
	done     chan run.Completion
	model    *modelSession
	stuck    *time.Timer     // runs after an interrupt, until what was started has returned
	agent    <-chan struct{} // closed when the external agent's last turn has ended; nil: it had none

	wake chan struct{}

	snapshot atomic.Pointer[run.State]

	showing sync.Mutex // one View at a time

	kits sync.Mutex
	kit  kit // of kits

	mu     sync.Mutex
	gate   run.Gate
	turn   context.Context // of everything under way; cancelled by an interrupt
	cancel context.CancelCauseFunc
}

// Create makes a new run, which is on disk with its first turn, not before. watch,
// if not nil, is told what happens; it is called from several goroutines, one at
// a time, and must not block.
func (w *Worker) Create(ctx context.Context, c run.Created, watch func(View)) (*Runner, error) {
	if err := w.check(c.Config); err != nil {
		return nil, err
	}
	d, err := w.own(ctx, c.Run, watch)
	if err != nil {
		return nil, err
	}
	s, err := run.State{}.Apply(run.Event{At: w.now().UTC(), Payload: c})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.created = &c
	d.take(s)
	return d, nil
}

// Open takes a run that exists and replays its log. An [*store.OwnedError] says that
// another process has it.
func (w *Worker) Open(ctx context.Context, id run.ID, watch func(View)) (*Runner, error) {
	d, err := w.own(ctx, id, watch)
	if err != nil {
		return nil, err
	}
	if err := d.load(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (w *Worker) own(ctx context.Context, id run.ID, watch func(View)) (*Runner, error) {
	d := &Runner{
		w: w, id: id, watch: watch,
		ops: map[string]*operation{}, rows: map[int64]bool{}, calls: map[string]int64{},
		asked: map[run.CallID]string{}, leads: map[run.CallID][]string{}, resolved: map[run.CallID]arguments{},
		done: make(chan run.Completion, 64), wake: make(chan struct{}, 1),
	}
	d.turn, d.cancel = context.WithCancelCause(context.Background())
	socket := ""
	// Without the socket others look at the database every 200 ms; a run is not
	// refused for lack of it.
	if w.SocketDir != "" {
		if l, err := store.Listen(w.SocketDir); err == nil {
			d.listen, socket = l, l.Addr()
		} else if w.Log != nil {
			w.Log.Warn("no socket for viewers", "run", id, "error", err)
		}
	}
	lease, err := w.Store.Own(ctx, id, socket)
	if err != nil {
		if d.listen != nil {
			d.listen.Close()
		}
		return nil, err
	}
	d.lease = lease
	return d, nil
}

// load replays the log.
func (d *Runner) load(ctx context.Context) error {
	s, err := run.ReplaySeq(d.w.Store.Events(ctx, d.id, 0))
	switch {
	case errors.Is(err, run.ErrOrder):
		return fmt.Errorf("run %s: the log is not consistent: %w; look at it with: pawl runs verify %s", d.id, err, d.id)
	case err != nil:
		return err
	case s.Created.Run == "":
		return fmt.Errorf("run %s: %w", d.id, store.ErrNotFound)
	}
	if err := d.checkTail(s); err != nil {
		return err
	}
	d.fresh = true
	d.take(s)
	d.restore()
	return nil
}

// take makes s the state that the run is driven from.
func (d *Runner) take(s run.State) {
	d.core = run.NewRunner(s)
	d.publish()
	d.env = tool.Env{
		Workspace: s.Created.Workspace, StateDir: d.w.StateDir, Run: d.id, Conversation: s.Created.Conversation(),
		Session: tool.NewSession(s.Created.Workspace, s.Tools), Sandbox: d.w.Sandbox, Outputs: d.w.Outputs,
		Past: Past(context.Background(), d.w.Store, s.Created, s.Inherited), Spawn: d.spawn,
	}
}

// Past returns what a fork has in its context of the runs that it was forked from,
// the nearest first, so that it can ask their outputs; inherited reports whether a call
// is part of it. What cannot be read is left out.
func Past(ctx context.Context, st store.Store, c run.Created, inherited func(run.CallID) bool) []output.Past {
	var past []output.Past
	for c.ForkedFrom != "" && len(past) < maxForks {
		from := c.ForkedFrom
		c = run.Created{}
		for e, err := range st.Events(ctx, from, 0) {
			if err == nil {
				c, _ = e.Payload.(run.Created)
			}
			break
		}
		if c.Run == "" {
			break // it was removed, and its outputs with it
		}
		past = append(past, output.Past{Conversation: c.Conversation(), Run: from, Has: inherited})
	}
	return past
}

// maxForks bounds how far back the forks of forks are followed.
const maxForks = 100

// State returns the run as it was after the last append, for reading. It may be called
// from any goroutine.
func (d *Runner) State() run.State { return *d.snapshot.Load() }

func (d *Runner) publish() {
	s := d.core.State.Snapshot()
	d.snapshot.Store(&s)
}

// ID returns the run's id.
func (d *Runner) ID() run.ID { return d.id }

// Close gives the run up and ends its background jobs. It may be called twice.
func (d *Runner) Close() error {
	d.cancel(errClosed)
	if d.env.Session != nil {
		d.env.Session.Close()
	}
	d.storing.Wait()
	var err error
	if d.lease != nil {
		err = d.lease.Release()
		d.lease = nil
	}
	d.showing.Lock() // an operation that was left behind may still have something to show
	defer d.showing.Unlock()
	if d.listen != nil {
		err = errors.Join(err, d.listen.Close())
		d.listen = nil
	}
	return err
}

var errClosed = errors.New("the run was closed")

// check returns why a configuration must not be used here.
func (w *Worker) check(c run.Config) error {
	if w.Check == nil {
		return nil
	}
	return w.Check(c)
}

func (w *Worker) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}

func (w *Worker) debug(msg string, args ...any) {
	if w.Log != nil {
		w.Log.Debug(msg, append([]any{"pid", os.Getpid()}, args...)...)
	}
}
