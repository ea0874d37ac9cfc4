package worker

import (
	"fmt"
	"strings"

	"pawl/heuristic"
	"pawl/permission"
	"pawl/run"
)

// world is what the core asks of a runner while it makes a batch.
type world struct{ *Runner }

// Inspect finds a call's tool, checks its arguments and says what it would do.
func (w world) Inspect(s run.State, c run.Call) run.CallInspected {
	p := run.CallInspected{Call: c.ID, Tool: c.Tool, Class: run.Reads, Key: heuristic.CallKey(c.Tool, c.Arguments)}
	i := w.inspect(s, c)
	if i.err != nil {
		p.Problem = i.err.Error()
		return p
	}
	in := i.intent
	p.Class, p.Priority, p.Polls, p.Question = in.Class, in.Priority, in.Polls, in.Question
	if in.As != "" { // the call itself only asks, and its answer may come later
		p.Class, p.Late = run.Reads, true
	}
	p.Submits = w.submits(s.Config, c)
	return p
}

// Decide asks the permission rules. A call that needs a person's approval is not
// decided on again until the run or the rules have changed.
func (w world) Decide(s run.State, c run.CallState) run.Payload {
	version := fmt.Sprint(s.Seq, w.w.Authorizer.Versions(w.id)[0])
	if w.asked[c.ID] == version {
		return nil
	}
	if err := w.w.check(s.Config); err != nil {
		return refusedBy("configuration", c.ID, err.Error())
	}
	if p := w.hooksFirst(s, run.PreToolUse, c.ID); p != nil {
		return p
	}
	j, source, err := w.judge(s, c)
	if err != nil {
		return refusedBy(source, c.ID, err.Error())
	}
	v := byHooks(s, c.ID, j)
	if v.Verdict == permission.Ask {
		if p := w.hooksFirst(s, run.PermissionRequest, c.ID); p != nil {
			return p
		}
	}
	if v.Verdict == permission.Ask && s.AllowedLate(c.Key) {
		return run.CallDecided{Call: c.ID, Decision: run.Decision{Answer: run.Allow, Source: byPerson,
			Reason: "a person allowed it when the agent's turn had ended", Digest: j.Digest()}}
	}
	if p, waits := w.byModel(s, c, j, v); p != nil || waits {
		return p
	}
	switch v.Verdict {
	case permission.Allow:
		d := v.Answer()
		if v.Source == byHook {
			d.Digest = j.Digest() // the rules alone would ask
		}
		return run.CallDecided{Call: c.ID, Decision: d}
	case permission.Ask:
		switch w.w.OnAsk {
		case AskWait:
			if p := w.notification(s, c.ID); p != nil {
				return p
			}
			w.asked[c.ID] = version
			return nil
		case AskFail:
			return run.Interrupted{Cause: run.ByPolicy, Call: c.ID}
		}
	}
	return run.CallDecided{Call: c.ID, Decision: v.Answer(), Content: refusal(j.Intent, v)}
}

// Recheck looks again at a call that is about to start.
func (w world) Recheck(s run.State, c run.CallState) run.Payload {
	j, source, err := w.judge(s, c)
	if err != nil {
		return refusedBy(source, c.ID, err.Error())
	}
	v := j.Decision()
	switch {
	case v.Verdict == permission.Deny:
		return run.CallDecided{Call: c.ID, Decision: v.Answer(), Content: refusal(j.Intent, v)}
	case c.Decision.Digest != "" && !strings.HasPrefix(j.Digest(), c.Decision.Digest):
		return run.ApprovalInvalidated{Call: c.ID, Reason: "what the call would do has changed since it was allowed"}
	case c.Decision.Source == run.ByModel && !modelStillDecides(j):
		return run.ApprovalInvalidated{Call: c.ID, Reason: "a person has to decide: " + v.Reason}
	case c.Decision.Digest == "" && !stillHolds(c.Decision, v):
		return run.ApprovalInvalidated{Call: c.ID, Reason: "the rules have changed: " + v.Reason}
	}
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
func (w world) Submit(s run.State, c run.CallState) (value, problem string) {
	i := w.inspect(s, c.Call)
	if i.err != nil { // it fitted when the call was inspected
		return "", i.err.Error()
	}
	if w.task != nil {
		problem = w.task.Takes(s, c, i.result)
	}
	return i.result, problem
}

// Partial returns what has streamed of the request under way.
func (w world) Partial(next int) ([]run.Part, run.Usage) {
	for _, op := range w.ops {
		if op.stream != nil {
			parts, usage := op.stream.partial(next)
			return parts, w.priced(w.core.State.Config.Model, usage)
		}
	}
	return nil, run.Usage{}
}

// Jobs returns the background jobs that are running.
func (w world) Jobs() []run.Job { return w.env.Session.Jobs() }

var _ run.World = world{}
