package app

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"pawl/agent"
	"pawl/config"
	"pawl/internal/build"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/permission/spelling"
	"pawl/run"
	"pawl/submission"
	"pawl/tool"
)

// Agents returns the agents that runs of this workspace can be started with.
func (w *Workspace) Agents() (*agent.Roster, error) {
	s, err := w.load()
	if err != nil {
		return nil, err
	}
	return w.roster(s), nil
}

func (w *Workspace) roster(s *settings) *agent.Roster {
	return agent.New(agent.Options{
		User:    filepath.Join(w.env.UserDir(), "agents"),
		Home:    w.home(),
		Brought: w.broughtAgents(),
		Family:  s.models.Newest,
		Policy:  s.policy, Workspace: w.Dir, Programs: s.programs,
		Tools: ToolNames,
		Model: func(_ context.Context, model string) error {
			if model = cmp.Or(model, s.Get("model")); model == "" {
				return nil // a server on this machine may be found when a run begins
			}
			return w.checkModel(s, model)
		},
	})
}

// delegation returns what the tools need that start child runs.
func (w *Workspace) delegation(s *settings) agent.Delegation {
	return agent.Delegation{
		Roster: w.roster(s),
		System: func(dir string, a agent.Agent, model string, o run.Output) string {
			return w.systemFor(s, dir, a, model, o)
		},
		Change: s.changeFor,
	}
}

// changeFor returns the changes that an agent makes to the configuration of a run.
func (s *settings) changeFor(a agent.Agent) run.ConfigChange {
	c := a.Change()
	if a.Model != "" {
		to := modelChange(s.programs, a.Model, s.Get("control"), s.models)
		c.Model, c.Window, c.Control = to.Model, to.Window, to.Control
	}
	return c
}

// find returns the agent that a run is to be started with. One that cannot run now is a
// [*config.Error] with the reason.
func (w *Workspace) find(ctx context.Context, s *settings, name string) (agent.Agent, error) {
	r := w.roster(s)
	a, err := r.Get(name)
	if err != nil {
		return a, config.Errorf("%w", err)
	}
	if ok, why := r.Valid(ctx, a); !ok {
		return a, config.Errorf("the agent %s cannot run: %s", a.Name, why)
	}
	return a, nil
}

// begin returns how a run of an agent begins, but for its id; with the zero agent, a run
// without one. What was given for this process is stronger than the agent, and the agent
// stronger than all other settings.
func (w *Workspace) begin(ctx context.Context, s *settings, a agent.Agent, t Task) (run.Created, error) {
	if err := run.CheckName(t.Name); err != nil {
		return run.Created{}, config.Errorf("--name: %w", err)
	}
	model, err := w.choose(ctx, s, s.modelOf(a, t.Model))
	if err != nil {
		return run.Created{}, err
	}
	change := s.initial(model)
	if err := w.checkOtherModels(s, change); err != nil {
		return run.Created{}, err
	}
	appended, err := s.appended(w.env)
	if err != nil {
		return run.Created{}, err
	}
	if change.AddDirs, err = w.dirs(s, false); err != nil {
		return run.Created{}, err
	}
	appended = dirsPrompt(change.AddDirs) + appended
	c := change.Apply(run.Config{Output: t.Output, Name: t.Name})
	if a.Name != "" {
		of := a.Change()
		of.Model = nil
		c = s.Change(true).Apply(of.Apply(c))
	}
	c.Mode, c.Limits = cmp.Or(t.Mode, c.Mode), atMost(c.Limits, t.Limits)
	if mode := permission.Mode(c.Mode); t.Dir != "" && (mode == "" || mode == permission.Default) && a.Mode == "" && !s.Has("mode", true) {
		c.Mode = string(permission.AcceptEdits) // what it changes is a copy, which the person looks at before it is merged
	}
	c = t.narrowed(c)
	dir := cmp.Or(t.Dir, w.Dir)
	return run.Created{Workspace: dir, Agent: a.Name, External: s.programs.Is(c.Model), System: w.systemFor(s, dir, a, c.Model, t.Output) + appended, Config: c, Version: build.Version()}, nil
}

// modelOf returns the model that is named for a run of an agent; empty: that of the settings.
func (s *settings) modelOf(a agent.Agent, given string) string {
	if given == "" && (a.Model != "" && s.serves || !s.Has("model", true)) {
		return a.Model
	}
	return given
}

// systemFor returns the system prompt of a run of an agent with a model that works in dir and
// has to submit a result.
func (w *Workspace) systemFor(s *settings, dir string, a agent.Agent, model string, o run.Output) string {
	others := ""
	if a.Kind == submission.Planner || a.Tools.Has("agent") || a.Tools.Has("handoff") {
		others = w.roster(s).Listing(context.Background(), a.Name)
	}
	told := strings.TrimLeft(w.Instructions().Text+w.remembered(s), "\n")
	if k, _, ok := s.programs.Split(model); ok {
		return externalPrompt(dir, told, k, a, others, o)
	}
	return systemPrompt(dir, told, a, others, w.catalogue(s, a, model), o)
}

// Specs returns the tools of every run, and the two that submit the results of agents.
func (w *Workspace) Specs() []tool.Spec {
	specs := registry(nil, tool.ShellOptions{}, agent.Delegation{}).Specs()
	for _, k := range submission.Kinds {
		o, _ := k.Output()
		if t, err := tool.NewSubmission(o.Tool, []byte(o.Schema)); err == nil {
			specs = append(specs, t.Spec())
		}
	}
	return specs
}

// Grants returns the grants of a run with more tools and without some. A run that could call
// every tool keeps the others that there are for it.
func (w *Workspace) Grants(s run.State, add, remove []string) (run.Grants, error) {
	r := w.allTools()
	have := r.For(s.Config.Tools, s.Created.Agent != "").Names()
	more := len(remove) > 0
	for _, name := range append(slices.Clone(add), remove...) {
		if _, ok := r.Get(name); !ok && !slices.Contains(s.Config.Tools.Names(), name) {
			return "", config.Errorf("there is no tool %s%s", visible.Quote(name), spelling.DidYouMean(name, r.Names()))
		}
		more = more || !slices.Contains(have, name)
	}
	to := s.Config.Tools
	if more && !to.Limited() {
		to = run.Grant(have...)
	}
	return to.With(add...).Without(have, remove...), nil
}

// allTools returns the tools that a run can be granted, for reading about them.
func (w *Workspace) allTools() *tool.Registry {
	return w.withServed(registry(nil, tool.ShellOptions{}, agent.Delegation{}))
}

// RunSpecs returns what the tools are that a run has now, with the one that submits its result.
func (w *Workspace) RunSpecs(s run.State) []tool.Spec {
	r := w.allTools().For(s.Config.Tools, s.Created.Agent != "")
	if o := s.Config.Output; o.Schema != "" {
		if t, err := tool.NewSubmission(o.Tool, []byte(o.Schema)); err == nil {
			r = r.With(t)
		}
	}
	return r.Specs()
}
