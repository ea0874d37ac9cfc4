package app

import (
	"context"
	"fmt"
	"strings"

	"pawl/config"
	"pawl/run"
	"pawl/task"
)

// PlannerAgent is the agent that plans tasks.
const PlannerAgent = "task-validator"

// A taskAgent is an agent as a task needs it.
type taskAgent struct {
	name   string
	kind   task.Kind
	about  string
	system string // added to the system prompt
	output run.Output
}

// taskAgents are the agents that tasks can be given to.
func (w *Workspace) taskAgents() []taskAgent {
	return []taskAgent{
		{name: PlannerAgent, kind: task.Planner, about: "plans tasks", system: plannerSystem, output: run.Output{Tool: task.PlannerOutputTool, Schema: plannerSchema}},
		{name: "developer", kind: task.Worker, about: "changes code and tests it", system: developerSystem, output: run.Output{Tool: task.CompletionReportTool, Schema: reportSchema}},
	}
}

// taskAgent returns the agent of a name if it can run now as one of the kind.
func (w *Workspace) taskAgent(_ context.Context, name string, k task.Kind) (taskAgent, error) {
	var there []string
	for _, a := range w.taskAgents() {
		switch {
		case a.name == name && a.kind != k:
			return a, config.Errorf("%s is not a %s: it is a %s", name, k, a.kind)
		case a.name == name:
			return a, nil
		case a.kind == k:
			there = append(there, a.name)
		}
	}
	return taskAgent{}, config.Errorf("there is no agent %q; there are %s", name, strings.Join(there, ", "))
}

// checkOutput returns an error for a planner that assigns an agent which there is not.
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

// startTask returns what a run of an agent for a task is started with.
func (a taskAgent) startTask(id run.ID, limits run.Limits) Task {
	return Task{Run: id, Limits: limits, Output: a.output, System: "\n" + a.system + "\n"}
}

const (
	plannerSystem   = "You are the planner. You MUST call the planner-output tool to submit your results: a plan, questions, or an error. Look at the workspace before you plan; change nothing."
	developerSystem = "You are the developer. Carry out the task, test what you have done, and then you MUST call the completion-report tool to submit your results."

	plannerSchema = `{"type":"object","properties":{"type":{"enum":["plan","questions","error"]},"summary":{"type":"string"},"requirements":{"type":"array","items":{"type":"string"}},"acceptanceCriteria":{"type":"array","items":{"type":"string"}},"plan":{"type":"array","items":{"type":"string"}},"assignedAgent":{"type":"string"},"questions":{"type":"array","items":{"type":"string"}},"error":{"type":"string"},"tool":{"type":"string"}},"required":["type"],"additionalProperties":false}`
	reportSchema  = `{"type":"object","properties":{"status":{"enum":["complete","blocked","failed"]},"summary":{"type":"string"},"output":{"type":"string"},"blockedReason":{"type":"string"},"tool":{"type":"string"}},"required":["status","summary"],"additionalProperties":false}`
)
