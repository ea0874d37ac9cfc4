package task

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"pawl/run"
)

// ErrOrder means that an event cannot follow. The state is unchanged.
var ErrOrder = errors.New("task: event out of order")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOrder, fmt.Sprintf(format, args...))
}

func itoa(n int) string { return strconv.Itoa(n) }

// Apply returns the state after e, or s itself and an error that is [ErrOrder] if e cannot
// follow s.
func (s State) Apply(e Event) (State, error) {
	next := s
	if err := next.apply(e); err != nil {
		return s, err
	}
	return next, nil
}

func (s *State) apply(e Event) error {
	_, created := e.Payload.(Created)
	switch {
	case e.Payload == nil:
		return refuse("an event without a payload")
	case e.Seq != 0 && e.Seq != s.Seq+1:
		return refuse("event %d after %d", e.Seq, s.Seq)
	case created != (s.Status.Name == ""):
		return refuse("%T where the task has %d events", e.Payload, s.Seq)
	}
	if err := e.Payload.apply(s, e); err != nil {
		return err
	}
	s.Seq++
	s.At = e.At
	return nil
}

func (p Created) apply(s *State, e Event) error {
	if err := p.check(); err != nil {
		return refuse("%v", err)
	}
	s.Created, s.CreatedAt, s.Description, s.Status = p, e.At, p.Description, Status{Name: Pending}
	s.Labels, s.Priority, s.DependsOn, s.Budget = p.Labels, p.Priority, p.DependsOn, p.Budget
	s.Isolation, s.Start = p.Isolation, p.Start
	return nil
}

func (p Edited) apply(s *State, _ Event) error {
	set(&s.Description, p.Description)
	set(&s.Labels, p.Labels)
	set(&s.Priority, p.Priority)
	set(&s.DependsOn, p.DependsOn)
	set(&s.Budget, p.Budget)
	set(&s.Isolation, p.Isolation)
	set(&s.Start, p.Start)
	if p.Plan != nil {
		s.Plan = p.Plan
	}
	return nil
}

func set[T any](field *T, v *T) {
	if v != nil {
		*field = *v
	}
}

func (p StatusChanged) apply(s *State, _ Event) error {
	to, err := p.status()
	switch {
	case err != nil:
		return refuse("%v", err)
	case p.From != s.Status.Name:
		return refuse("a change from %s while the task is %s", p.From, s.Status.Name)
	case !legal(p.From, p.To, p.Trigger):
		return refuse("%s does not lead from %s to %s", p.Trigger, p.From, p.To)
	}
	if r, ok := s.Run(to.Run); to.atWork() && (!ok || r.Agent != to.Agent || r.Ended) {
		return refuse("status %s with run %s, which has no open assignment", p.To, to.Run)
	}
	s.Status = to
	s.dropPermissions(func(q Permission) bool { // of runs that were paused and are not at it any more
		r, _ := s.Run(q.Run)
		return r.Ended && q.Run != to.Run
	})
	if p.To == Active || Final(p.To) {
		s.Start = false
	}
	if p.To != AwaitingInput && p.To != Waiting {
		s.dropQuestions()
	}
	return nil
}

// dropQuestions removes the questions without an answer: it is not waited for any more.
func (s *State) dropQuestions() {
	s.Questions = slices.DeleteFunc(slices.Clone(s.Questions), func(q Question) bool { return !q.Answered })
}

func (p PlanningStarted) apply(s *State, e Event) error { return s.assign(e, Planner, p.Assigned) }
func (p AgentStarted) apply(s *State, e Event) error {
	if s.Copy != nil && s.Copy.Merged != "" {
		c := *s.Copy
		c.WorkedOn = true
		s.Copy = &c
	}
	return s.assign(e, Worker, p.Assigned)
}

func (s *State) assign(e Event, k Kind, p Assigned) error {
	r := s.change(e.Run)
	switch {
	case e.Run == "" || p.Agent == "":
		return refuse("an assignment without a run and its agent")
	case r == nil && p.Number != 1, r != nil && p.Number != len(r.Assignments)+1:
		return refuse("assignment %d of run %s is not the next", p.Number, e.Run)
	case r != nil && (r.Kind != k || r.Agent != p.Agent || !r.Ended):
		return refuse("an assignment for run %s, which is not at rest or of another agent", e.Run)
	}
	if r == nil {
		s.Chain = append(slices.Clip(s.Chain), Run{ID: e.Run, Agent: p.Agent, Kind: k, Started: e.At})
		r = &s.Chain[len(s.Chain)-1]
	}
	r.Assignments = append(slices.Clip(r.Assignments), Assignment{p.Reason, p.Input, e.At})
	r.Ended, r.Reminders = false, 0
	for _, id := range p.Messages {
		if err := s.message(id, MessageIsDelivered, MessageWaits, MessageIsReturned); err != nil {
			return err
		}
	}
	return nil
}

