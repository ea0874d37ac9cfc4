package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/run"
)

func runsVerifyCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify ID",
		Short: "Check that a run's log is complete and unchanged",
		Long: `Recomputes the hash chain of a run's log and replays it: each event must follow from those
before it. It detects accidental changes and edits by hand.`,
		Example: "  pawl runs verify last",
	}
	asJSON := command.JSONFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		n, err := ws.Verify(ctx, id)
		if err != nil {
			return err
		}
		return inv.Print(*asJSON, forms.VerifyForm{Run: id, Events: n}, "run %s: %d events, the hash chain is intact\n", id, n)
	})
}
