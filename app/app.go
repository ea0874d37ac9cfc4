// Package app is the application under every face: it opens a workspace with its settings,
// rules, sandbox, tools, models and store, and starts, resumes, decides and stops runs in
// it. A face (the command line, a terminal, a server) imports this package and the packages
// runlog, view, forms and report, and shows what they say; this package imports no face and
// writes to no terminal.
package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pawl/config"
	"pawl/external"
	"pawl/hook"
	"pawl/internal/build"
	"pawl/internal/secret"
	"pawl/llm"
	"pawl/mcp"
	"pawl/metrics"
	"pawl/output"
	"pawl/permission"
	"pawl/policy"
	"pawl/provider"
	"pawl/run"
	"pawl/runlog"
	"pawl/sandbox"
	"pawl/store"
	"pawl/task"
	"pawl/tool"
	"pawl/worker"
)

// Options say which workspace is opened, and for what.
type Options struct {
	Dir string     // the folder; "": the current one
	Env config.Env // required
	// Given are settings for this process alone, by the names of keys; they are stronger
	// than all others.
	Given map[string][]string
	// Serves says that this process works for all tasks and clients: a model in Given is for
	// agents and runs without one of their own.
	Serves bool
	// Drives says that runs will be driven: what commands whose pawl was killed have left
	// in the workspace is undone before its own settings and rules are read.
	Drives bool
	// Trust lets the workspace's own settings and rules count for this process, as
	// `pawl trust` does for good.
	Trust bool
	// OnAsk is what happens to calls that need approval; "": what the settings say. A face
	// that can ask a person gives [worker.AskWait].
	OnAsk worker.OnAsk
	// Asks says that the face asks a person about calls that need approval: they wait for
	// the answer, unless OnAsk or the settings say what happens to them.
	Asks bool
	// Nearest says that runs are wanted that are there already: if the folder has none, Open
	// opens the nearest folder above it in the same repository that has some.
	Nearest bool
	// Metrics counts what the runs do that are driven here; nil: nothing is counted.
	Metrics *metrics.Metrics
	// Notice is told what a person should know and what keeps nothing from working, a
	// sentence at a time, from any goroutine; nil: no one is told.
	Notice func(string)
}

// A Workspace is a folder that agents work in, with what holds in it. It opens what is
// needed when it is needed, so that looking at a run works with a broken configuration, and
// on a disk that is full or read-only. It is safe for concurrent use. One process may have
// several, also of the same folder.
type Workspace struct {
	runlog.Reader // of its runs

	Dir   string // absolute, with links resolved
	State string // the folder for what is kept of it

	opt Options
	env config.Env

	mu       sync.Mutex
	settings *settings
	looking  store.Database // read-only
	store    store.Database
	worker   *worker.Worker
	servers  *mcp.Servers
	// sandboxed waits for what was begun to be found out about the sandbox before it was
	// needed; nil: nothing was, or it was taken.
	sandboxed func() confining

	preparing     sync.Mutex // guards prepared: the tools of servers are known
	prepared      bool
	toldOfServers sync.Map // sentences that were told

	confining    sync.Mutex      // guards settings.withDirs
	taskWatchers []func(task.ID) // see [Workspace.OnTaskChange]
	taskRuns     map[run.ID]bool // that were opened here for their tasks

	logger func() *slog.Logger // for diagnostics

	// plugins reads the plugins that the person has added, once.
	plugins func() pluginsFound
	// programs reads the descriptions of external agents, once.
	programs func() (external.Registry, error)
}

// Options returns what the workspace was opened with.
func (w *Workspace) Options() Options { return w.opt }

// settings are what holds in a workspace.
type settings struct {
	*config.Config
	policy *policy.Policy
	models *provider.Providers
	// programs are the external agents that a person has described.
	programs external.Registry
	// confinement is what commands run in; nil: nothing confines them.
	confinement *sandbox.Policy
	// skills are those that runs of this process can open, read once.
	skills func() skillsFound
	// hooks are those that runs of this process have, read once.
	hooks func() hooksFound
	// shellOptions say which variables commands get.
	shellOptions func() tool.ShellOptions
	// withDirs are those of runs in copies and with further folders, the one used last at the end.
	withDirs []folderSandbox
	sockets  string
	serves   bool // [Options.Serves]
	// wrong is why nothing can be run or decided with them: a rule or the file of models is
	// wrong.
	wrong error
}

