package task

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"pawl/run"
)

// A SubmissionError says that a result was not accepted. Nothing was changed.
type SubmissionError struct {
	Kind string // it is the error's code
	Tool string
	// AcceptedAt is when the one that counts was accepted, and SamePayload whether this one is
	// equal to it, for AlreadySubmitted.
	AcceptedAt  time.Time
	SamePayload bool
	Why         string // for the others
}

// Kinds of a SubmissionError.
const (
	AlreadySubmitted = "output_already_submitted" // 409
	NotAtWork        = "run_not_at_work"          // 409: its turn has ended, or it was stopped
	WrongAssignment  = "assignment_over"          // 409
	NotGranted       = "tool_not_granted"         // 403: another kind of agent, or another task
)

// Code returns the code of the error.
func (e *SubmissionError) Code() string { return e.Kind }

func (e *SubmissionError) Error() string {
	if e.Kind != AlreadySubmitted {
		return e.Why
	}
	if e.Tool == PlannerOutputTool {
		return "Planner output already submitted"
	}
	return "Completion report already submitted"
}

// Takes returns why a submission of a run is not accepted now; nil if it is. called is the
// tool that was called.
func (s State) Takes(id run.ID, called string) error {
	r, ok := s.Run(id)
	switch {
	case !ok:
		return &SubmissionError{Kind: NotGranted, Tool: called, Why: fmt.Sprintf("run %s is not one of task %s", id, s.Created.Task)}
	case r.Kind.Tool() != called || r.Parent != "":
		return &SubmissionError{Kind: NotGranted, Tool: called, Why: fmt.Sprintf("%s, the agent of run %s, does not have the tool %s", r.Agent, id, called)}
	case r.Submitted != nil && r.Submitted.In == len(r.Assignments):
		return &SubmissionError{Kind: AlreadySubmitted, Tool: called, AcceptedAt: r.Submitted.At}
	case s.isAtWork(id) && r.Prompted < len(r.Assignments):
		return &SubmissionError{Kind: WrongAssignment, Tool: called, Why: fmt.Sprintf("run %s has not been told yet what it is asked for now: what it submits is of an earlier assignment", id)}
	case !s.isAtWork(id):
		return &SubmissionError{Kind: NotAtWork, Tool: called, Why: fmt.Sprintf("run %s is not at work for task %s, which is %s", id, s.Created.Task, s.Status.Name.Words())}
	}
	return nil
}

func (a Submit) do(s State) ([]Event, error) {
	if err := s.Takes(a.Run, a.Output.tool()); err != nil {
		return nil, err
	}
	if err := a.Output.check(); err != nil {
		return nil, err
	}
	if plan, ok := a.Output.(PlannerOutput); ok {
		return a.plans(s, plan)
	}
	return a.reports(s, a.Output.(Report))
}

func (a Submit) plans(s State, o PlannerOutput) ([]Event, error) {
	handed := Event{Run: a.Run, Payload: PlannerOutputSubmitted{a.Submission, o}}
	switch o.Type {
	case OutputPlan:
		o.Plan.AssignedAgent = cmp.Or(s.Created.Agent, o.Plan.AssignedAgent)
		return s.moved(OnPlanned, Planned, StatusChanged{}, handed, Event{Run: a.Run, Payload: PlanningCompleted{o.Plan}})
	case OutputQuestions:
		return s.moved(OnQuestions, AwaitingInput, StatusChanged{}, handed, Event{Run: a.Run, Payload: PlanningQuestionsReturned{o.Questions}})
	}
	failed := PlanningFailed{Reason: "planner_error", Detail: shorten(o.Error, MaxText)}
	return s.moved(OnError, Failed, StatusChanged{Reason: failed.Reason, Detail: failed.Detail}, handed, Event{Run: a.Run, Payload: failed})
}

func (a Submit) reports(s State, o Report) ([]Event, error) {
	for _, c := range o.Comments {
		if s.comment(c.ID) == nil {
			return nil, invalid("comments", "there is no comment %.100q: %s", c.ID, orDefault(strings.Join(s.commentIDs(), ", "), "none was made"))
		}
	}
	handed := Event{Run: a.Run, Payload: CompletionReportSubmitted{a.Submission, o}}
	switch o.Status {
	case ReportComplete:
		return s.moved(OnDone, Completed, StatusChanged{}, handed)
	case ReportBlocked:
		return s.moved(OnBlocked, Waiting, StatusChanged{Run: s.Status.Run, Agent: s.Status.Agent, Kind: Worker, Reason: "blocked", Detail: shorten(o.BlockedReason, MaxText)}, handed)
	}
	return s.moved(OnGivenUp, Failed, StatusChanged{Reason: "reported_failed", Detail: shorten(o.Summary, MaxText)}, handed)
}
