package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"pawl/approval"
	"pawl/internal/text"
	"pawl/judge"
	"pawl/permission"
	"pawl/run"
	"pawl/store"
	"pawl/view"
)

// Denials returns the calls that were refused in the last turn of a run in a state and in the runs that it has
// started, in the order in which they were made, each with the flag that would allow it as the workspace and the
// rules are now.
func (w *Workspace) Denials(ctx context.Context, state run.State) ([]approval.Denial, error) {
	if !mayHaveRefused(state) {
		return nil, nil
	}
	events, _, err := w.Load(ctx, state.Created.Run)
	if err != nil {
		return nil, err
	}
	return w.denials(ctx, events, state)
}

// mayHaveRefused reports whether a call was refused in the last turn of a run, or one has started a run in
// which that may be so.
func mayHaveRefused(state run.State) bool {
	return slices.ContainsFunc(state.Turn.Account, func(l run.Line) bool {
		return l.Outcome == run.Refused || l.Tool == "agent" || l.Tool == "handoff" // which start runs
	}) || slices.ContainsFunc(state.Turn.Calls, func(c *run.CallState) bool { return c.Outcome == run.Refused || c.StartsChild() })
}

// denials is Denials, given the events of the run.
func (w *Workspace) denials(ctx context.Context, events []run.Event, state run.State) ([]approval.Denial, error) {
	var all []approval.Denial
	for _, item := range view.Items(events) {
		c := item.Call
		if c == nil || item.Turn != state.Turn.N {
			continue
		}
		if c.Child != "" {
			below, err := w.denialsBelow(ctx, c.Child)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
		if c.Outcome != run.Refused {
			continue
		}
		if i := state.Turn.Interrupt; i.Cause == run.ByWait && i.Call == c.ID {
			continue // the person has stopped the turn there, and says what to do instead
		}
		d := approval.Denial{Call: c.ID, Tool: c.Tool, Input: view.InputOf(c.Arguments), Reason: c.Reason()}
		// A person who said no is not told how to say yes, and no rule lifts what a hook refuses.
		if c.Decision.Source != "person" && c.Decision.Source != "hook" {
			d.Flag, d.Add = w.allowing(state, c)
			if c.Decision.Rule != "" && slices.Contains(permission.StoredScopes(), c.Decision.Source) && !strings.Contains(c.Decision.Rule, "\n") {
				d.Remove = "pawl permissions rm " + text.ShellWord(c.Decision.Rule)
			}
		}
		all = append(all, d)
	}
	return all, nil
}

// denialsBelow is Denials of a run that a call may have started.
func (w *Workspace) denialsBelow(ctx context.Context, id run.ID) ([]approval.Denial, error) {
	events, s, err := w.Load(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil || !mayHaveRefused(s) {
		return nil, err
	}
	below, err := w.denials(ctx, events, s)
	for i := range below {
		below[i].Run = cmp.Or(below[i].Run, id)
	}
	return below, err
}

// allowing is [settings.toAllow] for a call of a run.
func (w *Workspace) allowing(state run.State, c *view.Call) (flags, add string) {
	set, err := w.load()
	if err != nil {
		return "", ""
	}
	d, err := w.previewer()
	if err != nil {
		return "", ""
	}
	j, err := d.Judge(state, run.CallState{Call: run.Call{ID: c.ID, Tool: c.Tool, Arguments: c.Arguments}, Class: c.Class})
	if err != nil {
		return "", ""
	}
	return set.toAllow(j, state.Created.Run)
}

// toAllow returns the flags that would allow a call, or else the command that stores rules which give it the network that
// it needs; both are empty if neither would allow it.
func (s *settings) toAllow(j *judge.Judgement, id run.ID) (flags, add string) {
	rules, err := s.policy.Rules(id)
	if err != nil {
		return "", ""
	}
	allowedBy := func(more permission.Rules) bool {
		return permission.Merge(rules, more).Decide(j.Request, j.Mode).Verdict == permission.Allow
	}
	var given, stored permission.Rules
	var words, commands []string
	network := true // and nothing else of the sandbox is lifted
	for _, r := range j.Propose().Rules {
		flag, err := permission.ParseRule(r.String()) // as the flag is read: it has the text of the rule alone
		if err != nil {
			return "", ""
		}
		flag.Effect, r.Effect = permission.Allow, permission.Allow
		given, stored = append(given, flag), append(stored, r)
		word := text.ShellWord(r.String())
		words = append(words, "--allow "+word)
		lifts := " --sandbox network"
		if hosts := r.Sandbox.Hosts(); hosts != nil {
			open, err := permission.NetworkRules(hosts, "")
			if err != nil {
				return "", ""
			}
			given, lifts = append(given, open...), ""
			for _, h := range hosts {
				flag := " --network " + text.ShellWord(h)
				if lifts += flag; !slices.Contains(words, flag[1:]) {
					words = append(words, flag[1:])
				}
			}
		}
		commands = append(commands, "pawl permissions add "+word+lifts)
		network = network && (r.Sandbox == run.WithNetwork || r.Sandbox.Hosts() != nil)
	}
	switch {
	case allowedBy(given):
		return strings.Join(words, " "), ""
	case network && allowedBy(stored):
		return "", strings.Join(commands, " && ")
	}
	return "", ""
}
