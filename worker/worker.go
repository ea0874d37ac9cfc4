// Package worker drives runs: it performs the commands that a run owes and records the
// results.
//
// The loop itself is [run.Runner], which is pure: check, append durably, adopt. This
// package adds the clock, the model, tools, permission decisions, the inbox, child runs
// and viewers. If a worker stops at any moment, another that opens the run continues as
// if the first had not stopped.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pawl/hook"
	"pawl/internal/secret"
	"pawl/judge"
	"pawl/llm"
	"pawl/metrics"
	"pawl/output"
	"pawl/permission"
	"pawl/run"
	"pawl/sandbox"
	"pawl/store"
	"pawl/store/socket"
	"pawl/task"
	"pawl/tool"
	"pawl/view"
)

// A Config configures a [Worker].
type Config struct {
	Store store.Store    // required
	Tools *tool.Registry // required; see [Worker.SetTools]
	// Provider returns the provider for a model of the form provider/name, and
	// the name that this provider knows it by. Required.
	Provider func(model string) (llm.Provider, string, error)
	// Agent runs the turns of external agents; nil: runs of external agents cannot be
	// driven.
	Agent Agent
	// External reports whether a model is an external agent's; nil: none is.
	External func(model string) bool
	// AgentTools are tools that only external agents have: through them they ask what pawl
	// decides for them.
	AgentTools []tool.Tool
	Authorizer Authorizer // required
	OnAsk      OnAsk
	// Structured reports whether a model's provider can be asked for an answer that
	// fits a JSON Schema; nil: none can.
	Structured func(model string) bool
	// Price adds what usage of a model costs, when that is known; nil: unknown.
	Price func(model string, u run.Usage) run.Usage
	// Effort returns how a level of effort is asked of a model, and what a person has to
	// know of it; nil: it is never sent.
	Effort func(model, level string) (e llm.Effort, note string)
	// JudgeModel returns the model that answers in mode auto what a run would ask; empty: none does. nil: its own.
	JudgeModel func(c run.Config) string
	// Check returns an error if a configuration cannot be used on this machine (a mode
	// that needs a sandbox, a model without a key); nil: all can.
	Check func(c run.Config) error
	// TaskOf returns the task that a run belongs to; nil: none.
	TaskOf func(context.Context, run.ID) (Task, error)
	// Save saves the folder that a run works in for other machines. It is called after each call that may have changed
	// something and before its result is recorded, so that a machine that is lost has lost at most that call. nil: nothing is.
	Save func(ctx context.Context, workspace string) error
	// StateDir is the folder of the workspace in the user's state folder.
	StateDir string
	// Own are pawl's own folders and files, which no call may write: absolute paths with
	// links resolved.
	Own []string
	// Reads are folders beside the workspace that the tools which read files open too: absolute, links resolved.
	Reads []string
	// Instructions returns, for a run as it began, a run's workspace and the files that it was given since, what reads the
	// instructions for the paths that its calls touch; nil: no run has any but those of its start.
	Instructions func(c run.Created, given []string) func(paths []string) run.Instructions
	// Hidden returns the secrets whose values are replaced by their names in results, outputs and the log; nil: there are
	// none.
	Hidden func() *secret.Values
	// Hooks returns the hooks of runs; nil, and a nil set: there are none.
	Hooks func() *hook.Set
	// Sandbox confines the commands of runs; nil: they have the user's own authority.
	Sandbox *sandbox.Policy
	// SandboxOf returns what confines the commands of a run that works in a folder; nil: that
	// is Sandbox, for all runs. With an error the run is neither made nor opened.
	SandboxOf func(workspace string) (*sandbox.Policy, error)
	// Dirs returns what confines the commands of a run with further folders, and which of
	// them tools may use; note says why not all. nil: no run has any.
	Dirs func(workspace string, dirs []string) (confined *sandbox.Policy, usable []string, note string)
	// Outputs stores results, and OutputLimits bound what is delivered inline (zero: the
	// defaults). nil: results are not stored, and bounded by their tools.
	Outputs      *output.Store
	OutputLimits output.Limits
	// Root reports that commands run as root; see [permission.Request].
	Root bool
	// SocketDir is where the owner's socket is made (see [socket.Dir]);
	// empty: none.
	SocketDir string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is for diagnostics, never file contents or keys; nil: none.
	Log *slog.Logger
	// Metrics counts what runs do in this process; nil: nothing is counted.
	Metrics *metrics.Metrics
}

