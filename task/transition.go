package task

import (
	"fmt"
	"slices"
)

// An Actor is who may trigger a transition.
type Actor string

const (
	ByPerson Actor = "person"
	ByAgent  Actor = "agent"  // by what it hands in
	BySystem Actor = "system" // because of how a run ended, or could not be started
)

// A Trigger is why a status changes.
type Trigger string

const (
	OnPlan      Trigger = "plan"
	OnAnswers   Trigger = "answers"
	OnStart     Trigger = "start"
	OnPause     Trigger = "pause"
	OnResume    Trigger = "resume"
	OnComplete  Trigger = "complete"
	OnFail      Trigger = "fail"
	OnCancel    Trigger = "cancel"
	OnRetry     Trigger = "retry"
	OnReopen    Trigger = "reopen"
	OnSay       Trigger = "say"          // words for a task that has ended
	OnHandOn    Trigger = "handoff"      // to another agent, by a person
	OnNotBegun  Trigger = "cannot_start" // what starts by itself
	OnLimitOver Trigger = "limit_over"   // what has waited for a limit of a provider to end continues by itself
	OnPlanned   Trigger = "plan_submitted"
	OnQuestions Trigger = "questions_submitted"
	OnError     Trigger = "error_submitted"
	OnDone      Trigger = "report_complete"
	OnBlocked   Trigger = "report_blocked"
	OnGivenUp   Trigger = "report_failed"
	OnRunFailed Trigger = "run_failed"  // it ended failed, without what it has to hand in, or could not start
	OnRunHalted Trigger = "run_stopped" // interrupted, at a limit, in a loop, or asking the person
)

// A Transition is a change of status that is legal.
type Transition struct {
	From, To StatusName
	On       Trigger
	By       Actor
}

// transitions are all that are legal.
var transitions = []Transition{
	{Pending, Planning, OnPlan, ByPerson},
	{Planning, Planned, OnPlanned, ByAgent},
	{Planning, AwaitingInput, OnQuestions, ByAgent},
	{Planning, Failed, OnError, ByAgent},
	{Planning, Failed, OnRunFailed, BySystem},
	{Planning, Waiting, OnRunHalted, BySystem},
	{Planning, Waiting, OnPause, ByPerson},
	{Pending, Failed, OnNotBegun, BySystem},
	{Planned, Failed, OnNotBegun, BySystem},
	{AwaitingInput, Planning, OnAnswers, ByPerson},
	{Planned, Active, OnStart, ByPerson},
	{Active, Completed, OnDone, ByAgent},
	{Active, Waiting, OnBlocked, ByAgent},
	{Active, Failed, OnGivenUp, ByAgent},
	{Active, Failed, OnRunFailed, BySystem},
	{Active, Waiting, OnRunHalted, BySystem},
	{Active, Waiting, OnPause, ByPerson},
	{Active, Active, OnHandOn, ByPerson},
	{Active, Completed, OnComplete, ByPerson},
	{Active, Failed, OnFail, ByPerson},
	{Waiting, Planning, OnAnswers, ByPerson},
	{Waiting, Active, OnAnswers, ByPerson},
	{Waiting, Planning, OnResume, ByPerson},
	{Waiting, Active, OnResume, ByPerson},
	{Waiting, Planning, OnLimitOver, BySystem},
	{Waiting, Active, OnLimitOver, BySystem},
	{Waiting, Active, OnHandOn, ByPerson},
	{Waiting, Completed, OnComplete, ByPerson},
	{Waiting, Failed, OnFail, ByPerson},
	{Failed, Pending, OnRetry, ByPerson},
	{Failed, Planned, OnRetry, ByPerson},
	{Failed, Planning, OnSay, ByPerson},
	{Failed, Active, OnSay, ByPerson},
	{Completed, Planned, OnReopen, ByPerson},
	{Completed, Active, OnSay, ByPerson},
	{Pending, Failed, OnCancel, ByPerson},
	{Planning, Failed, OnCancel, ByPerson},
	{AwaitingInput, Failed, OnCancel, ByPerson},
	{Planned, Failed, OnCancel, ByPerson},
	{Active, Failed, OnCancel, ByPerson},
	{Waiting, Failed, OnCancel, ByPerson},
}

// legal reports whether a row of the table leads from one status to another on a trigger.
func legal(from, to StatusName, on Trigger) bool {
	for _, t := range transitions {
		if t.From == from && t.To == to && t.On == on {
			return true
		}
	}
	return false
}

// mayIn returns what a person may do to a task in a status.
func mayIn(s StatusName) (may []Trigger) {
	for _, t := range transitions {
		if t.From == s && t.By == ByPerson && !slices.Contains(may, t.On) {
			may = append(may, t.On)
		}
	}
	return may
}

// A TransitionError says that what was asked for is not possible in the task's status.
// Nothing was changed.
type TransitionError struct {
	Task ID
	From StatusName
	On   Trigger // what was asked for
	Why  string  // beyond the status; may be empty
}

// Code is INVALID_TRANSITION.
func (e *TransitionError) Code() string { return "INVALID_TRANSITION" }

func (e *TransitionError) Error() string {
	on := string(e.On)
	if e.On == OnAnswers {
		on = "answer" // as the command is called
	}
	what := fmt.Sprintf("task %s is %s: %s is not possible", e.Task, e.From.Words(), on)
	if e.Why != "" {
		what += ": " + e.Why
	}
	return what
}
