package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"pawl/config"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/store"
	"pawl/task"
	"pawl/tasklog"
)

// newTask returns an id for a task, such as t-k3f9xy.
func newTask() task.ID {
	id := newRun(time.Now())
	return task.ID("t-" + id[len(id)-6:])
}

// TaskQuery selects tasks; see [store.TaskQuery].
type TaskQuery = store.TaskQuery

// ErrNoTasks says that there is no task in the workspace yet.
var ErrNoTasks = config.Errorf("there is no task in this folder yet: add one with `pawl task add \"…\"`")

// AddTask adds a task and returns it when it is durable. Its id and workspace are set here,
// unless it has an id: that of an existing task is an error.
func (w *Workspace) AddTask(ctx context.Context, by string, c task.Created) (task.State, error) {
	st, err := w.writing()
	if err != nil {
		return task.State{}, err
	}
	if c.Task == "" {
		c.Task = newTask()
	}
	c.Workspace, c.Version = w.Dir, Version()
	return w.changed(ctx, st, c.Task)(tasklog.Do(ctx, st, c.Task, by, task.Create{Created: c}))
}

// Tasks returns the summaries of the tasks that q selects and where the next page begins.
func (w *Workspace) Tasks(ctx context.Context, q TaskQuery) ([]task.Summary, string, error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, "", nil
	} else if err != nil {
		return nil, "", err
	}
	rows, next, err := st.Tasks(ctx, q)
	if err != nil {
		return nil, "", err
	}
	all := make([]task.Summary, len(rows))
	for i, r := range rows {
		if err := json.Unmarshal([]byte(r.Summary), &all[i]); err != nil {
			return nil, "", fmt.Errorf("task %s: %w: %w", r.ID, store.ErrCorrupt, err)
		}
	}
	return all, next, nil
}

// FindTask returns the id of the task named by which: an id, a unique part of one, or last.
func (w *Workspace) FindTask(ctx context.Context, which string) (task.ID, error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return "", ErrNoTasks
	} else if err != nil {
		return "", err
	}
	if row, err := st.Task(ctx, which); err == nil {
		return task.ID(row.ID), nil
	}
	rows, _, err := st.Tasks(ctx, TaskQuery{})
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", ErrNoTasks
	}
	if which == "last" {
		newest := slices.MaxFunc(rows, func(a, b store.TaskRow) int { return a.Updated.Compare(b.Updated) })
		return task.ID(newest.ID), nil
	}
	var fit, ids []string
	for _, r := range rows {
		ids = append(ids, r.ID)
		if which != "" && strings.HasPrefix(strings.TrimPrefix(r.ID, "t-"), strings.TrimPrefix(which, "t-")) {
			fit = append(fit, r.ID)
		}
	}
	switch {
	case len(fit) == 1:
		return task.ID(fit[0]), nil
	case len(fit) > 1:
		return "", config.Errorf("%s matches %d tasks, among them %s: give more of the id", visible.Quote(which), len(fit), strings.Join(fit[:min(len(fit), 3)], ", "))
	}
	return "", config.Errorf("there is no task %s%s: `pawl task list` lists them", visible.Quote(which), text.DidYouMean(which, ids))
}

// LoadTask returns a task.
func (w *Workspace) LoadTask(ctx context.Context, id task.ID) (task.State, error) {
	l, err := w.TaskLog(ctx, id)
	return l.State, err
}

// DoTask does something to a task, for a person, and returns the task when that is durable.
// For [task.StartPlanning] and [task.Start] see PlanTask and StartTask.
func (w *Workspace) DoTask(ctx context.Context, id task.ID, by string, a task.Action) (task.State, error) {
	st, err := w.writing()
	if err != nil {
		return task.State{}, err
	}
	if e, ok := a.(task.Edit); ok {
		if e.Plan != nil && e.Plan.AssignedAgent != "" {
			if err := w.checkAssigned(ctx, id, e.Plan.AssignedAgent); err != nil {
				return task.State{}, err
			}
		}
		if a, err = w.heldBack(ctx, id, e); err != nil {
			return task.State{}, err
		}
	}
	return w.changed(ctx, st, id)(tasklog.Do(ctx, st, id, by, a))
}