// Open opens the workspace. The caller must call Close.
func Open(opt Options) (*Workspace, error) {
	dir, err := config.Workspace(opt.Dir)
	if err != nil {
		return nil, err
	}
	if err := opt.Env.CheckStateDir(); err != nil {
		return nil, err
	}
	if opt.Notice == nil {
		opt.Notice = func(string) {}
	}
	w := open(dir, opt)
	if opt.Nearest {
		w = w.nearest()
	}
	if err := CheckPrivate(opt.Env, w.Dir); err != nil {
		return nil, err
	}
	if opt.Serves { // else the first of many clients is told what is wrong with the settings
		if _, err := w.Policy(); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	return w, nil
}

// CheckPrivate returns an error if others can write what is kept of a workspace, or if all that is kept
// is of an unreleased version.
func CheckPrivate(env config.Env, workspace string) error {
	dir := env.WorkspaceState(workspace)
	for _, path := range []string{env.StateDir(), filepath.Dir(dir), dir, filepath.Join(dir, store.File)} {
		if err := config.CheckPrivate(path); err != nil {
			return err
		}
	}
	// Unreleased versions named the folder with a part of the hash.
	unreleased := dir[:max(0, len(dir)-24)]
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(unreleased, store.File)); err == nil {
		return config.Errorf("%s was written by an unreleased pawl, and this one cannot read it: move it away; the version that wrote it can still read it", unreleased)
	}
	return nil
}

func open(dir string, opt Options) *Workspace {
	w := &Workspace{Dir: dir, State: opt.Env.WorkspaceState(dir), opt: opt, env: opt.Env,
		logger:   sync.OnceValue(func() *slog.Logger { return newLogger(opt.Env) }),
		programs: sync.OnceValues(func() (external.Registry, error) { return external.Load(opt.Env.ProgramsDir()) })}
	w.plugins = sync.OnceValue(w.findPlugins)
	w.Reader = runlog.NewReader(w.reading, w.runsAbove)
	return w
}

