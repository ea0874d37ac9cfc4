package app

import (
	"context"
	"fmt"
	"path/filepath"

	"pawl/agent"
	"pawl/config"
	"pawl/inbox"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/store/socket"
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
		e.Run, e.Task.Created.Task, e.Task.Status.Name.Words(), e.Task.Advice())
}

// checkNoTask returns a [*TaskRunError] for a run that belongs to a task.
func (w *Workspace) checkNoTask(ctx context.Context, id run.ID) error {
	s, err := w.TaskOf(ctx, id)
	if err != nil || s == nil {
		return err
	}
	return &TaskRunError{id, *s}
}

// Tasks returns the tasks of the workspace. They are made known to the processes that drive them when they change.
func (w *Workspace) Tasks() (*tasklog.Tasks, error) {
	st, err := w.writing()
	if err != nil {
		return nil, err
	}
	return w.tasks(st), nil
}

// ReadTasks returns the tasks of the workspace to be read alone; [store.ErrNoRuns] where no log was made yet.
func (w *Workspace) ReadTasks() (*tasklog.Tasks, error) {
	st, err := w.reading()
	if err != nil {
		return nil, err
	}
	return w.tasks(st), nil
}

// attachments returns the folder of the files that are attached to tasks.
func (w *Workspace) attachments() string { return filepath.Join(w.State, "attachments") }

func (w *Workspace) tasks(st store.Store) *tasklog.Tasks {
	return &tasklog.Tasks{Store: st, Files: w.attachments(), Check: w.checkOutput, Changed: w.taskChanged, Log: w.logger(), Metrics: w.opt.Metrics}
}

// CallTool makes a call for the agent of a run from outside; see [inbox.Call].
func (w *Workspace) CallTool(ctx context.Context, id run.ID, c request.Call) (request.Result, error) {
	st, err := w.writing()
	if err != nil {
		return request.Result{}, err
	}
	return inbox.Call(ctx, st, id, c)
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

// TaskAgent returns the agent of a name if it can run now as one of the kind.
func (w *Workspace) TaskAgent(ctx context.Context, name string, k task.Kind) (agent.Agent, error) {
	s, err := w.load()
	if err != nil {
		return agent.Agent{}, err
	}
	a, err := w.find(ctx, s, name)
	if err == nil && task.Kind(a.Kind) != k {
		err = config.Errorf("the agent %s is not a %s: it is a %s", name, k, a.Kind)
	}
	return a, err
}

// HasModel returns why an agent has no model that can be used; nil if it has one.
func (w *Workspace) HasModel(ctx context.Context, a agent.Agent) error {
	s, err := w.load()
	if err != nil {
		return err
	}
	_, _, err = w.findModel(ctx, s, s.modelOf(a, ""))
	return err
}

// checkOutput returns an error for a planner that assigns an agent that cannot run as a worker.
func (w *Workspace) checkOutput(o task.Output) error {
	p, ok := o.(task.PlannerOutput)
	if !ok || p.AssignedAgent == "" {
		return nil
	}
	if _, err := w.TaskAgent(context.Background(), p.AssignedAgent, task.Worker); err != nil {
		return &task.InputError{What: fmt.Sprintf("assignedAgent: %v", err)}
	}
	return nil
}

// OnTaskChange calls f after a task was changed in this process; f must not block.
func (w *Workspace) OnTaskChange(f func(task.ID)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taskWatchers = append(w.taskWatchers, f)
}

func (w *Workspace) taskChanged(id task.ID) {
	w.mu.Lock()
	watchers := w.taskWatchers
	w.mu.Unlock()
	for _, f := range watchers {
		f(id)
	}
}

// Listen returns a socket through which other processes say that something has changed; nil if
// there can be none.
func (w *Workspace) Listen() *socket.Listener {
	if _, err := w.driver(); err != nil {
		return nil
	}
	s, err := w.load()
	if err != nil || s.sockets == "" {
		return nil
	}
	l, err := socket.Listen(s.sockets)
	if err != nil {
		return nil
	}
	return l
}

// ResumeForTask opens the existing run of a task to be driven here. Cost and Tokens of the limits are what is left of
// the task's budget, which the run gets anew.
func (w *Workspace) ResumeForTask(ctx context.Context, id run.ID, limits run.Limits) (*Session, error) {
	return w.resume(ctx, id, Task{Limits: limits, budgeted: true, Keeps: w.openedBefore(id)})
}
