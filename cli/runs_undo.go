package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/run"
	"pawl/tool"
)

func runsUndoCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "undo ID",
		Short: "Restore the files that a run changed",
		Long: `Restores the files that a run's edits and writes changed to their content before the run,
or after the event given with --to. A file that was changed since is skipped and named.
What shell commands did is not undone. The log does not change.`,
		Example: "  pawl runs undo last\n  pawl runs undo last --to 24",
	}
	to := cmd.Flags().Int64("to", 0, "undo only what was done after this `event`")
	return oneRun(inv, cmd, func(ctx context.Context, p place, id run.ID) error {
		lease, err := p.store.Own(ctx, id, "")
		if err != nil {
			return inv.owned(err)
		}
		err = inv.undo(ctx, p, id, *to)
		return errors.Join(err, lease.Release())
	})
}

func (inv *invocation) undo(ctx context.Context, p place, id run.ID, to int64) error {
	events, s, err := load(ctx, p.store, id)
	if err != nil {
		return err
	}
	if to < 0 || to > s.Seq {
		return usage("--to: run %s has the events 1 to %d", id, s.Seq)
	}
	var changes []run.FileChange
	// Edits that a fork has copied belong to the run that it was forked from.
	to = max(to, s.Created.ForkedAt)
	for _, e := range events {
		if f, ok := e.Payload.(run.CallSettled); ok && e.Seq > to {
			changes = append(changes, f.Files...)
		}
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintf(inv.Stdout, "run %s changed no files\n", id)
		return err
	}
	env := tool.Env{Workspace: s.Created.Workspace, StateDir: p.state, Run: id, Session: &tool.Session{}}
	report, err := tool.Undo(env, changes)
	if err != nil {
		return err
	}
	for _, c := range report.Changes {
		what := "restored"
		switch {
		case c.After == "":
			what = "removed"
		case c.Before == "":
			what = "created again"
		}
		fmt.Fprintf(inv.Stdout, "%s: %s\n", visible(c.Path), what)
	}
	for _, sk := range report.Skipped {
		fmt.Fprintf(inv.Stderr, "skipped: %s\n", visible(sk.Reason))
	}
	if len(report.Skipped) > 0 {
		return exit{code: exitFailed}
	}
	return nil
}