// A Worker drives runs. It is safe for concurrent use, and one may drive many runs.
type Worker struct {
	Config
	tools    atomic.Pointer[tool.Registry] // nil: those of Config
	toolsets shared[toolsetKey, toolset]
	offers   shared[offerKey, offer]
	idle     idle
}

// SetTools replaces the tools of all runs from their next request on, as when a server of
// tools comes or goes. A call of a tool that has gone is answered with an error; one that
// runs is not disturbed.
func (w *Worker) SetTools(r *tool.Registry) { w.tools.Store(r) }

// registry returns the tools of runs now.
func (w *Worker) registry() *tool.Registry {
	if r := w.tools.Load(); r != nil {
		return r
	}
	return w.Tools
}

// New returns a worker, or an error that names the required part that is missing.
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
	return &Worker{Config: c}, nil
}

// judge returns the judge of the calls of all runs.
func (w *Worker) judge() *judge.Judge {
	return &judge.Judge{Rules: w.Authorizer, Own: w.Own, Root: w.Root}
}

// An Authorizer says what may run. It is safe for concurrent use.
type Authorizer interface {
	judge.Rules
	// AddRules stores rules of a person; they are in force when it returns.
	AddRules(id run.ID, rules permission.Rules) error
	// Fetch gets what other machines have stored for a run that is driven here from now on.
	Fetch(ctx context.Context, id run.ID) error
	// Inherit stores, for a child run that begins, the rules of its parent that forbid or ask.
	Inherit(parent, child run.ID) error
	// Versions identifies the rules in force for each of some runs. A call that needs approval
	// is not decided on again until the version or the run has changed.
	Versions(ids ...run.ID) []string
}

// A Task is the task that a run belongs to: what happens in the run is recorded on the task too, in the same append. It
// is used by one goroutine at a time.
type Task interface {
	// Takes returns why the task does not take a result that a call submits in s, for the agent; "" if it may: that
	// is certain when it is appended.
	Takes(s run.State, c run.CallState, value string) string
	// Append makes events of the run durable together with what they and the batches mean for the task. before and
	// after are the states of the run; the first event of a new run is in both. If the task does not take a batch,
	// which says so then, or a result, nothing is written and again is true: the step is to be made again.
	Append(before, after run.State, events []run.Event, batches []*task.Batch, taken []store.Taken) (again bool, err error)
	// Card returns the task as it was at the last append.
	Card() task.State
	// Waits records that calls wait for a person.
	Waits(id run.ID, calls []run.CallState)
}

// OnAsk says what happens to a call that needs a person's approval.
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
	listen *socket.Listener
	feed   feed
	env    tool.Env

	above     sync.Mutex
	ancestors []ancestor // the parent first; guarded by above

	// The fields below belong to the goroutine in Run.
	core    *run.Runner
	created *run.Created // not on disk yet: appended with the first turn; nil once it is
	fresh   bool         // the log was replayed, and operations in flight then are not settled yet
	ops     map[string]*operation
	rows    map[int64]bool        // inbox rows offered to the run; true until taken
	below   below                 // the runs that parked calls wait for
	calls   map[string]int64      // rows that are calls from outside, by key
	asked   map[run.CallID]string // version at which the call was found to need approval: see world.Decide
	waiting []run.CallID          // shown last
	// What the batch that is being made asks for when it is durable: rules, by the calls whose
	// decisions have them, and notices.
	rules   map[run.CallID][]permission.Rule
	notices []string
	// rulesChanged says that rules of the run's own decisions were stored since the last step.
	rulesChanged bool
	resolved     map[run.CallID]arguments   // of the last message's calls
	inspected    map[run.CallID]*inspection // in the batch that is being made
	prepared     bool                       // see prepareTools
	letters      []*letter                  // of the step that is made
	done         chan run.Completion
	model        *modelSession
	dirs         []string        // of the configuration that env is for
	stuck        *time.Timer     // runs after an interrupt until all operations have ended; nil: not running
	agent        <-chan struct{} // closed when the external agent's last turn has ended; nil: it had none

	task Task // that the run belongs to; nil: none

	hooks   *hook.Set        // nil: there are none
	takenAt int64            // the last event when this process took the run up
	closing bool             // nothing starts but hooks of the end of a session
	late    []run.Completion // of hooks that went on when Run had returned
	// instructions are those for paths that a call touches; nil: there are none. It is safe for concurrent use.
	instructions func(paths []string) run.Instructions

	life context.Context // is done when the run is closed
	end  context.CancelFunc
	wake chan struct{}
	mail mailbox

	snapshot atomic.Pointer[run.State]
	unsaved  atomic.Pointer[string] // why the folder was not saved at last; empty: it was
	metrics  *metrics.Run           // nil: nothing is counted

	choosing sync.Mutex
	toolsKey toolsetKey
	toolset  toolset

	mu     sync.Mutex
	reason string // why the process lets go of the run, for hooks
	gate   run.Gate
	turn   context.Context // of all operations; cancelled by an interrupt
	cancel context.CancelCauseFunc
}

