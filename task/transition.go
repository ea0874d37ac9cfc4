package task

import (
	"fmt"
	"slices"
)

// An actor is who may trigger a transition.
type actor string

const (
	byPerson actor = "person"
	byAgent  actor = "agent"  // by what it hands in
	bySystem actor = "system" // because of how a run ended, or could not be started
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

// A transition is a change of status that is legal.
type transition struct {
	From, To StatusName
	On       Trigger
	By       actor
}

// transitions are all that are legal.
var transitions = []transition{
	{Pending, Planning, OnPlan, byPerson},
	{Planning, Planned, OnPlanned, byAgent},
	{Planning, AwaitingInput, OnQuestions, byAgent},
	{Planning, Failed, OnError, byAgent},
	{Planning, Failed, OnRunFailed, bySystem},
	{Planning, Waiting, OnRunHalted, bySystem},
	{Planning, Waiting, OnPause, byPerson},
	{Pending, Failed, OnNotBegun, bySystem},
	{Planned, Failed, OnNotBegun, bySystem},
	{AwaitingInput, Planning, OnAnswers, byPerson},
	{Planned, Active, OnStart, byPerson},
	{Active, Completed, OnDone, byAgent},
	{Active, Waiting, OnBlocked, byAgent},
	{Active, Failed, OnGivenUp, byAgent},
	{Active, Failed, OnRunFailed, bySystem},
	{Active, Waiting, OnRunHalted, bySystem},
	{Active, Waiting, OnPause, byPerson},
	{Active, Active, OnHandOn, byPerson},
	{Active, Completed, OnComplete, byPerson},
	{Active, Failed, OnFail, byPerson},
	{Waiting, Planning, OnAnswers, byPerson},
	{Waiting, Active, OnAnswers, byPerson},
	{Waiting, Planning, OnResume, byPerson},
	{Waiting, Active, OnResume, byPerson},
	{Waiting, Planning, OnLimitOver, bySystem},
	{Waiting, Active, OnLimitOver, bySystem},
	{Waiting, Active, OnHandOn, byPerson},
	{Waiting, Completed, OnComplete, byPerson},
	{Waiting, Failed, OnFail, byPerson},
	{Failed, Pending, OnRetry, byPerson},
	{Failed, Planned, OnRetry, byPerson},
	{Failed, Planning, OnSay, byPerson},
	{Failed, Active, OnSay, byPerson},
	{Completed, Planned, OnReopen, byPerson},
	{Completed, Active, OnSay, byPerson},
	{Pending, Failed, OnCancel, byPerson},
	{Planning, Failed, OnCancel, byPerson},
	{AwaitingInput, Failed, OnCancel, byPerson},
	{Planned, Failed, OnCancel, byPerson},
	{Active, Failed, OnCancel, byPerson},
	{Waiting, Failed, OnCancel, byPerson},
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
		if t.From == s && t.By == byPerson && !slices.Contains(may, t.On) {
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
