package main

import (
	"fmt"
	"slices"

	"pawl/permission"
	"pawl/tool"
)

// registry holds the tools of every run.
func registry() *tool.Registry {
	return tool.NewRegistry(append(tool.Builtin(), tool.Shell(), tool.ShellOutput(), tool.ShellStop())...)
}

// permitter returns the function that decides whether a call may run. Rules of all
// places of the configuration count together, so a deny rule of one is not undone
// by another.
func permitter(tools []string, allow, deny []sourced) (func(permission.Mode, permission.Request) permission.Decision, error) {
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
	if err := add(permission.Deny, deny); err != nil {
		return nil, err
	}
	return func(m permission.Mode, r permission.Request) permission.Decision { return rules.Decide(r, m) }, nil
}
