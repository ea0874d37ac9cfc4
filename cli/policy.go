package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"

	"pawl/permission"
	"pawl/policy"
	"pawl/run"
	"pawl/sandbox"
	"pawl/store"
	"pawl/tool"
	"pawl/worker"
)

// configDir returns the folder of the user's configuration.
func (inv *invocation) configDir() string { return filepath.Dir(inv.userFile()) }

// policy opens what holds in a workspace, without the rules of flags and settings.
func (inv *invocation) policy(workspace string) (*policy.Policy, error) {
	managed, _ := inv.Env("PAWL_MANAGED_RULES")
	if managed != "" && !filepath.IsAbs(managed) {
		// A relative one would be inspected for in the workspace, which must not be able
		// to hide an administrator's rules.
		return nil, usage("PAWL_MANAGED_RULES is %q: give an absolute path", managed)
	}
	return policy.Open(policy.Options{
		Workspace: workspace, ConfigDir: inv.configDir(), StateDir: inv.stateOf(workspace),
		Managed: managed, By: inv.person(),
	})
}

// person returns the name of who sits here, for who looks at rules later.
func (inv *invocation) person() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user " + strconv.Itoa(os.Getuid())
}

// asPerson refuses what a person alone may do when a run's command does it. The
// sandbox and the rules keep a run from it; this tells why, where neither is.
func (inv *invocation) asPerson(what string) error {
	for _, name := range []string{"PAWL_RUN", "PAWL_PROC"} {
		if v, _ := inv.Env(name); v != "" {
			return exit{exitPerson, fmt.Errorf("this is a command of a run, and a run cannot %s: a person does, in a terminal of their own", what)}
		}
	}
	return nil
}

// here is a workspace and what holds in it, for commands that look at rules.
type here struct {
	place
	policy   *policy.Policy
	settings settings
	tools    *tool.Registry
	own      []string // pawl's own folders
	// confinement is what commands run in; nil: nothing confines them.
	confinement *sandbox.Policy
}

// look opens the workspace and what holds in it, with the rules of environment and
// configuration. The caller closes the store.
func (inv *invocation) look(s settings, p place) (here, error) {
	h := here{place: p, settings: s, policy: s.policy, tools: registry(nil, tool.ShellOptions{}), own: inv.own(p)}
	given, err := givenRules(h.tools.Names(), s)
	if err != nil {
		return h, err
	}
	h.policy.SetRules(given)
	h.policy.SetHistory(sync.OnceValue(func() []permission.Allowed {
		return allowedBefore(context.Background(), p.store)
	}))
	if sandbox.Probe().Confines() {
		h.confinement, err = sandbox.For(p.workspace, inv.sandboxOptions(""))
	}
	return h, err
}

// maxHistory is how many of the newest runs are inspected through for what was allowed
// before: what somebody meant a year ago is not what they mean.
const maxHistory = 20

// allowedBefore returns the calls that were allowed in this workspace. What cannot be
// read is left out: it would only widen what is proposed.
func allowedBefore(ctx context.Context, s store.Store) []permission.Allowed {
	newest, err := s.Runs(ctx, maxHistory)
	if err != nil {
		return nil
	}
	var all []permission.Allowed
	for _, sum := range newest {
		calls := map[run.CallID]run.Call{}
		for e, err := range s.Events(ctx, sum.ID, 0) {
			if err != nil {
				break
			}
			for _, c := range callsOf(e.Payload) {
				calls[c.ID] = c
			}
			if f, ok := e.Payload.(run.CallDecided); ok && f.Decision.Allows() {
				args := readArgs(calls[f.Call].Arguments)
				a := permission.Allowed{Tool: calls[f.Call].Tool, Command: args.Command, URL: args.URL}
				if args.Path != "" {
					a.Paths = []string{args.Path}
				}
				all = append(all, a)
			}
		}
	}
	return all
}

// callsOf returns the calls that an event brings.
func callsOf(p run.Payload) []run.Call {
	var calls []run.Call
	switch f := p.(type) {
	case run.Replied:
		for _, p := range f.Parts {
			if p.Type == run.CallPart && p.Call != nil {
				calls = append(calls, *p.Call)
			}
		}
	case run.CallReceived:
		calls = append(calls, f.Call)
	}
	return calls
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

// request returns a call as the rules look at it.
func (h here) request(name string, class run.Class, arguments string) permission.Request {
	env := tool.Env{Workspace: h.workspace, StateDir: h.state, Session: &tool.Session{}, Sandbox: h.confinement}
	a := readArgs(arguments)
	in := tool.Intent{Command: a.Command, URL: a.URL, Sandbox: a.Sandbox}
	if a.Path != "" {
		in.Paths = []string{a.Path}
	}
	if t, ok := h.tools.Get(name); ok {
		if inspected, err := t.Inspect(env, json.RawMessage(arguments)); err == nil {
			in = inspected
		}
	}
	return worker.PermissionRequest(env, name, class, in, h.own)
}

// withPolicy runs do with what holds in the workspace.
func (inv *invocation) withPolicy(ctx context.Context, s settings, do func(context.Context, here) error) error {
	p, err := inv.open()
	if err != nil {
		return err
	}
	h, err := inv.look(s, p)
	if err == nil {
		err = do(ctx, h)
	}
	return errors.Join(err, p.store.Close())
}

// tellNotes says on standard error which rules do not count as they are written.
func (inv *invocation) tellNotes(p *policy.Policy) {
	for _, note := range p.Notes() {
		fmt.Fprintf(inv.Stderr, "pawl: %s\n", visible(note))
	}
}