// Close closes what was opened. Sessions are to be closed before.
func (w *Workspace) Close() error {
	w.mu.Lock()
	servers := w.servers
	w.mu.Unlock()
	if servers != nil { // without the lock: their last words are told
		servers.Close()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	for _, s := range []store.Database{w.looking, w.store} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	if w.sandboxed != nil {
		w.sandboxed().policy.Close()
	}
	if w.settings != nil {
		w.settings.confinement.Close() // nil: there is none
		w.closeSandboxes(w.settings, func(folderSandbox) bool { return true })
	}
	w.looking, w.store, w.worker, w.sandboxed = nil, nil, nil, nil
	return err
}

// Config returns the settings of this workspace, each with its source. A value that cannot
// be used is a [*config.Error]. Rules that are wrong, and the file of models, are errors of
// the other methods: the settings can be looked at all the same.
func (w *Workspace) Config() (*config.Config, error) {
	s, err := w.load()
	if s == nil {
		return nil, err
	}
	return s.Config, nil
}

// Policy returns the rules and the trust of this workspace, with the rules of the settings.
func (w *Workspace) Policy() (*policy.Policy, error) {
	s, err := w.load()
	if err != nil {
		return nil, err
	}
	return s.policy, nil
}

// load reads the settings, once. With an error it returns those that can only be looked at,
// or nil.
func (w *Workspace) load() (*settings, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loaded()
}

func (w *Workspace) loaded() (*settings, error) {
	if w.settings != nil {
		return w.settings, w.settings.wrong
	}
	if w.opt.Drives {
		if err := w.Recover(); err != nil {
			return nil, err
		}
	}
	if w.opt.Drives && w.sandboxed == nil {
		w.sandboxed = sync.OnceValue(w.findConfining)
		go w.sandboxed() // a run needs it before its first request
	}
	own := sync.OnceValue(w.ownSkills)
	if w.opt.Drives {
		go own() // the first request needs them, and a person may have hundreds
	}
	p, err := w.openPolicy()
	if err != nil {
		return nil, err
	}
	if w.opt.Trust {
		trusted, err := p.TrustForThisRun()
		if err != nil {
			return nil, err
		}
		for _, c := range trusted {
			w.opt.Notice("--trust: " + c.File + " counts for this run")
		}
	}
	c, err := config.Load(config.Sources{Given: w.opt.Given, Env: w.env, Workspace: w.Dir, Policy: p, Servers: w.broughtServers()})
	if err != nil {
		return nil, err
	}
	w.settings = &settings{Config: c, policy: p, skills: sync.OnceValue(func() skillsFound { return w.findSkills(p, own) }),
		hooks: sync.OnceValue(func() hooksFound { return w.findHooks(p) })}
	w.settings.shellOptions = sync.OnceValue(func() tool.ShellOptions { return ShellOptions(c, w.settings.models).Remembering() })
	if w.opt.Drives {
		go w.settings.skills()
	}
	w.settings.wrong = w.settings.complete(w)
	return w.settings, w.settings.wrong
}

// complete adds the models and the rules.
func (s *settings) complete(w *Workspace) (err error) {
	s.serves = w.opt.Serves
	if s.programs, err = w.programs(); err != nil {
		return config.Errorf("%w", err)
	}
	if s.models, err = provider.Load(w.env); err != nil {
		return err
	}
	if !s.Has("model", false) {
		if model, variable := s.models.Preferred(); model != "" {
			s.Set("model", config.Value{Text: model, Source: config.FromDefault + ", because " + variable + " is set"})
		}
	}
	rules, err := s.rules(ToolNames())
	if err != nil {
		return err
	}
	s.policy.SetRules(append(rules, w.skillRules()...))
	s.policy.SetHistory((&history{w: w}).allowed)
	return nil
}

// reading returns the store, opened so that looking changes nothing: no file is made,
// locked or migrated. [store.ErrNoRuns] if there is none.
func (w *Workspace) reading() (store.Database, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.readable()
}

func (w *Workspace) readable() (store.Database, error) {
	if w.store != nil {
		return w.store, nil
	}
	if w.looking != nil {
		return w.looking, nil
	}
	key, err := w.env.LogKey(false)
	if err == nil {
		w.looking, err = store.OpenAt(w.env.Get(config.StoreVariable), w.State, store.Options{ReadOnly: true, Version: build.Version(), Key: key})
	}
	return w.looking, err
}

// writing returns the store, opened for writing.
func (w *Workspace) writing() (store.Database, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened()
}

func (w *Workspace) opened() (store.Database, error) {
	if w.store != nil {
		return w.store, nil
	}
	err := w.env.MakeStateDir()
	if err != nil {
		return nil, err
	}
	key, err := w.env.LogKey(true)
	if err != nil {
		return nil, err
	}
	w.store, err = store.OpenAt(w.env.Get(config.StoreVariable), w.State, store.Options{Version: build.Version(), Key: key, Waiting: func(e *store.LockedError) {
		w.opt.Notice("waiting: " + e.Error())
	}})
	if errors.Is(err, store.ErrReadOnly) {
		err = config.Errorf("the state folder %s (%s) cannot be used: %w", w.env.StateDir(), w.env.StateSource(), err)
	}
	return w.store, err
}

// driver returns the worker that drives the runs of this workspace. There is one.
func (w *Workspace) driver() (*worker.Worker, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.worker != nil {
		return w.worker, nil
	}
	s, err := w.loaded()
	if err != nil {
		return nil, err
	}
	st, err := w.opened()
	if err != nil {
		return nil, err
	}
	if err := s.policy.Check(); err != nil {
		return nil, err
	}
	for _, note := range append(s.policy.Notes(), w.plugins().problems...) {
		w.opt.Notice(note)
	}
	d, err := w.newWorker(s, st)
	if err != nil {
		return nil, err
	}
	if s.confinement == nil {
		w.opt.Notice("commands cannot be sandboxed here: they have your own rights, and more of them need approval (`pawl doctor` says why)")
	} else if err := w.putBack(s.confinement); err != nil {
		return nil, err
	}
	w.worker = d
	return d, nil
}

// previewer returns a worker that says what calls would do. If no run is driven here it
// writes nothing.
func (w *Workspace) previewer() (*worker.Worker, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.worker != nil {
		return w.worker, nil
	}
	s, err := w.loaded()
	if err != nil {
		return nil, err
	}
	st, err := w.readable()
	if err != nil {
		return nil, runlog.NoRuns(err)
	}
	return w.newWorker(s, st)
}

// newWorker returns a worker on st. w.mu is held.
func (w *Workspace) newWorker(s *settings, st store.Store) (*worker.Worker, error) {
	rulesOf := func(id run.ID) permission.Rules {
		rules, _ := s.policy.Rules(id) // with an error they allow nothing
		return rules
	}
	if err := w.confine(s); err != nil {
		return nil, err
	}
	served, _ := w.serversOf(s).Tools()
	onAsk := w.opt.OnAsk
	switch {
	case onAsk != "":
	case w.asks(s):
		onAsk = worker.AskWait
	default:
		onAsk = worker.OnAsk(s.Get("on_ask"))
	}
	shell := s.shellOptions()
	return worker.New(worker.Config{
		Store: st, Hidden: shell.Hidden,
		Tools: registry(rulesOf, shell, w.delegation(s)).With(slices.Concat(served, w.skillTool(s), memoryTool(s))...),
		Provider: func(model string) (llm.Provider, string, error) {
			return s.models.Open(model, provider.Options{Workspace: w.Dir, IdleTimeout: s.Duration("idle_timeout"), Cache: s.On("cache"), Own: ownIn(st), Log: w.logger()})
		},
		Agent: externalAgents{w}, External: s.programs.Is, AgentTools: []tool.Tool{permissionTool{}},
		Authorizer: s.policy,
		JudgeModel: func(c run.Config) string {
			if model := s.Get("judge_model"); model != "" || !s.programs.Is(c.Model) {
				return cmp.Or(model, c.Model)
			}
			return "" // an external agent judges no calls, its own least of all
		},
		Check: func(c run.Config) error {
			return mayBypass(permission.Mode(c.Mode), w.asRoot(), s.confinement)
		},
		Sandbox:   s.confinement,
		SandboxOf: func(dir string) (*sandbox.Policy, error) { return w.confineIn(s, dir) },
		Dirs: func(dir string, dirs []string) (*sandbox.Policy, []string, string) {
			return w.confineDirs(s, dir, dirs)
		},
		Instructions: func(c run.Created, given []string) func([]string) run.Instructions {
			return w.laterInstructions(s, c, given)
		},
		Hooks:        sync.OnceValue(func() *hook.Set { return w.hookSet(s) }),
		Own:          w.own(),
		Reads:        w.skillDirs(),
		Outputs:      w.outputsIn(st).With(worker.Logs(st)),
		OutputLimits: s.OutputLimits(),
		Root:         w.asRoot(),
		OnAsk:        onAsk,
		Price:        func(model string, u run.Usage) run.Usage { return s.models.Price(model, u, time.Now()) },
		Structured:   s.models.Structured,
		Effort:       s.models.Effort,
		TaskOf: func(ctx context.Context, id run.ID) (worker.Task, error) {
			of, err := w.tasks(st).Of(ctx, id)
			if of == nil {
				return nil, err
			}
			return of, err
		},
		Save:      w.saveCopy,
		StateDir:  w.State,
		SocketDir: s.sockets,
		Log:       w.logger(),
		Metrics:   w.opt.Metrics,
	})
}

// Asks reports whether calls that need approval wait for the person that the face asks; see
// [Options].
func (w *Workspace) Asks() (bool, error) {
	s, err := w.load()
	return err == nil && w.asks(s), err
}

func (w *Workspace) asks(s *settings) bool {
	set := s.Values("on_ask")
	return w.opt.Asks && w.opt.OnAsk == "" && (len(set) == 0 || set[0].Source == config.FromDefault)
}

// outputs returns the folder of the workspace's outputs. What is stored may be with the runs instead: see outputsIn.
func (w *Workspace) outputs() *output.Store {
	return output.NewStore(filepath.Join(w.State, "outputs"))
}

// outputsIn returns the store of the outputs of the runs in st, without those that are in logs: they are in st, if machines
// share it, and otherwise in the workspace's folder.
func (w *Workspace) outputsIn(st store.Store) *output.Store {
	shared, _ := st.(output.Shared)
	return w.outputs().In(shared)
}

// own returns pawl's own folders and files, where no call writes.
func (w *Workspace) own() []string {
	var own []string
	for _, path := range []string{w.env.StateDir(), w.State, w.env.UserDir()} {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			own = append(own, resolved)
		} else if abs, err := filepath.Abs(path); err == nil {
			own = append(own, abs) // it does not exist yet
		}
	}
	return own
}

