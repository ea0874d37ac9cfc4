package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/run"
	"pawl/view"
)

// A summaryForm is a run in the list as JSON.
type summaryForm struct {
	Run     run.ID    `json:"run"`
	Name    string    `json:"name,omitempty"`
	Title   string    `json:"title"`
	Model   string    `json:"model"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	End     run.End   `json:"end"` // empty: a turn is open
	Reason  string    `json:"reason"`
	Steps   int       `json:"steps"`
	Usage   app.Usage `json:"usage"`
	Owner   int       `json:"owner,omitempty"`  // pid of the process that owns the run
	Damage  string    `json:"damage,omitempty"` // the run is damaged, and how; the other fields are then unreliable
}

func runsListCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the runs of this folder, the most recent first",
		Example: "  pawl runs list\n  pawl runs list --limit 0 --json",
		Args:    cobra.NoArgs,
	}
	limit := cmd.Flags().Int("limit", 20, "list at most `n`; 0: all")
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ws, err := inv.open(nil)
		if err != nil {
			return err
		}
		defer ws.Close() // nothing was written
		all, err := ws.Runs(cmd.Context(), *limit)
		if err != nil {
			return err
		}
		if *asJSON {
			return inv.listJSON(all)
		}
		if len(all) == 0 {
			fmt.Fprintln(inv.Stderr, "no runs in this folder yet: start one with `pawl run -p \"…\"`")
			return nil
		}
		out := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
		for _, s := range all {
			end := view.EndWords(s.End)
			switch {
			case s.Damage != "":
				fmt.Fprintf(out, "%s\t%s\tdamaged\t\t\t%s\n", s.ID, stamp(s.Created), s.Damage)
				continue
			case s.Owner != nil:
				end = fmt.Sprintf("running (process %d)", s.Owner.PID)
			case s.End == "":
				end = "not finished"
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, stamp(s.Created), end, plural(s.Steps, "step"), view.Money(s.Usage), visible(nameAndTitle(s)))
		}
		return out.Flush()
	}
	return cmd
}

// nameAndTitle is what a list says that a run is about.
func nameAndTitle(r app.Run) string {
	if r.Name == "" {
		return r.Title
	}
	return r.Name + " · " + r.Title
}

func (inv *invocation) listJSON(all []app.Run) error {
	out := json.NewEncoder(inv.Stdout)
	for _, s := range all {
		f := summaryForm{Run: s.ID, Name: s.Name, Title: s.Title, Model: s.Model, Created: s.Created, Updated: s.Updated, End: s.End, Reason: s.Reason,
			Steps: s.Steps, Usage: app.UsageOf(s.Usage), Damage: s.Damage}
		if s.Owner != nil {
			f.Owner = s.Owner.PID
		}
		if err := out.Encode(f); err != nil {
			return err
		}
	}
	return nil
}
