package app

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"pawl/agent"
	"pawl/config"
	"pawl/external"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
	"pawl/worker"
)

// A Task says what a session is for, beyond the settings of its workspace.
type Task struct {
	// Output is the result that has to be handed in; zero: words.
	Output run.Output
	// Model and Mode are those of a new run; "": those of the settings. Resume does not use
	// them.
	Model, Mode string
	// Keeps: a resumed run keeps its configuration. What was given for this process was given for
	// the run that it began with, or before a person changed this one.
	Keeps bool
	// Name is what the person calls the run; "": nothing, or what it is called already.
	Name string
	// Agent is the name of the agent that works; empty: none. Without an Output, the agent's
	// own, if it declares one, has to be submitted.
	Agent string
	// Run is the id of the new run; empty: one is made.
	Run run.ID
	// Limits are at most those of each turn, beside the settings'; zero fields: no more.
	Limits run.Limits

	// Rules hold in a new run alone, beside its agent's.
	Rules []permission.Rule
	// Dir is where it works; "": in the workspace.
	Dir string
	// Needed is a tool that it calls for certain: an MCP server that has it is waited for; "": none is known.
	Needed string
	// Typed is what a new run begins with: a command may say which agent and model work, and what they use.
	Typed Typed

	effort string     // of the command; "": that of the settings
	tools  run.Grants // that the command uses, and no others

	// budgeted: Cost and Tokens of Limits are what is left of the budget of the run's task, which a
	// resumed run gets anew.
	budgeted bool
}

