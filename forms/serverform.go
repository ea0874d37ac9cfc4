package forms

import (
	"maps"
	"slices"
	"time"

	"pawl/mcp"
)

// A ServerForm is an MCP server as JSON.
type ServerForm struct {
	Name         string           `json:"name"`
	Source       string           `json:"source"`
	Command      string           `json:"command,omitempty"`
	Args         []string         `json:"args,omitempty"`
	Env          []string         `json:"env,omitempty"` // names; the values may be secrets
	Dir          string           `json:"cwd,omitempty"`
	URL          string           `json:"url,omitempty"`
	Headers      []string         `json:"headers,omitempty"` // names
	Network      bool             `json:"network"`
	Sandbox      bool             `json:"sandbox"`
	Required     bool             `json:"required,omitempty"`
	Implements   string           `json:"implements,omitempty"` // name and version, as the server says
	Protocol     string           `json:"protocol,omitempty"`
	Instructions string           `json:"instructions,omitempty"`
	Tools        []ServerToolForm `json:"tools"` // that are known
	Known        bool             `json:"known"` // it has listed its tools before
	Failed       string           `json:"failed,omitempty"`
	StartedIn    int64            `json:"started_in_ms,omitempty"`
	Errors       string           `json:"stderr,omitempty"`
}

// A ServerToolForm is a tool of an MCP server as JSON.
type ServerToolForm struct {
	Name        string `json:"name"`
	As          string `json:"as,omitempty"` // what models and rules call it
	Description string `json:"description,omitempty"`
	Why         string `json:"why,omitempty"` // it is not offered
}

// A ServerFileForm says in which file an MCP server was added or removed, as JSON.
type ServerFileForm struct {
	Name string `json:"name"`
	File string `json:"file"`
}

// An ImportForm is an MCP server of another agent, as JSON.
type ImportForm struct {
	Name   string `json:"name"`
	Source string `json:"source"` // the file
	Is     string `json:"is"`     // what is started or reached
	Taken  bool   `json:"taken"`
	Why    string `json:"why,omitempty"` // it is left
}

// ServerFormOf returns a server as JSON. took is how long it took to start, if that was tried.
func ServerFormOf(r *mcp.Remote, s mcp.Status, took time.Duration) ServerForm {
	f := ServerForm{Name: r.Name, Source: r.Source, Command: r.Command, Args: r.Args, Env: slices.Sorted(maps.Keys(r.Env)), Dir: r.Dir, URL: r.URL, Headers: slices.Sorted(maps.Keys(r.Headers)),
		Network: !r.Closed, Sandbox: r.URL == "" && !r.Unconfined, Required: r.Required, Protocol: s.Protocol, Instructions: s.Instructions, Tools: []ServerToolForm{}, Known: s.Known,
		Failed: s.Failed, StartedIn: took.Milliseconds(), Errors: s.Errors}
	if f.Implements = s.Server; s.Version != "" {
		f.Implements += " " + s.Version
	}
	for _, t := range s.Tools {
		f.Tools = append(f.Tools, ServerToolForm(t))
	}
	return f
}
