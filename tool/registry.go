package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"pawl/internal/text"
	"pawl/permission/spelling"
	"pawl/run"
	"pawl/schema"
)

// Builtin returns the tools on files and the two that need no file: ask, edit,
// glob, list, read, search, todo, write.
func Builtin() []Tool {
	return []Tool{Ask(), Edit(), Glob(), List(), Read(), Search(), Todo(), Write()}
}

// A Registry holds the tools that calls can invoke, by name. It does not change
// after it is made and is safe for concurrent use.
type Registry struct {
	tools map[string]*registered
	names []string
}

type registered struct {
	tool Tool
	spec Spec
	// compile reads the schema. It is done when the tool is first called: most
	// processes call few of the tools, and compiling takes time and memory.
	compile func() (*schema.Compiled, error)
}

// NewRegistry returns a registry of tools. Two of the same name are a mistake
// in the program, and panic.
func NewRegistry(tools ...Tool) *Registry {
	r := &Registry{tools: map[string]*registered{}}
	for _, t := range tools {
		spec := t.Spec()
		if r.tools[spec.Name] != nil {
			panic(fmt.Sprintf("tool: two tools are named %q", spec.Name))
		}
		r.tools[spec.Name] = &registered{tool: t, spec: spec, compile: sync.OnceValues(func() (*schema.Compiled, error) {
			return schema.Compile(spec.Schema)
		})}
	}
	r.names = slices.Sorted(maps.Keys(r.tools))
	return r
}

// With returns a registry that has tools too, each instead of one of its name if there is
// one. r stays as it is.
func (r *Registry) With(tools ...Tool) *Registry {
	more := NewRegistry(tools...)
	for name, have := range r.tools {
		if more.tools[name] == nil {
			more.tools[name] = have
		}
	}
	more.names = slices.Sorted(maps.Keys(more.tools))
	return more
}

// For returns a registry of the tools that a run has: those that are granted to it, and those
// that every run has. It is r itself if that is all. agent says that it is the run of an agent.
func (r *Registry) For(g run.Grants, agent bool) *Registry {
	some := &Registry{tools: map[string]*registered{}}
	for _, name := range r.names {
		t := r.tools[name]
		switch {
		case t.spec.ForAgents && !agent && !(g.Limited() && g.Has(name)):
		case t.spec.Always, g.Has(name):
			some.tools[name] = t // with what was compiled of it: a thousand runs have it once
			some.names = append(some.names, name)
		}
	}
	if len(some.names) == len(r.names) {
		return r
	}
	return some
}

// Get returns the tool of that name.
func (r *Registry) Get(name string) (Tool, bool) {
	t, ok := r.tools[name]
	if !ok {
		return nil, false
	}
	return t.tool, true
}

// Names returns the names of all tools, sorted. The slice is the caller's.
func (r *Registry) Names() []string { return slices.Clone(r.names) }

// Specs returns what the model is told of all tools, sorted by name.
func (r *Registry) Specs() []Spec {
	specs := make([]Spec, len(r.names))
	for i, name := range r.names {
		specs[i] = r.tools[name].spec
	}
	return specs
}

// Validate says what is wrong with a call: that there is no such tool, or where
// its arguments do not fit the tool's schema - all of it at once, for the model.
// A null for an optional field counts as absent, as wires that make every field
// required send it. nil means that the tool may look at it.
func (r *Registry) Validate(name string, args json.RawMessage) error {
	t, ok := r.tools[name]
	if !ok {
		return unknown(name, r.names)
	}
	if own, ok := t.tool.(validator); ok {
		return own.Validate(args)
	}
	compiled, err := t.compile()
	if err != nil {
		return tell("the tool %s cannot be called: its schema is wrong: %v", name, err)
	}
	return validate(t.spec, compiled, args)
}

// A validator is a tool that checks its arguments itself.
type validator interface {
	Validate(args json.RawMessage) error
}

// unknown says that there is no such tool, and which may be meant.
func unknown(name string, names []string) error {
	meant, known := spelling.Same(name, names)
	if !known {
		meant = text.Similar(name, names, 3)
	}
	if len(meant) > 0 {
		return tell("there is no tool %q; did you mean %s?", clip(name, 64), strings.Join(meant, " or "))
	}
	return tell("there is no tool %q; there are %s", clip(name, 64), strings.Join(names, ", "))
}
