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
	Run    run.ID `json:"run"`
	Model  string `json:"model,omitempty"`
	Mode   string `json:"mode,omitempty"`
	Effort string `json:"effort,omitempty"`
	Name   string `json:"name,omitempty"`
}

func runsSetCommand(inv *invocation) *cobra.Command {
	var model, mode, effort, name string
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Change the model, effort, mode or name of a run",
		Long: `Changes the name of a run, or from its next step on the model, its effort or the
permission mode, whichever process drives it. Thinking that one provider produced is not
sent to another.`,
		Example: "  pawl runs set last --mode accept-edits\n  pawl runs set last --model openai/gpt-6.1-sol",
		Args:    exactlyOne,
	}
	cmd.Flags().StringVarP(&model, "model", "m", "", "the `model` to use from now on, as provider/name")
	cmd.Flags().StringVar(&mode, "mode", "", "the permission `mode`: "+strings.Join(config.Modes, ", "))
	asJSON := jsonFlag(cmd)
	cmd.Flags().StringVar(&effort, "effort", "", "how much the model thinks, a `level`: "+strings.Join(config.Efforts, ", "))
	cmd.Flags().StringVar(&name, "name", "", "what the run is called, a `text`; empty: nothing")
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		var c run.ConfigChange
		renames, changes := cmd.Flags().Changed("name"), model != "" || mode != "" || effort != ""
		if !renames && !changes {
			return usage("nothing to set: give --model, --effort, --mode or --name")
		}
		if err := run.CheckName(name); err != nil {
			return usage("--name: %w", err)
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
			to, err := ws.ModelChange(ctx, model)
			if err != nil {
				return err
			}
			to.Mode, to.Effort = c.Mode, c.Effort
			c = to
		}
		if renames {
			if err := ws.Rename(ctx, id, name); err != nil {
				return err
			}
		}
		if changes {
			if err := ws.Set(ctx, id, c); err != nil {
				return err
			}
		}
		if *asJSON {
			return inv.encode(setForm{id, model, mode, effort, name})
		}
		if renames {
			fmt.Fprintf(inv.Stdout, "run %s: named %q\n", id, name)
		}
		if changes {
			fmt.Fprintf(inv.Stdout, "run %s: changed from its next step on\n", id)
		}
		return nil
	})
}
