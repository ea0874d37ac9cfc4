package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"pawl/heuristic"
	"pawl/internal/secret"
	"pawl/run"
	"pawl/tool"
	"pawl/view"
)

// perform runs a call in env, in which it was judged, and reports its result.
func (r *Runner) perform(ctx context.Context, env tool.Env, op *operation, c run.CallState) {
	env.Leads = op.leads
	res, err := tool.Result{NotStarted: c.Class != run.Resumable}, error(nil)
	if !r.gateClosed() || c.Handle != "" { // what goes on without pawl is told that the call is stopped
		res, err = r.invoke(ctx, env, op, c)
	} else if c.Class == run.Resumable { // an interrupt has won while the start was written, or the call was parked
		r.interruptChild(c.ID)
	}
	stop, stopped := context.Cause(ctx).(Stop)
	if errors.Is(err, tool.ErrParked) {
		if !stopped {
			r.done <- run.Completion{Key: op.key, Parked: true}
			return
		}
		r.interruptChild(c.ID) // it had left its turn open before the interrupt reached it
	}
	if stopped && op.result != nil {
		op.result.abort() // a partial result is not stored
		op.result = nil
	}
	p := r.deliver(op.result, c, op.args.mode, res)
	if res.Unknown {
		p.Outcome, p.IsError = run.Unknown, true
	}
	p.JobRuns, p.Tools, p.Usage = env.Session.JobsRun(), env.Changes(), res.Usage
	switch {
	case stopped && res.NotStarted:
		p.Outcome, p.IsError, p.Content = run.NotRun, true, []run.Part{run.Text(stop.Interrupted.NotRunText())}
	case stopped:
		p.Outcome, p.IsError, p.ExitCode = run.Cut, true, nil
		p.Content = append([]run.Part{run.Text(stop.Interrupted.CutText(run.PlainText(res.Content)))}, images(res.Content)...)
	}
	if r.instructions != nil && !res.NotStarted && len(op.leads) > 0 {
		p.Instructions = r.instructions(op.leads)
	}
	if p.Change != run.NoChange || c.Class == run.Writes {
		r.save(ctx)
	}
	r.done <- run.Completion{Key: op.key, Events: []run.Payload{p}}
}

// save saves the folder of the run for other machines. What keeps it from being saved is said: the next call saves it too.
func (r *Runner) save(interrupted context.Context) {
	if r.w.Save == nil {
		return
	}
	// What is interrupted has stopped already, and its result is recorded.
	ctx, cancel := context.WithCancel(context.WithoutCancel(interrupted))
	defer cancel()
	defer context.AfterFunc(interrupted, func() { time.AfterFunc(saveTime, cancel) })()
	err := r.w.Save(ctx, r.State().Created.Workspace)
	var why string
	if err != nil {
		why = "What was changed is on this machine alone: " + err.Error()
	}
	if was := r.unsaved.Swap(&why); why != "" && (was == nil || *was != why) {
		r.feed.show(view.Update{Notice: why})
		if r.w.Log != nil {
			r.w.Log.Warn("a folder is not saved for other machines", "run", r.id, "error", err)
		}
	}
}

// saveTime is how long a folder may still take to be saved after an interrupt.
const saveTime = 5 * time.Second

func images(parts []run.Part) []run.Part {
	var out []run.Part
	for _, p := range parts {
		if p.Type == run.ImagePart {
			out = append(out, p)
		}
	}
	return out
}

