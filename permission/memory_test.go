package permission_test

import (
	"testing"

	"pawl/permission"
	"pawl/run"
)

// What a run notes stands before every later one: nothing but a person's answer or rule lets it.
func TestNothingIsNotedForLaterRunsWithoutAPerson(t *testing.T) {
	t.Parallel()
	rule := func(effect permission.Verdict) permission.Rules {
		return permission.Rules{{Effect: effect, Tool: permission.MemoryTool}}
	}
	for _, c := range []struct {
		name  string
		mode  permission.Mode
		rules permission.Rules
		child bool
		want  permission.Verdict
	}{
		{"by default it asks", permission.Default, nil, false, permission.Ask},
		{"as in mode accept-edits", permission.AcceptEdits, nil, false, permission.Ask},
		{"and in mode bypass", permission.Bypass, nil, false, permission.Ask},
		{"in mode plan nothing is changed", permission.Plan, rule(permission.Allow), false, permission.Deny},
		{"a rule allows it", permission.Default, rule(permission.Allow), false, permission.Allow},
		{"in mode bypass too", permission.Bypass, rule(permission.Allow), false, permission.Allow},
		{"a rule that asks is stronger", permission.Default, append(rule(permission.Allow), rule(permission.Ask)...), false, permission.Ask},
		{"a rule that denies is stronger", permission.Bypass, append(rule(permission.Allow), rule(permission.Deny)...), false, permission.Deny},
		{"a sub-agent needs the rule", permission.Default, nil, true, permission.Deny},
		{"in mode bypass too", permission.Bypass, nil, true, permission.Deny},
		{"and may with it", permission.Default, rule(permission.Allow), true, permission.Allow},
	} {
		r := permission.Request{Tool: permission.MemoryTool, Class: run.Writes, Child: c.child}
		if d := c.rules.Decide(r, c.mode); d.Verdict != c.want {
			t.Errorf("%s: %+v, want %s", c.name, d, c.want)
		}
	}
	p := permission.Rules(nil).Propose(permission.Request{Tool: permission.MemoryTool, Class: run.Writes}, permission.Default, nil)
	if len(p.Rules) != 1 || p.Rules[0].String() != "memory" {
		t.Errorf("for always, the rules %v are proposed: %s", p.Rules, p.Reason)
	}
}
