// Package submission defines the two results that every agent of a kind has to submit with
// a tool - planner-output and completion-report - and how a submission is read.
//
// The JSON Schema of a result is authored once, in the .json file beside its Go type. The
// tool that models are offered, the text that tells an agent about it ([Instructions]), the
// hint in reminders, and the problems of a payload that does not fit ([Check]) are all
// made from that schema. The same functions serve results that an agent declares itself.
package submission

import (
	_ "embed"
	"strings"

	"pawl/run"
)

// A Kind is a kind of agent. It decides which result the agent has to submit.
type Kind string

const (
	Planner Kind = "planner" // submits planner-output
	Worker  Kind = "worker"  // submits completion-report
)

// Kinds are all kinds.
var Kinds = []Kind{Planner, Worker}

// The names of the tools, as they are in logs, prompts and documents. See [Wire].
const (
	PlannerTool = "planner-output"
	ReportTool  = "completion-report"
)

var (
	//go:embed planner_output.json
	plannerSchema string
	//go:embed planner_output.md
	plannerText string
	//go:embed completion_report.json
	reportSchema string
	//go:embed completion_report.md
	reportText string
)

// Output returns the result that an agent of a kind has to submit; ok is false for a kind
// that does not exist.
func (k Kind) Output() (o run.Output, ok bool) {
	switch k {
	case Planner:
		return Required(PlannerTool, plannerSchema), true
	case Worker:
		return Required(ReportTool, reportSchema), true
	}
	return run.Output{}, false
}

// Required returns the output that a call of a tool submits, with a JSON Schema, and
// nothing else does.
func Required(tool, schema string) run.Output {
	o := run.Output{Tool: tool, Schema: schema, ByTool: true}
	var hint []string
	if w := Wire(tool); w != tool {
		hint = append(hint, "It is the tool "+w+" in your list of tools.")
	}
	if all := variants(schema); len(all) > 0 {
		hint = append(hint, "For example: "+all[0].example(tool))
	}
	o.Hint = strings.Join(hint, " ")
	return o
}

// Description returns what models are told of the tool of one of the two results; empty for
// any other tool.
func Description(tool string) string {
	switch tool {
	case PlannerTool:
		return strings.TrimSpace(plannerText)
	case ReportTool:
		return strings.TrimSpace(reportText)
	}
	return ""
}

// Reserved reports whether a tool, in either spelling, is one of the two that no agent can
// be granted: its kind decides.
func Reserved(tool string) bool {
	return Names(PlannerTool, tool) || Names(ReportTool, tool)
}

// Wire returns what agents see a tool as: external agents change hyphens to underscores, so
// there are none in any wire's names.
func Wire(tool string) string { return strings.ReplaceAll(tool, "-", "_") }

// Names reports whether name means the tool, in either spelling.
func Names(tool, name string) bool { return Wire(tool) == Wire(name) }
