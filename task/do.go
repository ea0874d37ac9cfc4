package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/run"
)

// An Action is what a person, an agent or a run does to a task; see [State.Do].
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
		e := events[i]
		e.At = s.At
		if next, err = next.Apply(e); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// What a person does.
type (
	// Create makes the task.
	Create struct{ Created }
	// StartPlanning starts a planner. Run is the id of the run that will be made.
	StartPlanning struct {
		Run   run.ID
		Agent string
	}
	// SubmitAnswers answers all open questions, in order.
	SubmitAnswers struct{ Answers []string }
	// Edit changes the card.
	Edit struct{ Edited }
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
	// Pause stops the run; the task can be resumed.
	Pause struct{}
	// Resume lets the run of a waiting task continue, with words if there are any.
	Resume struct{ Words string }
	// Complete says that the task is done, and stops its run.
	Complete struct{}
	// Fail says that the task has failed, and stops its run.
	Fail struct{ Why string }
	// Cancel ends a task that is not final.
	Cancel struct{ Why string }
	// Retry makes a failed task one that can be planned or started again.
	Retry struct{}
	// Reopen makes a completed task one that can be started again.
	Reopen struct{}
	// Say queues a message to the agent.
	Say struct{ ID, Text string }
	// Withdraw takes back a message that was not delivered.
	Withdraw struct{ ID string }
	// Attach adds a file whose content is stored already.
	Attach struct{ Attachment }
	// Detach removes a file.
	Detach struct{ ID string }
	// RecordCopy says that the copy of the task was made.
	RecordCopy struct{ CopyMade }
	// RecordMerge says that the branch of the copy is in the person's repository.
	RecordMerge struct{ CopyMerged }
	// Discard gives the copy up, with what was not merged; it is removed afterwards.
	Discard struct{}
)

// What a run does.
type (
	// Prompt says the words of an assignment to its run.
	Prompt struct {
		Run    run.ID
		Number int
		Turn   int
	}
	// Tell says a queued message to a run.
	Tell struct {
		Run run.ID
		ID  string
	}
	// Return says that a message was not delivered before its turn had ended.
	Return struct{ ID string }
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
		Said   string // last
		Usage  run.Usage
		Steps  int
	}
	// HandOff starts a child run.
	HandOff struct {
		Run run.ID
		AgentHandoffStarted
	}
	// EndHandoff ends the turn of a child run.
	EndHandoff struct {
		Run run.ID
		AgentHandoffCompleted
	}
	// Note records a fact that changes no status: [ToolExecuted], [PermissionRequested],
	// [PermissionDecided], [OutputReminderSent], [Interrupted].
	Note struct {
		Run  run.ID
		Fact Payload
	}
)

// move returns the change of the status.
func (s State) move(on Trigger, to StatusName, change StatusChanged) (Event, error) {
	from := s.Status.Name()
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
	return &TransitionError{Task: s.Created.Task, From: s.Status.Name(), On: on, Why: why}
}

func (a Create) do(State) ([]Event, error) {
	if err := cmp.Or(a.check(), checkWords("description", a.Description)); err != nil {
		return nil, err
	}
	return []Event{{Payload: a.Created}}, nil
}

func (a StartPlanning) do(s State) ([]Event, error) {
	if s.Status.Name() != PendingName {
		return nil, s.not(OnPlan, "")
	}
	input, messages := s.planInput()
	return s.assignTo(OnPlan, PlanningName, a.Run, a.Agent, Planner, "start", input, messages)
}

// assignTo returns the assignment of a run and the status that carries it.
func (s State) assignTo(on Trigger, to StatusName, id run.ID, agent string, k Kind, reason, input string, messages []string, before ...Event) ([]Event, error) {
	if _, ok := s.Left(); !ok {
		return nil, s.not(on, "its budget is spent: raise it first")
	}
	number := 1
	if r, ok := s.Run(id); ok {
		if number = len(r.Assignments) + 1; !r.Ended {
			return nil, s.not(on, "its run is still being stopped")
		}
	}
	assigned := Assigned{Agent: agent, Number: number, Reason: reason, Input: input, Messages: messages}
	started := Event{Run: id, Payload: AgentStarted{assigned}}
	if k == Planner {
		started.Payload = PlanningStarted{assigned}
	}
	return s.moved(on, to, StatusChanged{Run: id, Agent: agent}, append(before, started)...)
}

