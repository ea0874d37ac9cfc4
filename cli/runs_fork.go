package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/run"
)

func runsForkCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Copy a run up to an event into a new run",
		Long: `Copies a run up to an event into a new run, which can then continue another way, and
prints its id. Files are not copied: the new run works in the same folder as it is now.`,
		Example: "  pawl runs fork last --at 12 --model anthropic/claude-opus-4-5\n  pawl run --resume $(pawl runs fork last) -p \"try it without the cache\"",
	}
	at := cmd.Flags().Int64("at", 0, "copy up to this `event` (default the last)")
	model := cmd.Flags().StringP("model", "m", "", "the `model` of the new run, as provider/name; empty: the same")
	asJSON := command.JSONFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		if cmd.Flags().Changed("at") && *at < 1 {
			return command.Usage("invalid --at %d: events begin at 1; without --at all are copied", *at)
		}
		to, err := ws.Fork(ctx, id, *at, *model)
		if err != nil {
			return err
		}
		if *asJSON {
			_, state, err := ws.Load(ctx, to)
			if err != nil {
				return err
			}
			return inv.Encode(forms.ForkFormOf(state))
		}
		_, err = fmt.Fprintln(inv.Stdout, to)
		return err
	})
}
