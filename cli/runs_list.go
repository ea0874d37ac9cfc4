package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"pawl/run"
	"pawl/store"
)

// A summaryForm is a run in the list as JSON.
type summaryForm struct {
	Run     run.ID    `json:"run"`
	Title   string    `json:"title"`
	Model   string    `json:"model"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	End     run.End   `json:"end"` // empty: a turn is open
	Reason  string    `json:"reason"`
	Steps   int       `json:"steps"`
	Usage   usageForm `json:"usage"`
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
	limit := cmd.Flags().Int("limit", 20, "at most this `many`; 0: all")
	asJSON := cmd.Flags().Bool("json", false, "one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, owners, err := inv.listRuns(cmd.Context(), *limit)
		if err != nil {
			return err
		}
		if *asJSON {
			return inv.listJSON(all, owners)
		}
		if len(all) == 0 {
			fmt.Fprintln(inv.Stderr, "no runs in this folder yet: start one with `pawl run -p \"…\"`")
			return nil
		}
		out := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
		for _, s := range all {
			end := endWords[s.End]
			if pid, owned := owners[s.ID]; owned {
				end = fmt.Sprintf("running (process %d)", pid)
			} else if s.End == "" {
				end = "not finished"
			}
			if s.Damage != "" {
				fmt.Fprintf(out, "%s\t%s\tdamaged\t\t\t%s\n", s.ID, stamp(s.Created), s.Damage)
				continue
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, stamp(s.Created), end, plural(s.Steps, "step"), money(s.Usage), visible(s.Title))
		}
		return out.Flush()
	}
	return cmd
}

// listRuns returns the most recent runs, and the pid of the owner of each that has an
// open turn and an owner.
func (inv *invocation) listRuns(ctx context.Context, limit int) (all []store.Summary, owners map[run.ID]int, err error) {
	p, err := inv.openForReading()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	all, err = p.store.Runs(ctx, limit)
	owners = map[run.ID]int{}
	for _, s := range all {
		if s.End == "" {
			owner, owned, oerr := p.store.Owner(ctx, s.ID)
			if err = errors.Join(err, oerr); owned {
				owners[s.ID] = owner.PID
			}
		}
	}
	return all, owners, errors.Join(err, p.store.Close())
}

func (inv *invocation) listJSON(all []store.Summary, owners map[run.ID]int) error {
	out := json.NewEncoder(inv.Stdout)
	for _, s := range all {
		err := out.Encode(summaryForm{s.ID, s.Title, s.Model, s.Created, s.Updated, s.End, s.Reason, s.Steps, usageOf(s.Usage), owners[s.ID], s.Damage})
		if err != nil {
			return err
		}
	}
	return nil
}
