package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pawl/llm"
	"pawl/llm/anthropic"
	"pawl/llm/cache"
	"pawl/llm/chat"
	"pawl/llm/gemini"
	"pawl/llm/responses"
	"pawl/llm/script"
	"pawl/output"
	"pawl/permission"
	"pawl/run"
	"pawl/store"
	"pawl/tool"
	"pawl/worker"
)

// workspace returns the folder to work in, absolute and without symbolic links, so
// that one folder has one state.
func (inv *invocation) workspace() (string, error) {
	dir := inv.dir
	if dir == "" {
		dir = "."
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", usage("the folder to work in cannot be found: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", usage("%s is not a folder to work in", dir)
	}
	return dir, nil
}

// stateDir returns the folder for everything pawl keeps.
func (inv *invocation) stateDir() string {
	if dir, _ := inv.Env("PAWL_STATE_DIR"); dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			return abs
		}
		return dir
	}
	return filepath.Join(inv.xdg("XDG_STATE_HOME", ".local/state"), "pawl")
}

func (inv *invocation) stateSource() string {
	for _, name := range []string{"PAWL_STATE_DIR", "XDG_STATE_HOME"} {
		if v, _ := inv.Env(name); v != "" {
			return fromEnv + " " + name
		}
	}
	return fromDefault
}

// stateOf returns the folder for what is kept of one workspace. Its name can be
// read, and the hash keeps folders of the same name apart.
func (inv *invocation) stateOf(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	base := strings.Map(func(r rune) rune {
		if r < ' ' || r == '/' || r == '\\' {
			return '_'
		}
		return r
	}, filepath.Base(workspace))
	return filepath.Join(inv.stateDir(), "workspaces", base+"-"+hex.EncodeToString(sum[:16]))
}

// A place is a workspace and its store.
type place struct {
	workspace string
	state     string
	store     *store.SQLite
}

// open opens the store of the workspace. The caller closes it.
func (inv *invocation) open() (place, error) {
	return inv.openStore(store.Options{Waiting: func(e *store.LockedError) {
		fmt.Fprintf(inv.Stderr, "pawl: waiting: %v\n", e)
	}})
}

// openForReading opens the store of the workspace without creating, locking or
// migrating anything; store.ErrNoRuns if there is none. The caller closes it.
func (inv *invocation) openForReading() (place, error) {
	return inv.openStore(store.Options{ReadOnly: true})
}

func (inv *invocation) openStore(opt store.Options) (place, error) {
	workspace, err := inv.workspace()
	if err != nil {
		return place{}, err
	}
	opt.Version = version()
	p := place{workspace: workspace, state: inv.stateOf(workspace)}
	p.store, err = store.Open(p.state, opt)
	return p, err
}

// worker returns a worker for the place.
func (inv *invocation) worker(p place, s settings) (*worker.Worker, error) {
	rules, err := givenRules(registry(nil, tool.ShellOptions{}).Names(), s)
	if err != nil {
		return nil, err
	}
	s.policy.SetRules(rules)
	s.policy.SetHistory(sync.OnceValue(func() []permission.Allowed { return allowedBefore(context.Background(), p.store) }))
	if err := s.policy.Check(); err != nil {
		return nil, err
	}
	inv.tellNotes(s.policy)
	tools := registry(func(id run.ID) permission.Rules {
		rules, _ := s.policy.Rules(id) // with an error they allow nothing
		return rules
	}, s.shellOptions())
	log := inv.log()
	// Without a socket others look at the database now and then: no reason to stop.
	sockets, err := store.RuntimeDir()
	if err != nil {
		log.Warn("no folder for sockets", "error", err)
	}
	confinement, err := inv.sandbox(p, sockets)
	if err != nil {
		return nil, err
	}
	force, _ := inv.Env("PAWL_BYPASS_AS_ROOT")
	return worker.New(worker.Config{
		Store:      p.store,
		Tools:      tools,
		Provider:   inv.providers(p.workspace, s),
		Authorizer: s.policy,
		Check: func(c run.Config) error {
			return mayBypass(permission.Mode(c.Mode), os.Geteuid() == 0, confinement, force)
		},
		Sandbox: confinement,
		Own:     inv.own(p),
		Outputs: output.NewStore(filepath.Join(p.state, "outputs")),

		OutputLimits: s.outputLimits(),
		Root:         os.Geteuid() == 0 && force != "1",
		OnAsk:        worker.OnAsk(s.get("on_ask")),
		Price:        func(model string, u run.Usage) run.Usage { return s.table.Price(model, u, time.Now()) },
		Structured:   s.table.Structured,
		StateDir:     p.state,
		SocketDir:    sockets,
		Log:          log,
	})
}