func (a SubmitAnswers) do(s State) ([]Event, error) {
	if s.Status.Name() != AwaitingInputName {
		return nil, s.not(OnAnswers, "")
	}
	open := s.OpenQuestions()
	if len(a.Answers) != len(open) {
		return nil, invalid("answers", "%d given, %d needed: one for each open question", len(a.Answers), len(open))
	}
	var input strings.Builder
	input.WriteString("The answers to your questions:\n")
	for i, q := range open {
		if err := checkText("answers", a.Answers[i]); err != nil {
			return nil, err
		}
		fmt.Fprintf(&input, "\n%d. %s\n%s\n", i+1, q, strings.TrimSpace(a.Answers[i]))
	}
	r, ok := s.planner()
	if !ok {
		return nil, s.not(OnAnswers, "no planner has asked") // unreachable: the status is reached by a planner's questions
	}
	words, messages := s.withMessages(input.String())
	return s.assignTo(OnAnswers, PlanningName, r.ID, r.Agent, Planner, "answers", words, messages, Event{Payload: AnswersSubmitted(a)})
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

func (a Edit) do(s State) ([]Event, error) {
	const onEdit Trigger = "edit"
	switch p := a.Edited; {
	case p == Edited{}:
		return nil, invalid("edit", "nothing is to be changed")
	case p.Plan != nil && s.Status.Name() != PlannedName:
		return nil, s.not(onEdit, "the plan can be edited while the task is planned")
	case p.Description != nil && s.Status.Name() != PendingName && s.Status.Name() != PlannedName && s.Status.Name() != FailedName:
		return nil, s.not(onEdit, "the description can be edited before the task is started")
	case p.Isolation != nil && s.Copy != nil:
		return nil, s.not(onEdit, "it has a copy of the repository: merge or discard that first")
	}
	if err := a.check(s.Created.Task); err != nil {
		return nil, err
	}
	return []Event{{Payload: a.Edited}}, nil
}

// check returns what is wrong with the changes of a task.
func (p Edited) check(id ID) error {
	var problems []error
	if p.Description != nil {
		problems = append(problems, checkText("description", *p.Description))
	}
	if p.Plan != nil {
		problems = append(problems, p.Plan.check())
	}
	if p.Labels != nil {
		problems = append(problems, checkLabels(*p.Labels))
	}
	if p.Budget != nil {
		problems = append(problems, checkBudget(*p.Budget))
	}
	if p.DependsOn != nil {
		problems = append(problems, checkDepends(id, *p.DependsOn))
	}
	if p.Isolation != nil {
		problems = append(problems, checkIsolation(*p.Isolation))
	}
	return cmp.Or(problems...)
}

func (a Start) do(s State) ([]Event, error) {
	switch {
	case s.Status.Name() != PlannedName:
		return nil, s.not(OnStart, "")
	case len(a.Unfinished) > 0:
		return nil, s.not(OnStart, "it depends on tasks that are not completed: "+joinIDs(a.Unfinished))
	}
	input, messages := s.workInput()
	reason := "start"
	if len(s.Chain) > 0 && s.Chain[len(s.Chain)-1].Kind == Worker {
		reason = "retry"
	}
	return s.assignTo(OnStart, ActiveName, a.Run, a.Agent, Worker, reason, input, messages)
}

func joinIDs(ids []ID) string {
	var names []string
	for _, id := range ids {
		names = append(names, string(id))
	}
	return strings.Join(names, ", ")
}

func (a HandOn) do(s State) ([]Event, error) {
	work, ok := s.Work()
	r, _ := s.Run(work.Run)
	switch {
	case !ok || r.Kind != Worker:
		return nil, s.not(OnHandOn, "no worker is at it")
	case a.Agent == work.Agent:
		return nil, s.not(OnHandOn, a.Agent+" is at it already")
	}
	if err := checkWords("words", a.Words); err != nil {
		return nil, err
	}
	input, messages := s.workInput()
	input += fmt.Sprintf("\n%s has worked on it until now. Part of the work may be done: look before you repeat anything.\n", work.Agent)
	if words := strings.TrimSpace(a.Words); words != "" {
		input += "\n" + words + "\n"
	}
	return s.assignTo(OnHandOn, ActiveName, a.Run, a.Agent, Worker, "handoff", input, messages)
}

func (a Pause) do(s State) ([]Event, error) {
	work, ok := atWork(s.Status)
	if !ok {
		return nil, s.not(OnPause, "")
	}
	k := Worker
	if s.Status.Name() == PlanningName {
		k = Planner
	}
	return s.moved(OnPause, WaitingName, StatusChanged{Run: work.Run, Agent: work.Agent, Kind: k, Reason: "paused", Detail: "paused by a person"})
}

func (a Resume) do(s State) ([]Event, error) {
	w, ok := s.Status.(Waiting)
	if !ok {
		return nil, s.not(OnResume, "")
	}
	if w.Reason == string(run.Asked) && strings.TrimSpace(a.Words) == "" {
		return nil, invalid("words", "the agent asked a question: give the answer")
	}
	if err := checkWords("words", a.Words); err != nil {
		return nil, err
	}
	words, messages := s.withMessages(strings.TrimSpace(a.Words))
	to := ActiveName
	if w.Kind == Planner {
		to = PlanningName
	}
	return s.assignTo(OnResume, to, w.Run, w.Agent, w.Kind, "resume", words, messages)
}

func (a Complete) do(s State) ([]Event, error) {
	return s.moved(OnComplete, CompletedName, StatusChanged{})
}

func (a Fail) do(s State) ([]Event, error) {
	return s.moved(OnFail, FailedName, StatusChanged{Reason: "failed_by_person", Detail: orDefault(a.Why, "a person said that it has failed")})
}

func (a Cancel) do(s State) ([]Event, error) {
	return s.moved(OnCancel, FailedName, StatusChanged{Reason: "cancelled", Detail: orDefault(a.Why, "cancelled by a person")})
}

func orDefault(text, def string) string {
	if text = strings.TrimSpace(text); text != "" {
		return shorten(text, MaxText)
	}
	return def
}

func (a Retry) do(s State) ([]Event, error) {
	to := PendingName
	if s.Plan != nil {
		to = PlannedName
	}
	return s.moved(OnRetry, to, StatusChanged{})
}

func (a Reopen) do(s State) ([]Event, error) {
	return s.moved(OnReopen, PlannedName, StatusChanged{})
}

func (a Say) do(s State) ([]Event, error) {
	if Final(s.Status.Name()) {
		return nil, s.not("say", "no agent would hear it: retry or reopen the task first")
	}
	if a.ID == "" {
		return nil, invalid("id", "a message needs an id")
	}
	if i := slices.IndexFunc(s.Messages, func(m Message) bool { return m.ID == a.ID }); i >= 0 {
		if s.Messages[i].Text == a.Text {
			return nil, nil // sent twice
		}
		return nil, invalid("id", "message %s is there already, with other words", a.ID)
	}
	if err := checkText("text", a.Text); err != nil {
		return nil, err
	}
	return []Event{{Payload: MessageQueued(a)}}, nil
}

func (a Withdraw) do(s State) ([]Event, error) {
	i := slices.IndexFunc(s.Messages, func(m Message) bool { return m.ID == a.ID })
	if i < 0 || s.Messages[i].State != MessageWaits && s.Messages[i].State != MessageIsReturned {
		return nil, invalid("id", "message %q is not there, or was delivered", a.ID)
	}
	return []Event{{Payload: MessageWithdrawn(a)}}, nil
}

// maxAttachments bounds the files of a task.
const maxAttachments = 100

func (a Attach) do(s State) ([]Event, error) {
	switch {
	case len(s.Attachments) >= maxAttachments:
		return nil, invalid("attachment", "the task has %d files, which is the most", maxAttachments)
	case s.Status.Name() == CompletedName:
		return nil, s.not("attach", "it is completed")
	}
	return []Event{{Payload: AttachmentAdded{a.Attachment}}}, nil
}

func (a Detach) do(s State) ([]Event, error) {
	if !slices.ContainsFunc(s.Attachments, func(have Attachment) bool { return have.ID == a.ID }) {
		return nil, invalid("attachment", "there is no attachment %q", a.ID)
	}
	return []Event{{Payload: AttachmentRemoved(a)}}, nil
}

func (a Prompt) do(s State) ([]Event, error) {
	work, ok := atWork(s.Status)
	if !ok || work.Run != a.Run {
		return nil, s.not("prompt", "run "+string(a.Run)+" is not at work")
	}
	if !slices.ContainsFunc(s.Next(), func(c Command) bool { return c.Key() == StartRun{Run: a.Run, Number: a.Number}.Key() }) {
		return nil, s.not("prompt", fmt.Sprintf("assignment %d of run %s is not owed", a.Number, a.Run))
	}
	return []Event{{Run: a.Run, Payload: AgentPrompted{a.Number, a.Turn}}}, nil
}

func (a Tell) do(s State) ([]Event, error) {
	work, ok := atWork(s.Status)
	if !ok || work.Run != a.Run {
		return nil, s.not("say", "run "+string(a.Run)+" is not at work")
	}
	return []Event{{Run: a.Run, Payload: MessageDelivered{a.ID}}}, nil
}

func (a Return) do(s State) ([]Event, error) {
	i := slices.IndexFunc(s.Messages, func(m Message) bool { return m.ID == a.ID })
	if i < 0 || s.Messages[i].State != MessageIsDelivered {
		return nil, nil
	}
	return []Event{{Payload: MessageReturned(a)}}, nil
}

// A SubmissionError says that a result was not accepted. Nothing was changed.
type SubmissionError struct {
	Kind Refused
	Tool string
	// AcceptedAt is when the one that counts was accepted, and SamePayload whether this one is
	// equal to it, for AlreadySubmitted.
	AcceptedAt  time.Time
	SamePayload bool
	Why         string // for the others
}

// Refused is a kind of SubmissionError; its text is the error's code.
type Refused string

const (
	AlreadySubmitted Refused = "output_already_submitted" // 409
	NotAtWork        Refused = "run_not_at_work"          // 409: its turn has ended, or it was stopped
	WrongAssignment  Refused = "assignment_over"          // 409
	NotGranted       Refused = "tool_not_granted"         // 403: another kind of agent, or another task
)

// Code returns the code of the error.
func (e *SubmissionError) Code() string { return string(e.Kind) }

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
	work, working := atWork(s.Status)
	switch {
	case !ok:
		return &SubmissionError{Kind: NotGranted, Tool: called, Why: fmt.Sprintf("run %s is not one of task %s", id, s.Created.Task)}
	case r.Kind.Tool() != called || r.Parent != "":
		return &SubmissionError{Kind: NotGranted, Tool: called, Why: fmt.Sprintf("%s, the agent of run %s, does not have the tool %s", r.Agent, id, called)}
	case r.Submitted != nil && r.Submitted.In == len(r.Assignments):
		return &SubmissionError{Kind: AlreadySubmitted, Tool: called, AcceptedAt: r.Submitted.At}
	case working && work.Run == id && r.Prompted < len(r.Assignments):
		return &SubmissionError{Kind: WrongAssignment, Tool: called, Why: fmt.Sprintf("run %s has not been told yet what it is asked for now: what it submits is of an earlier assignment", id)}
	case !working || work.Run != id:
		return &SubmissionError{Kind: NotAtWork, Tool: called, Why: fmt.Sprintf("run %s is not at work for task %s, which is %s", id, s.Created.Task, s.Status.Name().Words())}
	}
	return nil
}

