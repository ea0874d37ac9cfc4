package app

import (
	"context"
	"fmt"
	"os"

	"pawl/agent"
	"pawl/config"
	"pawl/task"
)

// PlannerAgent is the agent that plans tasks.
const PlannerAgent = "task-validator"

// taskAgent returns the agent of a name if it can run now as one of the kind.
func (w *Workspace) taskAgent(ctx context.Context, name string, k task.Kind) (agent.Agent, error) {
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

// checkStart returns what is missing before an agent of a kind can begin to work on a task: with
// the settings of this process, unless another one drives all tasks, which has its own.
func (w *Workspace) checkStart(ctx context.Context, name string, k task.Kind) error {
	a, err := w.taskAgent(ctx, name, k)
	if err != nil {
		return err
	}
	if owner, owned, err := w.BoardOwner(ctx); err == nil && owned && owner.PID != os.Getpid() {
		return nil
	}
	s, err := w.load()
	if err != nil {
		return err
	}
	_, _, err = w.findModel(ctx, s, s.modelOf(a, ""))
	return err
}

// checkAssigned returns why an agent cannot be that of the plan of a task, unless it is already.
func (w *Workspace) checkAssigned(ctx context.Context, id task.ID, agent string) error {
	s, err := w.LoadTask(ctx, id)
	if err != nil || s.Plan != nil && s.Plan.AssignedAgent == agent {
		return err
	}
	if _, err := w.taskAgent(ctx, agent, task.Worker); err != nil {
		return &task.InputError{What: fmt.Sprintf("assignedAgent: %v", err), Fields: map[string]string{"plan.assignedAgent": err.Error()}}
	}
	return nil
}

// checkOutput returns an error for a planner that assigns an agent that cannot run as a worker.
func (w *Workspace) checkOutput(o task.Output) error {
	p, ok := o.(task.PlannerOutput)
	if !ok || p.AssignedAgent == "" {
		return nil
	}
	if _, err := w.taskAgent(context.Background(), p.AssignedAgent, task.Worker); err != nil {
		return &task.InputError{What: fmt.Sprintf("assignedAgent: %v", err)}
	}
	return nil
}
