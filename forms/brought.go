package forms

import "pawl/config"

// A BroughtForm is something that the user has in the files of another agent, and what becomes of it, as JSON.
type BroughtForm struct {
	Agent   string   `json:"agent"`
	Kind    string   `json:"kind"` // rule, server, commands, skills, agents, hooks, setting, …
	Name    string   `json:"name"` // as it is there
	Source  string   `json:"source"`
	Becomes []string `json:"becomes"`        // rules with their effect, or a server
	State   string   `json:"state"`          // new, added, there, read, left
	Lost    string   `json:"lost,omitempty"` // what of it is not taken
	Why     string   `json:"why,omitempty"`  // it is left
}

// BroughtFormOf returns what is found in the files of another agent as JSON.
func BroughtFormOf(f config.Foreign) BroughtForm {
	b := BroughtForm{Agent: f.Agent, Kind: f.Kind, Name: f.Name, Source: f.Source, Becomes: []string{}, State: "new",
		Lost: f.Lost, Why: f.Why}
	if len(f.Rules) == 0 {
		b.State = "left"
	}
	for _, r := range f.Rules {
		b.Becomes = append(b.Becomes, string(r.Effect)+" "+r.String())
	}
	return b
}
