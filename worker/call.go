package worker

import (
	"context"
	"fmt"
	"runtime/debug"

	"pawl/run"
	"pawl/tool"
)

// look finds a call's tool, checks its arguments and tells its class.
func (d *Driver) look(s run.State, c run.Call) run.Fact {
	f := run.CallAsked{Call: c.ID, Tool: c.Tool, Class: run.Reads, Key: run.CallKey(c.Tool, c.Arguments)}
	in, err := d.intent(s, c)
	if err != nil {
		f.Problem = err.Error()
		return f
	}
	f.Class, f.Priority, f.Waits, f.Ask = in.Class, in.Priority, in.Waits, in.Ask
	return f
}

// intent returns what a call would do; the error is for the model.
func (d *Driver) intent(s run.State, c run.Call) (tool.Intent, error) {
	args := d.arguments(c)
	if args.err != nil {
		return tool.Intent{}, args.err
	}
	tools, _ := d.equip(s.Config.Output)
	if err := tools.Validate(c.Tool, args.json); err != nil {
		return tool.Intent{}, err
	}
	t, _ := tools.Get(c.Tool)
	return t.Look(d.env, args.json)
}

// perform runs a call and lands what came of it.
func (d *Driver) perform(ctx context.Context, f *flight, c run.CallState) {
	res := tool.ErrorResult("It was stopped before it had begun.")
	if !d.gateClosed() { // an interrupt may have won while the start was written
		res = d.invoke(ctx, f, c)
	}
	outcome := run.OK
	if res.IsError {
		outcome = run.Failed
	}
	stop, stopped := context.Cause(ctx).(Stop)
	if stopped && f.keeper != nil {
		f.keeper.abort() // half of a result is told and not stored
		f.keeper = nil
	}
	fact := d.deliver(f.keeper, c, f.args.mode, res, outcome)
	fact.JobRuns = d.env.Session.JobsRun()
	if stopped {
		fact.Outcome, fact.IsError = run.Cut, true
		fact.Content = append([]run.Part{run.Text(stop.Interrupted.CutText(run.PlainText(res.Content)))}, images(res.Content)...)
	}
	d.landed <- landing{key: f.key, fact: fact}
}

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
func (d *Driver) invoke(ctx context.Context, f *flight, c run.CallState) (res tool.Result) {
	defer func() {
		if r := recover(); r != nil {
			if d.w.Log != nil {
				d.w.Log.Error("a tool panicked", "run", d.id, "call", c.ID, "tool", c.Tool, "panic", r, "stack", string(debug.Stack()))
			}
			res = tool.ErrorResult(fmt.Sprintf("The tool %s broke (%v). This is a bug of pawl; what it did is unknown. Try another way.", c.Tool, r))
			res.Change = run.MayChange
		}
	}()
	t, ok := d.w.Tools.Get(c.Tool) // the one that hands in does not run
	if !ok {                       // it was there when the call was asked; another pawl may have resumed the run
		return tool.ErrorResult("There is no tool called " + c.Tool + " any more.")
	}
	env := d.env
	env.Leads = f.leads
	call := tool.Call{Run: d.id, ID: c.ID, Args: f.args.json, Sandbox: c.Decision.Sandbox,
		Granted:  c.Decision.Source == byPerson || c.Decision.Source == "mode",
		Progress: func(s string) { d.show(View{Progress: &Progress{Call: c.ID, Text: s}}) }}
	if f.keeper != nil {
		call.Output = f.keeper
	}
	if t.Spec().Unstored {
		d.storing.Wait() // it may ask for them
	}
	res, err := t.Run(ctx, env, call)
	if err != nil {
		res.IsError = true
		res.Content = append(res.Content, run.Text(err.Error()))
	}
	if len(res.Content) == 0 && !res.Written {
		res.Content = []run.Part{run.Text("(no output)")}
	}
	return res
}

func settled(id run.CallID, res tool.Result, outcome run.Outcome) run.CallSettled {
	return run.CallSettled{Call: id, Outcome: outcome, Content: res.Content, IsError: res.IsError,
		Change: res.Change, Files: res.Files, Key: run.ResultKey(res.Content, res.IsError)}
}