// ShellOptions say which variables and how much of the machine commands get with some settings and models; models may be
// nil.
func ShellOptions(c *config.Config, models *provider.Providers) tool.ShellOptions {
	var o tool.ShellOptions
	o.Memory, _ = config.ParseLimit(c.Get("command_memory"), config.ParseMemory) // checked when they were read
	o.Disk, _ = config.ParseLimit(c.Get("min_disk"), config.ParseSize)
	for _, v := range c.Values("pass_env") {
		o.PassEnv = append(o.PassEnv, v.Text)
	}
	if models != nil {
		for _, p := range models.Providers() {
			o.KeyEnv = append(o.KeyEnv, p.KeyEnv...)
		}
	}
	o.Named = c.Secrets
	plain := o
	o.Hidden = sync.OnceValue(func() *secret.Values { // not at the start: it takes as long as starting a command
		environ := os.Environ()
		if models != nil {
			environ = append(environ, models.StoredKeys()...)
		}
		for _, s := range o.Named {
			if value, err := s.Value(); err == nil {
				environ = append(environ, s.Env+"="+value)
			}
		}
		return plain.Secrets(environ)
	})
	return o
}

// initial returns what the settings say of the configuration of a new run with a model.
func (s *settings) initial(model string) run.ConfigChange {
	c := s.withModel(s.Change(false), model)
	c.Fallback = s.fallback(false)
	return c
}

