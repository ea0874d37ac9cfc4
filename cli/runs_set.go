package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/config"
	"pawl/run"
)

func runsSetCommand(inv *invocation) *cobra.Command {
	var model, mode, effort string
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Change the model, effort or mode of a run",
		Long: `Changes the model, its effort or the permission mode of a run from its next step on,
whichever process drives it. Thinking that one provider produced is not sent to another.`,
		Example: "  pawl runs set last --mode accept-edits\n  pawl runs set last --model openai/gpt-6.1-sol",
		Args:    exactlyOne,
	}
	cmd.Flags().StringVar(&model, "model", "", "the `model` to use from now on, as provider/name")
	cmd.Flags().StringVar(&mode, "mode", "", "the permission `mode`: "+strings.Join(config.Modes, ", "))
	cmd.Flags().StringVar(&effort, "effort", "", "how much the model thinks, a `level`: "+strings.Join(config.Efforts, ", "))
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		var c run.ConfigChange
		if model == "" && mode == "" && effort == "" {
			return usage("nothing to set: give --model, --effort or --mode")
		}
		if effort != "" {
			if err := config.OneOf(config.Efforts...)(effort); err != nil {
				return usage("--effort: %w", err)
			}
			c.Effort = &effort
		}
		if mode != "" {
			if err := config.OneOf(config.Modes...)(mode); err != nil {
				return usage("--mode: %w", err)
			}
			c.Mode = &mode
		}
		if model != "" {
			to, err := ws.ModelChange(model)
			if err != nil {
				return err
			}
			to.Mode, to.Effort = c.Mode, c.Effort
			c = to
		}
		if err := ws.Set(ctx, id, c); err != nil {
			return err
		}
		_, err := fmt.Fprintf(inv.Stdout, "run %s: changed from its next step on\n", id)
		return err
	})
}
