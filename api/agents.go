package api

import (
	"context"
	"net/http"
	"slices"

	"pawl/agent"
	"pawl/forms"
	"pawl/permission"
	"pawl/run"
	"pawl/submission"
)

const tagAgents = "agents"

// AgentInput is the path of an agent.
type AgentInput struct {
	Agent string `path:"agent" maxLength:"64" pattern:"^[a-z0-9][a-z0-9-]*$" patternDescription:"the name of an agent, of a-z, 0-9 and -" doc:"The name of the agent"`
}

// agentOperations registers the agents. Those of the workspace are trusted when they are
// written here: a person writes them.
func (s *Server) agentOperations() {
	handle(s, operation{method: http.MethodGet, path: "/agents", id: "list-agents", tag: tagAgents,
		summary: "List the agents", more: "By name, each with whether it can run now, and why not."},
		func(ctx context.Context, in *OffsetInput) (forms.List[forms.AgentForm], error) {
			r, err := s.ws.Agents()
			if err != nil {
				return forms.List[forms.AgentForm]{}, err
			}
			all, err := r.All()
			if len(all) == 0 && err != nil {
				return forms.List[forms.AgentForm]{}, err
			}
			some := page(all, *in)
			return forms.List[forms.AgentForm]{Items: forms.AgentForms(ctx, r, some.Items), Next: some.Next}, nil
		})
	handle(s, operation{method: http.MethodGet, path: "/agents/{agent}", id: "get-agent", tag: tagAgents,
		summary: "Get an agent with its instructions"},
		func(ctx context.Context, in *AgentInput) (forms.AgentForm, error) { return s.agentForm(ctx, in.Agent) })
	handle(s, operation{method: http.MethodPost, path: "/agents", id: "create-agent", tag: tagAgents, status: http.StatusCreated,
		summary: "Write a new agent"}, s.createAgent)
	handle(s, operation{method: http.MethodPatch, path: "/agents/{agent}", id: "edit-agent", tag: tagAgents,
		summary: "Change an agent", more: "The members that are given are changed; a list replaces the one before. A built-in agent is not changed: a file of its name, which replaces it, is written to your folder."}, s.editAgent)
	handle(s, operation{method: http.MethodDelete, path: "/agents/{agent}", id: "remove-agent", tag: tagAgents,
		summary: "Remove the file of an agent"},
		func(_ context.Context, in *AgentInput) (forms.AgentFileForm, error) {
			r, err := s.ws.Agents()
			if err != nil {
				return forms.AgentFileForm{}, err
			}
			a, err := r.Get(in.Agent)
			if err != nil {
				return forms.AgentFileForm{}, err
			}
			if a.Path == "" {
				return forms.AgentFileForm{}, conflict("BUILT_IN", "the agent "+in.Agent+" is built in and cannot be removed; a file of that name replaces it")
			}
			file, err := r.Remove(in.Agent)
			return forms.AgentFileForm{Name: in.Agent, File: file}, err
		})
}

// conflict returns a problem with what there is.
func conflict(code, message string) *Problem {
	return &Problem{Status: http.StatusConflict, Code: code, Message: message}
}

func (s *Server) agentForm(ctx context.Context, name string) (forms.AgentForm, error) {
	r, err := s.ws.Agents()
	if err != nil {
		return forms.AgentForm{}, err
	}
	a, err := r.Get(name)
	if err != nil {
		return forms.AgentForm{}, err
	}
	form := forms.AgentFormOf(ctx, r, a)
	form.Instructions = a.Instructions
	return form, nil
}

// AgentBody is what can be said of an agent.
type AgentBody struct {
	Description  *string   `json:"description,omitempty" doc:"What it is for, in a line"`
	Kind         *string   `json:"kind,omitempty" enum:"worker,planner"`
	Model        *string   `json:"model,omitempty" doc:"As provider/name; empty: that of the settings"`
	Mode         *string   `json:"mode,omitempty" doc:"The permission mode; empty: that of the settings"`
	Tools        *[]string `json:"tools,omitempty" doc:"That it has; [\"*\"]: all"`
	Allow        *[]string `json:"allow,omitempty" doc:"Rules that allow"`
	Deny         *[]string `json:"deny,omitempty" doc:"Rules that deny"`
	Instructions *string   `json:"instructions,omitempty" doc:"Markdown, a part of the system prompt"`
}