func (a Submit) do(s State) ([]Event, error) {
	if err := s.Takes(a.Run, a.Output.tool()); err != nil {
		return nil, err
	}
	switch o := a.Output.(type) {
	case PlannerOutput:
		if err := o.check(); err != nil {
			return nil, err
		}
		return a.plans(s, o)
	case Report:
		if err := o.check(); err != nil {
			return nil, err
		}
		return a.reports(s, o)
	}
	return nil, invalid("output", "it is of an unknown type") // unreachable: there are two
}

func (a Submit) plans(s State, o PlannerOutput) ([]Event, error) {
	handed := Event{Run: a.Run, Payload: PlannerOutputSubmitted{a.Submission, o}}
	switch o.Type {
	case OutputPlan:
		return s.moved(OnPlanned, PlannedName, StatusChanged{}, handed, Event{Run: a.Run, Payload: PlanningCompleted{o.Plan}})
	case OutputQuestions:
		return s.moved(OnQuestions, AwaitingInputName, StatusChanged{}, handed, Event{Run: a.Run, Payload: PlanningQuestionsReturned{o.Questions}})
	}
	failed := PlanningFailed{Reason: "planner_error", Detail: shorten(o.Error, MaxText)}
	return s.moved(OnError, FailedName, StatusChanged{Reason: failed.Reason, Detail: failed.Detail}, handed, Event{Run: a.Run, Payload: failed})
}

