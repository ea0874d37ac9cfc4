package submission

import (
	"encoding/json"
	"fmt"
)

// A PlannerOutput is the result of planning. Exactly one of the fields is set.
type PlannerOutput struct {
	Plan      *Plan
	Questions []string
	Error     string
}

// A Plan says what is to be done.
type Plan struct {
	Summary            string   `json:"summary"`
	Requirements       []string `json:"requirements"`
	AcceptanceCriteria []string `json:"acceptanceCriteria"`
	Steps              []string `json:"plan"`
	AssignedAgent      string   `json:"assignedAgent,omitempty"` // empty: not decided
}

// plannerJSON is a PlannerOutput on the wire.
type plannerJSON struct {
	Type string `json:"type"`
	*Plan
	Questions []string `json:"questions,omitempty"`
	Error     string   `json:"error,omitempty"`
}

// MarshalJSON encodes p in the form of the schema.
func (p PlannerOutput) MarshalJSON() ([]byte, error) {
	switch {
	case p.Plan != nil:
		return json.Marshal(plannerJSON{Type: "plan", Plan: p.Plan})
	case len(p.Questions) > 0:
		return json.Marshal(plannerJSON{Type: "questions", Questions: p.Questions})
	case p.Error != "":
		return json.Marshal(plannerJSON{Type: "error", Error: p.Error})
	}
	return nil, fmt.Errorf("a planner output with neither a plan, questions nor an error")
}

// UnmarshalJSON is the reverse of MarshalJSON. It does not check what [Checker.Check] does.
func (p *PlannerOutput) UnmarshalJSON(b []byte) error {
	w := plannerJSON{Plan: &Plan{}}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*p = PlannerOutput{}
	switch w.Type {
	case "plan":
		p.Plan = w.Plan
	case "questions":
		p.Questions = w.Questions
	case "error":
		p.Error = w.Error
	default:
		return fmt.Errorf("a planner output of type %q", w.Type)
	}
	return nil
}

// A Status is how a task stands according to its worker.
type Status string

const (
	Complete Status = "complete"
	Blocked  Status = "blocked"
	Failed   Status = "failed"
)

// A CompletionReport is the result of an agent's work on a task.
type CompletionReport struct {
	Status        Status `json:"status"`
	Summary       string `json:"summary"`
	Output        string `json:"output,omitempty"`
	BlockedReason string `json:"blockedReason,omitempty"` // not empty if Status is Blocked
}

// DecodePlanner checks and reads a payload of planner-output. An error is an [*Error].
func DecodePlanner(payload json.RawMessage) (PlannerOutput, error) {
	return decode[PlannerOutput](Planner, payload)
}

// DecodeReport checks and reads a payload of completion-report. An error is an [*Error].
func DecodeReport(payload json.RawMessage) (CompletionReport, error) {
	return decode[CompletionReport](Worker, payload)
}

func decode[T any](k Kind, payload json.RawMessage) (v T, err error) {
	o, _ := k.Output()
	c, err := NewChecker(o)
	if err != nil {
		return v, err // unreachable: the schema is a file of this package
	}
	value, err := c.Check(payload)
	if err == nil {
		err = json.Unmarshal(value, &v)
	}
	return v, err
}