// message moves a message to a state from one of others.
func (s *State) message(id string, to MessageState, from ...MessageState) error {
	i := s.findMessage(id)
	if i < 0 || !slices.Contains(from, s.Messages[i].State) {
		return refuse("message %q is not one that can be %s", id, to)
	}
	s.Messages = slices.Clone(s.Messages)
	s.Messages[i].State, s.Messages[i].AtTurnEnd = to, false
	return nil
}

func (p AgentPrompted) apply(s *State, e Event) error {
	r := s.change(e.Run)
	if r == nil || p.Number != len(r.Assignments) || p.Number <= r.Prompted {
		return refuse("assignment %d of run %s was said already, or is not asked", p.Number, e.Run)
	}
	r.Prompted, r.Model = p.Number, p.Model
	return nil
}

func (p PlannerOutputSubmitted) apply(s *State, e Event) error {
	return s.hand(e, Planner, p.Submission)
}

func (p CompletionReportSubmitted) apply(s *State, e Event) error {
	if err := s.hand(e, Worker, p.Submission); err != nil {
		return err
	}
	s.Report = &p.Report
	s.settle(p.Report.Comments)
	return nil
}

func (s *State) hand(e Event, k Kind, p Submission) error {
	r := s.change(e.Run)
	switch {
	case r == nil || r.Kind != k || !s.isAtWork(e.Run):
		return refuse("run %s hands in and is not at work as a %s", e.Run, k)
	case r.Submitted != nil && (r.Submitted.In >= len(r.Assignments) || r.Submitted.Assignment >= p.Assignment):
		return refuse("run %s has handed in already", e.Run)
	}
	r.Submitted = &Handed{p, len(r.Assignments), e.At}
	return nil
}

func (p PlanningCompleted) apply(s *State, _ Event) error {
	s.Plan = &p.Plan
	return nil
}

func (p PlanningQuestionsReturned) apply(s *State, _ Event) error {
	s.dropQuestions()
	for _, q := range p.Questions {
		s.Questions = append(s.Questions, Question{Question: q})
	}
	return nil
}

func (p QuestionAsked) apply(s *State, e Event) error {
	if !s.isAtWork(e.Run) || p.Question == "" {
		return refuse("run %s asks nothing, or is not at work", e.Run)
	}
	s.dropQuestions()
	s.Questions = append(s.Questions, Question{Question: p.Question, Options: p.Options})
	return nil
}

func (p PlanningFailed) apply(*State, Event) error { return nil }

func (p AnswersSubmitted) apply(s *State, _ Event) error {
	if len(p.Answers) == 0 || len(p.Answers) != len(s.OpenQuestions()) {
		return refuse("%d answers to %d questions", len(p.Answers), len(s.OpenQuestions()))
	}
	s.Questions = slices.Clone(s.Questions)
	n := 0
	for i := range s.Questions {
		if q := &s.Questions[i]; !q.Answered {
			q.Answer, q.Answered, q.Typed = p.Answers[n], true, p.Typed
			n++
		}
	}
	return nil
}

func (p AgentCompleted) apply(s *State, e Event) error {
	r := s.change(e.Run)
	if r == nil || r.Parent != "" {
		return refuse("the end of run %s, which is not one of the task's", e.Run)
	}
	r.Ended, r.End, r.Result, r.Output, r.Finished = true, p.End, p.Result, p.Output, e.At
	r.Usage, r.Steps = p.Usage, p.Steps
	s.dropPermissions(func(q Permission) bool { return q.Run == e.Run && p.End.Reason != string(run.ByPause) })
	for i := range s.Permissions { // the slice was copied
		q := &s.Permissions[i]
		q.Paused = q.Paused || q.Run == e.Run
	}
	return nil
}

func (s *State) dropPermissions(which func(Permission) bool) {
	s.Permissions = slices.DeleteFunc(slices.Clone(s.Permissions), which)
}

func (p AgentHandoffStarted) apply(s *State, e Event) error {
	switch r := s.change(e.Run); {
	case s.find(p.Parent) < 0:
		return refuse("run %s was started by run %s, which is not one of the task's", e.Run, p.Parent)
	case r == nil:
		s.Chain = append(slices.Clip(s.Chain), Run{ID: e.Run, Agent: p.Agent, Model: p.Model, Parent: p.Parent, Call: p.Call, Started: e.At})
	case r.Parent != p.Parent:
		return refuse("run %s has another parent", e.Run)
	default:
		r.Ended, r.Model = false, p.Model // it is continued
	}
	return nil
}

