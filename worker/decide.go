package worker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/tool"
)

// byPerson is the source of a person's decision.
const byPerson = "person"

// PermissionRequest returns a call in the form that rules decide on, with its paths
// resolved on the disk as it is now. Everything that a decision depends on is an argument: own
// are pawl's own folders, and root says that commands have the machine's authority; see
// [permission.Request].
func PermissionRequest(env tool.Env, name string, class run.Class, in tool.Intent, own []string, root bool) permission.Request {
	r := permission.Request{Tool: name, Class: class, Command: in.Command, Runs: in.Runs, Hooks: in.Hooks, URL: in.URL, Paths: in.Paths,
		Workspace: env.Workspace, Folders: env.Dirs, Dir: cmp.Or(in.Dir, env.Session.ShellDir()), Own: own, Root: root,
		Sandbox: in.Sandbox, Sandboxed: env.Sandbox != nil, EnforcesReadOnly: env.Sandbox != nil && env.Sandbox.EnforcesReadOnly()}
	if in.Command != "" {
		r.LocalPrograms = localPrograms(env, in.Command)
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
	r.Edits = class == run.Writes && len(in.Paths) > 0 && in.Command == ""
	if r.Edits {
		for _, p := range r.Resolved {
			if at := absolute(env, p); env.Sandbox.Obeys(at) {
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

// permissionRequest returns a call of the run in the form that rules decide on.
func (d *Runner) permissionRequest(s run.State, c run.CallState) (permission.Request, tool.Intent, error) {
	in, err := d.intent(s, c.Call)
	if err != nil {
		return permission.Request{}, in, err
	}
	if in.As != "" { // it runs outside of the sandbox
		env := d.env
		env.Sandbox = nil
		return PermissionRequest(env, in.As, in.Class, in, d.w.Own, d.w.Root), in, nil
	}
	return PermissionRequest(d.env, c.Tool, c.Class, in, d.w.Own, d.w.Root), in, nil
}

// digest identifies what a decision on a call is valid for.
func (d *Runner) digest(r permission.Request, c run.Call) string {
	files := map[string]string{}
	if r.Edits {
		for _, p := range r.Resolved {
			files[p] = contentHash(absolute(d.env, p))
		}
	}
	return permission.Digest(r, d.arguments(c).json, files)
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

// Decided implements [request.World]: the first answer to a call counts.
func (d world) Decided(s run.State, a request.Decide) ([]run.Payload, error) {
	c, ok := s.Turn.Call(a.Call)
	if !ok || c.Status != run.CallIsInspected {
		return nil, fmt.Errorf("call %s does not need approval: another answer was first, or its turn has ended", a.Call)
	}
	r, _, err := d.permissionRequest(s, c)
	if err != nil {
		return nil, err // the next step fails the same way and tells the model
	}
	// The answer is valid for what was shown. If the call would do something else by now,
	// Recheck invalidates the approval when the call is about to start.
	digest := d.digest(r, c.Call)
	shown := cmp.Or(a.Digest, digest)
	decision := run.Decision{Answer: a.Answer, Source: byPerson, By: a.By}
	switch a.Answer {
	case run.Allow, run.Always:
		if a.Answer == run.Always && strings.HasPrefix(digest, shown) {
			decision.Rule = d.rulesOf(s, a, r, permission.Allow)
		}
		decision.Digest, decision.Sandbox = shown, r.Sandbox
		return []run.Payload{run.CallDecided{Call: a.Call, Decision: decision}}, nil
	case run.Never, run.Deny:
		text := "The person refused this call."
		decision.Reason = "denied by a person"
		if a.Answer == run.Never {
			if decision.Rule = d.rulesOf(s, a, r, permission.Deny); decision.Rule != "" {
				decision.Reason += ", and a rule was stored"
				text = fmt.Sprintf("The person refused this call, and calls like it from now on (rule %s).", decision.Rule)
			}
		}
		if a.Text != "" {
			text += " They say: " + a.Text
			decision.Reason += ": " + a.Text
		}
		return []run.Payload{run.CallDecided{Call: a.Call, Decision: decision, Content: text}}, nil
	case run.Wait:
		f := run.Interrupted{Cause: run.ByWait, Call: a.Call, By: a.By}
		if a.Text != "" {
			f.Then = []run.Part{run.Text(a.Text)}
		}
		return []run.Payload{f}, nil
	}
	return nil, fmt.Errorf("%q is no answer to a call", a.Answer)
}

// A Preview is what a call of a run would do now, to be shown to a person.
type Preview struct {
	Request permission.Request
	Intent  tool.Intent
	Digest  string // for [request.Decide]
}

// Preview returns what a call of a run in state s would do now. The run need not be owned.
// An error is the one that the model would receive.
func (w *Worker) Preview(s run.State, c run.CallState) (Preview, error) {
	d := &Runner{w: w, id: s.Created.Run, resolved: map[run.CallID]arguments{}}
	if err := d.take(s); err != nil {
		return Preview{}, err
	}
	r, in, err := d.permissionRequest(s, c)
	if err != nil {
		return Preview{}, err
	}
	return Preview{r, in, d.digest(r, c.Call)}, nil
}

// rulesOf returns the last of the rules that a decision stores; they are stored when it is
// durable. If there is none, a notice says why and it returns "".
func (d *Runner) rulesOf(s run.State, a request.Decide, r permission.Request, effect permission.Verdict) string {
	rules := a.Rules
	if len(rules) == 0 {
		mode, err := d.mode(s)
		if err != nil {
			d.notices = append(d.notices, fmt.Sprintf("no rule is stored: %v; the answer applies to this call only", err))
			return ""
		}
		proposal := d.w.Authorizer.Propose(d.id, mode, r)
		if rules = proposal.Rules; effect == permission.Deny {
			rules = proposal.Deny
		}
		if len(rules) == 0 {
			d.notices = append(d.notices, fmt.Sprintf("no rule is stored: %s; the answer applies to this call only", proposal.Reason))
			return ""
		}
	}
	last := ""
	for i := range rules {
		rules[i].Effect, rules[i].By, rules[i].When = effect, a.By, d.w.now().UTC()
		last = rules[i].String()
	}
	d.rules[a.Call] = rules
	return last
}

// storeRules stores the rules of the decisions among events, which are durable: a decision
// whose rules cannot be stored stands, and a notice says that it has none.
func (d *Runner) storeRules(events []run.Event) {
	for _, e := range events {
		decided, ok := e.Payload.(run.CallDecided)
		rules := d.rules[decided.Call]
		if !ok || decided.Decision.Rule == "" || len(rules) == 0 {
			continue
		}
		if err := d.w.Authorizer.AddRules(d.id, rules); err != nil {
			d.notices = append(d.notices, fmt.Sprintf("the rule %s could not be stored: %v; the answer applies to this call only", decided.Decision.Rule, err))
			continue
		}
		d.rulesChanged = true
	}
}

// refusal returns the result of a call that may not run.
func refusal(in tool.Intent, v permission.Decision) string {
	what := in.Title
	if what == "" {
		what = "This"
	}
	text := fmt.Sprintf("Not allowed: %s was not run: %s", what, v.Reason)
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	if v.Verdict == permission.Ask {
		text += " It needs a person's approval, and no one is there to give it. Do it another way that is allowed, or finish and say what you would need."
	}
	return text
}
