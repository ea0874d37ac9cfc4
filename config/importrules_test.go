package config

import "testing"

// Files of rules are programs: what is not known is named and never guessed.
func TestOfRulesOfCodexOnlyPlainOnesCount(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]int{ // rules that count; the others have a reason
		`prefix_rule(pattern=["a"])`:                               1,
		"# x\nprefix_rule(\n  pattern = ['a', ['b', \"c\"]],\n)\n": 1,
		`prefix_rule(pattern=["a"], decision=D)`:                   0,
		`prefix_rule(pattern=["a"], decision="maybe")`:             0,
		`prefix_rule(pattern=["a"], network=["b"])`:                0,
		`prefix_rule(pattern=[])`:                                  0,
		`prefix_rule(pattern=[["a", ["b"]]])`:                      0,
		`prefix_rule(pattern="a")`:                                 0,
		`prefix_rule(decision="allow")`:                            0,
		`prefix_rule(pattern=["a" + "b"])`:                         0,
		`prefix_rule(pattern=["\x61"])`:                            0,
		`prefix_rule(pattern=["a`:                                  0,
		`prefix_rule(`:                                             0,
		`prefix_rules(pattern=["a"])`:                              0,
		"for x in y:\n    prefix_rule(pattern=[\"a\"])\n":          0,
		"x()\nprefix_rule(pattern=[\"a\"])":                        1,
		"prefix_rule(pattern=[[[[[[\"a\"]]]]]])":                   0,
		")\n)\n]":                                                  0,
	} {
		counted := 0
		all := prefixRules(given)
		for _, r := range all {
			if r.why == "" {
				counted++
			}
		}
		if counted != want || len(all) == 0 {
			t.Errorf("%s has %d rules that count, want %d: %+v", given, counted, want, all)
		}
	}
	many := prefixRules(`prefix_rule(pattern=[["a","b"],["a","b"],["a","b"],["a","b"],["a","b"],["a","b"],["a","b"]])`)
	if len(many) != 1 || many[0].why == "" {
		t.Errorf("a rule for 128 commands is taken: %v", many)
	}
}