// PlanTask starts the planner of a task; a driver carries it out.
func (w *Workspace) PlanTask(ctx context.Context, id task.ID, by string) (task.State, error) {
	if err := w.checkStart(ctx, PlannerAgent, task.Planner); err != nil {
		return task.State{}, err
	}
	return w.DoTask(ctx, id, by, task.StartPlanning{Run: newRun(time.Now()), Agent: PlannerAgent})
}

// DefaultAgent works on tasks whose plan names no agent.
const DefaultAgent = "developer"

// StartTask starts a worker on a planned task: the agent given, or that of its plan.
func (w *Workspace) StartTask(ctx context.Context, id task.ID, by, agent string) (task.State, error) {
	s, err := w.LoadTask(ctx, id)
	if err != nil {
		return s, err
	}
	if agent == "" {
		agent = assignedAgent(s)
	}
	start := task.Start{Run: newRun(time.Now()), Agent: agent}
	if start.Unfinished, err = w.Unfinished(ctx, s.DependsOn); err != nil {
		return s, err
	}
	if s.Status.Name() == task.PlannedName { // else the status is what is wrong
		if err := w.checkStart(ctx, agent, task.Worker); err != nil {
			return s, err
		}
		if len(start.Unfinished) == 0 {
			if s, err = w.isolated(ctx, s, by, agent); err != nil {
				return s, err
			}
		}
	}
	return w.DoTask(ctx, id, by, start)
}

// assignedAgent returns the agent that carries out the plan of a task.
func assignedAgent(s task.State) string {
	if s.Plan != nil && s.Plan.AssignedAgent != "" {
		return s.Plan.AssignedAgent
	}
	return DefaultAgent
}

// TaskRests reports whether a driver has nothing to do for a task until a person has done something, or
// another task is completed.
func (w *Workspace) TaskRests(ctx context.Context, s task.State) (bool, error) {
	if s.Owes() || !s.Starts() {
		return !s.Owes(), nil
	}
	unfinished, err := w.Unfinished(ctx, s.DependsOn)
	return len(unfinished) > 0, err
}