// providers returns the function that finds the provider for provider/name. Each is
// made when it is first wanted and then kept, for its connections.
func (inv *invocation) providers(workspace string, s settings) func(string) (llm.Provider, string, error) {
	var mu sync.Mutex
	made := map[string]llm.Provider{}
	return func(model string) (llm.Provider, string, error) {
		mu.Lock()
		defer mu.Unlock()
		id, name, _ := strings.Cut(model, "/")
		if id == script.Wire {
			id = model // a script is a provider of its own
		}
		if p := made[id]; p != nil {
			return p, name, nil
		}
		p, err := inv.provider(model, workspace, s)
		if err != nil {
			return nil, "", err
		}
		made[id] = p
		return p, name, nil
	}
}

// provider makes the provider for a model, or says what is missing.
func (inv *invocation) provider(model, workspace string, s settings) (llm.Provider, error) {
	table := s.table
	if table == nil {
		var err error
		if table, err = inv.models(); err != nil {
			return nil, err
		}
	}
	known, name, err := splitModel(table, model)
	if err != nil {
		return nil, err
	}
	if known.Wire == script.Wire {
		return scripted(name, workspace)
	}
	at := inv.site(known)
	if err := at.usable(); err != nil {
		return nil, usage("%w; or see `pawl demo`, which needs no key", err)
	}
	p, err := at.connect(s.duration("idle_timeout"))
	if err == nil && s.get("cache") == "on" {
		p = cache.New(p, at.address, filepath.Join(inv.stateDir(), "cache"), inv.log())
	}
	return p, err
}

// connect returns the provider at a site. It does not touch the network.
func (s site) connect(idle time.Duration) (llm.Provider, error) {
	switch s.Wire {
	case anthropic.Wire:
		return anthropic.New(anthropic.Options{BaseURL: s.address, Key: s.key, IdleTimeout: idle}), nil
	case responses.Wire:
		return responses.New(responses.Options{BaseURL: s.address, Key: s.key, IdleTimeout: idle}), nil
	case gemini.Wire:
		return gemini.New(gemini.Options{BaseURL: s.address, Key: s.key, IdleTimeout: idle}), nil
	case chat.Wire:
		d := s.dialect()
		if d != nil && d.Name == "" {
			return nil, usage("%s: provider %s: there is no dialect %q; without one the address tells what can be told", s.Source, s.Name, s.Dialect)
		}
		return chat.New(chat.Options{BaseURL: s.address, Key: s.key, Dialect: d, IdleTimeout: idle}), nil
	}
	panic("no package speaks the wire " + s.Wire) // unreachable: package models has looked at it
}

// scripted returns the provider that plays a script of the workspace.
func scripted(name, workspace string) (llm.Provider, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(workspace, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage("the script cannot be read: %w", err)
	}
	defer f.Close()
	s, err := script.Parse(f)
	if err != nil {
		return nil, usage("%s: %w", name, err)
	}
	return script.New(s, 0), nil
}

// checkModel says what is missing before anything is recorded, instead of a run
// that fails at its first request.
func (inv *invocation) checkModel(model, workspace string) error {
	_, err := inv.provider(model, workspace, settings{})
	return err
}

// runAlphabet has no characters that are taken for each other.
const runAlphabet = "abcdefghjkmnpqrstuvwxyz23456789"

// newRun returns an id for a run, as 20261120-2130-k3f9xy: sorted by name they are
// sorted by time, and the end is enough to tell two of one minute apart.
func newRun(now time.Time) run.ID {
	var b [6]byte
	rand.Read(b[:]) // never fails (crypto/rand since Go 1.24)
	for i := range b {
		b[i] = runAlphabet[int(b[i])%len(runAlphabet)]
	}
	return run.ID(now.Local().Format("20060102-1504-") + string(b[:]))
}

// log returns the log for diagnostics: warnings, and everything with PAWL_LOG=debug.
// It never has keys or contents. The file is made by the first line.
func (inv *invocation) log() *slog.Logger {
	level := slog.LevelWarn
	if v, _ := inv.Env("PAWL_LOG"); v == "debug" {
		level = slog.LevelDebug
	}
	file := &lazyFile{path: filepath.Join(inv.stateDir(), "log", "pawl.log")}
	return slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: level}))
}

// maxLog is the size at which a log file is put aside; one old one is kept.
const maxLog = 5 << 20 // bytes

// A lazyFile is a file to append to that is opened by its first write, because most
// runs have nothing to log. It stays open until the process ends.
type lazyFile struct {
	path string

	mu sync.Mutex
	f  *os.File
}

func (l *lazyFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
			return 0, err
		}
		if info, err := os.Stat(l.path); err == nil && info.Size() > maxLog {
			// Two processes that do it at once lose an old log, nothing else.
			if err := os.Rename(l.path, l.path+".old"); err != nil {
				return 0, err
			}
		}
		f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, fmt.Errorf("log: %w", err)
		}
		l.f = f
	}
	return l.f.Write(p)
}
