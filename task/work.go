package task

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/run"
)

// assignTo returns the assignment of a run and the status that carries it.
func (s State) assignTo(on Trigger, to StatusName, id run.ID, agent string, k Kind, reason, input string, messages []string, before ...Event) ([]Event, error) {
	if _, ok := s.Left(); !ok {
		return nil, s.not(on, s.spent()+": it needs a higher one")
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

func (a StartPlanning) do(s State) ([]Event, error) {
	if s.Status.Name != Pending {
		return nil, s.not(OnPlan, "")
	}
	input, messages := s.planInput()
	return s.assignTo(OnPlan, Planning, a.Run, a.Agent, Planner, "start", input, messages)
}

func (a SubmitAnswers) do(s State) ([]Event, error) {
	w, halted := s.Status, s.Status.Name == Waiting
	open := s.OpenQuestions()
	if s.Status.Name != AwaitingInput && (!halted || len(open) == 0) {
		return nil, s.not(OnAnswers, "")
	}
	if a.Questions != nil && !slices.Equal(a.Questions, open) {
		return nil, s.not(OnAnswers, "it asks something else by now: read that first")
	}
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
	if halted { // one question of the agent at work, whose call is answered
		words, messages := s.withMessages(strings.TrimSpace(a.Answers[0]))
		return s.assignTo(OnAnswers, w.Kind.working(), w.Run, w.Agent, w.Kind, "answers", words, messages, Event{Payload: AnswersSubmitted{a.Answers, a.Typed}})
	}
	r, _ := s.planner() // whose questions have led to the status
	words, messages := s.withMessages(input.String())
	return s.assignTo(OnAnswers, Planning, r.ID, r.Agent, Planner, "answers", words, messages, Event{Payload: AnswersSubmitted{a.Answers, a.Typed}})
}

func (a Start) do(s State) ([]Event, error) {
	switch {
	case s.Status.Name != Planned:
		return nil, s.not(OnStart, "")
	case len(a.Unfinished) > 0:
		return nil, s.not(OnStart, "it depends on tasks that are not completed: "+joinIDs(a.Unfinished))
	}
	input, messages := s.workInput()
	reason := "start"
	if len(s.Chain) > 0 && s.Chain[len(s.Chain)-1].Kind == Worker {
		reason = "retry"
	}
	return s.assignTo(OnStart, Active, a.Run, a.Agent, Worker, reason, input, messages)
}

func joinIDs(ids []ID) string {
	var names []string
	for _, id := range ids {
		names = append(names, string(id))
	}
	return strings.Join(names, ", ")
}

func (a HandOn) do(s State) ([]Event, error) {
	work := s.Status
	r, _ := s.Run(work.Run)
	switch {
	case r.Kind != Worker:
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
	return s.assignTo(OnHandOn, Active, a.Run, a.Agent, Worker, "handoff", input, messages)
}

func (a Proceed) do(s State) ([]Event, error) {
	w := s.Status
	due := !w.Until.IsZero() && !a.Now.Before(w.Until)
	if !s.Starts() && !due || s.Owes() || w.Name != a.From {
		return nil, nil // it was changed since
	}
	if due {
		words, messages := s.withMessages("")
		return s.assignTo(OnLimitOver, w.Kind.working(), w.Run, w.Agent, w.Kind, string(OnLimitOver), words, messages)
	}
	if a.Cannot == "" {
		var begin Action = Start{Run: a.Run, Agent: a.Agent}
		if a.From == Pending {
			begin = StartPlanning{Run: a.Run, Agent: a.Agent}
		}
		events, err := begin.do(s)
		if err == nil {
			return events, nil
		}
		a.Cannot = err.Error()
		if e, ok := errors.AsType[*TransitionError](err); ok {
			a.Cannot = e.Why
		}
	}
	return s.moved(OnNotBegun, Failed, StatusChanged{Reason: string(OnNotBegun), Detail: a.Cannot})
}

func (a Move) do(s State) ([]Event, error) {
	switch w := s.Status; a.On {
	case OnPause:
		k := Worker
		if w.Name == Planning {
			k = Planner
		}
		if !w.atWork() {
			return nil, s.not(OnPause, "")
		}
		return s.moved(OnPause, Waiting, StatusChanged{Run: w.Run, Agent: w.Agent, Kind: k, Reason: "paused", Detail: "paused by a person"})
	case OnComplete:
		return s.moved(OnComplete, Completed, StatusChanged{})
	case OnFail:
		return s.moved(OnFail, Failed, StatusChanged{Reason: "failed_by_person", Detail: orDefault(a.Why, "a person said that it has failed")})
	case OnCancel:
		return s.moved(OnCancel, Failed, StatusChanged{Reason: "cancelled", Detail: orDefault(a.Why, "cancelled by a person")})
	case OnRetry:
		if s.Plan == nil {
			return s.moved(OnRetry, Pending, StatusChanged{})
		}
		return s.moved(OnRetry, Planned, StatusChanged{})
	case OnReopen:
		return s.moved(OnReopen, Planned, StatusChanged{})
	}
	return nil, s.not(a.On, "") // unreachable: a mistake in the program
}

func (a Resume) do(s State) ([]Event, error) {
	w := s.Status
	if w.Name != Waiting {
		return nil, s.not(OnResume, "")
	}
	if w.Reason == string(run.Asked) && strings.TrimSpace(a.Words) == "" {
		return nil, invalid("words", "the agent asked a question: give the answer")
	}
	if err := checkWords("words", a.Words); err != nil {
		return nil, err
	}
	var before []Event
	if len(s.OpenQuestions()) > 0 {
		before = append(before, Event{Payload: AnswersSubmitted{[]string{strings.TrimSpace(a.Words)}, a.Typed}})
	}
	if a.Budget != nil {
		if err := checkBudget(*a.Budget); err != nil {
			return nil, err
		}
		s.Budget = *a.Budget
		before = append(before, Event{Payload: Edited{Budget: a.Budget}})
	}
	words, messages := s.withMessages(strings.TrimSpace(a.Words))
	return s.assignTo(OnResume, w.Kind.working(), w.Run, w.Agent, w.Kind, "resume", words, messages, before...)
}

// maxLimitWaits bounds how often in a row a task waits for a limit of a provider and does nothing else.
const maxLimitWaits = 20

// hasWaited reports whether the last assignments of a run were all those of limits that had ended, as many as may be.
func (r Run) hasWaited() bool {
	n := len(r.Assignments)
	return n > maxLimitWaits && !slices.ContainsFunc(r.Assignments[n-maxLimitWaits:], func(a Assignment) bool { return a.Reason != string(OnLimitOver) })
}

// working returns the status in which an agent of the kind works.
func (k Kind) working() StatusName {
	if k == Planner {
		return Planning
	}
	return Active
}

// spent says which bound of the budget is reached.
func (s State) spent() string {
	if s.Budget.Tokens > 0 && s.Usage().Total() >= s.Budget.Tokens {
		return fmt.Sprintf("its budget of %d tokens is spent", s.Budget.Tokens)
	}
	return fmt.Sprintf("its budget of %s is spent", dollars(s.Budget.Cost))
}

// dollars returns an amount in US dollars with as many digits as it has, at least two after the point.
func dollars(amount float64) string {
	cents := strconv.FormatFloat(amount, 'f', 2, 64)
	if exact := strconv.FormatFloat(amount, 'f', -1, 64); len(exact) > len(cents) {
		return "$" + exact
	}
	return "$" + cents
}

// String returns the budget in words; empty if it bounds nothing.
func (b Budget) String() string {
	var bounds []string
	if b.Cost > 0 {
		bounds = append(bounds, dollars(b.Cost))
	}
	if b.Tokens > 0 {
		bounds = append(bounds, fmt.Sprintf("%d tokens", b.Tokens))
	}
	return strings.Join(bounds, " and ")
}

func orDefault(text, def string) string {
	if text = strings.TrimSpace(text); text != "" {
		return shorten(text, MaxText)
	}
	return def
}

func (a End) do(s State) ([]Event, error) {
	r, ok := s.Run(a.Run)
	if !ok || r.Parent != "" {
		return nil, invalid("run", "run %s is not one of task %s", a.Run, s.Created.Task)
	}
	if r.Ended || a.Number != 0 && a.Number != len(r.Assignments) {
		return nil, nil // it is known, or was before a person has resumed the task
	}
	after := s
	after.change(a.Run).Usage = a.Usage
	_, left := after.Left()
	if a.End.End == run.LimitReached && !left { // of the turn: what is left of the task's budget is its limit
		a.End.Detail = after.spent()
	}
	if !left || r.hasWaited() {
		a.End.LimitEnds = time.Time{}
	}
	submitted := r.Submitted != nil && r.Submitted.In == len(r.Assignments)
	x := onExit(r.Kind, r.Agent, a.Begun, a.End, submitted, r.Reminders, a.Said)
	current := s.isAtWork(a.Run)
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
		return s.moved(x.Trigger, Failed, StatusChanged{Reason: x.Reason, Detail: x.Detail}, events...)
	}
	if a.End.End == run.Asked && a.Question.Question != "" {
		events = append(events, Event{Run: a.Run, Payload: a.Question})
	}
	return s.moved(x.Trigger, Waiting, StatusChanged{Run: r.ID, Agent: r.Agent, Kind: r.Kind, Reason: x.Reason, Detail: x.Detail, Until: a.End.LimitEnds}, events...)
}

// maxSaid bounds what a task keeps of an agent's last answer, in bytes; the run's log has
// all of it.
const maxSaid = 64 << 10

func (a Note) do(s State) ([]Event, error) {
	switch p := a.Fact.(type) {
	case AgentPrompted:
		if !s.isAtWork(a.Run) {
			return nil, s.not("prompt", "run "+string(a.Run)+" is not at work")
		}
		if !slices.ContainsFunc(s.Next(), func(c Command) bool { return c.key() == StartRun{Run: a.Run, Number: p.Number}.key() }) {
			return nil, s.not("prompt", fmt.Sprintf("assignment %d of run %s is not owed", p.Number, a.Run))
		}
	case MessageDelivered:
		if !s.isAtWork(a.Run) {
			return nil, s.not("say", "run "+string(a.Run)+" is not at work")
		}
		if i := s.findMessage(p.ID); i < 0 || s.Messages[i].State != MessageWaits {
			return nil, s.not("say", "message "+p.ID+" is not queued")
		}
	case PermissionRequested:
		if s.asks(a.Run, p.Call) {
			return nil, nil
		}
	case PermissionDecided:
		if p.Answer == "" && !s.asks(a.Run, p.Call) {
			return nil, nil
		}
	case AgentHandoffStarted, AgentHandoffCompleted, ToolExecuted, OutputReminderSent, Interrupted:
	default:
		return nil, invalid("fact", "%T changes the task", a.Fact) // a mistake in the program
	}
	return []Event{{Run: a.Run, Payload: a.Fact}}, nil
}
