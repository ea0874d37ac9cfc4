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

// A setForm is what was changed as JSON.
type setForm struct {
	Run   run.ID `json:"run"`
	Model string `json:"model,omitempty"`
	Mode  string `json:"mode,omitempty"`
}

func runsSetCommand(inv *invocation) *cobra.Command {
	var model, mode string
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Change the model or mode of a run",
		Long: `Changes the model or the permission mode of a run from its next step on, whichever process
drives it. Thinking that one provider produced is not sent to another.`,
		Example: "  pawl runs set last --mode accept-edits\n  pawl runs set last --model openai/gpt-6.1-sol",
		Args:    exactlyOne,
	}
	cmd.Flags().StringVarP(&model, "model", "m", "", "the `model` to use from now on, as provider/name")
	cmd.Flags().StringVar(&mode, "mode", "", "the permission `mode`: "+strings.Join(config.Modes, ", "))
	asJSON := jsonFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		var c run.ConfigChange
		if model == "" && mode == "" {
			return usage("nothing to set: give --model or --mode")
		}
		if mode != "" {
			if err := config.OneOf(config.Modes...)(mode); err != nil {
				return usage("--mode: %w", err)
			}
			c.Mode = &mode
		}
		if model != "" {
			to, err := ws.ModelChange(ctx, model)
			if err != nil {
				return err
			}
			to.Mode = c.Mode
			c = to
		}
		if err := ws.Set(ctx, id, c); err != nil {
			return err
		}
		if *asJSON {
			return inv.encode(setForm{id, model, mode})
		}
		_, err := fmt.Fprintf(inv.Stdout, "run %s: changed from its next step on\n", id)
		return err
	})
}
