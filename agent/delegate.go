package agent

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/text"
	"pawl/run"
	"pawl/tool"
)

var (
	//go:embed handoff.md
	handoffText string
	//go:embed agent.md
	agentText string
)

// A Delegation is what the tools need with which an agent starts another.
type Delegation struct {
	Roster *Roster
	// System returns the system prompt of a run of an agent with a model that works in a folder
	// and has to submit a result. The zero agent is a helper without a configuration of its own.
	System func(workspace string, a Agent, model string, o run.Output) string
	// Change returns what an agent changes of the configuration of the run that starts it;
	// nil: [Agent.Change].
	Change func(Agent) run.ConfigChange
}

// Tools returns the tools handoff and agent. Both start a child run; the result of handoff is
// what the agent submits, that of agent is what it answers, unless the agent declares a
// result of its own.
func Tools(d Delegation) []tool.Tool {
	if d.Change == nil {
		d.Change = Agent.Change
	}
	return []tool.Tool{
		&delegate{d, delegateSpec("handoff", handoffText, `"agent","prompt"`)},
		&delegate{d, delegateSpec("agent", agentText, `"prompt"`)},
	}
}

func delegateSpec(name, text, required string) tool.Spec {
	s := tool.NewSpec(name, text, `{"type":"object","properties":{"agent":{"type":"string"},"prompt":{"type":"string"}},`+
		`"required":[`+required+`],"additionalProperties":false}`)
	s.Brief = true
	return s
}

type delegate struct {
	Delegation
	spec tool.Spec
}

type delegateArgs struct {
	Agent  string `json:"agent"`
	Prompt string `json:"prompt"`
}

// hands reports whether the tool is handoff.
func (d *delegate) hands() bool { return d.spec.Name == "handoff" }

func (d *delegate) Spec() tool.Spec { return d.spec }

// parse reads the arguments and finds the agent; the zero Agent if none is named.
func (d *delegate) parse(env tool.Env, raw json.RawMessage) (args delegateArgs, a Agent, err error) {
	if err := json.Unmarshal(raw, &args); err != nil {
		return args, a, fmt.Errorf("the arguments do not fit: %v", err)
	}
	args.Agent = strings.TrimSpace(args.Agent)
	switch {
	case strings.TrimSpace(args.Prompt) == "":
		return args, a, fmt.Errorf("prompt is empty: say what the agent has to do")
	case args.Agent == "" && d.hands():
		return args, a, fmt.Errorf("agent is empty: name the agent")
	case args.Agent == "":
		return args, a, nil
	}
	if d.Roster == nil {
		return args, a, errors.New("no agents are known here")
	}
	if a, err = d.Roster.Get(args.Agent); err != nil {
		return args, a, err
	}
	switch chain := env.Agents; {
	case a.Internal:
		return args, a, fmt.Errorf("%s is an internal agent: no work can be handed to it", a.Name)
	case slices.Contains(chain, a.Name):
		return args, a, fmt.Errorf("%s is already at work in this chain of agents (%s): do the work yourself or choose another agent", a.Name, strings.Join(chain, " → "))
	}
	if ok, why := d.Roster.Valid(context.Background(), a); !ok {
		return args, a, fmt.Errorf("the agent %s cannot run now: %s", a.Name, why)
	}
	return args, a, nil
}

func (d *delegate) Inspect(env tool.Env, raw json.RawMessage) (tool.Intent, error) {
	args, a, err := d.parse(env, raw)
	if err != nil {
		return tool.Intent{}, err
	}
	who := a.Name
	if who == "" {
		who = "a helper"
	}
	return tool.Intent{Class: run.Resumable, Title: who + ": " + text.OneLine(args.Prompt, 100)}, nil
}

func (d *delegate) Run(ctx context.Context, env tool.Env, c tool.Call) (tool.Result, error) {
	if env.Spawn == nil {
		return tool.ErrorResult("No child runs can be started here."), nil
	}
	args, a, err := d.parse(env, c.Args)
	if err != nil {
		return tool.ErrorResult(err.Error()), nil
	}
	child := tool.Child{Prompt: args.Prompt, Agent: a.Name, Limits: a.Limits, Rules: a.Rules}
	switch {
	case a.Declared.Schema != "":
		child.Output = a.Declared
	case d.hands():
		child.Output = a.Output()
	}
	if a.Name != "" {
		child.Change = d.Change(a)
	}
	child.System = func(model string) string { return d.System(env.Workspace, a, model, child.Output) }
	return env.Spawn(ctx, c.ID, child)
}

// Listing is what a system prompt says of the agents that work can be handed to: those that
// can run now, but for one. Empty if there are none.
func (r *Roster) Listing(ctx context.Context, but string) string {
	all, _ := r.All() // of a folder that cannot be read there is nothing to list
	var b strings.Builder
	for _, a := range all {
		if a.Internal || a.Name == but {
			continue
		}
		if ok, _ := r.Valid(ctx, a); ok {
			fmt.Fprintf(&b, "- %s: %s\n", a.Name, text.OneLine(a.Description, maxDescription))
		}
	}
	return b.String()
}
