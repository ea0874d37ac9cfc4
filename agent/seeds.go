package agent

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// The names of the built-in agents. Validator is internal: it plans tasks.
const (
	Developer  = "developer"
	Researcher = "researcher"
	Writer     = "writer"
	Reviewer   = "reviewer"
	Validator  = "task-validator"
)

//go:embed seeds/*.md
var seedFiles embed.FS

// Seeds returns the built-in agents, by name.
func Seeds() []Agent { return slices.Clone(seeds()) }

var seeds = sync.OnceValue(func() []Agent {
	entries, err := seedFiles.ReadDir("seeds")
	if err != nil {
		panic(err) // unreachable: the folder is embedded
	}
	var all []Agent
	for _, e := range entries {
		content, err := seedFiles.ReadFile("seeds/" + e.Name())
		if err == nil {
			var a Agent
			if a, err = Parse(e.Name(), content, nil); err == nil {
				a.Source, a.Internal = BuiltIn, a.Name == Validator
				all = append(all, a)
				continue
			}
		}
		panic(fmt.Sprintf("agent: the built-in agent %s: %v", strings.TrimSuffix(e.Name(), ".md"), err)) // a test reads them
	}
	return all
})
