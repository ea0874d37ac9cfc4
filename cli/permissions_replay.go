package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/permission"
	"pawl/run"
)

func permissionsReplayCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay [RUN…]",
		Short: "Decide every call of every run again, and show what would come out otherwise",
		Long: `Decides the calls of the runs named, or of all runs of this folder, again by the rules of now,
and shows those that would come out otherwise. With --rules the rules of that file stand in
for those of user, workspace, repository and runs; an administrator's always count. The modes are
those the runs had; where paths lead is looked up now. Nothing is run, and nothing is changed.`,
		Example: "  pawl permissions replay\n  pawl permissions replay --rules new.json\n  pawl permissions replay last --json",
	}
	file := cmd.Flags().String("rules", "", "a `file` of rules, in the form of permissions.json")
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line, the counts last")
	return ruled(inv, cmd, func(ctx context.Context, h here, args []string) error {
		r := replay{here: h, rules: h.policy.Rules}
		if *file != "" {
			rules, err := h.insteadOf(*file)
			if err != nil {
				return err
			}
			r.rules = func(run.ID) (permission.Rules, error) { return rules, nil }
		}
		ids, err := h.runsNamed(ctx, args)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := r.run(ctx, id); err != nil {
				return err
			}
		}
		out := json.NewEncoder(inv.Stdout)
		out.SetEscapeHTML(false)
		for _, c := range r.changed {
			if *asJSON {
				err = out.Encode(c)
			} else {
				_, err = fmt.Fprintf(inv.Stdout, "%s %s  %s\n    %s → %s: %s\n", c.Run, c.Call, callTitle(c.Tool, c.Arguments), c.Was, c.Now, oneLine(c.Reason, 2*maxTitle))
			}
			if err != nil {
				return err
			}
		}
		if *asJSON {
			return out.Encode(map[string]any{"runs": len(ids), "calls": r.calls, "changed": len(r.changed), "ways": r.ways})
		}
		fmt.Fprintf(inv.Stdout, "%d of %s in %s would come out otherwise", len(r.changed), plural(r.calls, "call"), plural(len(ids), "run"))
		var ways []string
		for _, way := range slices.SortedFunc(maps.Keys(r.ways), func(x, y string) int { return cmp.Or(r.ways[y]-r.ways[x], strings.Compare(x, y)) }) {
			ways = append(ways, fmt.Sprintf("%d %s", r.ways[way], way))
		}
		if len(ways) > 0 {
			fmt.Fprintf(inv.Stdout, " (%s)", strings.Join(ways, ", "))
		}
		fmt.Fprintln(inv.Stdout)
		return nil
	})
}

// insteadOf returns the rules of a file with those of an administrator, and those
// that flags and settings give.
func (h here) insteadOf(file string) (permission.Rules, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, usage("the rules cannot be read: %w", err)
	}
	defer f.Close()
	rules, err := permission.Load(f, permission.ForUser, file)
	if err != nil {
		return nil, usage("%w", err) // what is to be tried has to be right
	}
	for _, l := range h.policy.List() {
		if l.Scope == permission.Managed || l.File == "" {
			rules = append(rules, l.Rule)
		}
	}
	return rules, h.policy.Check()
}

// runsNamed returns the runs that arguments mean; without any, all, the oldest first.
func (h here) runsNamed(ctx context.Context, which []string) ([]run.ID, error) {
	var ids []run.ID
	for _, w := range which {
		sum, err := find(ctx, h.store, w)
		if err != nil {
			return nil, err
		}
		ids = append(ids, sum.ID)
	}
	if len(which) > 0 {
		return ids, nil
	}
	all, err := h.store.Runs(ctx, 0)
	for _, sum := range all {
		ids = append(ids, sum.ID)
	}
	slices.Reverse(ids)
	return ids, err
}

// A replay decides recorded calls again.
type replay struct {
	here
	rules   func(run.ID) (permission.Rules, error)
	calls   int
	changed []otherwise
	ways    map[string]int // "was → now": how many
}

// An otherwise is a call that would come out otherwise.
type otherwise struct {
	Run       run.ID     `json:"run"`
	Call      run.CallID `json:"call"`
	Tool      string     `json:"tool"`
	Arguments string     `json:"arguments"`
	Was       string     `json:"was"` // allowed, asked, refused
	Now       string     `json:"now"`
	WasBy     string     `json:"was_by"`
	Rule      string     `json:"rule,omitempty"` // that decides now
	Source    string     `json:"source"`
	Reason    string     `json:"reason"`
}

// run decides the calls of one run again. Of a call that was decided on several times
// the first decision counts: the later ones knew more than the rules.
func (r *replay) run(ctx context.Context, id run.ID) error {
	rules, err := r.rules(id)
	if err != nil {
		return err
	}
	calls, asked, mode, copied := map[run.CallID]run.Call{}, map[run.CallID]run.CallInspected{}, permission.Default, int64(0)
	judge := func(call run.CallID, d run.Decision) {
		f, ok := asked[call]
		if !ok {
			return
		}
		delete(asked, call)
		c := calls[call]
		if _, known := r.tools.Get(f.Tool); !known || d.Source == "inspection" || f.Problem != "" {
			return // no rule was asked: it could not run, or was the result handed in
		}
		r.calls++
		now := rules.Decide(r.request(f.Tool, f.Class, c.Arguments), mode)
		was, is := howDecided(d), howNow(now.Verdict)
		if was == is || was == refusedWord && now.Verdict == permission.Ask {
			return // with nobody there an ask is a refusal: it would come out the same
		}
		if r.ways == nil {
			r.ways = map[string]int{}
		}
		r.ways[was+" → "+is]++
		r.changed = append(r.changed, otherwise{Run: id, Call: call, Tool: f.Tool, Arguments: c.Arguments, Was: was, Now: is,
			WasBy: decisionWords(d), Rule: now.Rule, Source: now.Source, Reason: now.Reason})
	}
	for e, err := range r.store.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		for _, c := range callsOf(e.Payload) {
			calls[c.ID] = c
		}
		switch f := e.Payload.(type) {
		case run.Created:
			mode = modeOf(f.Config)
			if f.ForkedFrom != "" {
				copied = f.ForkedAt // these are the other run's, and counted there
			}
		case run.Configured:
			if f.Change.Mode != nil {
				mode = permission.Mode(*f.Change.Mode)
			}
		case run.CallInspected:
			if e.Seq > copied && !f.Question {
				asked[f.Call] = f
			}
		case run.CallDecided:
			judge(f.Call, f.Decision)
		}
	}
	return nil
}

func modeOf(c run.Config) permission.Mode {
	return permission.Mode(cmp.Or(c.Mode, string(permission.Default)))
}

const refusedWord = "refused"

// howDecided says how a call was decided on.
func howDecided(d run.Decision) string {
	switch {
	case d.Source == "person":
		return "asked"
	case d.Answer == run.Allow || d.Answer == run.Always:
		return "allowed"
	}
	return refusedWord
}

func howNow(v permission.Verdict) string {
	switch v {
	case permission.Allow:
		return "allowed"
	case permission.Ask:
		return "asked"
	}
	return refusedWord
}
