// Package approval has what a person is shown of a call that waits for them, or that was refused.
package approval

import (
	"encoding/json"
	"slices"
	"strings"

	"pawl/config"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/tool"
)

// An Approval is a call that waits for a person, with everything the person has to see to
// decide.
type Approval struct {
	Run   run.ID // that makes the call: the one that was asked for, or one below it
	Agent string // of a run below: its agent, or its id if it has none
	Call  run.Call
	// What it would do when this was read, and the digest of that, which goes into the decision.
	Intent      tool.Intent
	Request     permission.Request
	Digest      string
	Explanation permission.Explanation // part by part, with the rule that decides each
	Proposal    permission.Proposal    // what Always and Never would store
	Change      string                 // of a file, as the lines of a diff, uncut; empty: none is known
	// Answered is the answer that waits for a process to take it; nil: none was given.
	Answered *request.Decide
}

// Dir returns the folder that the command of the call would run in; empty: that is the workspace.
func (a Approval) Dir() string {
	if r := a.Request; r.Command != "" && r.Dir != r.Workspace {
		return r.Dir
	}
	return ""
}

// Rules returns what an answer to a, always or never, stores in a scope: the rules given, which have to
// cover a part of the call, or else those that are proposed.
func (a Approval) Rules(answer run.Answer, scope permission.Scope, given permission.Rules) (permission.Rules, error) {
	effect := permission.Allow
	if answer == run.Never {
		effect = permission.Deny
	}
	rules := given
	if len(rules) == 0 {
		if rules = a.Proposal.Rules; effect == permission.Deny {
			rules = a.Proposal.Deny
		}
	}
	if len(rules) == 0 {
		return nil, config.Errorf("no rule can be proposed: %s; allow the call once, or give a rule", a.Proposal.Reason)
	}
	stored := make(permission.Rules, len(rules))
	for i, r := range rules {
		r.Effect, r.Scope = effect, scope
		if effect == permission.Deny {
			r.Sandbox = run.Confined // only an allow rule can lift it
		}
		stored[i] = r
	}
	decides := func(p permission.Part) bool { return p.Rule != "" }
	if len(given) > 0 && !slices.ContainsFunc(stored.Explain(a.Request, permission.Default).Parts, decides) {
		return nil, config.Errorf("the rule %s does not cover any part of this call", stored[0])
	}
	return stored, nil
}

// Is reports whether the digest that a person was shown, or its beginning, is that of the
// call as it is now.
func (a Approval) Is(shown string) bool { return strings.HasPrefix(a.Digest, shown) }

// A Denial is a call that was refused in a turn.
type Denial struct {
	Run    run.ID          `json:"run,omitempty"` // below the run that makes the call; empty: that run makes it
	Call   run.CallID      `json:"call"`
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"` // the arguments
	Reason string          `json:"reason"`
	// Flag is what would allow the call, as arguments of a command line: --allow 'RULE'.
	// Empty if no flag would.
	Flag string `json:"flag,omitempty"`
	// Add is the command that stores what would allow the call, if no flag would: rules that give a command the network.
	Add string `json:"add,omitempty"`
	// Remove is the command that removes the stored rule which denies the call; empty if none does, or
	// if the rule is of several lines: its number is in the list of rules.
	Remove string `json:"remove,omitempty"`
}
