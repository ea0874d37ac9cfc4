package worker

import (
	"cmp"
	"context"

	"pawl/hook"
	"pawl/judge"
	"pawl/permission"
	"pawl/run"
)

// Hooks returns the hooks that a point has.
func (w world) Hooks(s run.State, at run.Hook) []string {
	if !w.hooks.Has(at.Point) {
		return nil
	}
	if at.Point == run.SessionStart && w.sessionSource(s) == "" || at.Point == run.SubagentStart && s.SessionStarted > 0 {
		return nil // they have run
	}
	var names []string
	for _, h := range w.hooks.For(w.moment(s, at), w.env.Workspace) {
		names = append(names, h.Name())
	}
	return names
}

// hooksFirst returns the event with which the hooks before a call, or before a person is asked about it, begin; nil: there
// are none, or they were begun.
func (w world) hooksFirst(s run.State, point run.HookPoint, id run.CallID) run.Payload {
	if _, _, started := s.Turn.Hooked(point, id); started || s.Created.External || !s.Turn.Open() {
		return nil
	}
	if names := w.Hooks(s, run.Hook{Point: point, Call: id}); len(names) > 0 {
		return run.HookStarted{Point: point, Call: id, Hooks: names}
	}
	return nil
}

// byHooks returns what hooks make of the decision on a call: what is asked about although a rule allows it, and what no one
// has to be asked about. They lift no rule, no mode and nothing of the sandbox.
func byHooks(s run.State, id run.CallID, j *judge.Judgement) permission.Decision {
	d := j.Decision()
	for _, point := range []run.HookPoint{run.PreToolUse, run.PermissionRequest} {
		says, reason, _ := s.Turn.Hooked(point, id)
		switch {
		case says == run.HookAsks && d.Verdict == permission.Allow:
			d = permission.Decision{Verdict: permission.Ask, Source: byHook, Sandbox: d.Sandbox, Reason: "a hook asks: " + reason}
		case says == run.HookAllows && isQuestion(d) && j.Request.StaysInside():
			reason = cmp.Or(reason, "a hook allows it")
			d = permission.Decision{Verdict: permission.Allow, Source: byHook, Sandbox: d.Sandbox, Reason: reason}
		}
	}
	return d
}

// isQuestion reports whether a call is asked about because nothing allows it, and it stays in the sandbox.
func isQuestion(d permission.Decision) bool {
	return d.Verdict == permission.Ask && d.Source == "default" && d.Sandbox == run.Confined
}

// byHook is the source of a decision of hooks.
const byHook = "hook"

// moment returns what hooks are told of a point.
func (r *Runner) moment(s run.State, at run.Hook) hook.Moment {
	m := hook.Moment{Hook: at, Run: r.id, Mode: s.Config.Mode, Model: s.Config.Model}
	if s.Created.Parent != "" {
		m.Agent, m.Child = cmp.Or(s.Created.Agent, "general"), cmp.Or(s.Created.AgentID, string(r.id))
	}
	if c, ok := s.Turn.Call(at.Call); ok {
		m.Call, m.Result, m.IsError = c.Call, run.PlainText(c.Result.Content), c.Result.IsError
		if a := r.arguments(c.Call); a.err == nil && len(a.json) > 0 {
			m.Call.Arguments = string(a.json) // with what they quote of stored results
		}
	}
	switch at.Point {
	case run.SessionStart:
		m.Source = r.sessionSource(s)
	case run.PreCompact:
		m.Source = "auto"
		if s.CompactionAsked() {
			m.Source = "manual"
		}
	case run.UserPromptSubmit:
		parts, _ := s.Unscreened()
		m.Prompt = run.PlainText(parts)
	case run.Stop, run.SubagentStop:
		m.Blocks, m.Message = s.Turn.StopBlocks(), s.Said()
	}
	return m
}

// sessionSource returns why the hooks of the beginning are to run; "" if they have, in this process and since the context
// was summarized.
func (r *Runner) sessionSource(s run.State) string {
	switch {
	case s.SessionStarted > r.takenAt && s.Summarized > s.SessionStarted:
		return "compact"
	case s.SessionStarted > r.takenAt:
		return ""
	case s.Created.ForkedFrom != "" && s.SessionStarted <= s.Created.ForkedAt:
		return "fork"
	case r.takenAt > 1: // more than its creation
		return "resume"
	}
	return "startup"
}

// runHooks runs the hooks of a point.
func (r *Runner) runHooks(ctx context.Context, op *operation, at run.Hook, m hook.Moment) {
	env := r.env.ForCall()
	p := r.hooks.Run(ctx, env, m, r.hooks.For(m, env.Workspace))
	if stop, stopped := context.Cause(ctx).(Stop); stopped {
		runs := p.Runs
		for i := range runs {
			runs[i].Problem = stop.Interrupted.NotRunText()
		}
		p = run.HookSettled{Runs: runs}
	}
	p.Point, p.Call = at.Point, at.Call
	r.done <- run.Completion{Key: op.key, Events: []run.Payload{p}}
}
