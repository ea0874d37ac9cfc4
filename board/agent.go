package board

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"

	"pawl/app"
	"pawl/internal/text"
	"pawl/run"
	"pawl/store"
	"pawl/task"
)

// PlannerAgent is the agent that plans tasks.
const PlannerAgent = "task-validator"

// checkStart returns what is missing before an agent of a kind can begin to work on a task: with
// the settings of this process, unless another one drives all tasks, which has its own.
func (b Board) checkStart(ctx context.Context, name string, k task.Kind) error {
	a, err := b.ws.TaskAgent(ctx, name, k)
	if err != nil {
		return err
	}
	if owner, owned, err := b.Owner(ctx); err == nil && owned && owner.PID != os.Getpid() {
		return nil
	}
	return b.ws.HasModel(ctx, a)
}

// checkAssigned returns why an agent cannot be that of the plan of a task, unless it is already.
func (b Board) checkAssigned(ctx context.Context, id task.ID, agent string) error {
	s, err := b.Load(ctx, id)
	if err != nil || s.Plan != nil && s.Plan.AssignedAgent == agent {
		return err
	}
	if _, err := b.ws.TaskAgent(ctx, agent, task.Worker); err != nil {
		return agentError("plan.assignedAgent", err)
	}
	return nil
}

// agentError says why an agent cannot be that of a task.
func agentError(field string, err error) error {
	return &task.InputError{What: fmt.Sprintf("%s: %v", strings.TrimPrefix(field, "plan."), err), Fields: map[string]string{field: err.Error()}}
}

// Open opens the run of an assignment to be driven here: the existing one, or a new one of its agent.
func (b Board) Open(ctx context.Context, s task.State, r task.Run) (*app.Session, error) {
	tasks, err := b.ws.Tasks()
	if err != nil {
		return nil, err
	}
	left, _ := s.Left()
	limits := run.Limits{Cost: left.Cost, Tokens: left.Tokens}
	if _, err := tasks.Store.Run(ctx, r.ID); err == nil {
		return b.ws.ResumeForTask(ctx, r.ID, limits)
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	a, err := b.ws.TaskAgent(ctx, r.Agent, r.Kind)
	if err != nil {
		return nil, err
	}
	o, _ := a.Kind.Output() // not one that the agent declares: the task needs its own
	dir := ""
	if s.Copy != nil && (r.Kind == task.Worker || b.ws.Repository() != "") {
		if err := gone(s, b.ws.Copy(s.Created.Task)); err != nil {
			return nil, err
		}
		dir = s.Copy.Dir
	}
	return b.ws.Start(ctx, app.Task{Run: r.ID, Name: runName(s), Dir: dir, Agent: a.Name, Output: o, Limits: limits})
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