// Start makes a new run with the settings of the workspace. It is in the log with its first
// prompt. A model that cannot be used is an error here, and no run.
func (w *Workspace) Start(ctx context.Context, t Task) (*Session, error) {
	s, err := w.load()
	if err != nil {
		return nil, err
	}
	t = w.called(ctx, s, t)
	var a agent.Agent
	if t.Agent != "" {
		if a, err = w.find(ctx, s, t.Agent); err != nil {
			return nil, err
		}
		if t.Output.Schema == "" {
			t.Output = a.Declared
		}
	}
	c, err := w.begin(ctx, s, a, t)
	if err != nil {
		return nil, err
	}
	d, err := w.driver()
	if err == nil {
		err = w.awaitServers(ctx, t.Needed)
	}
	if err != nil {
		return nil, err
	}
	if c.Run = t.Run; c.Run == "" {
		c.Run = runlog.NewID(time.Now())
	} else {
		w.openedBefore(c.Run)
	}
	// A signal that ends ctx interrupts the turn. The turn must begin all the same, so that
	// the interrupt is recorded.
	r, err := d.Create(context.WithoutCancel(ctx), c, nil)
	if err != nil {
		return nil, err
	}
	if rules := slices.Concat(a.Rules, t.Rules); len(rules) > 0 { // it is owned now: a sweep leaves its rules alone
		if err := s.policy.AddRules(c.Run, rules); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return w.session(d, r), nil
}

// Resume opens an existing run to be driven here; which is as for [Workspace.Find]. What
// was given for this process changes its configuration; the rest of the run's own stays. If
// another process drives it, the error is a [*store.OwnedError]: it can be followed then. A
// run of a task is driven for the task alone; the error is a [*TaskRunError].
func (w *Workspace) Resume(ctx context.Context, which string, t Task) (*Session, error) {
	if _, err := w.driver(); err != nil {
		return nil, err
	}
	sum, err := w.Find(ctx, which)
	if err != nil {
		return nil, err
	}
	if err := w.checkNoTask(ctx, sum.ID); err != nil {
		return nil, err
	}
	return w.resume(ctx, sum.ID, t)
}

func (w *Workspace) resume(ctx context.Context, id run.ID, t Task) (*Session, error) {
	d, err := w.driver()
	if err == nil {
		err = w.awaitServers(ctx, t.Needed)
	}
	if err != nil {
		return nil, err
	}
	r, err := w.open(context.WithoutCancel(ctx), d, id)
	if err != nil {
		return nil, owned(err)
	}
	change, err := w.wished(ctx, r.State(), t)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	s := w.session(d, r)
	before := r.State().Config
	if t.Output.Schema != "" && t.Output != before.Output {
		s.asked = t.Output
	}
	if change != nil {
		s.changes = []run.ConfigChange{*change}
		s.added = dirsPrompt(slices.DeleteFunc(slices.Clone(change.AddDirs), func(dir string) bool { return slices.Contains(before.Dirs, dir) }))
	}
	return s, nil
}

// open opens a run to be driven here. An external agent that a killed pawl has left is ended first: it would take what is
// decided now for an answer to its own question, and make a call that the next turn makes again.
func (w *Workspace) open(ctx context.Context, d *worker.Worker, id run.ID) (*worker.Runner, error) {
	r, err := d.Open(ctx, id, nil)
	if err == nil {
		if err := w.checkFolder(r.State()); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	if err == nil && r.State().Created.External {
		external.End(w.externalState(), id)
	}
	return r, err
}

// checkFolder returns an error if a run works neither in the workspace nor in a copy of it: its log was recovered from
// somebody else's, or the folder was moved. A database of many machines says nothing of the folders of this one.
func (w *Workspace) checkFolder(s run.State) error {
	dir := s.Created.Workspace
	if _, ok := w.copyAt(filepath.Clean(dir)); ok || dir == w.Dir || w.env.Get(config.StoreVariable) != "" {
		return nil
	}
	return config.Errorf("run %s works in %s, which is not this folder: it can be read here and not continued, and its edits are not undone", s.Created.Run, visible.Quote(dir))
}

// limitsOf returns the limits of runs of an agent.
func (s *settings) limitsOf(a agent.Agent) run.Limits {
	return s.Change(true).Apply(a.Change().Apply(s.Change(false).Apply(run.Config{}))).Limits
}

// waiting returns the configuration of a run with the changes in its inbox, and whether there are
// any.
func waiting(ctx context.Context, st store.Store, s run.State) (c run.Config, pending bool, err error) {
	rows, err := st.Inbox(ctx, s.Created.Run)
	c = s.Config
	for _, row := range rows {
		if r, err := request.Decode(row.Kind, row.Payload); err == nil {
			if change, ok := r.(request.Configure); ok {
				c, pending = change.Change.Apply(c), true
			}
		}
	}
	return c, pending, err
}

// wished returns the change that the settings given for this process make to a resumed run;
// nil: none. It fails if the model that the run will use cannot be used: the one given, of
// a change in the run's inbox, or its own.
func (w *Workspace) wished(ctx context.Context, s run.State, t Task) (*run.ConfigChange, error) {
	set, err := w.load()
	if err != nil {
		return nil, err
	}
	st, err := w.writing()
	if err != nil {
		return nil, err
	}
	wished, pending, err := waiting(ctx, st, s)
	if err != nil {
		return nil, err
	}
	given := ""
	if set.Has("model", true) && !set.serves && !t.Keeps {
		if given = set.Get("model"); !set.programs.Is(given) {
			if given, err = set.models.Resolve(ctx, given); err != nil {
				return nil, err
			}
		}
		if set.programs.Is(given) != s.Created.External {
			return nil, config.Errorf("--model %s: a run stays one of pawl's own or one of an external agent; start a new run", given)
		}
	}
	var c run.ConfigChange
	if !t.Keeps {
		c = set.wished(wished.Model, given)
		if c.AddDirs, err = w.dirs(set, true); err != nil {
			return nil, err
		}
	}
	if t.Output.Schema != "" && t.Output != s.Config.Output {
		c.Output = &t.Output
	}
	if t.Name != "" && t.Name != s.Config.Name {
		if err := run.CheckName(t.Name); err != nil {
			return nil, config.Errorf("--name: %w", err)
		}
		c.Name = &t.Name
	}
	if t.budgeted {
		a, _ := w.find(ctx, set, s.Created.Agent) // of one that is not there any more the settings' limits hold
		now, most := s.Config.Limits.InForce(), atMost(set.limitsOf(a), t.Limits).InForce()
		if now.Cost != most.Cost {
			c.Limits.Cost = most.Cost
		}
		if now.Tokens != most.Tokens {
			c.Limits.Tokens = most.Tokens
		}
	}
	if _, _, note := w.confineDirs(set, s.Created.Workspace, s.Config.Dirs); note != "" {
		w.opt.Notice(note)
	}
	if set.Has("append_system_prompt", true) && !t.Keeps {
		return nil, config.Errorf("--append-system-prompt: a run keeps the system prompt that it began with; say it with -p")
	}
	if err := w.checkModel(set, c.Apply(wished).Model); err != nil {
		return nil, err
	}
	if err := w.checkOtherModels(set, c); err != nil {
		return nil, err
	}
	// A wish may be refused: what is equal to one is still a change.
	if reflect.DeepEqual(c, run.ConfigChange{}) || !pending && reflect.DeepEqual(c.Apply(s.Config), s.Config) {
		return nil, nil
	}
	return &c, nil
}
