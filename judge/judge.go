// Package judge says what a call would do, and whether it may.
//
// A judgement is made of the whole input: the call's tool and what it intends, the folder and sandbox it would
// run in, the mode and the rules in force, and the disk as it is at that moment. It has no effects. It is used
// wherever a call is decided, shown or explained: by the run, in the dialog, by the hook of an external agent,
// for a file that a prompt mentions, and by `pawl permissions explain`, so that all of them agree.
package judge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"pawl/permission"
	"pawl/run"
	"pawl/sandbox"
	"pawl/tool"
)

// Rules are the rules in force. They are safe for concurrent use.
type Rules interface {
	// Decide decides whether a call of a run may run; run "": outside of runs.
	Decide(id run.ID, m permission.Mode, r permission.Request) permission.Decision
	// Explain returns how that is decided, part by part.
	Explain(id run.ID, m permission.Mode, r permission.Request) (permission.Explanation, error)
	// Propose returns the rules to store when a person always allows or never allows a call.
	Propose(id run.ID, m permission.Mode, r permission.Request) permission.Proposal
}

// Fixed are rules that are what they are, for whatever run: some to be tried before they are stored.
type Fixed permission.Rules

func (f Fixed) Decide(_ run.ID, m permission.Mode, r permission.Request) permission.Decision {
	return permission.Rules(f).Decide(r, m)
}

func (f Fixed) Explain(_ run.ID, m permission.Mode, r permission.Request) (permission.Explanation, error) {
	return permission.Rules(f).Explain(r, m), nil
}

// Propose learns from no history.
func (f Fixed) Propose(_ run.ID, m permission.Mode, r permission.Request) permission.Proposal {
	return permission.Rules(f).Propose(r, m, nil)
}

// A Judge judges calls. It is safe for concurrent use.
type Judge struct {
	Rules Rules
	// Own are pawl's own folders and files, which no call may write: absolute paths with
	// links resolved.
	Own []string
	// Root reports that commands run as root; see [permission.Request].
	Root bool
}

// A Call is a call to be judged.
type Call struct {
	Run    run.ID // empty: outside of runs
	Mode   permission.Mode
	Tool   string
	Class  run.Class
	Intent tool.Intent
	Args   json.RawMessage // as the tool gets them
	Env    tool.Env
}

// A Judgement says what a call would do and whether it may. The rules and the content of files are read once,
// when they are first needed. It is not safe for concurrent use.
type Judgement struct {
	Intent  tool.Intent
	Request permission.Request // the call as the rules look at it, with its paths resolved
	Mode    permission.Mode    // in which it was judged

	judge    *Judge
	call     Call
	decision *permission.Decision
	digest   string
}

// Of returns the judgement of a call. One that asks for the use of a tool of an external agent's is judged
// as that use, which pawl does not confine; what git obeys is known by the sandbox all the same.
func (j *Judge) Of(c Call) *Judgement {
	known := c.Env.Sandbox
	if c.Intent.As != "" {
		c.Tool, c.Class, c.Env.Sandbox = c.Intent.As, c.Intent.Class, nil
	}
	of := &Judgement{Intent: c.Intent, Request: j.request(c, known), Mode: c.Mode, judge: j, call: c}
	// Whether the sandbox bounds a command matters to a question alone, and takes a look at much of the workspace.
	r := &of.Request
	if r.Command == "" || !r.Sandboxed || of.Decision().Verdict != permission.Ask {
		return of
	}
	if opens := of.Decision().Opens; opens != run.Confined {
		r.Sandbox, of.decision = opens, nil // the question says it, and the answer is bound to it
		return of
	}
	if !c.Env.Sandbox.Contains() {
		return of
	}
	if !r.Writes { // it asks to write because it could not, run unasked
		r.Contains, of.decision = true, nil
	}
	// What is known to need the network asks once, with it: with the hosts that it needs, if they are known.
	if r.Sandbox != run.Confined || of.Decision().Verdict != permission.Ask {
		return of
	}
	if permission.InstallsForAll(r.Command) && !installsElsewhere() {
		r.Sandbox, of.decision = run.Unconfined, nil // with the network alone it would fail, and ask again
	} else if hosts := permission.HostsOf(r.Command); len(hosts) > 0 && r.ByHost {
		r.Sandbox, of.decision = run.ToHosts(hosts...), nil
	} else if permission.NeedsNetwork(r.Command) {
		r.Sandbox, of.decision = run.WithNetwork, nil
	}
	return of
}