func (a Submit) reports(s State, o Report) ([]Event, error) {
	handed := Event{Run: a.Run, Payload: CompletionReportSubmitted{a.Submission, o}}
	work, _ := atWork(s.Status)
	switch o.Status {
	case ReportComplete:
		return s.moved(OnDone, CompletedName, StatusChanged{}, handed)
	case ReportBlocked:
		return s.moved(OnBlocked, WaitingName, StatusChanged{Run: work.Run, Agent: work.Agent, Kind: Worker, Reason: "blocked", Detail: shorten(o.BlockedReason, MaxText)}, handed)
	}
	return s.moved(OnGivenUp, FailedName, StatusChanged{Reason: "reported_failed", Detail: shorten(o.Summary, MaxText)}, handed)
}

func (a End) do(s State) ([]Event, error) {
	r, ok := s.Run(a.Run)
	if !ok || r.Parent != "" {
		return nil, invalid("run", "run %s is not one of task %s", a.Run, s.Created.Task)
	}
	if r.Ended || a.Number != 0 && a.Number != len(r.Assignments) {
		return nil, nil // it is known, or was before a person has resumed the task
	}
	submitted := r.Submitted != nil && r.Submitted.In == len(r.Assignments)
	x := OnExit(r.Kind, r.Agent, a.Begun, a.End, submitted, r.Reminders, a.Said)
	work, working := atWork(s.Status)
	current := working && work.Run == a.Run
	if x.Remind || current && x.Trigger == "" && x.Result != Submitted {
		return nil, nil // the run continues: it is reminded, or another driver continues it
	}
	done := Event{Run: a.Run, Payload: AgentCompleted{Result: x.Result, End: a.End, Output: shorten(a.Said, maxSaid), Usage: a.Usage, Steps: a.Steps}}
	if !current || x.Trigger == "" {
		return []Event{done}, nil
	}
	events := []Event{done}
	if x.Trigger == OnRunFailed {
		if r.Kind == Planner {
			events = append(events, Event{Run: a.Run, Payload: PlanningFailed{Reason: x.Reason, Detail: x.Detail}})
		}
		return s.moved(x.Trigger, FailedName, StatusChanged{Reason: x.Reason, Detail: x.Detail}, events...)
	}
	return s.moved(x.Trigger, WaitingName, StatusChanged{Run: r.ID, Agent: r.Agent, Kind: r.Kind, Reason: x.Reason, Detail: x.Detail}, events...)
}

