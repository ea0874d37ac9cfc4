package outputs

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/config"
	"pawl/internal/text"
	"pawl/output"
	"pawl/run"
)

func outputsPruneCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove old outputs",
		Long: `Removes stored outputs of this folder that are older than --older-than, and then the oldest
until the rest takes at most --max-size. Without flags the settings outputs_max_age and
outputs_max_size apply, as they do at the end of each run. The outputs of a run that is
working, waiting or killed are kept.`,
		Example: "  pawl outputs prune --max-size 5GB --older-than 30d --dry-run\n  pawl outputs prune",
		Args:    cobra.NoArgs,
	}
	flags := cmd.Flags()
	size := flags.String("max-size", "", "keep at most this `size` on disk, such as 5GB; -1: no limit")
	age := flags.String("older-than", "", "remove what is older than this `age`, such as 30d or 12h; -1: no limit")
	dry := flags.Bool("dry-run", false, "print what would be removed, without removing it")
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ws, err := inv.Open(cmd.Flags())
		if err != nil {
			return err
		}
		defer ws.Close() // nothing was written
		c, err := ws.Config()
		if err != nil {
			return err
		}
		quota := c.OutputQuota()
		if *size != "" {
			if quota.Bytes, err = config.ParseLimit(*size, config.ParseSize); err != nil {
				return command.Usage("--max-size: %w", err)
			}
		}
		if *age != "" {
			if quota.Age, err = config.ParseLimit(*age, config.ParseAge); err != nil {
				return command.Usage("--older-than: %w", err)
			}
		}
		pruned, err := ws.PruneOutputs(cmd.Context(), quota, *dry)
		if *asJSON {
			return errors.Join(inv.Encode(prunedOf(pruned, *dry)), err)
		}
		printPruned(inv, pruned, *dry)
		return err
	}
	return cmd
}

func printPruned(inv *command.Invocation, p output.Pruned, dry bool) {
	verb := "removed"
	if dry {
		verb = "would be removed"
	}
	for _, m := range p.Removed {
		fmt.Fprintf(inv.Stdout, "%s/%s  %s  %s  %s (%s on disk)\n", command.Visible(string(m.Run)), command.Visible(string(m.ID)), command.Stamp(m.Created), command.OneLine(m.Tool, 64), text.Size(m.Bytes()), text.Size(m.Stored))
	}
	fmt.Fprintf(inv.Stdout, "%s %s, %s on disk; %s are left\n", command.Plural(len(p.Removed), "output"), verb, text.Size(p.Freed), text.Size(p.Kept))
	if p.Over > 0 {
		inv.Hint(fmt.Sprintf("what is left is %s over the limit: it belongs to runs that are working, waiting or killed", text.Size(p.Over)))
	}
}

// A PrunedForm is what was removed as JSON.
type PrunedForm struct {
	Items  []prunedOutputForm `json:"items"`
	Freed  int64              `json:"freed_bytes"` // on disk
	Kept   int64              `json:"kept_bytes"`  // on disk
	Over   int64              `json:"over_bytes"`  // more than --max-size, because runs under way or waiting need it
	DryRun bool               `json:"dry_run"`     // nothing was removed
}

type prunedOutputForm struct {
	ID      run.CallID `json:"id"`
	Run     run.ID     `json:"run"`
	Created time.Time  `json:"created_at"`
	Tool    string     `json:"tool"`
	Bytes   int64      `json:"bytes"`
	Stored  int64      `json:"stored_bytes"` // on disk
}

func prunedOf(p output.Pruned, dry bool) PrunedForm {
	form := PrunedForm{[]prunedOutputForm{}, p.Freed, p.Kept, p.Over, dry}
	for _, m := range p.Removed {
		form.Items = append(form.Items, prunedOutputForm{m.ID, m.Run, m.Created, m.Tool, m.Bytes(), m.Stored})
	}
	return form
}
