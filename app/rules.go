package app

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"

	"pawl/agent"
	"pawl/config"
	"pawl/internal/visible"
	"pawl/judge"
	"pawl/mcp"
	"pawl/permission"
	"pawl/policy"
	"pawl/run"
	"pawl/tool"
)

// openPolicy opens what holds in this workspace, without the rules of the settings.
func (w *Workspace) openPolicy() (*policy.Policy, error) {
	managed := w.env.Get("PAWL_MANAGED_RULES")
	if managed != "" && !filepath.IsAbs(managed) {
		// A relative one would be looked for in the workspace, which must not be able to
		// hide an administrator's rules.
		return nil, config.Errorf("PAWL_MANAGED_RULES is %s: give an absolute path", visible.Quote(managed))
	}
	var shared policy.Shared
	if w.env.Get(config.StoreVariable) != "" {
		shared = sharedRules{w}
	}
	return policy.Open(policy.Options{
		Shared: shared, Workspace: w.Dir, ConfigDir: w.env.UserDir(), StateDir: w.State, Managed: managed, By: config.Person(), Also: append(w.obeyed(), w.hookScripts()...),
	})
}

// sharedRules keeps the rules of runs in the database of the workspace.
type sharedRules struct{ w *Workspace }

// RunRules implements [policy.Shared].
func (s sharedRules) RunRules(ctx context.Context, id run.ID) ([]byte, error) {
	st, err := s.w.reading()
	if err != nil {
		return nil, err
	}
	shared, ok := st.(policy.Shared)
	if !ok {
		return nil, fs.ErrNotExist
	}
	return shared.RunRules(ctx, id)
}

// PutRunRules implements [policy.Shared].
func (s sharedRules) PutRunRules(ctx context.Context, id run.ID, content []byte) error {
	st, err := s.w.writing()
	if err != nil {
		return err
	}
	shared, ok := st.(policy.Shared)
	if !ok {
		return nil // the file is all there is
	}
	return shared.PutRunRules(ctx, id, content)
}

// Trust opens what the workspace brings along that governs runs, without its settings: a
// broken one can be looked at.
func (w *Workspace) Trust() (*policy.Policy, error) { return w.openPolicy() }

// judge returns a judge of calls with the rules of a policy.
func (w *Workspace) judge(p *policy.Policy) *judge.Judge {
	return &judge.Judge{Rules: p, Own: w.own(), Root: w.asRoot()}
}

// callArgs are the arguments by which tools say what they touch.
type callArgs struct {
	Command string          `json:"command"`
	URL     string          `json:"url"`
	Path    string          `json:"path"`
	Sandbox run.Confinement `json:"sandbox"`
}

func readArgs(arguments string) (a callArgs) {
	_ = json.Unmarshal([]byte(arguments), &a) // arguments that are not valid JSON are not interpreted
	return a
}

// callEnv returns the settings, and what a call of a run finds that is made outside of its turn: the sandbox and the
// folders, nothing of its shell, no file that it has seen. The zero state is that of no run: it has the folders of the settings.
func (w *Workspace) callEnv(of run.State) (*settings, tool.Env, error) {
	env := w.toolEnv()
	s, err := w.load()
	if err != nil {
		return nil, env, err
	}
	w.mu.Lock()
	err = w.confine(s)
	w.mu.Unlock()
	dirs := of.Config.Dirs
	if err == nil && of.Created.Run == "" {
		dirs, err = w.dirs(s, false)
	}
	env.Workspace = cmp.Or(of.Created.Workspace, env.Workspace)
	env.Run, env.Conversation = of.Created.Run, of.Created.Conversation()
	env.Sandbox, env.Dirs, _ = w.confineDirs(s, env.Workspace, dirs)
	return s, env, err
}

// A Judging judges a call by rules, those of the policy if rules is nil. run "" means no run's rules. class is that of a
// tool which is not known here.
type Judging func(rules judge.Rules, id run.ID, mode permission.Mode, name string, class run.Class, arguments string) *judge.Judgement

// Judgements returns a function that judges calls with nothing of a run but its folders; the zero state is that of
// no run.
func (w *Workspace) Judgements(of run.State) (Judging, error) {
	s, env, err := w.callEnv(of)
	if err != nil {
		return nil, err
	}
	tools := registry(nil, s.shellOptions(), agent.Delegation{})
	return func(rules judge.Rules, id run.ID, mode permission.Mode, name string, class run.Class, arguments string) *judge.Judgement {
		a := readArgs(arguments)
		in := tool.Intent{Command: a.Command, URL: a.URL, Sandbox: a.Sandbox}
		if a.Path != "" {
			in.Paths = []string{a.Path}
		}
		if t, ok := tools.Get(name); ok {
			if inspected, err := t.Inspect(env, json.RawMessage(arguments)); err == nil {
				in, class = inspected, inspected.Class
			}
		}
		j := w.judge(s.policy)
		if rules != nil {
			j.Rules = rules
		}
		return j.Of(judge.Call{Run: id, Mode: mode, Tool: name, Class: class, Intent: in, Args: json.RawMessage(arguments), Env: env})
	}, nil
}

// Explain says how a call would be decided: what is the command of a
// shell, the address of a fetch, the path of a tool on files; of any other all calls are alike. run "" means no run's rules.
func (w *Workspace) Explain(ctx context.Context, id run.ID, mode permission.Mode, name, what string, confinement run.Confinement) (permission.Explanation, error) {
	key, class := "path", run.Writes
	switch name {
	case "shell":
		key, class = "command", permission.Classify(what).Class
	case "fetch":
		key, class = "url", run.Reads
	case "read", "list", "glob", "search":
		class = run.Reads
	case "edit", "write":
	case permission.MemoryTool:
		key = ""
	default:
		if !strings.HasPrefix(name, mcp.Prefix) {
			key, class = "", run.Resumable
		}
	}
	args := map[string]string{}
	if key != "" {
		args[key] = what
	}
	if name == "shell" && confinement != "" {
		args["sandbox"] = string(confinement)
	}
	raw, err := json.Marshal(args)
	if err != nil { // unreachable: they are texts
		panic(err)
	}
	var of run.State
	if id != "" {
		if _, of, err = w.Load(ctx, id); err != nil {
			return permission.Explanation{}, err
		}
	}
	judged, err := w.Judgements(of)
	if err != nil {
		return permission.Explanation{}, err
	}
	return judged(nil, id, mode, name, class, string(raw)).Explain()
}
