package run

import (
	"fmt"
	"slices"
	"strings"
)

// How a model decides what to do next.
const (
	Native     = "native"     // by the provider's tool calling
	Controller = "controller" // by one JSON object a step; see package controller
	// Auto is native for as long as that goes well; after maxMalformed malformed
	// calls it is controller.
	Auto = "auto"
)

// maxMalformed is how many malformed calls a run under Auto may see before its model
// is asked for one object a step instead.
const maxMalformed = 2

// Controlled reports whether the model answers with one object a step.
func (c Config) Controlled() bool { return c.Control == Controller }

// A StepKind says what a step does.
type StepKind string

const (
	StepTool      StepKind = "tool"
	StepRespond   StepKind = "respond"
	StepComplete  StepKind = "complete"
	StepAsk       StepKind = "ask_user"
	StepGuardrail StepKind = "guardrail_stop"
)

// A Plan is the steps that a turn in controller mode has taken, as data. It says
// nothing of what comes, and costs no request of its own.
type Plan struct {
	ID    string // p_<number of the turn>
	Goal  string
	Steps []PlanStep
}

// A PlanStep is one next_step of a plan.
type PlanStep struct {
	Number      int // 1, 2, …
	Description string
	Kind        StepKind
	Status      PlanStatus
	Calls       []CallID
}

// A PlanStatus says how far a step of a plan has come.
type PlanStatus string

const (
	StepOpen   PlanStatus = "open"   // its calls run, or the person's answer is awaited
	StepDone   PlanStatus = "done"   // said, answered, or a call of it has its result
	StepFailed PlanStatus = "failed" // every call of it failed or was not run
)

// maxGoal is how many characters of the prompt are the goal of a plan.
const maxGoal = 160

// OpenPlan returns the fact that opens the plan of the turn; false if it has one.
func (s State) OpenPlan() (PlanOpened, bool) {
	if s.planned() {
		return PlanOpened{}, false
	}
	goal := ""
	for _, m := range s.Messages {
		if m.ID == s.Turn.prompt && m.Role == User { // it may be the message that asked
			goal = strings.TrimSpace(PlainText(m.Parts))
		}
	}
	if r := []rune(goal); len(r) > maxGoal {
		goal = string(r[:maxGoal])
	}
	if goal == "" {
		goal = "Agent task"
	}
	return PlanOpened{ID: planID(s.Turn.N), Goal: goal}, true
}

// planned reports whether the turn has a plan: its own, or that of the turn which
// asked the question that it begins with the answer to.
func (s *State) planned() bool {
	return s.Plan.ID == planID(s.Turn.N) || s.Turn.goesOn
}

func planID(turn int) string { return "p_" + itoa(turn) }

func (s *State) applyPlanOpened(f PlanOpened) error {
	if !s.Turn.Open || f.ID != planID(s.Turn.N) || s.planned() {
		return refuse("plan %q opened in turn %d", f.ID, s.Turn.N)
	}
	s.Plan = Plan{ID: f.ID, Goal: f.Goal}
	return nil
}

func (s *State) applyStepChosen(f StepChosen) error {
	t := &s.Turn
	switch {
	case !t.Open || t.Request.Open || t.Interrupt.Cause != "" || !t.reply.raw:
		return refuse("a step was chosen without an answer")
	case f.Kind == "":
		return refuse("a step without a kind")
	case f.InPlan && !s.planned():
		return refuse("a step of a plan that is not open")
	case (f.Kind == StepTool || f.Kind == StepAsk) != (len(t.Calls) > 0):
		return refuse("a step of kind %s with %d calls", f.Kind, len(t.Calls))
	}
	t.reply.raw = false
	t.chosen, t.misread = f, 0
	t.reply.promises, t.reply.hash = false, ""
	if n := len(t.Calls); f.Dropped > 0 && n > 0 {
		if !t.own {
			t.Calls = slices.Clone(t.Calls)
		}
		t.Calls[n-1].note = fmt.Sprintf("%d more calls of this step were left out: the turn's limit of calls is reached.", f.Dropped)
	}
	if !f.InPlan {
		return nil
	}
	step := PlanStep{Number: len(s.Plan.Steps) + 1, Description: f.Description, Kind: f.Kind, Status: StepOpen}
	for i := range t.Calls {
		step.Calls = append(step.Calls, t.Calls[i].ID)
	}
	if len(step.Calls) == 0 {
		step.Status = StepDone
	}
	s.Plan.Steps = append(slices.Clip(s.Plan.Steps), step)
	return nil
}

func (s *State) applyStepRefused(f StepRefused) error {
	t := &s.Turn
	switch {
	case !t.Open || t.Request.Open || t.Interrupt.Cause != "" || !t.reply.raw || t.unsettled():
		return refuse("an answer was refused that is none")
	case f.Problem == "" || f.Feedback == "":
		return refuse("an answer refused without a word")
	}
	t.reply.raw = false
	t.misread++
	if t.misread > maxMisread {
		t.failure = Ended{End: EndFailed, Reason: "controller_output", Detail: fmt.Sprintf("the model's answer could not be used %d times in a row: %s", t.misread, f.Problem)}
		return nil
	}
	t.Words = append(slices.Clip(t.Words), Words{Parts: []Part{Text(f.Feedback)}, own: true})
	t.after = afterWords
	return nil
}

// maxMisread is how many answers in a row may be none in controller mode and be
// asked for again.
const maxMisread = 2

// settleStep closes the plan's step whose calls have their results.
func (s *State) settleStep() {
	n := len(s.Plan.Steps)
	if n == 0 || s.Plan.Steps[n-1].Status != StepOpen {
		return
	}
	status := StepFailed
	for i := range s.Turn.Calls {
		if c := &s.Turn.Calls[i]; slices.Contains(s.Plan.Steps[n-1].Calls, c.ID) && !c.Result.IsError {
			status = StepDone
		}
	}
	s.Plan.Steps = slices.Clone(s.Plan.Steps)
	s.Plan.Steps[n-1].Status = status
}

// text is the plan as a summary of earlier steps keeps it.
func (p Plan) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The plan so far - goal: %s\n", p.Goal)
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "%d. %s (%s, %s)\n", s.Number, shorten(s.Description, 200), s.Kind, s.Status)
	}
	return strings.TrimRight(b.String(), "\n")
}

// finished returns the end that the model chose in controller mode.
func (t *Turn) finished() (Ended, bool) {
	switch c := t.chosen; c.Kind {
	case StepRespond, StepComplete:
		return Ended{End: Completed}, true
	case StepGuardrail:
		detail := c.Reason
		if c.Message != "" {
			detail += ". " + c.Message
		}
		return Ended{End: GuardrailStopped, Reason: "guardrail_stop", Detail: detail}, true
	}
	return Ended{}, false
}
