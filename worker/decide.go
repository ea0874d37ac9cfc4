package worker

import (
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
	// Digest is of what the person was shown. If it is not empty, and the call would
	// do something else by now, the answer does not count.
	Digest string `json:"digest,omitempty"`
}

// Judged returns a call as the rules look at it: what it names is looked up on the
// disk as it is now. own are pawl's own folders; see [permission.Request.Own].
func Judged(env tool.Env, name string, class run.Class, in tool.Intent, own []string) permission.Request {
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

// judged is a call as the rules look at it.
func (d *Driver) judged(s run.State, c run.CallState) (permission.Request, tool.Intent, error) {
	in, err := d.intent(s, c.Call)
	if err != nil {
		return permission.Request{}, in, err
	}
	r := Judged(d.env, c.Tool, c.Class, in, d.w.Own)
	r.Root = d.w.Root
	return r, in, nil
}

// digest is what a decision on a call is bound to.
func (d *Driver) digest(r permission.Request, c run.Call) string {
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

// decide asks the permission rules; nil means that a person has to, and the call
// waits.
func (d *Driver) decide(s run.State, c run.CallState) run.Fact {
	if d.handsIn(s, c.Call) {
		return run.CallAllowed{Call: c.ID, Decision: run.Decision{Answer: run.Allow, Source: "default", Reason: "handing in the result is what was asked for"}}
	}
	r, in, err := d.judged(s, c)
	if err != nil {
		// It could be looked at when it was asked, and something has changed since.
		return run.CallRefused{Call: c.ID, Decision: run.Decision{Answer: run.Deny, Source: "look", Reason: err.Error()}, Content: err.Error()}
	}
	v := d.w.Judge.Decide(d.id, permission.Mode(s.Config.Mode), r)
	switch v.Verdict {
	case permission.Allow:
		d.decided[c.ID], d.leads[c.ID] = true, r.Resolved
		return run.CallAllowed{Call: c.ID, Decision: v.Answer()}
	case permission.Ask:
		switch d.w.OnAsk {
		case AskWait:
			return nil
		case AskFail:
			d.Interrupt(run.Interrupted{Cause: run.ByPolicy, Call: c.ID})
			return nil
		}
	}
	return run.CallRefused{Call: c.ID, Decision: v.Answer(), Content: refusal(in, v)}
}

// reconsider looks again at a call that is about to start, because time may have
// passed since it was allowed: nil if what was decided still holds.
func (d *Driver) reconsider(s run.State, c run.CallState) run.Fact {
	if d.decided[c.ID] {
		return nil // a moment ago, in this very append
	}
	r, in, err := d.judged(s, c)
	if err != nil {
		return run.CallRefused{Call: c.ID, Decision: run.Decision{Answer: run.Deny, Source: "look", Reason: err.Error()}, Content: err.Error()}
	}
	v := d.w.Judge.Decide(d.id, permission.Mode(s.Config.Mode), r)
	switch {
	case v.Verdict == permission.Deny:
		return run.CallRefused{Call: c.ID, Decision: v.Answer(), Content: refusal(in, v)}
	case c.Decision.Digest != "" && c.Decision.Digest != d.digest(r, c.Call):
		return run.DecisionVoided{Call: c.ID, Reason: "what the call would do has changed since it was allowed"}
	case c.Decision.Digest == "" && !stillHolds(c.Decision, v):
		return run.DecisionVoided{Call: c.ID, Reason: "the rules say something else now: " + v.Reason}
	}
	d.leads[c.ID] = r.Resolved
	return nil
}

// stillHolds reports whether the rules, asked again, say what they said. What was
// allowed to run read-only stays read-only, also if a rule made since would allow more.
func stillHolds(was run.Decision, now permission.Decision) bool {
	return now.Verdict == permission.Allow && (was.Sandbox == now.Sandbox || was.Sandbox == run.ReadOnly)
}

// personDecided returns the facts of a person's decision; none for a call that waits for
// none: the first answer wins.
func (d *Driver) personDecided(a Decision) []run.Fact {
	s := d.state
	if !waits(s, a.Call) {
		return nil
	}
	c := s.Turn.Calls[0]
	for _, c = range s.Turn.Calls {
		if c.ID == a.Call {
			break
		}
	}
	r, in, err := d.judged(s, c)
	if err != nil {
		return nil // advance finds the same, and tells the model
	}
	digest := d.digest(r, c.Call)
	if a.Digest != "" && a.Digest != digest {
		d.show(View{Notice: fmt.Sprintf("the answer to %s does not count: the call would do something else by now", in.Title)})
		return nil
	}
	mode := permission.Mode(s.Config.Mode)
	decision := run.Decision{Answer: a.Answer, Source: byPerson, By: a.By}
	keep := func(effect permission.Verdict) error {
		rules := a.Rules
		if len(rules) == 0 {
			proposal := d.w.Judge.Propose(d.id, mode, r)
			if rules = proposal.Rules; effect == permission.Deny {
				rules = proposal.Deny
			}
			if len(rules) == 0 {
				return fmt.Errorf("there is none: %s", proposal.Reason)
			}
		}
		for i := range rules {
			rules[i].Effect, rules[i].By, rules[i].When = effect, a.By, d.w.now()
			decision.Rule = rules[i].String()
		}
		return d.w.Judge.Keep(d.id, rules)
	}
	var kept error
	switch a.Answer {
	case run.Allow, run.Always:
		if a.Answer == run.Always {
			kept = keep(permission.Allow)
		}
		decision.Digest, decision.Sandbox = digest, r.Sandbox
		if mode == permission.Plan && r.Command != "" && r.Sandbox == run.Confined {
			decision.Sandbox = run.ReadOnly
		}
		d.complain(kept)
		return []run.Fact{run.CallAllowed{Call: a.Call, Decision: decision}}
	case run.Never, run.Deny:
		text := "The user does not allow this."
		decision.Reason = "a person does not allow it"
		if a.Answer == run.Never {
			if kept = keep(permission.Deny); kept == nil {
				decision.Reason += ", now or later"
				text = "The user does not allow this, now or later: a rule against it is stored (" + decision.Rule + ")."
			}
		}
		text += " Do it another way, or finish and say what you would need."
		if a.Text != "" {
			text += " They say: " + a.Text
		}
		d.complain(kept)
		return []run.Fact{run.CallRefused{Call: a.Call, Decision: decision, Content: text}}
	case run.Wait:
		f := run.Interrupted{Cause: run.ByWait, Call: a.Call, By: a.By}
		if a.Text != "" {
			f.Then = []run.Part{run.Text(a.Text)}
		}
		return []run.Fact{f}
	}
	return nil
}

// complain shows that a rule could not be stored: the answer counts for its call.
func (d *Driver) complain(err error) {
	if err != nil {
		d.show(View{Notice: fmt.Sprintf("the rule could not be stored: %v; the answer counts for this call alone", err)})
	}
}

// refusal is what the model is told of a call that may not run.
func refusal(in tool.Intent, v permission.Decision) string {
	what := in.Title
	if what == "" {
		what = "This"
	}
	text := fmt.Sprintf("Not allowed: %s was not run: %s.", what, strings.TrimSuffix(v.Reason, "."))
	if v.Verdict == permission.Ask {
		text += " A person would have to allow it, and no one is there to ask. Do it another way that is allowed, or finish and say what you would need."
	}
	return text
}
