package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/permission"
	"pawl/run"
	"pawl/store"
	"pawl/tool"
	"pawl/view"
)

// spawn drives the child run of a call until its turn has ended: the existing one, or a
// new one with the parent's configuration and a share of its remaining limits. It is
// called from the goroutine of the call.
func (r *Runner) spawn(ctx context.Context, call run.CallID, child tool.Child) (tool.Result, error) {
	id := run.ChildID(r.id, call)
	if err := store.CheckID(id); err != nil {
		return tool.Result{}, fmt.Errorf("the child run of %s: %w", call, err)
	}
	watch := func(v view.Update) { r.showBelow(id, v) }
	var given []run.Payload
	c, err := r.w.Open(ctx, id, watch)
	if errors.Is(err, store.ErrNotFound) {
		c, err = r.create(ctx, id, call, child, watch)
		given = []run.Payload{run.Prompted{Parts: []run.Part{run.TextOf(child.Prompt, run.NotTyped)}}}
	}
	if _, driven := errors.AsType[*store.OwnedError](err); driven {
		return tool.Result{}, tool.ErrParked // by a person who answers it, in another process
	}
	if err != nil {
		return tool.Result{}, err
	}
	defer c.Close()
	if s := c.State(); given == nil && !s.Turn.Open() && s.Turn.End.End == run.EndInterrupted {
		given = []run.Payload{run.Prompted{Continue: true}}
	}
	within, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(Stop{run.Interrupted{Cause: run.ByParent}}) })
	defer stop()
	s, err := c.Run(within, given...)
	switch {
	case err != nil:
		return tool.Result{}, err
	case s.Turn.End.End == run.Asked && !s.Turn.Open() && !r.canAsk():
		return questionResult(s), nil
	case s.Turn.Open(), s.Turn.End.End == run.Asked:
		return tool.Result{}, tool.ErrParked
	case s.Turn.End.End == run.EndInterrupted && s.Turn.Interrupt.Cause == run.ByWait: // the person says what to do to this run
		r.Interrupt(run.Interrupted{Cause: run.ByWait, By: s.Turn.Interrupt.By})
	}
	return childResult(s), nil
}

// create makes the child run of a call.
func (r *Runner) create(ctx context.Context, id run.ID, call run.CallID, child tool.Child, watch func(view.Update)) (*Runner, error) {
	s := r.State()
	if s.Created.Depth >= run.MaxDepth {
		return nil, fmt.Errorf("no child run is started: runs are nested at most %d levels deep", run.MaxDepth)
	}
	limits, err := s.Reserved(call, child.Limits)
	if err != nil {
		return nil, err
	}
	config := child.Change.Apply(s.Config)
	config.Limits, config.Output = limits, child.Output
	config.Mode = string(permission.Stricter(permission.Mode(s.Config.Mode), permission.Mode(config.Mode)))
	created := run.Created{Run: id, Parent: r.id, ParentCall: call, Root: s.Created.Conversation(), Depth: s.Created.Depth + 1,
		AgentID:   s.AgentID(call),
		External:  r.w.external(config.Model),
		Workspace: s.Created.Workspace, Agent: child.Agent, System: s.Created.System, Config: config, Version: s.Created.Version}
	if child.System != nil {
		created.System = child.System(config.Model)
	}
	c, err := r.w.Create(ctx, created, watch)
	if err != nil {
		return nil, err
	}
	// It is owned now, so no sweep removes its rules, and not in the log before it runs: a
	// child never runs without the rules that hold for it.
	err = r.w.Authorizer.Inherit(r.id, id)
	if err == nil && len(child.Rules) > 0 {
		err = r.w.Authorizer.AddRules(id, child.Rules)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("no child run is started: its permission rules cannot be stored: %w", err), c.Close())
	}
	if err := c.joinTask(ctx, r.id); err != nil { // it becomes one of the task's with its first events
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// agents returns the agents of the ancestors of a run, the root's first, and its own.
func (r *Runner) agents(c run.Created) []string {
	var chain []string
	for range run.MaxDepth + 1 {
		if c.Agent != "" {
			chain = append(chain, c.Agent)
		}
		if c.Parent == "" {
			break
		}
		c = createdOf(context.Background(), r.w.Store, c.Parent)
	}
	slices.Reverse(chain)
	return chain
}

// leftChildren returns the calls of s that an earlier process had started, and that events settle without
// having started them again: their child runs may have an open turn.
func leftChildren(s run.State, events []run.Event) (left []run.CallID) {
	for _, e := range events {
		var id run.CallID
		switch p := e.Payload.(type) {
		case run.CallSettled:
			if p.Outcome == run.NotRun || p.Outcome == run.Unknown {
				id = p.Call
			}
		case run.CallDecided:
			if !p.Decision.Allows() {
				id = p.Call
			}
		}
		if c, ok := s.Turn.Call(id); ok && c.Class == run.Resumable && c.Attempt > 0 {
			left = append(left, id)
		}
	}
	return left
}

// interruptChild interrupts the child run that a call left with an open turn.
func (r *Runner) interruptChild(call run.CallID) {
	c, err := r.w.Open(context.Background(), run.ChildID(r.id, call), nil)
	if err != nil {
		return // it has none, or someone else drives it
	}
	defer c.Close()
	if s := c.State(); !s.Turn.Open() {
		return
	}
	stopped, cancel := context.WithCancelCause(context.Background())
	cancel(Stop{run.Interrupted{Cause: run.ByParent}})
	if _, err := c.Run(stopped); err != nil {
		r.w.debug("the child was not interrupted", "run", c.ID(), "error", err)
	}
}

// canAsk reports whether a person is asked what a child run asks. The question of a task's is told to
// the agent that started it: what that one asks is a question of the task.
func (r *Runner) canAsk() bool { return r.w.OnAsk == AskWait && r.task == nil }

// questionResult is what the parent's model is told of a child run that has ended with a question.
func questionResult(s run.State) tool.Result {
	var b strings.Builder
	for _, c := range s.Questions() {
		question, options := tool.Asked(c)
		fmt.Fprintf(&b, "The child run asks: %s\n", question)
		if len(options) > 0 {
			fmt.Fprintf(&b, "It offers: %s\n", strings.Join(options, ", "))
		}
	}
	b.WriteString("It has ended. Ask the person if only they know; start another one with the answer in its prompt.")
	if text := s.Said(); text != "" {
		b.WriteString("\n\n" + text)
	}
	res := tool.ErrorResult(b.String())
	res.Usage = s.Usage
	return res
}

// childResult is what the parent's model is told of a child run that has ended.
func childResult(s run.State) tool.Result {
	text := s.Answer()
	if v := s.Submission().Value; v != "" {
		text = v
	}
	res := tool.TextResult(text)
	if end := s.Turn.End; end.End != run.Completed {
		res = tool.ErrorResult(fmt.Sprintf("The child run ended %s: %s.\n\n%s", end.End, end.Detail, text))
	}
	res.Usage = s.Usage
	if s.Usage.Total() > 0 {
		res.Change = run.MayChange
	}
	return res
}