// apply changes an agent as the body says.
func (b AgentBody) apply(a *agent.Agent) error {
	set := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	set(&a.Description, b.Description)
	set(&a.Model, b.Model)
	set(&a.Instructions, b.Instructions)
	if b.Kind != nil {
		a.Kind = submission.Kind(*b.Kind)
	}
	if b.Mode != nil {
		a.Mode = permission.Mode(*b.Mode)
	}
	if b.Tools != nil {
		a.Tools = run.Grant(*b.Tools...)
		if slices.Equal(*b.Tools, []string{"*"}) {
			a.Tools = ""
		}
	}
	for _, given := range []struct {
		effect permission.Verdict
		texts  *[]string
	}{{permission.Allow, b.Allow}, {permission.Deny, b.Deny}} {
		if given.texts == nil {
			continue
		}
		a.Rules = slices.DeleteFunc(slices.Clone(a.Rules), func(r permission.Rule) bool { return r.Effect == given.effect })
		for _, text := range *given.texts {
			rule, err := permission.ParseRule(text)
			if err != nil {
				return invalid(string(given.effect), err.Error())
			}
			rule.Effect = given.effect
			a.Rules = append(a.Rules, rule)
		}
	}
	return nil
}

type createAgentInput struct {
	Body struct {
		Name      string `json:"name" maxLength:"64" pattern:"^[a-z0-9][a-z0-9-]*$" patternDescription:"a name of a-z, 0-9 and -"`
		Workspace bool   `json:"workspace,omitempty" doc:"Write it to .pawl/agents of the workspace, and trust it; else to your own folder"`
		AgentBody
	}
}

func (s *Server) createAgent(ctx context.Context, in *createAgentInput) (forms.AgentForm, error) {
	r, err := s.ws.Agents()
	if err != nil {
		return forms.AgentForm{}, err
	}
	b, to := in.Body, agent.FromUser
	if b.Workspace {
		to = agent.FromWorkspace
	}
	if old, err := r.Get(b.Name); err == nil && old.Own() != "" && old.Source == to {
		return forms.AgentForm{}, conflict("EXISTS", "the agent "+b.Name+" exists, in "+old.Path)
	}
	if b.Instructions == nil || *b.Instructions == "" {
		return forms.AgentForm{}, invalid("instructions", "an agent needs some")
	}
	a := agent.Agent{Name: b.Name, Kind: submission.Worker}
	if err := b.apply(&a); err != nil {
		return forms.AgentForm{}, err
	}
	return s.saveAgent(ctx, r, a, to)
}

type editAgentInput struct {
	AgentInput
	Body struct {
		Workspace bool `json:"workspace,omitempty" doc:"Write it to .pawl/agents of the workspace, and trust it"`
		AgentBody
	}
}

func (s *Server) editAgent(ctx context.Context, in *editAgentInput) (forms.AgentForm, error) {
	r, err := s.ws.Agents()
	if err != nil {
		return forms.AgentForm{}, err
	}
	a, err := r.Get(in.Agent)
	if err != nil {
		return forms.AgentForm{}, err
	}
	if a.Problem != "" {
		return forms.AgentForm{}, conflict("UNREADABLE", "the agent "+a.Name+" cannot be read: "+a.Problem+"; edit "+a.Path)
	}
	if err := in.Body.apply(&a); err != nil {
		return forms.AgentForm{}, err
	}
	to := a.Source
	switch {
	case in.Body.Workspace:
		to = agent.FromWorkspace
	case to == agent.BuiltIn:
		to = agent.FromUser
	}
	if a.Internal { // what cannot be changed of it is left out
		a = agent.Agent{Name: a.Name, Description: a.Description, Kind: a.Kind, Model: a.Model, Limits: a.Limits, Instructions: a.Instructions}
		if err := (AgentBody{Mode: in.Body.Mode, Tools: in.Body.Tools}).apply(&a); err != nil {
			return forms.AgentForm{}, err
		}
	}
	return s.saveAgent(ctx, r, a, to)
}

// saveAgent writes the file of an agent.
func (s *Server) saveAgent(ctx context.Context, r *agent.Roster, a agent.Agent, to agent.Source) (forms.AgentForm, error) {
	if err := r.CheckTools(a); err != nil {
		return forms.AgentForm{}, invalid("tools", err.Error())
	}
	if _, err := r.Save(a, to); err != nil {
		return forms.AgentForm{}, invalid("agent", err.Error())
	}
	return s.agentForm(ctx, a.Name)
}