// Create makes a new run. It is written to the store with its first turn. watch, if not
// nil, is called with each update, from several goroutines, one at a time; it must not
// block. The caller must call Close.
func (w *Worker) Create(ctx context.Context, c run.Created, watch func(view.Update)) (*Runner, error) {
	if err := w.check(c.Config); err != nil {
		return nil, err
	}
	r, err := w.own(ctx, c.Run, watch)
	if err != nil {
		return nil, err
	}
	s, err := run.State{}.Apply(run.Event{At: w.now().UTC(), Payload: c})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.created = &c
	err = r.take(s)
	if err == nil {
		err = r.joinTask(ctx, r.id)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Open becomes the owner of an existing run and replays its log. The error is an
// [*store.OwnedError] if another process owns it. For watch and Close see Create.
func (w *Worker) Open(ctx context.Context, id run.ID, watch func(view.Update)) (*Runner, error) {
	r, err := w.own(ctx, id, watch)
	if err != nil {
		return nil, err
	}
	if err = w.Authorizer.Fetch(ctx, id); err == nil {
		err = r.load(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (w *Worker) own(ctx context.Context, id run.ID, watch func(view.Update)) (*Runner, error) {
	r := &Runner{
		w: w, id: id, feed: feed{watch: watch},
		ops: map[string]*operation{}, rows: map[int64]bool{}, calls: map[string]int64{},
		asked: map[run.CallID]string{}, rules: map[run.CallID][]permission.Rule{}, resolved: map[run.CallID]arguments{}, inspected: map[run.CallID]*inspection{},
		done: make(chan run.Completion, 64), wake: make(chan struct{}, 1),
	}
	if w.Metrics != nil {
		r.metrics = w.Metrics.Run()
	}
	r.life, r.end = context.WithCancel(context.Background())
	r.turn, r.cancel = context.WithCancelCause(context.Background())
	addr := ""
	// The socket is optional: without it, others poll the database.
	if w.SocketDir != "" {
		if l, err := socket.Listen(w.SocketDir); err == nil {
			r.listen, addr = l, l.Addr()
			r.feed.listen = l
			l.Greet(r.feed.greeting)
		} else if w.Log != nil {
			w.Log.Warn("no socket for viewers", "run", id, "error", err)
		}
	}
	lease, err := w.Store.Own(ctx, id, addr)
	if err != nil {
		if r.listen != nil {
			r.listen.Close()
		}
		return nil, err
	}
	r.lease = lease
	return r, nil
}

// load replays the log.
func (r *Runner) load(ctx context.Context) error {
	s, err := run.ReplaySeq(r.w.Store.Events(ctx, r.id, 0))
	switch {
	case errors.Is(err, run.ErrOrder):
		return fmt.Errorf("run %s: the log is inconsistent: %w; check it with `pawl runs verify %s`", r.id, err, r.id)
	case err != nil:
		return err
	case s.Created.Run == "":
		return fmt.Errorf("run %s: %w", r.id, store.ErrNotFound)
	}
	if err := r.checkTail(s); err != nil {
		return err
	}
	r.fresh = true
	if err := r.take(s); err != nil {
		return err
	}
	return r.joinTask(ctx, r.id)
}

// joinTask finds the task that a run belongs to: this one, or its parent.
func (r *Runner) joinTask(ctx context.Context, of run.ID) (err error) {
	r.task, err = r.w.TaskOf(ctx, of)
	return err
}

// take sets the state from which the run is driven.
func (r *Runner) take(s run.State) error {
	confined := r.w.Sandbox
	if r.w.SandboxOf != nil {
		var err error
		if confined, err = r.w.SandboxOf(s.Created.Workspace); err != nil {
			return err
		}
	}
	r.core = run.NewRunner(s)
	if r.w.Instructions != nil && !s.Created.External {
		r.instructions = r.w.Instructions(s.Created, s.Instructed)
	}
	if r.takenAt = s.Seq; r.w.Hooks != nil {
		r.hooks = r.w.Hooks()
	}
	r.env = tool.Env{
		Workspace: s.Created.Workspace, Reads: r.w.Reads, StateDir: r.w.StateDir, Run: r.id, Conversation: s.Created.Conversation(),
		Session: tool.NewSession(s.Created.Workspace, s.Tools), Sandbox: confined, Outputs: r.w.Outputs,
		Past: Past(context.Background(), r.w.Store, s.Created, s.Inherited), Spawn: r.spawn, Agents: r.agents(s.Created),
		Specs: func() []tool.Spec {
			tools, _ := r.tools(r.State().Config)
			return tools.Specs()
		},
	}
	r.publish()
	return nil
}

// useDirs lets the run's tools use the further folders of its configuration.
func (r *Runner) useDirs() {
	dirs := r.core.State.Config.Dirs
	if r.w.Dirs == nil || slices.Equal(dirs, r.dirs) {
		return
	}
	var note string
	r.env.Sandbox, r.env.Dirs, note = r.w.Dirs(r.env.Workspace, dirs)
	if r.dirs = dirs; note != "" {
		r.feed.show(view.Update{Notice: note})
	}
}

// Past returns the runs that a fork was forked from, the nearest first, so that it can
// query their outputs; inherited reports whether a call was copied from them. A run that
// cannot be read ends the list.
func Past(ctx context.Context, st store.Store, c run.Created, inherited func(run.CallID) bool) []output.Past {
	var past []output.Past
	for c.ForkedFrom != "" && len(past) < maxForks {
		from := c.ForkedFrom
		if c = createdOf(ctx, st, from); c.Run == "" {
			break // removed with its outputs, or unreadable
		}
		past = append(past, output.Past{Conversation: c.Conversation(), Run: from, Has: inherited})
	}
	return past
}

// createdOf returns the first event of a run; a zero one if it was removed or cannot be read: an error
// comes without an event.
func createdOf(ctx context.Context, st store.Store, id run.ID) run.Created {
	for e := range st.Events(ctx, id, 0) {
		c, _ := e.Payload.(run.Created)
		return c
	}
	return run.Created{}
}

// maxForks bounds how far back the forks of forks are followed.
const maxForks = 100

// State returns the state after the last append, for reading only. It may be called from
// any goroutine.
func (r *Runner) State() run.State { return *r.snapshot.Load() }

func (r *Runner) publish() {
	r.useDirs()
	s := r.core.State.Snapshot()
	r.snapshot.Store(&s)
}

// ID returns the run's id.
func (r *Runner) ID() run.ID { return r.id }

// Close runs the hooks of the end of a session, ends the run's background jobs and releases the run. It may be called twice, but
// not while Run is.
func (r *Runner) Close() error {
	r.endSession()
	r.mu.Lock()
	r.cancel(errClosed)
	r.mu.Unlock()
	r.end()
	if r.env.Session != nil {
		r.env.Session.Close()
	}
	r.returnMail()
	var err error
	if r.lease != nil {
		err = r.lease.Release()
		r.lease = nil
	}
	r.feed.close() // an abandoned operation may still call show
	if r.listen != nil {
		err = errors.Join(err, r.listen.Close())
		r.listen = nil
	}
	return err
}

var errClosed = errors.New("the run was closed")

// external reports whether a model is an external agent's.
func (w *Worker) external(model string) bool { return w.External != nil && w.External(model) }

// check returns an error if a configuration cannot be used here.
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
