package task

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/run"
)

// A StatusName is the name of a status, as events, commands and lists have it.
type StatusName string

const (
	Pending       StatusName = "pending"        // created
	Planning      StatusName = "planning"       // the planner is at work
	AwaitingInput StatusName = "awaiting_input" // the planner asked, and its questions wait for answers
	Planned       StatusName = "planned"        // it can be started
	Active        StatusName = "active"         // a worker is at work
	Waiting       StatusName = "waiting"        // the run was stopped, is blocked or waits for a person; it can be resumed
	Completed     StatusName = "completed"      // the result is there
	Failed        StatusName = "failed"         // it can be retried
)

// Words returns the name as a sentence has it.
func (n StatusName) Words() string { return strings.ReplaceAll(string(n), "_", " ") }

// StatusNames returns all of them, in the order of a board's columns.
func StatusNames() []StatusName {
	return []StatusName{Pending, Planning, AwaitingInput, Planned, Active, Waiting, Completed, Failed}
}

// A Status is where a task stands. The zero value is that of a task before its first event.
type Status struct {
	Name StatusName
	// Run, of Agent, is at work in planning and active, so that leaving the status leaves it, and to be resumed in
	// waiting. Empty in the others.
	Run    run.ID
	Agent  string
	Kind   Kind   // of the agent, for waiting
	Reason string // of waiting and failed, for a program to switch on
	Detail string // a sentence for the person
	// Until is when a limit of the agent's provider ends, for waiting: then the task continues by itself. Zero: a
	// person is waited for.
	Until time.Time
}

// status returns the status that the event leads to.
func (p StatusChanged) status() (Status, error) {
	withRun := p.To == Planning || p.To == Active || p.To == Waiting
	switch {
	case withRun && (p.Run == "" || p.Agent == ""):
		return Status{}, fmt.Errorf("status %s without a run and its agent", p.To)
	case !withRun && (p.Run != "" || p.Agent != ""):
		return Status{}, fmt.Errorf("status %s with a run", p.To)
	case p.To == Waiting && (p.Kind != Planner && p.Kind != Worker || p.Reason == ""):
		return Status{}, errors.New("status waiting without the kind of its agent and a reason")
	case p.To == Failed && p.Reason == "":
		return Status{}, errors.New("status failed without a reason")
	}
	if !slices.Contains(StatusNames(), p.To) {
		return Status{}, fmt.Errorf("status %q does not exist", p.To)
	}
	return Status{p.To, p.Run, p.Agent, p.Kind, p.Reason, p.Detail, p.Until}, nil
}

// atWork reports whether the run of the status is at work.
func (s Status) atWork() bool { return s.Name == Planning || s.Name == Active }