// installsElsewhere reports whether variables say where programs for all folders are installed: perhaps in the workspace.
func installsElsewhere() bool {
	return slices.ContainsFunc([]string{"GOBIN", "npm_config_prefix", "NPM_CONFIG_PREFIX", "PNPM_HOME"}, func(name string) bool { return os.Getenv(name) != "" })
}

// Decision returns whether the call may run.
func (j *Judgement) Decision() permission.Decision {
	if j.decision == nil {
		d := j.judge.Rules.Decide(j.call.Run, j.Mode, j.Request)
		j.decision = &d
	}
	return *j.decision
}

// Granted returns how much of the sandbox holds for the call if a person allows it.
func (j *Judgement) Granted() run.Confinement {
	if d := j.Decision(); d.Verdict == permission.Ask {
		return d.Sandbox
	}
	return j.Request.Sandbox
}

// Explain returns how the rules decide, part by part.
func (j *Judgement) Explain() (permission.Explanation, error) {
	e, err := j.judge.Rules.Explain(j.call.Run, j.Mode, j.Request)
	e.Model = j.ForModel(e.Decision)
	return e, err
}

// Propose returns the rules that an answer for good would store.
func (j *Judgement) Propose() permission.Proposal {
	return j.judge.Rules.Propose(j.call.Run, j.Mode, j.Request)
}

// Digest identifies what a decision on the call is valid for: what it would do, and the content of the
// files that it would edit.
func (j *Judgement) Digest() string {
	if j.digest == "" {
		files := map[string]string{}
		if j.Request.Edits {
			for _, p := range j.Request.Resolved {
				files[p] = contentHash(absolute(j.call.Env, p))
			}
		}
		j.digest = digestOf(j.Request, j.call.Args, files)
	}
	return j.digest
}

func (j *Judge) request(c Call, known *sandbox.Policy) permission.Request {
	env, in := c.Env, c.Intent
	r := permission.Request{Tool: c.Tool, Class: c.Class, Command: in.Command, Runs: in.Runs, Hooks: in.Hooks, Tracked: in.Tracked, URL: in.URL, Paths: in.Paths, Arguments: in.Arguments,
		Workspace: env.Workspace, Folders: env.Dirs, Dir: cmp.Or(in.Dir, env.Session.ShellDir()), Own: j.Own, Root: j.Root, Child: env.Conversation != env.Run,
		Sandbox: in.Sandbox, Sandboxed: env.Sandbox != nil, EnforcesReadOnly: env.Sandbox != nil && env.Sandbox.EnforcesReadOnly(), ByHost: env.Sandbox.ByHost()}
	if in.Command != "" {
		r.LocalPrograms = localPrograms(env, in.Command)
		r.Writes = in.Writes
	}
	for _, p := range in.Paths {
		resolved, _, err := tool.Resolve(env, p)
		if err != nil {
			r.Outside = true
			continue
		}
		r.Resolved = append(r.Resolved, resolved)
	}
	for _, p := range in.Below {
		resolved, _, err := tool.Resolve(env, p)
		if err != nil {
			r.Outside = true
			continue
		}
		r.Below = append(r.Below, p, resolved)
	}
	r.Edits = c.Class == run.Writes && len(in.Paths) > 0 && in.Command == ""
	if r.Edits {
		for _, p := range r.Resolved {
			if at := absolute(env, p); known.Obeys(at) {
				r.Obeyed = append(r.Obeyed, p)
			}
		}
	}
	return r
}

// absolute returns a resolved path of a request as an absolute one.
func absolute(env tool.Env, resolved string) string {
	if filepath.IsAbs(resolved) {
		return resolved
	}
	return filepath.Join(env.Workspace, resolved)
}

// maxHashed bounds how much of a file is hashed: larger files are not edited.
const maxHashed = 256 << 20

// contentHash returns the SHA-256 of a file, or a word for why there is none.
func contentHash(path string) string {
	// Without O_NONBLOCK opening a named pipe would block until it has a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "none"
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "no file"
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxHashed)); err != nil {
		return "unreadable"
	}
	return hex.EncodeToString(h.Sum(nil))
}
