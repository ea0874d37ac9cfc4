package main

import (
	"errors"
	"fmt"
	"slices"

	"pawl/permission"
	"pawl/run"
	"pawl/tool"
)

// registry holds the tools of every run.
func registry() *tool.Registry {
	return tool.NewRegistry(append(tool.Builtin(), tool.Shell(), tool.ShellOutput(), tool.ShellStop())...)
}

// A judge decides by the rules of flags and settings.
type judge struct{ rules permission.Rules }

func (j judge) Decide(_ run.ID, m permission.Mode, r permission.Request) permission.Decision {
	return j.rules.Decide(r, m)
}

func (j judge) Propose(_ run.ID, m permission.Mode, r permission.Request) permission.Proposal {
	return j.rules.Propose(r, m, nil)
}

func (j judge) Keep(run.ID, permission.Rules) error {
	return errors.New("rules are not stored here")
}

// givenRules returns the rules of flags and settings. Those of all places count
// together, so a deny rule of one is not undone by another.
func givenRules(tools []string, allow, deny []sourced) (permission.Rules, error) {
	var rules permission.Rules
	add := func(effect permission.Verdict, texts []sourced) error {
		for _, t := range texts {
			r, err := permission.ParseRule(t.value)
			if err == nil && !slices.Contains(tools, r.Tool) { // a deny rule with a slip would deny nothing
				err = fmt.Errorf("there is no tool %q%s", r.Tool, didYouMean(r.Tool, tools))
			}
			if err != nil {
				return usage("--%s %s (%s): %w", effect, shellWord(t.value), t.source, err)
			}
			r.Effect, r.Source = effect, t.source
			rules = append(rules, r)
		}
		return nil
	}
	if err := add(permission.Allow, allow); err != nil {
		return nil, err
	}
	return rules, add(permission.Deny, deny)
}
