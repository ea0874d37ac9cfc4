package task

import (
	"strings"
	"time"

	"pawl/run"
)

// An Action is what a person, an agent or a run does to a task; see [State.Do]. What is done to the card, messages, files
// and the copy is an event as it stands: [Created], [Edited], [MessageWithdrawn], [MessageReturned], a second
// [MessageDelivered], [AttachmentAdded], [AttachmentRemoved], [CopyMade], [CopyMerged] and [CopyDiscarded] are actions.
type Action interface {
	// do returns the events that follow in s.
	do(s State) ([]Event, error)
}

// Do returns the events that follow from what by does, for the log; by is a person's or an
// agent's name, or empty for pawl. The error is a [*TransitionError], an [*InputError] or a
// [*SubmissionError]: the action is not possible, and nothing follows from it. The events
// follow s in this order; no other event may come between.
func (s State) Do(by string, a Action) ([]Event, error) {
	events, err := a.do(s)
	if err != nil {
		return nil, err
	}
	next := s
	for i := range events {
		events[i].By = by
		if next, err = next.Apply(events[i]); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// A Batch is actions that are recorded together with events of a run, or not at all: on the task that the run
// belongs to. The turn of an [AgentPrompted] is the one that begins with the events.
type Batch struct {
	Actions []Action
	Refused error // why the task does not take one of them; set when they were about to be recorded
}

// What a person does.
type (
	// StartPlanning starts a planner. Run is the id of the run that will be made.
	StartPlanning struct {
		Run   run.ID
		Agent string
	}
	// SubmitAnswers answers all open questions, in order. Questions are those that the person has read: if
	// others are open by now, nothing is answered. nil: whatever is open.
	SubmitAnswers struct {
		Answers   []string
		Questions []string `json:",omitempty"`
		Typed     string   `json:",omitempty"` // see [AnswersSubmitted]
	}
	// Start starts a worker. Run is the id of the run that will be made; Unfinished are the
	// dependencies that are not completed.
	Start struct {
		Run        run.ID
		Agent      string
		Unfinished []ID
	}
	// HandOn lets another agent carry on with what a worker is at, or was: that one is stopped
	// first. Run is the id of the run that will be made; Words, if there are any, are for it.
	HandOn struct {
		Run   run.ID
		Agent string
		Words string
	}
	// Proceed is the next step of a task that continues by itself, in the status From: that of its planner or of the
	// worker if it starts by itself, and that of its run if it waits for a limit of a provider that has ended at the
	// time Now. Cannot says why there can be none: then the task has failed.
	Proceed struct {
		From   StatusName
		Run    run.ID
		Agent  string
		Cannot string
		Now    time.Time
	}
	// Move changes the status and asks nothing of an agent. [OnPause] stops the run, and the task can be resumed;
	// [OnComplete], [OnFail] and [OnCancel], which ends a task that is not final, stop it for good. After [OnRetry] a
	// failed task can be planned or started again, after [OnReopen] a completed one started again. Why is that of
	// [OnFail] and [OnCancel].
	Move struct {
		On  Trigger
		Why string
	}
	// Resume lets the run of a waiting task continue, with words if there are any and with another budget
	// if there is one.
	Resume struct {
		Words  string
		Budget *Budget
		Typed  string `json:",omitempty"` // see [AnswersSubmitted]
	}
	// Say queues a message to the agent. A task that has ended continues with it: its last run, in
	// the same conversation, or Anew, the id of a run that begins with an account, where that one is gone.
	// Its comments, if it has any, have no ids yet; what the agent is told of them is added to Text.
	Say struct {
		ID, Text string
		Anew     run.ID
		Review
		Typed string `json:",omitempty"` // see [MessageQueued]
	}
)

// What a run does.
type (
	// Submit hands in.
	Submit struct {
		Run run.ID
		Submission
		Output Output
	}
	// End ends the turn of a run. It does nothing if the run has a later assignment than
	// Number: 0 is the last one.
	End struct {
		Run    run.ID
		Number int
		Begun  bool // false: the run could not be started
		End    run.Ended
		// Question is what the agent asks the person, for an end that is [run.Asked].
		Question QuestionAsked
		Said     string // last
		Usage    run.Usage
		Steps    int
	}
	// Note records a fact that changes no status: [AgentPrompted] and [MessageDelivered], if they are owed,
	// [AgentHandoffStarted], [AgentHandoffCompleted], [ToolExecuted], [PermissionRequested], [PermissionDecided],
	// [OutputReminderSent], [Interrupted].
	Note struct {
		Run  run.ID
		Fact Payload
	}
)

// move returns the change of the status.
func (s State) move(on Trigger, to StatusName, change StatusChanged) (Event, error) {
	from := s.Status.Name
	if !legal(from, to, on) {
		return Event{}, &TransitionError{Task: s.Created.Task, From: from, On: on}
	}
	change.From, change.To, change.Trigger = from, to, on
	return Event{Run: change.Run, Payload: change}, nil
}

// moved returns the events before, and the change of the status.
func (s State) moved(on Trigger, to StatusName, change StatusChanged, before ...Event) ([]Event, error) {
	e, err := s.move(on, to, change)
	if err != nil {
		return nil, err
	}
	return append(before, e), nil
}

// not returns the error of an action that is not possible now.
func (s State) not(on Trigger, why string) error {
	return &TransitionError{Task: s.Created.Task, From: s.Status.Name, On: on, Why: why}
}

// checkText returns what is wrong with a text that must not be empty.
func checkText(field, text string) error {
	if strings.TrimSpace(text) == "" {
		return invalid(field, "it is empty")
	}
	return checkWords(field, text)
}

// checkWords returns what is wrong with words that may be left out. Logs of earlier versions may
// have such: it is not for events.
func checkWords(field string, words ...string) error {
	for _, text := range words {
		if len(text) > MaxText {
			return invalid(field, "it has %d bytes, more than %d: attach a file instead", len(text), MaxText)
		}
		if strings.ContainsRune(text, 0) {
			return invalid(field, "it has a NUL character, so it is not a text")
		}
	}
	return nil
}
