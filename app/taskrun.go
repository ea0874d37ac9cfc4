package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"pawl/inbox"
	"pawl/internal/text"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/tasklog"
)

// A TaskRunError says that a run belongs to a task, so that only its task continues it.
type TaskRunError struct {
	Run  run.ID
	Task task.State
}

func (e *TaskRunError) Error() string {
	return fmt.Sprintf("run %s belongs to task %s, which is %s: it is continued with its task (`%s`), or apart from it as a copy (`pawl runs fork %[1]s`)",
		e.Run, e.Task.Created.Task, e.Task.Status.Name().Words(), TaskNext(e.Task))
}

// checkNoTask returns a [*TaskRunError] for a run that belongs to a task.
func (w *Workspace) checkNoTask(ctx context.Context, id run.ID) error {
	s, err := w.taskOf(ctx, id)
	if err != nil || s == nil {
		return err
	}
	return &TaskRunError{id, *s}
}

// taskOf returns the task that a run belongs to; nil: none.
func (w *Workspace) taskOf(ctx context.Context, id run.ID) (*task.State, error) {
	st, err := w.reading()
	if err != nil {
		return nil, noRuns(err)
	}
	of, err := st.TaskOf(ctx, id)
	if err != nil || of == "" {
		return nil, err
	}
	s, err := w.LoadTask(ctx, task.ID(of))
	if errors.Is(err, store.ErrNoTask) {
		return nil, nil // it was removed since
	}
	return &s, err
}

// tasks returns the tasks of the workspace's store.
func (w *Workspace) tasks(st store.Store) *tasklog.Tasks {
	return &tasklog.Tasks{Store: st, Check: w.checkOutput, Changed: w.taskChanged, Log: w.logger(), Metrics: w.opt.Metrics}
}

// Submit submits a result for a task from outside of its run, and records in the task that it was not accepted;
// see [tasklog.Tasks.Submit].
func (w *Workspace) Submit(ctx context.Context, r tasklog.Request) (tasklog.Receipt, error) {
	st, err := w.writing()
	if err != nil {
		return tasklog.Receipt{}, err
	}
	receipt, err := w.tasks(st).Submit(ctx, r)
	if err != nil {
		w.recordRefused(context.WithoutCancel(ctx), r.Task, r.Run, r.Tool, err)
	}
	return receipt, err
}

// maxRefusal bounds what a task keeps of why a result was not accepted, in characters.
const maxRefusal = 500

// recordRefused records that a result of a run was not accepted, as a call of a run in this process would be.
// Not recorded are the result that was accepted, handed in again, and the same refusal again, so that an agent
// that repeats it does not fill the history. A failure to record it does not change the answer.
func (w *Workspace) recordRefused(ctx context.Context, id task.ID, r run.ID, tool string, refusal error) {
	fact := task.ToolExecuted{Tool: strings.ReplaceAll(tool, "_", "-"), Outcome: run.Invalid, IsError: true, Detail: text.Clip(refusal.Error(), maxRefusal)}
	if e, ok := errors.AsType[*task.SubmissionError](refusal); ok {
		if fact.Outcome = run.Refused; e.Kind == task.AlreadySubmitted && e.SamePayload {
			return
		}
	} else if !errors.As(refusal, new(*task.InputError)) {
		return // it could not be looked at
	}
	s, err := w.LoadTask(ctx, id)
	if err != nil {
		return
	}
	if _, ok := s.Run(r); !ok {
		return
	}
	last, err := w.TaskEvents(ctx, id, s.Seq-1, 1)
	if err == nil && len(last) == 1 && last[0].Run == r && last[0].Payload == task.Payload(fact) {
		return
	}
	_, _ = w.DoTask(ctx, id, "", task.Note{Run: r, Fact: fact})
}

// CallTool makes a call for the agent of a run from outside; see [inbox.Call].
func (w *Workspace) CallTool(ctx context.Context, id run.ID, c request.Call) (request.Result, error) {
	st, err := w.writing()
	if err != nil {
		return request.Result{}, err
	}
	return inbox.Call(ctx, st, id, c)
}

// OpenTaskRun opens the run of an assignment: the existing one, or a new one of its agent.
func (w *Workspace) OpenTaskRun(ctx context.Context, s task.State, r task.Run) (*Session, error) {
	st, err := w.writing()
	if err != nil {
		return nil, err
	}
	left, _ := s.Left()
	limits := run.Limits{Cost: left.Cost, Tokens: left.Tokens}
	if _, err := st.Run(ctx, r.ID); err == nil {
		return w.resume(ctx, r.ID, Task{Limits: limits, budgeted: true, Keeps: w.openedBefore(r.ID)})
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	w.openedBefore(r.ID)
	a, err := w.taskAgent(ctx, r.Agent, r.Kind)
	if err != nil {
		return nil, err
	}
	o, _ := a.Kind.Output() // not one that the agent declares: the task needs its own
	dir := ""
	if s.Copy != nil && r.Kind == task.Worker {
		if _, _, err := w.copyOfTask(ctx, s.Created.Task); err != nil {
			return nil, err
		}
		dir = s.Copy.Dir
	}
	return w.Start(ctx, Task{Run: r.ID, Name: runName(s), dir: dir, Agent: a.Name, Output: o, Limits: limits})
}

// openedBefore reports whether a run was opened here for its task before. What was given for this process, such as a
// permission mode, counts the first time: a person may have changed the run since. For one that serves it never
// counts for a run that is there, and nothing is remembered of its runs.
func (w *Workspace) openedBefore(id run.ID) bool {
	if w.opt.Serves {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taskRuns[id] {
		return true
	}
	if w.taskRuns == nil {
		w.taskRuns = map[run.ID]bool{}
	}
	w.taskRuns[id] = true
	return false
}

// runName names a run of a task, whose prompts all begin alike, by the task.
func runName(s task.State) string {
	title := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s.Title())
	return text.OneLine(fmt.Sprintf("%s %s", s.Created.Task, title), run.MaxName)
}

// atMost returns limits that are no higher than others; a zero field of these is none.
func atMost(l, most run.Limits) run.Limits {
	force := l.InForce()
	if most.Cost > 0 && (force.Cost < 0 || force.Cost > most.Cost) {
		l.Cost = most.Cost
	}
	if most.Tokens > 0 && (force.Tokens < 0 || force.Tokens > most.Tokens) {
		l.Tokens = most.Tokens
	}
	if most.Steps > 0 && (force.Steps < 0 || force.Steps > most.Steps) {
		l.Steps = most.Steps
	}
	if most.Calls > 0 && (force.Calls < 0 || force.Calls > most.Calls) {
		l.Calls = most.Calls
	}
	if most.Wall > 0 && (force.Wall < 0 || force.Wall > most.Wall) {
		l.Wall = most.Wall
	}
	return l
}
