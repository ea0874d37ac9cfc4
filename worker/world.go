package worker

import (
	"fmt"
	"strings"

	"pawl/heuristic"
	"pawl/permission"
	"pawl/run"
	"pawl/tool"
)

// world is what the core asks of a runner while it makes a batch.
type world struct{ *Runner }

// Inspect finds a call's tool, checks its arguments and says what it would do.
func (d world) Inspect(s run.State, c run.Call) run.CallInspected {
	p := run.CallInspected{Call: c.ID, Tool: c.Tool, Class: run.Reads, Key: heuristic.CallKey(c.Tool, c.Arguments)}
	in, err := d.intent(s, c)
	if err != nil {
		p.Problem = err.Error()
		return p
	}
	p.Class, p.Priority, p.Polls, p.Question = in.Class, in.Priority, in.Polls, in.Question
	if in.As != "" { // the call itself only asks, and its answer may come later
		p.Class, p.Late = run.Reads, true
	}
	p.Submits = d.submits(s.Config, c)
	return p
}

// Decide asks the permission rules. A call that needs a person's approval is not
// decided on again until the run or the rules have changed.
func (d world) Decide(s run.State, c run.CallState) run.Payload {
	version := fmt.Sprint(s.Seq, d.w.Authorizer.Versions(d.id)[0])
	if d.asked[c.ID] == version {
		return nil
	}
	if err := d.w.check(s.Config); err != nil {
		return refusedBy("configuration", c.ID, err.Error())
	}
	r, in, err := d.permissionRequest(s, c)
	if err != nil {
		// It could be inspected before, and something has changed since.
		return refusedBy("inspection", c.ID, err.Error())
	}
	mode, err := d.mode(s)
	if err != nil {
		return refusedBy("configuration", c.ID, err.Error())
	}
	v := d.w.Authorizer.Decide(d.id, mode, r)
	if v.Verdict == permission.Ask && s.AllowedLate(c.Key) {
		return run.CallDecided{Call: c.ID, Decision: run.Decision{Answer: run.Allow, Source: byPerson,
			Reason: "a person allowed it when the agent's turn had ended", Digest: d.digest(r, c.Call)}}
	}
	switch v.Verdict {
	case permission.Allow:
		d.leads[c.ID] = r.Resolved
		return run.CallDecided{Call: c.ID, Decision: v.Answer()}
	case permission.Ask:
		switch d.w.OnAsk {
		case AskWait:
			d.asked[c.ID] = version
			return nil
		case AskFail:
			return run.Interrupted{Cause: run.ByPolicy, Call: c.ID}
		}
	}
	return run.CallDecided{Call: c.ID, Decision: v.Answer(), Content: refusal(in, v)}
}

// Recheck looks again at a call that is about to start.
func (d world) Recheck(s run.State, c run.CallState) run.Payload {
	r, in, err := d.permissionRequest(s, c)
	if err != nil {
		return refusedBy("inspection", c.ID, err.Error())
	}
	mode, err := d.mode(s)
	if err != nil {
		return refusedBy("configuration", c.ID, err.Error())
	}
	v := d.w.Authorizer.Decide(d.id, mode, r)
	switch {
	case v.Verdict == permission.Deny:
		return run.CallDecided{Call: c.ID, Decision: v.Answer(), Content: refusal(in, v)}
	case c.Decision.Digest != "" && !strings.HasPrefix(d.digest(r, c.Call), c.Decision.Digest):
		return run.ApprovalInvalidated{Call: c.ID, Reason: "what the call would do has changed since it was allowed"}
	case c.Decision.Digest == "" && !stillHolds(c.Decision, v):
		return run.ApprovalInvalidated{Call: c.ID, Reason: "the rules have changed: " + v.Reason}
	}
	d.leads[c.ID] = r.Resolved
	return nil
}

// stillHolds reports whether the rules, asked again, say what they said. What was
// allowed to run read-only stays read-only, also if a rule made since would allow more.
func stillHolds(was run.Decision, now permission.Decision) bool {
	return now.Verdict == permission.Allow && (was.Sandbox == now.Sandbox || was.Sandbox == run.ReadOnly)
}

func refusedBy(source string, id run.CallID, reason string) run.CallDecided {
	return run.CallDecided{Call: id, Decision: run.Decision{Answer: run.Deny, Source: source, Reason: reason}, Content: reason}
}

// Submit reads the result that a call hands in.
func (d world) Submit(s run.State, c run.CallState) (value, problem string) {
	args := d.arguments(c.Call)
	if args.err != nil {
		return "", args.err.Error()
	}
	_, submission := d.tools(s.Config)
	value, err := submission.Value(args.json)
	if err != nil { // it fitted when the call was inspected
		return "", err.Error()
	}
	if problem := d.taskTakes(s, c, value); problem != "" {
		return "", problem
	}
	return value, ""
}

// Partial returns what has streamed of the request under way.
func (d world) Partial(next int) ([]run.Part, run.Usage) {
	for _, op := range d.ops {
		if op.stream != nil {
			parts, usage := op.stream.partial(next)
			return parts, d.priced(d.core.State.Config.Model, usage)
		}
	}
	return nil, run.Usage{}
}

// Jobs returns the background jobs that are running.
func (d world) Jobs() []run.Job { return d.env.Session.Jobs() }

// intent returns what a call would do; the error is for the model.
func (d *Runner) intent(s run.State, c run.Call) (tool.Intent, error) {
	args := d.arguments(c)
	if args.err != nil {
		return tool.Intent{}, args.err
	}
	tools, _ := d.tools(s.Config)
	if err := d.notGranted(s, tools, c.Tool); err != nil {
		return tool.Intent{}, err
	}
	if err := tools.Validate(c.Tool, args.json); err != nil {
		return tool.Intent{}, err
	}
	t, _ := tools.Get(c.Tool)
	return t.Inspect(d.env, args.json)
}

var _ run.World = world{}
