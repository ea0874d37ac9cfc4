package forms

import (
	"pawl/run"
	"pawl/view"
)

// A PlanForm is what a run in controller mode has done, step by step, as JSON. A run whose model
// calls tools natively has no steps.
type PlanForm struct {
	Run   run.ID     `json:"run"`
	Steps []StepForm `json:"steps"`
}

// A StepForm is a step of a plan.
type StepForm struct {
	Turn        int         `json:"turn"` // 1, 2, …
	Step        int         `json:"step"` // in its turn: 1, 2, …
	Description string      `json:"description"`
	Thought     string      `json:"thought,omitempty"` // why, a line for each of task, facts, decisions, risks, confidence
	Calls       []*CallForm `json:"calls"`

	Shown []*view.Call `json:"-"` // the calls as transcripts show them
}

// PlanOf returns the steps that the events of a run have.
func PlanOf(id run.ID, events []run.Event) PlanForm {
	f := PlanForm{Run: id, Steps: []StepForm{}}
	thought := ""
	for _, i := range view.Items(events) {
		n := len(f.Steps)
		switch {
		case i.Kind == view.KindThinking:
			thought = i.Text
		case i.Step:
			step := StepForm{Turn: i.Turn, Step: 1, Description: i.Text, Thought: thought, Calls: []*CallForm{}}
			if n > 0 && f.Steps[n-1].Turn == i.Turn {
				step.Step = f.Steps[n-1].Step + 1
			}
			f.Steps = append(f.Steps, step)
		case i.Kind == view.KindCall && n > 0 && f.Steps[n-1].Turn == i.Turn:
			last := &f.Steps[n-1]
			last.Calls, last.Shown = append(last.Calls, callFormOf(i.Call, false)), append(last.Shown, i.Call)
		}
	}
	return f
}
