// Package board is the tasks of a workspace for its faces: what a person does with them, their copies and
// files, and a [Driver] that performs what they owe with sessions of package app. It decides nothing: what
// is owed and what the end of a run means is decided in package task.
package board

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

	"pawl/app"
	"pawl/config"
	"pawl/internal/build"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/provider"
	"pawl/runlog"
	"pawl/store"
	"pawl/task"
)

// A Board is the tasks of a workspace. It is safe for concurrent use.
type Board struct{ ws *app.Workspace }

// Of returns the tasks of a workspace.
func Of(ws *app.Workspace) Board { return Board{ws} }

// newTask returns an id for a task, such as t-k3f9xy.
func newTask() task.ID {
	id := runlog.NewID(time.Now())
	return task.ID("t-" + id[len(id)-6:])
}

// Query selects tasks; see [store.TaskQuery].
type Query = store.TaskQuery

// ErrNoTasks says that there is no task in the workspace yet.
var ErrNoTasks = config.Errorf("there is no task in this folder yet: add one with `pawl task add \"…\"`")

// Add adds a task and returns it when it is durable. Its id and workspace are set here,
// unless it has an id: that of an existing task is an error. So is the refusal of a hook.
func (b Board) Add(ctx context.Context, by string, c task.Created) (task.State, error) {
	tasks, err := b.ws.Tasks()
	if err != nil {
		return task.State{}, err
	}
	if c.Task == "" {
		c.Task = newTask()
	}
	c.Workspace, c.Version = b.ws.Dir, build.Version()
	if c.Agent != "" {
		if _, err := b.ws.TaskAgent(ctx, c.Agent, task.Worker); err != nil {
			return task.State{}, agentError("agent", err)
		}
	}
	if c.Hooks, err = b.ws.TaskHooks(ctx, c); err != nil {
		return task.State{}, err
	}
	return tasks.Do(ctx, c.Task, by, c)
}

// List returns the summaries of the tasks that q selects and where the next page begins.
func (b Board) List(ctx context.Context, q Query) ([]task.Summary, string, error) {
	tasks, err := b.ws.ReadTasks()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, "", nil
	} else if err != nil {
		return nil, "", err
	}
	rows, next, err := tasks.Store.Tasks(ctx, q)
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

