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
	"pawl/run"
	"pawl/tool"
)

// byPerson is the source of a decision that a person gave.
const byPerson = "person"

// A Decision is the payload of an inbox row of kind decide: a person's answer to a
// call that waits for one. The first that comes counts.
type Decision struct {
	Call   run.CallID `json:"call"`
	Answer run.Answer `json:"answer"` // allow, always, wait, never
	By     string     `json:"by,omitempty"`
	// Text is said to the model: with wait it begins the next turn, with never it
	// stands in the result.
	Text string `json:"text,omitempty"`
	// Rules are what is stored, as the person saw and perhaps edited them, with
	// always and never; none: what would be proposed.
	Rules permission.Rules `json:"rules,omitempty"`
	// Digest is of what the person was shown, or the beginning of it. If the call would
	// do something else by now, the answer does not count.
	Digest string `json:"digest,omitempty"`
}

// PermissionRequest returns a call as the rules see it: what it names is looked up on
// the disk as it is now. own are pawl's own folders; see [permission.Request.Own].
func PermissionRequest(env tool.Env, name string, class run.Class, in tool.Intent, own []string) permission.Request {
	r := permission.Request{Tool: name, Class: class, Command: in.Command, Runs: in.Runs, URL: in.URL, Paths: in.Paths,
		Workspace: env.Workspace, Dir: env.Session.ShellDir(), Own: own,
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
	r.Edits = class == run.Writes && len(in.Paths) > 0 && in.Command == ""
	return r
}

// permissionRequest is a call as the rules see it.
func (d *Runner) permissionRequest(s run.State, c run.CallState) (permission.Request, tool.Intent, error) {
	in, err := d.intent(s, c.Call)
	if err != nil {
		return permission.Request{}, in, err
	}
	r := PermissionRequest(d.env, c.Tool, c.Class, in, d.w.Own)
	r.Root = d.w.Root
	return r, in, nil
}

// digest is what a decision on a call is bound to.
func (d *Runner) digest(r permission.Request, c run.Call) string {
	files := map[string]string{}
	if r.Edits {
		for _, p := range r.Resolved {
			files[p] = contentHash(filepath.Join(d.env.Workspace, p))
		}
	}
	return permission.Digest(r, d.arguments(c).json, files)
}

// maxHashed bounds how much of a file a decision is bound to: no edit is made in a
// larger one.
const maxHashed = 256 << 20

// contentHash returns the SHA-256 of a file, or how it could not be read.
func contentHash(path string) string {
	// Without O_NONBLOCK a named pipe would wait for its writer.
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

// decided returns what a person's decision means in s; nothing for a call that does
// not wait for one: the first answer wins.
func (d *Runner) decided(s run.State, a Decision) []run.Payload {
	c, ok := s.Turn.Call(a.Call)
	if !ok || c.Status != run.CallIsInspected {
		return nil
	}
	r, _, err := d.permissionRequest(s, c)
	if err != nil {
		return nil // the next step finds the same, and tells the model
	}
	// The answer is bound to what was shown. If the call would do something else by now,
	// that is found when it is about to start, and it needs approval again.
	digest := d.digest(r, c.Call)
	shown := cmp.Or(a.Digest, digest)
	decision := run.Decision{Answer: a.Answer, Source: byPerson, By: a.By}
	switch a.Answer {
	case run.Allow, run.Always:
		if a.Answer == run.Always && strings.HasPrefix(digest, shown) {
			decision.Rule = d.addRules(s, a, r, permission.Allow)
		}
		decision.Digest, decision.Sandbox = shown, r.Sandbox
		return []run.Payload{run.CallDecided{Call: a.Call, Decision: decision}}
	case run.Never, run.Deny:
		text := "The person refused this call."
		decision.Reason = "a person does not allow it"
		if a.Answer == run.Never {
			if decision.Rule = d.addRules(s, a, r, permission.Deny); decision.Rule != "" {
				decision.Reason += ", now or later"
				text = fmt.Sprintf("The person refused this call, and calls like it from now on (rule %s).", decision.Rule)
			}
		}
		if a.Text != "" {
			text += " They say: " + a.Text
		}
		return []run.Payload{run.CallDecided{Call: a.Call, Decision: decision, Content: text}}
	case run.Wait:
		f := run.Interrupted{Cause: run.ByWait, Call: a.Call, By: a.By}
		if a.Text != "" {
			f.Then = []run.Part{run.Text(a.Text)}
		}
		return []run.Payload{f}
	}
	return nil
}

// A Preview is what a call of a run would do now, for whoever shows it to a person.
type Preview struct {
	Request permission.Request
	Intent  tool.Intent
	Digest  string // for [Decision]: an answer counts for what was shown
}

// Preview returns what a call of a run in state s would do now. It takes no part in
// driving the run. An error is as the model would be told.
func (w *Worker) Preview(s run.State, c run.CallState) (Preview, error) {
	d := &Runner{w: w, id: s.Created.Run, resolved: map[run.CallID]arguments{}}
	d.take(s)
	r, in, err := d.permissionRequest(s, c)
	if err != nil {
		return Preview{}, err
	}
	return Preview{r, in, d.digest(r, c.Call)}, nil
}

// addRules stores the rules that come with a decision, and returns the last of them;
// empty if none was stored, which the person is told.
func (d *Runner) addRules(s run.State, a Decision, r permission.Request, effect permission.Verdict) string {
	rules := a.Rules
	if len(rules) == 0 {
		proposal := d.w.Authorizer.Propose(d.id, permission.Mode(s.Config.Mode), r)
		if rules = proposal.Rules; effect == permission.Deny {
			rules = proposal.Deny
		}
		if len(rules) == 0 {
			d.show(View{Notice: fmt.Sprintf("no rule is stored: %s; the answer counts for this call alone", proposal.Reason)})
			return ""
		}
	}
	last := ""
	for i := range rules {
		rules[i].Effect, rules[i].By, rules[i].When = effect, a.By, d.w.now().UTC()
		last = rules[i].String()
	}
	if err := d.w.Authorizer.AddRules(d.id, rules); err != nil {
		d.show(View{Notice: fmt.Sprintf("the rule could not be stored: %v; the answer counts for this call alone", err)})
		return ""
	}
	return last
}

// refusal is what the model is told of a call that may not run.
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
