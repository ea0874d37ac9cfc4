package permissions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/internal/stable"
	"pawl/permission"
	"pawl/report"
	"pawl/view"
)

func permissionsReplayCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay [RUN…]",
		Short: "Decide recorded calls again and show what would change",
		Long: `Decides the recorded calls of the named runs, or of all runs of this folder, by the current
rules, and prints those whose decision would change. With --rules the rules of a file
replace those of user, workspace, repository and runs; an administrator's always count.
Each run keeps its mode; paths are resolved as they are now. Nothing runs or changes.`,
		Example: "  pawl permissions replay\n  pawl permissions replay --rules new.json\n  pawl permissions replay last --json",
	}
	file := cmd.Flags().String("rules", "", "a `file` of rules, in the form of permissions.json")
	asJSON := command.JSONFlag(cmd)
	return ruled(inv, cmd, func(ctx context.Context, h here, args []string) error {
		var rules permission.Rules
		if *file != "" {
			var err error
			if rules, err = h.insteadOf(*file); err != nil {
				return err
			}
		}
		r, err := report.Redecide(ctx, h.Workspace, args, rules)
		if err != nil {
			return err
		}
		if *asJSON {
			form := ReplayForm{Runs: r.Runs, Calls: r.Calls, Items: []otherwiseForm{}, Ways: r.Ways}
			for _, c := range r.Changed {
				form.Items = append(form.Items, otherwiseForm{c, view.DecisionWords(c.Then)})
			}
			return inv.Encode(form)
		}
		for _, c := range r.Changed {
			_, err := fmt.Fprintf(inv.Stdout, "%s %s  %s\n    %s → %s: %s\n", c.Run, c.Call, view.Title(c.Tool, c.Arguments), c.Was, c.Now, command.OneLine(c.Reason, 2*command.MaxTitle))
			if err != nil {
				return err
			}
		}
		fmt.Fprintf(inv.Stdout, "%d of %s in %s would be decided differently", len(r.Changed), command.Plural(r.Calls, "call"), command.Plural(r.Runs, "run"))
		var ways []string
		for _, way := range stable.Sorted(maps.Keys(r.Ways), func(x, y string) int { return cmp.Or(r.Ways[y]-r.Ways[x], strings.Compare(x, y)) }) {
			ways = append(ways, fmt.Sprintf("%d %s", r.Ways[way], way))
		}
		if len(ways) > 0 {
			fmt.Fprintf(inv.Stdout, " (%s)", strings.Join(ways, ", "))
		}
		fmt.Fprintln(inv.Stdout)
		return nil
	})
}

// A ReplayForm is how recorded calls would be decided now, as JSON.
type ReplayForm struct {
	Runs  int             `json:"runs"`  // that were read
	Calls int             `json:"calls"` // that were decided again
	Items []otherwiseForm `json:"items"` // those that would be decided differently
	Ways  map[string]int  `json:"ways"`  // "was → now": how many
}

type otherwiseForm struct {
	report.Otherwise
	WasBy string `json:"was_by"`
}

// insteadOf returns the rules of a file with those of an administrator, and those
// that flags and settings give.
func (h here) insteadOf(file string) (permission.Rules, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, command.Usage("the rules cannot be read: %w", err)
	}
	defer f.Close()
	rules, err := permission.Load(f, permission.ForUser, file)
	if err != nil {
		return nil, command.Usage("%w", err) // what is to be tried has to be right
	}
	for _, l := range h.policy.List() {
		if l.Scope == permission.Managed || l.File == "" {
			rules = append(rules, l.Rule)
		}
	}
	return rules, h.policy.Check()
}