// Find returns the id of the task named by which: an id, a unique part of one, or last.
func (b Board) Find(ctx context.Context, which string) (task.ID, error) {
	tasks, err := b.ws.ReadTasks()
	if errors.Is(err, store.ErrNoRuns) {
		return "", ErrNoTasks
	} else if err != nil {
		return "", err
	}
	if row, err := tasks.Store.Task(ctx, which); err == nil {
		return task.ID(row.ID), nil
	}
	rows, _, err := tasks.Store.Tasks(ctx, Query{})
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

// Load returns a task.
func (b Board) Load(ctx context.Context, id task.ID) (task.State, error) {
	l, err := b.Log(ctx, id)
	return l.State, err
}

// Do does something to a task, for a person, and returns the task when that is durable.
// For [task.StartPlanning] and [task.Start] see Plan and Start.
func (b Board) Do(ctx context.Context, id task.ID, by string, a task.Action) (task.State, error) {
	tasks, err := b.ws.Tasks()
	if err != nil {
		return task.State{}, err
	}
	if e, ok := a.(task.Edited); ok {
		if e.Plan != nil && e.Plan.AssignedAgent != "" {
			if err := b.checkAssigned(ctx, id, e.Plan.AssignedAgent); err != nil {
				return task.State{}, err
			}
		}
		if a, err = b.heldBack(ctx, id, e); err != nil {
			return task.State{}, err
		}
	}
	return tasks.Do(ctx, id, by, a)
}

// Plan starts the planner of a task; a driver carries it out.
func (b Board) Plan(ctx context.Context, id task.ID, by string) (task.State, error) {
	if err := b.checkStart(ctx, PlannerAgent, task.Planner); err != nil {
		return task.State{}, err
	}
	return b.Do(ctx, id, by, task.StartPlanning{Run: runlog.NewID(time.Now()), Agent: PlannerAgent})
}

// DefaultAgent works on tasks whose plan names no agent.
const DefaultAgent = "developer"

// Start starts a worker on a planned task: the agent given, or that of its plan.
func (b Board) Start(ctx context.Context, id task.ID, by, agent string) (task.State, error) {
	s, err := b.Load(ctx, id)
	if err != nil {
		return s, err
	}
	if agent == "" {
		agent = assignedAgent(s)
	}
	start := task.Start{Run: runlog.NewID(time.Now()), Agent: agent}
	if start.Unfinished, err = b.Unfinished(ctx, s.DependsOn); err != nil {
		return s, err
	}
	if s.Status.Name == task.Planned { // else the status is what is wrong
		if err := b.checkStart(ctx, agent, task.Worker); err != nil {
			return s, err
		}
		if len(start.Unfinished) == 0 {
			if s, err = b.isolated(ctx, s, by, agent); err != nil {
				return s, err
			}
		}
	}
	return b.Do(ctx, id, by, start)
}

// assignedAgent returns the agent that carries out the plan of a task.
func assignedAgent(s task.State) string {
	if s.Plan != nil && s.Plan.AssignedAgent != "" {
		return s.Plan.AssignedAgent
	}
	return DefaultAgent
}

// Rests reports whether a driver has nothing to do for a task at the time now, until a person has done something,
// another task is completed, or a limit has ended.
func (b Board) Rests(ctx context.Context, s task.State, now time.Time) (bool, error) {
	if s.Owes() || !s.Starts() {
		until := s.Status.Until
		return !s.Owes() && (until.IsZero() || now.Before(until)), nil
	}
	unfinished, err := b.Unfinished(ctx, s.DependsOn)
	return len(unfinished) > 0, err
}

// Proceed takes the next step of a task that starts by itself and waits for no other task, or continues one whose
// limit has ended at the time now. If no step is possible the task fails with the reason, except that for a named task
// a missing model is an error.
func (b Board) Proceed(ctx context.Context, s task.State, now time.Time, named bool) error {
	if s.Status.Name == task.Waiting {
		_, err := b.Do(ctx, s.Created.Task, "", task.Proceed{From: task.Waiting, Now: now})
		return err
	}
	step := task.Proceed{From: s.Status.Name, Run: runlog.NewID(time.Now()), Agent: PlannerAgent}
	kind := task.Planner
	if step.From == task.Planned {
		step.Agent, kind = assignedAgent(s), task.Worker
	}
	err := b.checkStart(ctx, step.Agent, kind)
	if err == nil && kind == task.Worker {
		_, err = b.isolated(ctx, s, "", step.Agent)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if named && errors.Is(err, provider.ErrNoModel) {
		return err
	}
	if err != nil {
		step.Cannot = err.Error()
	}
	_, err = b.Do(ctx, s.Created.Task, "", step)
	return err
}

// HandOn lets another agent carry on with a task: a planned one is started with it, and the
// worker of one that is active or waits is stopped first. words, if there are any, are told to
// the agent.
func (b Board) HandOn(ctx context.Context, id task.ID, by, agent, words string) (task.State, error) {
	s, err := b.Load(ctx, id)
	if err != nil {
		return s, err
	}
	if s.Status.Name == task.Planned {
		if words = strings.TrimSpace(words); words != "" {
			if s, err = b.Do(ctx, id, by, task.Say{ID: NewMessageID(), Text: words}); err != nil {
				return s, err
			}
		}
		return b.Start(ctx, id, by, agent)
	}
	if err := b.checkStart(ctx, agent, task.Worker); err != nil {
		return s, err
	}
	if s.Status.Run != "" && s.Copy == nil {
		if s, err = b.isolated(ctx, s, by, agent); err != nil {
			return s, err
		}
	}
	return b.Do(ctx, id, by, task.HandOn{Run: runlog.NewID(time.Now()), Agent: agent, Words: words})
}

// Say says something to the agent of a task. A task that has ended continues with it: in the conversation of its last
// run, or in a new one with an account of it, if that is gone; say.Anew is not given.
func (b Board) Say(ctx context.Context, id task.ID, by string, say task.Say) (task.State, error) {
	s, err := b.Load(ctx, id)
	if err != nil {
		return s, err
	}
	if !task.Final(s.Status.Name) {
		return b.Do(ctx, id, by, say)
	}
	if s, err = b.rested(ctx, s); err != nil {
		return s, err
	}
	if r, ok := s.Last(); ok {
		if err := b.checkStart(ctx, r.Agent, r.Kind); err != nil {
			return s, err
		}
		_, was, err := b.ws.Load(ctx, r.ID)
		gone := errors.Is(err, store.ErrNotFound)
		if err == nil {
			_, err := os.Stat(was.Created.Workspace) // a copy may have been discarded
			gone = errors.Is(err, os.ErrNotExist) && (s.Copy == nil || b.ws.Repository() == "")
		}
		if gone {
			say.Anew = runlog.NewID(time.Now())
			if r.Kind == task.Worker {
				if s, err = b.isolated(ctx, s, by, r.Agent); err != nil {
					return s, err
				}
			}
		}
	}
	return b.Do(ctx, id, by, say)
}

// rested returns a task that has ended when its last run has, which may have a little left to do after its result.
func (b Board) rested(ctx context.Context, s task.State) (task.State, error) {
	wait, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	for e, err := range b.Follow(wait, s.Created.Task, s.Seq) {
		if err == nil && e.Payload == nil {
			s, err = b.Load(ctx, s.Created.Task)
		}
		if err != nil || !s.Owes() {
			return s, err
		}
	}
	return s, ctx.Err()
}

// Remove removes a task with its runs and files. It must not be at work. held are the tasks that waited for it
// to be completed, which it is not: they do not start by themselves any more.
func (b Board) Remove(ctx context.Context, id task.ID) (held []task.ID, err error) {
	tasks, err := b.ws.Tasks()
	if err != nil {
		return nil, err
	}
	s, err := b.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.Owes() {
		return nil, &task.TransitionError{Task: id, From: s.Status.Name, On: "rm", Why: fmt.Sprintf("an agent is at work: `pawl task pause %s` or `pawl task fail %[1]s` first", id)}
	}
	lease, err := b.ownAtRest(ctx, id)
	if o, ok := errors.AsType[*store.OwnedError](err); ok {
		return nil, &task.TransitionError{Task: id, From: s.Status.Name, On: "rm", Why: o.By() + " drives it"}
	}
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	if s.Status.Name != task.Completed {
		if held, err = b.holdDependents(ctx, id); err != nil {
			return held, err
		}
	}
	if err := tasks.Store.RemoveTask(ctx, string(id)); err != nil {
		return held, err
	}
	problems := []error{tasks.RemoveFolder(id)}
	if s.Copy != nil {
		problems = append(problems, b.ws.RemoveCopy(ctx, id, s.Copy.Dir))
	}
	for _, r := range s.Chain {
		if r.Parent != "" {
			continue // removed with its parent
		}
		if _, err := b.ws.Remove(ctx, r.ID, false); err != nil && !errors.Is(err, store.ErrNotFound) {
			problems = append(problems, err)
		}
	}
	return held, errors.Join(problems...)
}

// NewMessageID returns an id for a message to an agent.
func NewMessageID() string { return "m-" + strings.ToLower(rand.Text()[:12]) }
