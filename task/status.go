package task

import (
	"errors"
	"fmt"
	"strings"

	"pawl/run"
)

// A StatusName is the name of a status, as events, commands and lists have it.
type StatusName string

const (
	PendingName       StatusName = "pending"
	PlanningName      StatusName = "planning"
	AwaitingInputName StatusName = "awaiting_input"
	PlannedName       StatusName = "planned"
	ActiveName        StatusName = "active"
	WaitingName       StatusName = "waiting"
	CompletedName     StatusName = "completed"
	FailedName        StatusName = "failed"
)

// Words returns the name as a sentence has it.
func (n StatusName) Words() string { return strings.ReplaceAll(string(n), "_", " ") }

// StatusNames returns all of them, in the order of a board's columns.
func StatusNames() []StatusName {
	return []StatusName{PendingName, PlanningName, AwaitingInputName, PlannedName, ActiveName, WaitingName, CompletedName, FailedName}
}

// A Status is where a task stands: one of the types below. Those that have an agent at work
// carry its run, so that leaving the status leaves the agent.
type Status interface {
	Name() StatusName
	status()
}

type (
	// Pending: created.
	Pending struct{}
	// Planning: the planner is at work.
	Planning struct{ Work }
	// AwaitingInput: the planner asked, and its questions wait for answers.
	AwaitingInput struct{}
	// Planned: it can be started.
	Planned struct{}
	// Active: a worker is at work.
	Active struct{ Work }
	// Waiting: the run was stopped, is blocked or waits for a person; it can be resumed.
	Waiting struct {
		Work
		Kind   Kind
		Reason string // for a program to switch on
		Detail string // a sentence for the person
	}
	// Completed: the result is there.
	Completed struct{}
	// Failed: it can be retried.
	Failed struct{ Reason, Detail string }
)

// Work is a run and the agent that it is of.
type Work struct {
	Run   run.ID
	Agent string
}

func (Pending) Name() StatusName       { return PendingName }
func (Planning) Name() StatusName      { return PlanningName }
func (AwaitingInput) Name() StatusName { return AwaitingInputName }
func (Planned) Name() StatusName       { return PlannedName }
func (Active) Name() StatusName        { return ActiveName }
func (Waiting) Name() StatusName       { return WaitingName }
func (Completed) Name() StatusName     { return CompletedName }
func (Failed) Name() StatusName        { return FailedName }

func (Pending) status()       {}
func (Planning) status()      {}
func (AwaitingInput) status() {}
func (Planned) status()       {}
func (Active) status()        {}
func (Waiting) status()       {}
func (Completed) status()     {}
func (Failed) status()        {}

// status returns the status that the event leads to.
func (p StatusChanged) status() (Status, error) {
	work := Work{p.Run, p.Agent}
	withRun := p.To == PlanningName || p.To == ActiveName || p.To == WaitingName
	switch {
	case withRun && (p.Run == "" || p.Agent == ""):
		return nil, fmt.Errorf("status %s without a run and its agent", p.To)
	case !withRun && work != Work{}:
		return nil, fmt.Errorf("status %s with a run", p.To)
	case p.To == WaitingName && (p.Kind != Planner && p.Kind != Worker || p.Reason == ""):
		return nil, errors.New("status waiting without the kind of its agent and a reason")
	case p.To == FailedName && p.Reason == "":
		return nil, errors.New("status failed without a reason")
	}
	switch p.To {
	case PendingName:
		return Pending{}, nil
	case PlanningName:
		return Planning{work}, nil
	case AwaitingInputName:
		return AwaitingInput{}, nil
	case PlannedName:
		return Planned{}, nil
	case ActiveName:
		return Active{work}, nil
	case WaitingName:
		return Waiting{work, p.Kind, p.Reason, p.Detail}, nil
	case CompletedName:
		return Completed{}, nil
	case FailedName:
		return Failed{p.Reason, p.Detail}, nil
	}
	return nil, fmt.Errorf("status %q does not exist", p.To)
}

// atWork returns the run that a status has at work; none in waiting.
func atWork(s Status) (w Work, ok bool) {
	switch s := s.(type) {
	case Planning:
		return s.Work, true
	case Active:
		return s.Work, true
	}
	return Work{}, false
}