// fallback returns the model to fall back to, with what comes with it; nil: nothing is said
// of it. With given, only what was given for this process counts.
func (s *settings) fallback(given bool) *run.Fallback {
	model := s.Get("fallback_model")
	switch {
	case !s.Has("fallback_model", given):
		return nil
	case model == "none":
		return &run.Fallback{}
	}
	c := modelChange(s.programs, model, s.Get("control"), s.models)
	return &run.Fallback{Model: *c.Model, Window: *c.Window, Control: *c.Control}
}

// wished returns what was given for this process of the configuration of a run that has
// the rest, with the model that works in it now, and the model that was given; "": none.
func (s *settings) wished(model, given string) run.ConfigChange {
	c := s.Change(true)
	c.Fallback = s.fallback(true)
	switch {
	case given != "":
		return s.withModel(c, given)
	case s.Has("control", true):
		control := controlOf(s.Get("control"), model, s.models)
		c.Control = &control
	}
	return c
}

// withModel returns c with a model, and what comes with it.
func (s *settings) withModel(c run.ConfigChange, model string) run.ConfigChange {
	to := modelChange(s.programs, model, s.Get("control"), s.models)
	c.Model, c.Control = to.Model, to.Control
	if c.Window == nil {
		c.Window = to.Window
	}
	return c
}
