package worker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl/judge"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/tool"
)

// byPerson is the source of a person's decision.
const byPerson = "person"

// An inspection is what is known of a call in the batch that is made, in which nothing runs: it is inspected
// and judged once.
type inspection struct {
	tools     *tool.Registry // of the configuration in which it was inspected
	arguments string         // of the call then: hooks may change them
	intent    tool.Intent
	result    string           // that the call submits, in the form in which it is stored
	err       error            // for the model
	judgement *judge.Judgement // nil: it was not judged yet
}

// inspect returns what a call would do.
func (r *Runner) inspect(s run.State, c run.Call) *inspection {
	tools, _ := r.tools(s.Config)
	if i := r.inspected[c.ID]; i != nil && i.tools == tools && i.arguments == c.Arguments {
		return i
	}
	i := &inspection{tools: tools, arguments: c.Arguments}
	i.err = r.ask(s, i, c)
	r.inspected[c.ID] = i
	return i
}

// leads returns where the paths of a call led when it was judged in this batch.
func (r *Runner) leads(id run.CallID) []string {
	if i := r.inspected[id]; i != nil && i.judgement != nil {
		return i.judgement.Request.Resolved
	}
	return nil
}

// ask asks the tool of a call what it would do.
func (r *Runner) ask(s run.State, i *inspection, c run.Call) error {
	args := r.arguments(c)
	if args.err != nil {
		return args.err
	}
	err := r.notGranted(s, i.tools, c.Tool)
	if err != nil {
		return err
	}
	if _, submission := r.tools(s.Config); submission != nil && c.Tool == s.Config.Output.Tool {
		i.result, err = submission.Value(args.json)
	} else {
		err = i.tools.Validate(c.Tool, args.json)
	}
	if err != nil {
		return err
	}
	t, _ := i.tools.Get(c.Tool)
	i.intent, err = t.Inspect(r.env, args.json)
	if err == nil && i.intent.As != "" { // an external agent asks for a tool of its own: what its agent may use holds for that
		err = r.notGranted(s, i.tools, i.intent.As)
	}
	return err
}

// judge returns the judgement of a call. The error says why there is none, and is for the model; source
// is what it comes from.
func (r *Runner) judge(s run.State, c run.CallState) (j *judge.Judgement, source string, err error) {
	i := r.inspect(s, c.Call)
	if i.err != nil { // it could be inspected before, and something has changed since
		return nil, "inspection", i.err
	}
	mode, err := r.mode(s)
	if err != nil {
		return nil, "configuration", err
	}
	if mode = cmp.Or(mode, permission.Default); i.judgement == nil || i.judgement.Mode != mode {
		i.judgement = r.w.judge().Of(judge.Call{Run: r.id, Mode: mode, Tool: c.Tool, Class: c.Class,
			Intent: i.intent, Args: r.arguments(c.Call).json, Env: r.env})
	}
	return i.judgement, "", nil
}

// Decided implements [request.World]: the first answer to a call counts.
func (w world) Decided(s run.State, a request.Decide) ([]run.Payload, error) {
	c, ok := s.Turn.Call(a.Call)
	if ok && s.Turn.Hooking(a.Call) {
		return nil, fmt.Errorf("call %s is looked at by hooks first: answer when it is asked about", a.Call)
	}
	if !ok || c.Status != run.CallIsInspected {
		return nil, fmt.Errorf("call %s does not need approval: another answer was first, or its turn has ended", a.Call)
	}
	j, _, err := w.judge(s, c)
	if err != nil {
		return nil, err // the next step fails the same way and tells the model
	}
	// The answer is valid for what was shown. If the call would do something else by now,
	// Recheck invalidates the approval when the call is about to start.
	digest := j.Digest()
	shown := cmp.Or(a.Digest, digest)
	decision := run.Decision{Answer: a.Answer, Source: byPerson, By: a.By}
	switch {
	case a.Answer == run.Allow, a.Answer == run.Always:
		if a.Answer == run.Always && strings.HasPrefix(digest, shown) {
			decision.Rule = w.rulesOf(a, j, permission.Allow)
		}
		decision.Digest, decision.Sandbox = shown, j.Granted()
		return []run.Payload{run.CallDecided{Call: a.Call, Decision: decision}}, nil
	case a.Answer == run.Never, a.Answer == run.Deny, a.Answer == run.Wait && !s.Turn.Open(): // there is no turn to interrupt
		text := "The person refused this call."
		decision.Reason = "denied by a person"
		if a.Answer == run.Never {
			if decision.Rule = w.rulesOf(a, j, permission.Deny); decision.Rule != "" {
				decision.Reason += ", and a rule was stored"
				text = fmt.Sprintf("The person refused this call, and calls like it from now on (rule %s).", decision.Rule)
			}
		}
		if a.Text != "" {
			text += " They say: " + a.Text
			decision.Reason += ": " + a.Text
		}
		return []run.Payload{run.CallDecided{Call: a.Call, Decision: decision, Content: text}}, nil
	case a.Answer == run.Wait:
		f := run.Interrupted{Cause: run.ByWait, Call: a.Call, By: a.By}
		if a.Text != "" {
			f.Then = []run.Part{run.Text(a.Text)}
		}
		return []run.Payload{f}, nil
	}
	return nil, fmt.Errorf("%q is no answer to a call", a.Answer)
}

// Judge returns what a call of a run in state s would do now, and whether it may: to be shown to a person.
// The run need not be owned. An error is the one that the model would receive.
func (w *Worker) Judge(s run.State, c run.CallState) (*judge.Judgement, error) {
	r := &Runner{w: w, id: s.Created.Run, resolved: map[run.CallID]arguments{}, inspected: map[run.CallID]*inspection{}}
	if err := r.take(s); err != nil {
		return nil, err
	}
	j, _, err := r.judge(s, c)
	return j, err
}

// rulesOf returns the last of the rules that a decision stores; they are stored when it is
// durable. If there is none, a notice says why and it returns "".
func (r *Runner) rulesOf(a request.Decide, j *judge.Judgement, effect permission.Verdict) string {
	rules := slices.Clone(a.Rules) // the request stays as it was handed in
	if len(rules) == 0 {
		proposal := j.Propose()
		if rules = proposal.Rules; effect == permission.Deny {
			rules = proposal.Deny
		}
		if len(rules) == 0 {
			r.notices = append(r.notices, fmt.Sprintf("no rule is stored: %s; the answer applies to this call only", proposal.Reason))
			return ""
		}
	}
	last := ""
	for i := range rules {
		rules[i].Effect, rules[i].By, rules[i].When = effect, a.By, r.w.now().UTC()
		last = rules[i].String()
	}
	r.rules[a.Call] = rules
	return last
}

// storeRules stores the rules of the decisions among events, which are durable: a decision
// whose rules cannot be stored stands, and a notice says that it has none.
func (r *Runner) storeRules(events []run.Event) {
	for _, e := range events {
		decided, ok := e.Payload.(run.CallDecided)
		rules := r.rules[decided.Call]
		if !ok || decided.Decision.Rule == "" || len(rules) == 0 {
			continue
		}
		if err := r.w.Authorizer.AddRules(r.id, rules); err != nil {
			r.notices = append(r.notices, fmt.Sprintf("the rule %s could not be stored: %v; the answer applies to this call only", decided.Decision.Rule, err))
			continue
		}
		r.rulesChanged = true
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
