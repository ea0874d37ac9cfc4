// Package worker carries runs forward: it performs the commands that a run owes
// and records what came of them.
//
// It is a straight line - check with Apply, append durably, adopt - around the
// machine in package run, which decides everything: a worker that stops at any
// instant and another that goes on do the same as one that never stopped. What
// it adds is the world: the clock, the model, tools, the decision of the
// permission rules, the inbox, and those who watch.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"pawl/llm"
	"pawl/output"
	"pawl/permission"
	"pawl/run"
	"pawl/sandbox"
	"pawl/store"
	"pawl/tool"
)

// A Worker knows what drivers of runs need. Its fields are set before use and
// not changed. One worker may drive many runs.
type Worker struct {
	Store store.Store
	Tools *tool.Registry
	// Provider returns the provider for a model of the form provider/name, and
	// the name that this provider knows it by.
	Provider func(model string) (llm.Provider, string, error)
	Judge    Judge
	OnAsk    OnAsk
	// Structured reports whether a model's provider can be asked for an answer that
	// fits a JSON Schema; nil: none can.
	Structured func(model string) bool
	// Price adds what usage of a model costs, where that is known; nil: unknown.
	Price func(model string, u run.Usage) run.Usage
	// StateDir is the folder of the workspace in the user's state folder.
	StateDir string
	// Own are pawl's own folders and files, where no call writes: absolute, with
	// links resolved.
	Own []string
	// Sandbox is what confines the commands of runs; nil: nothing does, and they have
	// the person's own authority.
	Sandbox *sandbox.Policy
	// Outputs is where results are stored, and OutputLimits what is delivered inline
	// (zero: the defaults); nil: results are bounded by their tools and stored nowhere.
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

// A Judge says what may run. It is safe for concurrent use.
type Judge interface {
	// Decide decides whether a call of a run may run.
	Decide(id run.ID, m permission.Mode, r permission.Request) permission.Decision
	// Propose returns the rules that a person means by allowing a call for always.
	Propose(id run.ID, m permission.Mode, r permission.Request) permission.Proposal
	// Keep stores rules that a person has made; from when it returns they count.
	Keep(id run.ID, rules permission.Rules) error
}

// OnAsk says what becomes of a call that a person would have to decide on.
type OnAsk string

const (
	AskDeny OnAsk = "deny" // it is refused, and the model is told what would be allowed
	AskWait OnAsk = "wait" // it waits: Run returns with the turn open, and a decision can be given later
	AskFail OnAsk = "fail" // the turn fails
)

// A Driver owns one run and drives it. Run is called by one goroutine at a time;
// Interrupt and Wake from any.
type Driver struct {
	w      *Worker
	id     run.ID
	lease  store.Lease
	listen *store.Listener
	watch  func(View)
	env    tool.Env

	// What follows belongs to the goroutine in Run.
	state   run.State
	created *run.Created // not on disk yet: it goes with the first turn
	since   time.Time    // Run took the turn up
	flights map[string]*flight
	decided map[run.CallID]bool // by rule, in the append that is being made
	// leads is where the paths of calls lead that are about to start, as the rules
	// have just seen it.
	leads    map[run.CallID][]string
	resolved map[run.CallID]arguments // of the last message's calls
	storing  tally                    // results that are being stored
	landed   chan landing
	speaks   *speech // with the model that the run has now
	// The tools of the run where it has to hand in a result; see equip.
	tools      *tool.Registry
	submission *tool.Submission
	equipped   run.Output
	stuck      *time.Timer // runs after an interrupt, until what was started has returned

	wake chan struct{}

	showing sync.Mutex // one View at a time

	mu      sync.Mutex
	pending *run.Interrupted // wanted; recorded or not, its turn is not over
	next    *run.Interrupted // wanted since then: it stops what pending's words begin
	turn    context.Context  // of everything under way; cancelled by an interrupt
	cancel  context.CancelCauseFunc
}

// Create makes a new run, which is on disk with its first turn, not before. watch,
// if not nil, is told what happens; it is called from several goroutines, one at
// a time, and must not block.
func (w *Worker) Create(ctx context.Context, c run.Created, watch func(View)) (*Driver, error) {
	d, err := w.own(ctx, c.Run, watch)
	if err != nil {
		return nil, err
	}
	d.env.Workspace, d.env.Conversation = c.Workspace, c.Run
	if d.state, err = d.state.Apply(run.Event{At: w.now(), Fact: c}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.created = &c
	return d, nil
}

// Open takes a run that exists: it replays the log, and records what was lost
// with the process that drove it before. An [*store.OwnedError] says that another
// process has it.
func (w *Worker) Open(ctx context.Context, id run.ID, watch func(View)) (*Driver, error) {
	d, err := w.own(ctx, id, watch)
	if err != nil {
		return nil, err
	}
	if err := d.load(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (w *Worker) own(ctx context.Context, id run.ID, watch func(View)) (*Driver, error) {
	d := &Driver{
		w: w, id: id, watch: watch,
		flights: map[string]*flight{}, landed: make(chan landing, 64),
		wake:     make(chan struct{}, 1),
		env:      tool.Env{StateDir: w.StateDir, Run: id, Session: &tool.Session{}, Sandbox: w.Sandbox, Outputs: w.Outputs},
		resolved: map[run.CallID]arguments{},
	}
	d.turn, d.cancel = context.WithCancelCause(context.Background())
	socket := ""
	// Without the socket others look at the database every 200 ms; a run is not
	// refused for want of it.
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

// load replays the log and settles what was lost.
func (d *Driver) load(ctx context.Context) error {
	s, err := run.ReplaySeq(d.w.Store.Events(ctx, d.id, 0))
	if errors.Is(err, run.ErrOrder) {
		return fmt.Errorf("run %s: the log does not make sense: %w; look at it with: pawl runs verify %s", d.id, err, d.id)
	}
	if err != nil {
		return err
	}
	if s.Created.Run == "" {
		return fmt.Errorf("run %s: %w", d.id, store.ErrNotFound)
	}
	d.state = s
	d.env.Workspace, d.env.Conversation = s.Created.Workspace, s.Created.Run
	if f := s.Turn.Interrupt; s.Turn.Open && f.Cause != "" { // it is being stopped still
		d.pending = &f
		d.cancel(Stop{f})
	}
	var lost []run.Event
	for _, e := range s.Lost() {
		e.At = d.w.now()
		lost = append(lost, run.Event{At: e.At, Fact: d.reconcile(e.Fact)})
	}
	d.restore()
	return d.commit(lost)
}

// reconcile gives the tool of a lost call the chance to tell what became of it.
func (d *Driver) reconcile(f run.Fact) run.Fact {
	lost, ok := f.(run.CallSettled)
	if !ok || lost.Outcome != run.Unknown {
		return f
	}
	for _, c := range d.state.Turn.Calls {
		if c.ID != lost.Call {
			continue
		}
		tools, _ := d.equip(d.state.Config.Output)
		t, ok := tools.Get(c.Tool)
		r, can := t.(tool.Reconciler)
		if !ok || !can {
			return f
		}
		res, known := r.Reconcile(d.env, tool.Call{Run: d.id, ID: c.ID, Args: d.arguments(c.Call).json})
		if known {
			return settled(c.ID, res, run.OK)
		}
	}
	return f
}

// State returns the run as it is. It is for the goroutine that calls Run, between
// calls of it.
func (d *Driver) State() run.State { return d.state }

// ID returns the run's id.
func (d *Driver) ID() run.ID { return d.id }

// Close gives the run up and ends its background jobs. It may be called twice.
func (d *Driver) Close() error {
	d.cancel(errClosed)
	d.env.Session.Close()
	d.storing.Wait()
	var err error
	if d.lease != nil {
		err = d.lease.Release()
		d.lease = nil
	}
	d.showing.Lock() // what was left behind may still have something to show
	defer d.showing.Unlock()
	if d.listen != nil {
		err = errors.Join(err, d.listen.Close())
		d.listen = nil
	}
	return err
}

var errClosed = errors.New("the driver was closed")

func (w *Worker) now() time.Time {
	if w.Now != nil {
		return w.Now().UTC()
	}
	return time.Now().UTC()
}

func (w *Worker) debug(msg string, args ...any) {
	if w.Log != nil {
		w.Log.Debug(msg, append([]any{"pid", os.Getpid()}, args...)...)
	}
}