// maxSaid bounds what a task keeps of an agent's last answer, in bytes; the run's log has
// all of it.
const maxSaid = 64 << 10

func (a HandOff) do(s State) ([]Event, error) {
	return []Event{{Run: a.Run, Payload: a.AgentHandoffStarted}}, nil
}

func (a EndHandoff) do(s State) ([]Event, error) {
	return []Event{{Run: a.Run, Payload: a.AgentHandoffCompleted}}, nil
}

func (a Note) do(s State) ([]Event, error) {
	switch p := a.Fact.(type) {
	case PermissionRequested:
		if slices.ContainsFunc(s.Permissions, func(q Permission) bool { return q.Run == a.Run && q.Call == p.Call }) {
			return nil, nil
		}
	case PermissionDecided:
		if p.Answer == "" && !slices.ContainsFunc(s.Permissions, func(q Permission) bool { return q.Run == a.Run && q.Call == p.Call }) {
			return nil, nil
		}
	case ToolExecuted, OutputReminderSent, Interrupted:
	default:
		return nil, invalid("fact", "%T changes the task", a.Fact) // a mistake in the program
	}
	return []Event{{Run: a.Run, Payload: a.Fact}}, nil
}

func (a RecordCopy) do(s State) ([]Event, error) {
	if s.Copy != nil {
		return nil, nil // another process has recorded it
	}
	return []Event{{Payload: a.CopyMade}}, nil
}

func (a RecordMerge) do(s State) ([]Event, error) {
	if s.Copy == nil {
		return nil, s.not("merge", "it has no copy")
	}
	if s.Copy.Merged == a.Commit {
		return nil, nil
	}
	return []Event{{Payload: a.CopyMerged}}, nil
}

func (Discard) do(s State) ([]Event, error) {
	switch {
	case s.Copy == nil:
		return nil, s.not("discard", "it has no copy")
	case s.Owes(), s.Status.Name() == WaitingName:
		return nil, s.not("discard", "its agent works in the copy, or will when it is resumed: complete, fail or cancel the task first")
	}
	return []Event{{Payload: CopyDiscarded{}}}, nil
}
