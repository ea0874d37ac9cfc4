package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/run"
	"pawl/view"
)

func runsStopCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop ID",
		Short: "Interrupt a run and wait until its turn has ended",
		Long: `Interrupts a run. If a process drives it, that process is told; if a turn was left open by
a process that was killed, the turn is ended here. The run can be continued afterwards.`,
		Example: "  pawl runs stop last",
	}
	asJSON := jsonFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		end, stopped, err := ws.Stop(ctx, id, "pawl runs stop")
		switch {
		case err != nil:
			return err
		case *asJSON:
			return inv.encode(app.StopForm{Run: id, Stopped: stopped, End: end})
		case end == "":
			_, err = fmt.Fprintf(inv.Stdout, "run %s has no turn to stop\n", id)
		case stopped:
			_, err = fmt.Fprintf(inv.Stdout, "run %s has ended: %s\n", id, view.EndWords(end))
		default:
			_, err = fmt.Fprintf(inv.Stdout, "run %s had ended already: %s\n", id, view.EndWords(end))
		}
		return err
	})
}