func (p AgentHandoffCompleted) apply(s *State, e Event) error {
	r := s.change(e.Run)
	if r == nil || r.Parent == "" {
		return refuse("the end of run %s, which is not a child run of the task", e.Run)
	}
	r.Ended, r.End, r.Output, r.Usage, r.Finished = true, p.End, p.Output, p.Usage, e.At
	s.dropPermissions(func(q Permission) bool { return q.Run == e.Run })
	return nil
}

func (p ToolExecuted) apply(s *State, e Event) error {
	s.dropPermissions(func(q Permission) bool { return q.Run == e.Run && q.Call == p.Call })
	return nil
}

func (p PermissionRequested) apply(s *State, e Event) error {
	if s.asks(e.Run, p.Call) {
		return refuse("call %s of run %s waits already", p.Call, e.Run)
	}
	s.dropPermissions(func(q Permission) bool { return q.Run == e.Run && q.Call == p.Call })
	s.Permissions = append(s.Permissions, Permission{Run: e.Run, Call: p.Call, Tool: p.Tool, Arguments: p.Arguments})
	return nil
}

func (p PermissionDecided) apply(s *State, e Event) error {
	s.dropPermissions(func(q Permission) bool { return q.Run == e.Run && q.Call == p.Call })
	return nil
}

func (p OutputReminderSent) apply(s *State, e Event) error {
	r := s.change(e.Run)
	if r == nil {
		return refuse("a reminder of run %s, which is not one of the task's", e.Run)
	}
	r.Reminders = p.Number
	return nil
}

func (p Interrupted) apply(*State, Event) error { return nil }

func (p MessageQueued) apply(s *State, e Event) error {
	if p.ID == "" || p.Text == "" || s.findMessage(p.ID) >= 0 {
		return refuse("message %q is empty or there already", p.ID)
	}
	s.Messages = append(slices.Clip(s.Messages), Message{ID: p.ID, Text: p.Text, By: e.By, At: e.At, State: MessageWaits, Review: p.Review, Typed: p.Typed})
	return nil
}

func (p MessageDelivered) apply(s *State, _ Event) error {
	if err := s.message(p.ID, MessageIsDelivered, MessageWaits, MessageIsDelivered); err != nil {
		return err
	}
	s.Messages[s.findMessage(p.ID)].AtTurnEnd = p.AtTurnEnd // message has copied them
	return nil
}

func (p MessageReturned) apply(s *State, _ Event) error {
	to := MessageIsReturned
	if p.Waits {
		to = MessageWaits
	}
	return s.message(p.ID, to, MessageWaits, MessageIsDelivered)
}

func (p MessageWithdrawn) apply(s *State, _ Event) error {
	return s.message(p.ID, MessageIsWithdrawn, MessageWaits, MessageIsReturned)
}

func (p AttachmentAdded) apply(s *State, _ Event) error {
	a := p.Attachment
	if a.ID == "" || a.Name == "" || slices.ContainsFunc(s.Attachments, func(have Attachment) bool { return have.ID == a.ID }) {
		return refuse("attachment %q is there already, or has no name", a.ID)
	}
	s.Attachments = append(slices.Clip(s.Attachments), a)
	return nil
}

func (p AttachmentRemoved) apply(s *State, _ Event) error {
	i := slices.IndexFunc(s.Attachments, func(a Attachment) bool { return a.ID == p.ID })
	if i < 0 {
		return refuse("there is no attachment %q", p.ID)
	}
	s.Attachments = slices.Delete(slices.Clone(s.Attachments), i, i+1)
	return nil
}

func (p CopyMade) apply(s *State, _ Event) error {
	if s.Copy != nil || p.Dir == "" || p.Branch == "" || p.Base == "" {
		return refuse("a copy without a folder, a branch or a commit, or a second one")
	}
	s.Copy = &Copy{CopyMade: p}
	return nil
}

func (p CopyMerged) apply(s *State, _ Event) error {
	if s.Copy == nil {
		return refuse("a merge without a copy")
	}
	c := *s.Copy
	c.Merged, c.WorkedOn = p.Commit, false
	s.Copy = &c
	return nil
}

func (CopyDiscarded) apply(s *State, _ Event) error {
	if s.Copy == nil {
		return refuse("a copy is discarded and there is none")
	}
	s.Copy = nil
	return nil
}
