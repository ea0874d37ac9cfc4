package worker

import (
	"cmp"
	"context"
	"time"

	"pawl/hook"
	"pawl/judge"
	"pawl/permission"
	"pawl/run"
	"pawl/task"
)

// Hooks returns the hooks that a point has.
func (w world) Hooks(s run.State, at run.Hook) []string {
	if !w.hooks.Has(at.Point) || s.Created.External && at.Point != run.TaskCompleted && at.Point != run.Notification {
		return nil // external agents have hooks of their own
	}
	if at.Point == run.TaskCompleted && w.completes(s, at.Call) == nil {
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
	if _, _, started := s.Turn.Hooked(point, id); started || !s.Turn.Open() {
		return nil
	}
	if names := w.Hooks(s, run.Hook{Point: point, Call: id}); len(names) > 0 {
		return run.HookStarted{Point: point, Call: id, Hooks: names}
	}
	return nil
}

// notification returns the event with which the hooks begin that tell a person of a call that waits for them; nil: there
// are none, or they were told of this call, or of one that waits beside it.
func (w world) notification(s run.State, id run.CallID) run.Payload {
	for _, c := range s.Turn.Calls {
		if c.Status == run.CallIsInspected && s.Notified(c.ID) {
			return nil
		}
	}
	return w.hooksFirst(s, run.Notification, id)
}

// completes returns the report with which a call completes the task of the run; nil: it is none.
func (r *Runner) completes(s run.State, id run.CallID) *task.Report {
	c, ok := s.Turn.Call(id)
	if !ok || r.task == nil || s.Config.Output.Tool != task.CompletionReportTool {
		return nil
	}
	output, err := task.ParseOutput(task.Worker, r.inspect(s, c.Call).result)
	if report, ok := output.(task.Report); ok && err == nil && report.Status == task.ReportComplete {
		return &report
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
		case says == run.HookAllows && j.ForHooks(d):
			reason = cmp.Or(reason, "a hook allows it")
			d = permission.Decision{Verdict: permission.Allow, Source: byHook, Reason: reason}
		}
	}
	return d
}

// byHook is the source of a decision of hooks.
const byHook = "hook"

// moment returns what hooks are told of a point.
func (r *Runner) moment(s run.State, at run.Hook) hook.Moment {
	m := hook.Moment{Hook: at, Run: r.id, Mode: s.Config.Mode, Model: s.Config.Model}
	if s.Created.Parent != "" {
		m.Agent, m.Child = cmp.Or(s.Created.Agent, "general"), cmp.Or(s.Created.AgentID, string(r.id))
	}
	if at.Call == "" {
		m.Messages = s.Messages
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
	case run.TaskCompleted:
		if report := r.completes(s, at.Call); report != nil {
			m.Task, m.Report = r.task.Card(), report.Summary
		}
	case run.Notification:
		m.Source = "permission_prompt"
	case run.SessionEnd:
		r.mu.Lock()
		m.Source = cmp.Or(r.reason, "other")
		r.mu.Unlock()
	case run.Stop, run.SubagentStop:
		m.Blocks, m.Message = s.Turn.StopBlocks(), s.Said()
	}
	return m
}

// sessionSource returns why the hooks of the beginning are to run; "" if they have, in this process and since the context
// was summarized.
func (r *Runner) sessionSource(s run.State) string {
	began := "startup"
	switch {
	case s.SessionStarted > r.takenAt && s.Summarized <= s.SessionStarted:
		return ""
	case s.SessionStarted > r.takenAt:
		return "compact"
	case s.Created.ForkedFrom != "" && s.SessionStarted <= s.Created.ForkedAt:
		began = "fork"
	case r.takenAt > 1: // more than its creation
		began = "resume"
	}
	m := hook.Moment{Hook: run.Hook{Point: run.SessionStart}, Run: r.id, Source: began}
	if s.Summarized > r.takenAt && len(r.hooks.For(m, r.env.Workspace)) == 0 {
		return "compact" // no hook was for the beginning
	}
	return began
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

// Ends says why the process lets go of the run, as hooks of the end of a session are told it. It is called before Close.
func (r *Runner) Ends(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reason = reason
}

// notifyPatience is how long hooks that nothing waits for may go on when the run is closed.
const notifyPatience = 1500 * time.Millisecond

// endSession runs the hooks of the end of a session, and waits for them and for others that nothing waited for.
func (r *Runner) endSession() {
	if r.hooks == nil || r.lease == nil || r.fresh || r.created != nil || r.core.State.Seq <= r.takenAt {
		return // nothing has happened here
	}
	r.closing = true
	var in run.Input
	patience := notifyPatience
	if at := (run.Hook{Point: run.SessionEnd}); r.core.State.Created.Parent == "" {
		m := r.moment(r.core.State, at)
		if names := (world{r}).Hooks(r.core.State, at); len(names) > 0 {
			in.Given = []run.Payload{run.HookStarted{Point: at.Point, Hooks: names}}
		}
		for _, h := range r.hooks.For(m, r.env.Workspace) {
			patience = max(patience, h.Timeout+time.Second) // it ends by its own limit first
		}
	}
	if len(in.Given) == 0 && !r.core.Aside() {
		return
	}
	over := time.AfterFunc(patience, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cancel(errClosed)
	})
	defer over.Stop()
	for r.step(in) == nil && r.core.Aside() {
		in = r.completed(<-r.done)
	}
}
