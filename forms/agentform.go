package forms

import (
	"cmp"
	"context"
	"encoding/json"

	"pawl/agent"
	"pawl/external"
	"pawl/permission"
	"pawl/run"
	"pawl/submission"
	"pawl/task"
)

// An AgentForm is an agent as JSON.
type AgentForm struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Kind        submission.Kind   `json:"kind,omitempty"`
	Source      agent.Source      `json:"source"`
	File        string            `json:"file,omitempty"`
	Program     string            `json:"program,omitempty"`  // whose form the file has; none: pawl's
	LeftOut     []string          `json:"left_out,omitempty"` // what of such a file does not count here
	Internal    bool              `json:"internal,omitempty"`
	Untrusted   bool              `json:"untrusted,omitempty"` // only its text counts
	Valid       bool              `json:"valid"`
	Why         string            `json:"why,omitempty"` // it is not valid
	Model       string            `json:"model,omitempty"`
	Tools       []string          `json:"tools,omitempty"` // none: all
	NoTools     bool              `json:"no_tools,omitempty"`
	Permissions *AgentPermissions `json:"permissions,omitempty"`
	Output      *AgentOutput      `json:"output,omitempty"`
	Limits      *AgentLimits      `json:"limits,omitempty"`
	Isolation   string            `json:"isolation,omitempty"` // clone

	Instructions string `json:"instructions,omitempty"`
}

type AgentPermissions struct {
	Mode  permission.Mode `json:"mode,omitempty"`
	Allow []string        `json:"allow,omitempty"`
	Ask   []string        `json:"ask,omitempty"`
	Deny  []string        `json:"deny,omitempty"`
}

type AgentLimits struct {
	Steps  int     `json:"steps,omitempty"`
	Calls  int     `json:"calls,omitempty"`
	Wall   int64   `json:"wall_ms,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
	Cost   float64 `json:"cost,omitempty"` // US dollars
}

type AgentOutput struct {
	Tool   string          `json:"tool,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// AgentFormOf returns an agent as JSON.
func AgentFormOf(ctx context.Context, r *agent.Roster, a agent.Agent) AgentForm {
	f := AgentForm{Name: a.Name, Description: a.Description, Kind: a.Kind, Source: a.Source, File: a.Path, Program: a.Program, LeftOut: a.LeftOut, Internal: a.Internal,
		Untrusted: a.Untrusted, Model: a.Model, Tools: a.Tools.Names(), NoTools: a.Tools.Limited() && len(a.Tools.Names()) == 0}
	f.Valid, f.Why = r.Valid(ctx, a)
	if o := a.Output(); o.Schema != "" {
		f.Output = &AgentOutput{o.Tool, json.RawMessage(o.Schema)}
	}
	if a.Clone {
		f.Isolation = string(task.Clone)
	}
	if a.Limits != (run.Limits{}) {
		l := a.Limits
		f.Limits = &AgentLimits{l.Steps, l.Calls, l.Wall.Milliseconds(), l.Tokens, l.Cost}
	}
	if a.Mode != "" || len(a.Rules) > 0 {
		p := &AgentPermissions{Mode: a.Mode}
		for _, rule := range a.Rules {
			to := map[permission.Verdict]*[]string{permission.Allow: &p.Allow, permission.Ask: &p.Ask, permission.Deny: &p.Deny}[rule.Effect]
			*to = append(*to, rule.String())
		}
		f.Permissions = p
	}
	return f
}

// AgentForms returns agents in that form.
func AgentForms(ctx context.Context, r *agent.Roster, all []agent.Agent) []AgentForm {
	return Forms(all, func(a agent.Agent) AgentForm { return AgentFormOf(ctx, r, a) })
}

// An AgentFileForm is an agent whose file was written or removed, as JSON.
type AgentFileForm struct {
	Name string `json:"name"`
	File string `json:"file"`
}

// An AgentListForm is the agents, and the programs on this machine that agents can be, as JSON.
type AgentListForm struct {
	List[AgentForm]
	Programs []ProgramForm `json:"programs"`
}

// A ProgramForm is a program that agents can be, as JSON.
type ProgramForm struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	File        string `json:"file"`
	Version     string `json:"version,omitempty"`
	Tested      string `json:"tested,omitempty"` // the versions that pawl was tested with, such as 2.1.x
	LoggedIn    string `json:"logged_in"`        // yes, no, or unknown
	Permissions string `json:"permissions"`      // rules; rules, own sandbox; or sandbox
	Bounds      string `json:"bounds"`           // what bounds it in the mode default, in a sentence
	Warning     string `json:"warning,omitempty"`
	Error       string `json:"error,omitempty"` // why its version is not known
}

// ProgramForms returns those of the programs that are installed.
func ProgramForms(all []external.Program) []ProgramForm {
	forms := []ProgramForm{}
	for _, x := range all {
		if x.Path == "" {
			continue
		}
		f := ProgramForm{Name: x.Name, Title: x.Title, File: x.Path, Version: x.Version, Tested: x.Tested(), LoggedIn: cmp.Or(x.Login, external.LoggedInUnknown),
			Permissions: x.Permissions(), Bounds: x.Bounds("default"), Warning: x.Note}
		if x.Err != nil {
			f.Error = x.Err.Error()
		}
		forms = append(forms, f)
	}
	return forms
}
