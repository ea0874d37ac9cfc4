package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// How a model decides what to do next.
const (
	Native     = "native"     // by the provider's tool calling
	Controller = "controller" // by one JSON object a step; see package controller
	// Auto is native until the model has made maxMalformed malformed calls, then
	// controller.
	Auto = "auto"
)

// maxMalformed is how many malformed calls switch a run from Auto to Controller.
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

// A Plan is the list of steps that a turn in controller mode has taken so far. It does
// not predict later steps, and needs no request of its own.
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
	StepOpen   PlanStatus = "open"   // its calls are open
	StepDone   PlanStatus = "done"   // it has no calls, or one of them succeeded
	StepFailed PlanStatus = "failed" // all its calls failed or were not run
)

// maxGoal bounds the goal of a plan, which is the start of the prompt, in characters.
const maxGoal = 160

// openPlan begins the plan of the turn if it has none.
func (s *State) openPlan() {
	if s.planned() {
		return
	}
	goal := ""
	for _, m := range s.Messages {
		if m.ID == s.Turn.prompt && m.Role == User { // after an answer it is the assistant's question
			goal = strings.TrimSpace(PlainText(m.Parts))
		}
	}
	start := []rune(goal)
	goal = string(start[:min(len(start), maxGoal)])
	s.Plan = Plan{ID: planID(s.Turn.N), Goal: cmp.Or(goal, "Agent task")}
}

// planned reports whether the turn has a plan: its own, or, if it began with the answer
// to a question, that of the turn which asked.
func (s *State) planned() bool { return s.Plan.ID == planID(s.Turn.N) || s.Turn.sharePlan }

func planID(turn int) string { return "p_" + itoa(turn) }

// acted applies the action of the model's answer; nil in native mode.
func (s *State) acted(a *Action) {
	t := &s.Turn
	t.action = Action{}
	switch {
	case a == nil:
		return
	case a.Problem != "":
		if t.streaks[unusable]++; t.streaks[unusable] > maxUnusable {
			t.fail(Ended{End: EndFailed, Reason: "controller_output", Detail: fmt.Sprintf("the model's answer could not be used %d times in a row: %s", t.streaks[unusable], a.Problem)})
			return
		}
		t.tell(a.Feedback)
		t.Phase = Ready
		return
	}
	t.action, t.streaks[unusable] = *a, 0
	if n := len(t.Calls); a.Dropped > 0 && n > 0 {
		t.Calls[n-1].note = fmt.Sprintf("%d more calls of this step were left out: the turn's limit of calls is reached.", a.Dropped)
	}
	if !a.InPlan {
		return
	}
	s.openPlan()
	step := PlanStep{Number: len(s.Plan.Steps) + 1, Description: a.Description, Kind: a.Kind, Status: StepOpen}
	for i := range t.Calls {
		step.Calls = append(step.Calls, t.Calls[i].ID)
	}
	if len(step.Calls) == 0 {
		step.Status = StepDone
	}
	s.Plan.Steps = append(slices.Clip(s.Plan.Steps), step)
}

// settleStep closes the last step of the plan once its calls are settled.
func (s *State) settleStep() {
	n := len(s.Plan.Steps)
	if n == 0 || s.Plan.Steps[n-1].Status != StepOpen {
		return
	}
	status := StepFailed
	for _, c := range s.Turn.Calls {
		if slices.Contains(s.Plan.Steps[n-1].Calls, c.ID) && Succeeded(c.Result.IsError, c.Result.ExitCode) {
			status = StepDone
		}
	}
	s.Plan.Steps = slices.Clone(s.Plan.Steps)
	s.Plan.Steps[n-1].Status = status
}

// text returns the plan for the summary of a compaction.
func (p Plan) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The plan so far - goal: %s\n", p.Goal)
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "%d. %s (%s, %s)\n", s.Number, shorten(s.Description, 200), s.Kind, s.Status)
	}
	return strings.TrimRight(b.String(), "\n")
}
