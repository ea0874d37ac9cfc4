package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/run"
	"pawl/view"
)

func runsStopCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop ID",
		Short: "Interrupt a run and wait until its turn and its agent have ended",
		Long: `Interrupts a run. If a process drives it, that process is told; if a turn was left open by
a process that was killed, the turn is ended here, with what is left of an external agent.
The run can be continued afterwards.`,
		Example: "  pawl runs stop last",
	}
	asJSON := command.JSONFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		end, stopped, err := ws.Stop(ctx, id, run.ByPerson, "pawl runs stop")
		if err != nil {
			return err
		}
		said := "had ended already: " + view.EndWords(end)
		switch {
		case end == "":
			said = "has no turn to stop"
		case stopped:
			said = "has ended: " + view.EndWords(end)
		}
		return inv.Print(*asJSON, forms.StopForm{Run: id, Stopped: stopped, End: end}, "run %s %s\n", id, said)
	})
}
