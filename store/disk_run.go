package store

import (
	"time"

	"pawl/run"
)

// The forms of what a run is, and of what is said to it.

type created struct {
	Run        run.ID     `json:"run"`
	Parent     run.ID     `json:"parent,omitempty"`
	ParentCall run.CallID `json:"parent_call,omitempty"`
	ForkedFrom run.ID     `json:"forked_from,omitempty"`
	ForkedAt   int64      `json:"forked_at,omitempty"`
	Workspace  string     `json:"workspace,omitempty"`
	Agent      string     `json:"agent,omitempty"`
	External   bool       `json:"external,omitempty"`
	System     string     `json:"system,omitempty"`
	Config     config     `json:"config"`
	Version    string     `json:"pawl,omitempty"`
}

func createdForm(f run.Created) created {
	return created{
		Run: f.Run, Parent: f.Parent, ParentCall: f.ParentCall, ForkedFrom: f.ForkedFrom, ForkedAt: f.ForkedAt,
		Workspace: f.Workspace, Agent: f.Agent, External: f.External, System: f.System,
		Config: configForm(f.Config), Version: f.Version,
	}
}

func (d created) fact() run.Created {
	return run.Created{
		Run: d.Run, Parent: d.Parent, ParentCall: d.ParentCall, ForkedFrom: d.ForkedFrom, ForkedAt: d.ForkedAt,
		Workspace: d.Workspace, Agent: d.Agent, External: d.External, System: d.System,
		Config: d.Config.config(), Version: d.Version,
	}
}

type configured struct {
	Config config `json:"config"`
}

func (d configured) fact() run.Configured { return run.Configured{Config: d.Config.config()} }

type config struct {
	Model      string  `json:"model,omitempty"`
	Mode       string  `json:"mode,omitempty"`
	Limits     limits  `json:"limits,omitzero"`
	Window     int64   `json:"window,omitempty"`
	CompactAt  float64 `json:"compact_at,omitempty"`
	Parallel   int     `json:"parallel,omitempty"`
	NoNudge    bool    `json:"no_nudge,omitempty"`
	StepByStep bool    `json:"step_by_step,omitempty"`
	Output     output  `json:"output,omitzero"`
	Control    string  `json:"control,omitempty"`
}

type limits struct {
	Steps  int           `json:"steps,omitempty"`
	Calls  int           `json:"calls,omitempty"`
	Wall   time.Duration `json:"wall_ns,omitempty"`
	Tokens int64         `json:"tokens,omitempty"`
	Cost   float64       `json:"cost,omitempty"`
}

func configForm(c run.Config) config {
	return config{
		Model: c.Model, Mode: c.Mode, Limits: limits(c.Limits), Window: c.Window, CompactAt: c.CompactAt,
		Parallel: c.Parallel, NoNudge: c.NoNudge, StepByStep: c.StepByStep, Output: output(c.Output), Control: c.Control,
	}
}

func (c config) config() run.Config {
	return run.Config{
		Model: c.Model, Mode: c.Mode, Limits: run.Limits(c.Limits), Window: c.Window, CompactAt: c.CompactAt,
		Parallel: c.Parallel, NoNudge: c.NoNudge, StepByStep: c.StepByStep, Output: run.Output(c.Output), Control: c.Control,
	}
}

type prompted struct {
	Parts    []part `json:"parts,omitempty"`
	Continue bool   `json:"continue,omitempty"`
	Queued   string `json:"queued,omitempty"`
}

func (d prompted) fact() run.Prompted {
	return run.Prompted{Parts: runParts(d.Parts), Continue: d.Continue, Queued: d.Queued}
}

type questionAnswered struct {
	Call run.CallID `json:"call"`
	Text string     `json:"text,omitempty"`
	By   string     `json:"by,omitempty"`
}

// said is both steered and queued.
type said struct {
	ID    string `json:"id"`
	Parts []part `json:"parts,omitempty"`
}

func (d said) steered() run.Steered { return run.Steered{ID: d.ID, Parts: runParts(d.Parts)} }
func (d said) queued() run.Queued   { return run.Queued{ID: d.ID, Parts: runParts(d.Parts)} }

type withdrawn struct {
	ID string `json:"id"`
}
