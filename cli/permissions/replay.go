package permissions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/config"
	"pawl/internal/stable"
	"pawl/permission"
	"pawl/render"
	"pawl/report"
	"pawl/run"
	"pawl/view"
)

func permissionsReplayCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay [RUN…]",
		Short: "Decide recorded calls again and show what would change and what would be asked",
		Long: `Decides the last 1000 recorded calls of the named runs, or of all runs of this folder, by the
current rules. Prints those whose decision would change, then the questions that would be
asked now, grouped by the rules that would answer them for good. --allow, --ask and --deny
try a rule before it is stored, --mode another mode than each call was decided in. With
--rules the rules of a file replace those of user, workspace, repository and runs; an
administrator's always count. Paths are resolved as they are now. Nothing runs or changes.`,
		Example: `  pawl permissions replay
  pawl permissions replay --mode accept-edits --allow 'shell(npm run *)'
  pawl permissions replay --rules new.json
  pawl permissions replay last --json`,
	}
	flags := cmd.Flags()
	file := flags.String("rules", "", "a `file` of rules, in the form of permissions.json")
	mode := flags.String("mode", "", "decide in this permission `mode`: "+strings.Join(config.Modes, ", "))
	last := flags.Int("last", 1000, "decide the last `N` calls; 0 for all")
	command.AddSettings(flags, "allow", "ask", "deny", "network")
	asJSON := command.JSONFlag(cmd)
	return ruled(inv, cmd, func(ctx context.Context, h here, args []string) error {
		if *last < 0 {
			return command.Usage("invalid --last %d: must be a number of calls, or 0 for all", *last)
		}
		if *mode != "" {
			if err := command.OneOf(strings.Join(config.Modes, ", "))(*mode); err != nil {
				return command.Usage("--mode: %w", err)
			}
		}
		by := report.Trial{Mode: permission.Mode(*mode), Last: *last}
		if *file != "" {
			var err error
			if by.Rules, err = h.insteadOf(*file); err != nil {
				return err
			}
		}
		r, err := report.Redecide(ctx, h.Workspace, args, by)
		if err != nil {
			return err
		}
		if *asJSON {
			form := ReplayForm{Runs: r.Runs, Calls: r.Calls, Asked: r.Asked, Asks: r.Asks, Items: []otherwiseForm{}, Ways: r.Ways, Questions: []questionForm{}}
			for _, c := range r.Changed {
				form.Items = append(form.Items, otherwiseForm{c, view.DecisionWords(c.Then)})
			}
			for _, q := range r.Questions {
				f := questionForm{Calls: q.Calls, Rules: []answeringForm{}, Why: q.Why, Tool: q.Tool, Input: view.InputOf(q.Arguments)}
				for _, rule := range q.Rules {
					f.Rules = append(f.Rules, answeringForm{rule.String(), rule.Sandbox})
				}
				form.Questions = append(form.Questions, f)
			}
			return inv.Encode(form)
		}
		return printReplay(inv.Stdout, r)
	})
}

// maxQuestions is how many questions are printed; what is asked more rarely is in the JSON.
const maxQuestions = 30

// printReplay prints what would be decided differently, and what would be asked.
func printReplay(out io.Writer, r report.Replay) error {
	for _, c := range r.Changed {
		_, err := fmt.Fprintf(out, "%s %s  %s\n    %s → %s: %s\n", c.Run, c.Call, view.Title(c.Tool, c.Arguments), c.Was, c.Now, command.OneLine(c.Reason, 2*command.MaxTitle))
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d of %s in %s would be decided differently", len(r.Changed), command.Plural(r.Calls, "call"), command.Plural(r.Runs, "run"))
	var ways []string
	for _, way := range stable.Sorted(maps.Keys(r.Ways), func(x, y string) int { return cmp.Or(r.Ways[y]-r.Ways[x], strings.Compare(x, y)) }) {
		ways = append(ways, fmt.Sprintf("%d %s", r.Ways[way], way))
	}
	if len(ways) > 0 {
		fmt.Fprintf(out, " (%s)", strings.Join(ways, ", "))
	}
	if fmt.Fprintln(out); r.Asked+r.Asks == 0 {
		return nil
	}
	fmt.Fprintf(out, "%d were asked, %d would be asked now", r.Asked, r.Asks)
	if r.Asks > 0 {
		fmt.Fprintf(out, "; answered for good by:")
	}
	fmt.Fprintln(out)
	for i, q := range r.Questions {
		if rest := r.Questions[i:]; i == maxQuestions && len(rest) > 1 {
			calls := 0
			for _, q := range rest {
				calls += q.Calls
			}
			fmt.Fprintf(out, "%5d  in %d more lines: --json\n", calls, len(rest))
			break
		}
		words := render.RuleTexts(q.Rules)
		if len(q.Rules) == 0 {
			words = "no rule: " + view.Title(q.Tool, q.Arguments)
		}
		if _, err := fmt.Fprintf(out, "%5d  %s\n", q.Calls, command.OneLine(words, 2*command.MaxTitle)); err != nil {
			return err
		}
	}
	return nil
}

// A ReplayForm is how recorded calls would be decided now, as JSON.
type ReplayForm struct {
	Runs      int             `json:"runs"`      // that were read
	Calls     int             `json:"calls"`     // that were decided again
	Items     []otherwiseForm `json:"items"`     // those that would be decided differently
	Ways      map[string]int  `json:"ways"`      // "was → now": how many
	Asked     int             `json:"asked"`     // how many calls a person was asked about
	Asks      int             `json:"asks"`      // and how many would be asked about now
	Questions []questionForm  `json:"questions"` // what would be asked now
}

type otherwiseForm struct {
	report.Otherwise
	WasBy string `json:"was_by"`
}

// A questionForm is what would be asked now and the same rules would answer for good.
type questionForm struct {
	Calls int             `json:"calls"`
	Rules []answeringForm `json:"rules"`
	Why   string          `json:"why,omitempty"` // there is no rule
	Tool  string          `json:"tool"`          // of the newest of the calls
	Input json.RawMessage `json:"input"`
}

type answeringForm struct {
	Rule    string          `json:"rule"`
	Sandbox run.Confinement `json:"sandbox,omitempty"`
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