// ProceedTask takes the next step of a task that starts by itself and waits for no other task. If no step is
// possible the task fails with the reason, except that for a named task a missing model is an error.
func (w *Workspace) ProceedTask(ctx context.Context, s task.State, named bool) error {
	step := task.Proceed{From: s.Status.Name(), Run: newRun(time.Now()), Agent: PlannerAgent}
	kind := task.Planner
	if step.From == task.PlannedName {
		step.Agent, kind = assignedAgent(s), task.Worker
	}
	err := w.checkStart(ctx, step.Agent, kind)
	if err == nil && kind == task.Worker {
		_, err = w.isolated(ctx, s, "", step.Agent)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if named && LacksModel(err) {
		return err
	}
	if err != nil {
		step.Cannot = err.Error()
	}
	_, err = w.DoTask(ctx, s.Created.Task, "", step)
	return err
}

// HandOnTask lets another agent carry on with a task: a planned one is started with it, and the
// worker of one that is active or waits is stopped first. words, if there are any, are told to
// the agent.
func (w *Workspace) HandOnTask(ctx context.Context, id task.ID, by, agent, words string) (task.State, error) {
	s, err := w.LoadTask(ctx, id)
	if err != nil {
		return s, err
	}
	if s.Status.Name() == task.PlannedName {
		if words = strings.TrimSpace(words); words != "" {
			if s, err = w.DoTask(ctx, id, by, task.Say{ID: NewMessageID(), Text: words}); err != nil {
				return s, err
			}
		}
		return w.StartTask(ctx, id, by, agent)
	}
	if err := w.checkStart(ctx, agent, task.Worker); err != nil {
		return s, err
	}
	if _, works := s.Work(); works && s.Copy == nil {
		if s, err = w.isolated(ctx, s, by, agent); err != nil {
			return s, err
		}
	}
	return w.DoTask(ctx, id, by, task.HandOn{Run: newRun(time.Now()), Agent: agent, Words: words})
}

// SayToTask says something to the agent of a task, as a message with an id. A task that has ended continues with
// it: in the conversation of its last run, or in a new one with an account of it, if that is gone.
func (w *Workspace) SayToTask(ctx context.Context, id task.ID, by, message, words string) (task.State, error) {
	say := task.Say{ID: message, Text: words}
	s, err := w.LoadTask(ctx, id)
	if err != nil {
		return s, err
	}
	if !task.Final(s.Status.Name()) {
		return w.DoTask(ctx, id, by, say)
	}
	if s, err = w.rested(ctx, s); err != nil {
		return s, err
	}
	if r, ok := s.Last(); ok {
		if err := w.checkStart(ctx, r.Agent, r.Kind); err != nil {
			return s, err
		}
		_, was, err := w.Load(ctx, r.ID)
		gone := errors.Is(err, store.ErrNotFound)
		if err == nil {
			_, err := os.Stat(was.Created.Workspace) // a copy may have been discarded
			gone = errors.Is(err, os.ErrNotExist)
		}
		if gone {
			say.Anew = newRun(time.Now())
			if r.Kind == task.Worker {
				if s, err = w.isolated(ctx, s, by, r.Agent); err != nil {
					return s, err
				}
			}
		}
	}
	return w.DoTask(ctx, id, by, say)
}

// rested returns a task that has ended when its last run has, which may have a little left to do after its result.
func (w *Workspace) rested(ctx context.Context, s task.State) (task.State, error) {
	wait, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	for e, err := range w.FollowTask(wait, s.Created.Task, s.Seq) {
		if err == nil && e.Payload == nil {
			s, err = w.LoadTask(ctx, s.Created.Task)
		}
		if err != nil || !s.Owes() {
			return s, err
		}
	}
	return s, ctx.Err()
}

// TaskNext returns what a person can do next with a task, as a command; "" if there is nothing.
func TaskNext(s task.State) string {
	id := string(s.Created.Task)
	if _, left := s.Left(); !left {
		flag := "--budget"
		if s.Budget.Tokens > 0 && s.Usage().Total() >= s.Budget.Tokens {
			flag = "--budget-tokens"
		}
		if s.Status.Name() == task.WaitingName {
			return "pawl task resume " + id + " " + flag + " …"
		}
		return "pawl task edit " + id + " " + flag + " …"
	}
	if len(s.OpenQuestions()) > 0 {
		return "pawl task answer " + id + " \"…\""
	}
	verb := map[task.StatusName]string{
		task.PendingName: "plan " + id, task.PlanningName: "watch " + id,
		task.PlannedName: "start " + id, task.ActiveName: "watch " + id, task.WaitingName: "resume " + id + " -p \"…\"",
		task.CompletedName: "say " + id + " \"…\"", task.FailedName: "retry " + id,
	}[s.Status.Name()]
	return "pawl task " + verb
}

// RemoveTask removes a task with its runs and files. It must not be at work. held are the tasks that waited for it
// to be completed, which it is not: they do not start by themselves any more.
func (w *Workspace) RemoveTask(ctx context.Context, id task.ID) (held []task.ID, err error) {
	st, err := w.writing()
	if err != nil {
		return nil, err
	}
	s, err := w.LoadTask(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.Owes() {
		return nil, &task.TransitionError{Task: id, From: s.Status.Name(), On: "rm", Why: fmt.Sprintf("an agent is at work: `pawl task pause %s` or `pawl task fail %[1]s` first", id)}
	}
	lease, err := w.ownAtRest(ctx, id)
	if o, ok := errors.AsType[*store.OwnedError](err); ok {
		return nil, &task.TransitionError{Task: id, From: s.Status.Name(), On: "rm", Why: o.By() + " drives it"}
	}
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	if s.Status.Name() != task.CompletedName {
		if held, err = w.holdDependents(ctx, id); err != nil {
			return held, err
		}
	}
	if err := st.RemoveTask(ctx, string(id)); err != nil {
		return held, err
	}
	problems := []error{os.RemoveAll(w.attachments(id))}
	if s.Copy != nil {
		problems = append(problems, w.removeCopy(ctx, id, s.Copy.Dir))
	}
	for _, r := range s.Chain {
		if r.Parent != "" {
			continue // removed with its parent
		}
		if _, err := w.Remove(ctx, r.ID, false); err != nil && !errors.Is(err, store.ErrNotFound) {
			problems = append(problems, err)
		}
	}
	return held, errors.Join(problems...)
}

// NewMessageID returns an id for a message to an agent.
func NewMessageID() string { return "m-" + strings.ToLower(rand.Text()[:12]) }