// invoke calls the tool. A panic in it is that call's result, not the end of the run.
func (r *Runner) invoke(ctx context.Context, env tool.Env, op *operation, c run.CallState) (res tool.Result, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			if r.w.Log != nil {
				r.w.Log.Error("a tool panicked", "run", r.id, "call", c.ID, "tool", c.Tool, "panic", cause, "stack", string(debug.Stack()))
			}
			res = tool.ErrorResult(fmt.Sprintf("The tool %s failed unexpectedly (%v). This is a bug in pawl; what the tool did is unknown. Try another way.", c.Tool, cause))
			res.Change, err = run.MayChange, nil
		}
	}()
	t, ok := r.tool(c.Tool) // the submission tool is never started
	if !ok {                // it existed when the call was inspected; another release of pawl may have resumed the run
		res := tool.ErrorResult("The tool " + c.Tool + " no longer exists.")
		res.Unknown = c.Handle != ""
		return res, nil
	}
	hidden := r.hidden()
	if c.Class == run.Writes {
		if mark := hidden.Mark(op.args.json); mark != "" {
			return tool.ErrorResult(fmt.Sprintf("Nothing was done: the arguments contain %s, which stands for a value that you are not shown. The call would write it in the place of the value. Leave that part of the file unchanged, and edit around it.", mark)), nil
		}
	}
	call := tool.Call{Run: r.id, ID: c.ID, Args: op.args.json, Sandbox: c.Decision.Sandbox, Handle: c.Handle,
		Detach:   func(ctx context.Context, handle string) error { return r.detach(ctx, op, c.ID, handle) },
		Granted:  c.Decision.Source == byPerson || c.Decision.Source == "mode",
		Progress: func(s string) { r.feed.show(view.Update{Progress: &view.Progress{Call: c.ID, Text: hidden.Hide(s)}}) }}
	if op.result != nil {
		out := hidden.Writer(op.result)
		defer out.Flush() // an error stays in op.result
		call.Output = out
	}
	if r.w.OnAsk == AskWait {
		call.Ask = func(ctx context.Context, question string, options ...string) (string, error) {
			return r.put(ctx, op, run.CallAsked{Call: c.ID, Question: question, Options: options})
		}
	}
	res, err = t.Run(ctx, env, call)
	if err != nil && !errors.Is(err, tool.ErrParked) {
		res.IsError = true
		res.Content = append(res.Content, run.Text(err.Error()))
	}
	if len(res.Content) == 0 && !res.Written {
		res.Content = []run.Part{run.Text("(no output)")}
	}
	hide(hidden, res.Content)
	return res, err
}

// hidden returns the secrets that results do not contain.
func (r *Runner) hidden() *secret.Values {
	if r.w.Hidden == nil {
		return nil
	}
	return r.w.Hidden()
}

// hide replaces secrets in parts, and in the results in them.
func hide(v *secret.Values, parts []run.Part) {
	for i := range parts {
		p := &parts[i]
		p.Text = v.Hide(p.Text)
		if p.Result != nil {
			hide(v, p.Result.Content)
			p.Result.Diff = v.Hide(p.Result.Diff)
		}
	}
}

// detach records that a running call can be asked for its outcome with a handle.
func (r *Runner) detach(ctx context.Context, op *operation, id run.CallID, handle string) error {
	r.done <- run.Completion{Key: op.key, Events: []run.Payload{run.CallDetached{Call: id, Handle: handle}}, More: true}
	select {
	case <-op.detached:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// put puts a question of a running call to the person, one at a time.
func (r *Runner) put(ctx context.Context, op *operation, q run.CallAsked) (string, error) {
	op.asking.Lock()
	defer op.asking.Unlock()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	select {
	case <-op.answers: // it came when nobody waited for it any more
	default:
	}
	r.done <- run.Completion{Key: op.key, Events: []run.Payload{q}, More: true}
	select {
	case answer := <-op.answers:
		return run.PlainText(answer), nil
	case <-ctx.Done():
		r.done <- run.Completion{Key: op.key, Events: []run.Payload{run.CallAnswered{Call: q.Call}}, More: true}
		return "", context.Cause(ctx)
	}
}

// settled returns the event of a call with the result of its tool.
func settled(id run.CallID, res tool.Result) run.CallSettled {
	p := run.CallSettled{Call: id, Outcome: run.OK, Content: res.Content, IsError: res.IsError, ExitCode: res.ExitCode,
		Change: res.Change, Files: res.Files, Kept: res.Kept, Key: resultKey(res.Content, res.IsError)}
	if res.IsError {
		p.Outcome = run.Failed
	}
	return p
}

// resultKey is equal for equal results, see [heuristic.ResultKey].
func resultKey(content []run.Part, isError bool) string {
	var texts []string
	var data [][]byte
	for _, p := range content {
		switch {
		case p.Type == run.TextPart:
			texts = append(texts, p.Text)
		case p.Image != nil:
			data = append(data, p.Image.Data)
		}
	}
	return heuristic.ResultKey(isError, texts, data)
}
