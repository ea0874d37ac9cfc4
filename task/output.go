package task

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A PlannerOutput is what a planner hands in: a plan, questions, or why there is no plan.
type PlannerOutput struct {
	Type string `json:"type"` // plan, questions, error
	Plan
	Questions []string `json:"questions,omitempty"`
	Error     string   `json:"error,omitempty"`
}

// The types of a PlannerOutput.
const (
	OutputPlan      = "plan"
	OutputQuestions = "questions"
	OutputError     = "error"
)

// A Report is what a worker hands in.
type Report struct {
	Status        string `json:"status"` // complete, blocked, failed
	Summary       string `json:"summary"`
	Output        string `json:"output,omitempty"`
	BlockedReason string `json:"blockedReason,omitempty"`
	// Comments say what became of those of reviews: id, became, answer.
	Comments []Comment `json:"comments,omitempty"`
}

// The statuses of a Report.
const (
	ReportComplete = "complete"
	ReportBlocked  = "blocked"
	ReportFailed   = "failed"
)

// An InputError says what is wrong with something that was given. Nothing was changed.
type InputError struct {
	What   string // a sentence
	Fields map[string]string
}

// Code is INVALID_INPUT.
func (e *InputError) Code() string { return "INVALID_INPUT" }

func (e *InputError) Error() string { return e.What }

func invalid(field, format string, args ...any) *InputError {
	what := fmt.Sprintf(format, args...)
	return &InputError{What: field + ": " + what, Fields: map[string]string{field: what}}
}

// An Output is what an agent hands in: a [PlannerOutput] or a [Report].
type Output interface {
	tool() string
	check() error // what its meaning needs
}

func (PlannerOutput) tool() string { return PlannerOutputTool }
func (Report) tool() string        { return CompletionReportTool }

// ParseOutput reads what an agent of a kind has handed in. The error is an [*InputError]
// for the agent. It checks what the meaning needs; that the JSON fits the tool's schema, and
// which field does not, is checked before.
func ParseOutput(k Kind, value string) (Output, error) {
	if k == Planner {
		var o PlannerOutput
		if err := json.Unmarshal([]byte(value), &o); err != nil {
			return nil, &InputError{What: "the planner output does not fit its schema"}
		}
		return o, o.check()
	}
	var r Report
	if err := json.Unmarshal([]byte(value), &r); err != nil {
		return nil, &InputError{What: "the completion report does not fit its schema"}
	}
	return r, r.check()
}

func (o PlannerOutput) check() error {
	switch {
	case o.Type == OutputPlan && strings.TrimSpace(o.Summary) == "":
		return invalid("summary", "a plan needs a summary")
	case o.Type == OutputPlan && len(o.Steps) == 0:
		return invalid("plan", "a plan needs at least one step")
	case o.Type == OutputQuestions && !allWords(o.Questions):
		return invalid("questions", "give at least one question, and none that is empty")
	case o.Type == OutputError && strings.TrimSpace(o.Error) == "":
		return invalid("error", "say why there can be no plan")
	case o.Type != OutputPlan && o.Type != OutputQuestions && o.Type != OutputError:
		return invalid("type", `%q is not a type: use "plan" (with summary, requirements, acceptanceCriteria, plan, assignedAgent), "questions" (with questions) or "error" (with error)`, o.Type)
	}
	return nil
}

func (r Report) check() error {
	switch {
	case r.Status != ReportComplete && r.Status != ReportBlocked && r.Status != ReportFailed:
		return invalid("status", `%q is not a status: use "complete", "blocked" (with blockedReason) or "failed"`, r.Status)
	case strings.TrimSpace(r.Summary) == "":
		return invalid("summary", "say what was done and what was found")
	case r.Status == ReportBlocked && strings.TrimSpace(r.BlockedReason) == "":
		return invalid("blockedReason", "a report with status blocked says what it is blocked by")
	}
	return nil
}

func allWords(texts []string) bool {
	for _, t := range texts {
		if strings.TrimSpace(t) == "" {
			return false
		}
	}
	return len(texts) > 0
}

func (p *Plan) check() error {
	if strings.TrimSpace(p.Summary) == "" {
		return invalid("summary", "a plan needs a summary")
	}
	return checkWords("plan", slices.Concat([]string{p.Summary, p.AssignedAgent}, p.Requirements, p.AcceptanceCriteria, p.Steps)...)
}

// check returns what is wrong with a new task.
func (c Created) check() error {
	switch {
	case checkID(c.Task) != nil:
		return checkID(c.Task)
	case strings.TrimSpace(c.Description) == "":
		return invalid("description", "the text of the task is missing")
	case len(c.Description) > MaxText:
		return invalid("description", "it has %d bytes, more than %d: attach a file instead", len(c.Description), MaxText)
	}
	for _, err := range []error{checkLabels(c.Labels), checkBudget(c.Budget), checkDepends(c.Task, c.DependsOn), checkIsolation(c.Isolation), checkRevision(c.Revision), checkWords("agent", c.Agent)} {
		if err != nil {
			return err
		}
	}
	return nil
}

// MaxText bounds descriptions, messages, answers and the fields of plans, in bytes.
const MaxText = 256 << 10

const (
	maxLabels   = 50
	maxLabel    = 100 // bytes
	maxRevision = 200 // bytes
	maxID       = 60
)

// checkID returns an error unless id may name a task.
func checkID(id ID) error {
	ok := len(id) >= 1 && len(id) <= maxID
	for i := range len(id) {
		c := id[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	}
	if !ok {
		return invalid("task", "%.100q is not a task id: 1 to %d of a-z, 0-9, _ and -", string(id), maxID)
	}
	return nil
}

func checkIsolation(i Isolation) error {
	if i != "" && i != Clone {
		return invalid("isolation", "%q is not a kind of isolation: use clone, or leave it out", i)
	}
	return nil
}

// checkRevision refuses what is no name of a branch or tag, or could be an option or a range of git (git-check-ref-format(1)).
func checkRevision(name string) error {
	if len(name) > maxRevision || strings.HasPrefix(name, "-") || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.ContainsAny(name, " ~^:?*[\\") ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return invalid("revision", "%.120q is not the name of a branch or tag, or the id of a commit", name)
	}
	return nil
}

func checkLabels(labels []string) error {
	if len(labels) > maxLabels {
		return invalid("labels", "there are %d, more than %d", len(labels), maxLabels)
	}
	for _, l := range labels {
		if strings.TrimSpace(l) != l || l == "" || len(l) > maxLabel || strings.ContainsAny(l, ",\n\x00") {
			return invalid("labels", "%.120q is not a label: it must not be empty, longer than %d bytes, or have a comma or a line break", l, maxLabel)
		}
	}
	return nil
}

func checkBudget(b Budget) error {
	if !(b.Cost >= 0 && b.Cost < 1e9) || b.Tokens < 0 {
		return invalid("budget", "it must not be negative")
	}
	return nil
}

func checkDepends(id ID, on []ID) error {
	seen := map[ID]bool{}
	for _, d := range on {
		switch {
		case checkID(d) != nil:
			return checkID(d)
		case d == id:
			return invalid("depends_on", "a task cannot depend on itself")
		case seen[d]:
			return invalid("depends_on", "task %s is named twice", d)
		}
		seen[d] = true
	}
	return nil
}
