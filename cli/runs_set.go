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
	var model, mode string
	var grant, revoke []string
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Change the model, mode or tools of a run",
		Long: `Changes the model, the permission mode or the tools of a run from its next step on, whichever
process drives it. Thinking that one provider produced is not sent to another.`,
		Example: "  pawl runs set last --mode accept-edits\n  pawl runs set last --model openai/gpt-6.1-sol\n  pawl runs set last --revoke fetch",
		Args:    exactlyOne,
	}
	cmd.Flags().StringVar(&model, "model", "", "the `model` to use from now on, as provider/name")
	cmd.Flags().StringVar(&mode, "mode", "", "the permission `mode`: "+strings.Join(config.Modes, ", "))
	cmd.Flags().StringSliceVar(&grant, "grant", nil, "`names` of tools that it may call from now on, with commas")
	cmd.Flags().StringSliceVar(&revoke, "revoke", nil, "`names` of tools that it may not call any more, with commas")
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		var c run.ConfigChange
		if model == "" && mode == "" && len(grant)+len(revoke) == 0 {
			return usage("nothing to set: give --model, --mode, --grant or --revoke")
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
			to.Mode = c.Mode
			c = to
		}
		if len(grant)+len(revoke) > 0 {
			_, s, err := ws.Load(ctx, id)
			if err != nil {
				return err
			}
			tools, err := ws.Grants(s, grant, revoke)
			if err != nil {
				return err
			}
			c.Tools = &tools
		}
		if err := ws.Set(ctx, id, c); err != nil {
			return err
		}
		_, err := fmt.Fprintf(inv.Stdout, "run %s: changed from its next step on\n", id)
		return err
	})
}
