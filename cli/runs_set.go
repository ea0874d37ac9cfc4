package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/config"
	"pawl/forms"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

func runsSetCommand(inv *command.Invocation) *cobra.Command {
	var model, mode, effort, name string
	var grant, revoke []string
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Change the model, effort, mode, tools or name of a run",
		Long: `Changes the name of a run, or from its next step on the model, its effort, the permission
mode or the tools, whichever process drives it. A call that waits for approval is decided by
the new mode at once. Thinking that one provider produced is not sent to another.`,
		Example: "  pawl runs set last --mode accept-edits\n  pawl runs set last --model openai/gpt-6.1-sol\n  pawl runs set last --revoke fetch",
		Args:    exactlyOne,
	}
	cmd.Flags().StringVarP(&model, "model", "m", "", "the `model` to use from now on, as provider/name")
	cmd.Flags().StringVar(&mode, "mode", "", "the permission `mode`: "+strings.Join(config.Modes, ", "))
	cmd.Flags().StringVar(&effort, "effort", "", "how much the model thinks, a `level`: "+strings.Join(config.Efforts, ", "))
	cmd.Flags().StringVar(&name, "name", "", "what the run is called, a `text`; empty: nothing")
	cmd.Flags().StringSliceVar(&grant, "grant", nil, "`names` of tools that it may call from now on, with commas")
	cmd.Flags().StringSliceVar(&revoke, "revoke", nil, "`names` of tools that it may not call any more, with commas")
	asJSON := command.JSONFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		grants := len(grant)+len(revoke) > 0
		renames, changes := cmd.Flags().Changed("name"), model != "" || mode != "" || effort != "" || grants
		if !renames && !changes {
			return command.Usage("nothing to set: give --model, --effort, --mode, --grant, --revoke or --name")
		}
		if err := run.CheckName(name); err != nil {
			return command.Usage("--name: %w", err)
		}
		var c run.ConfigChange
		if model != "" {
			to, err := ws.ModelChange(ctx, model)
			if err != nil {
				return err
			}
			c = to
		}
		if effort != "" {
			if err := config.OneOf(config.Efforts...)(effort); err != nil {
				return command.Usage("--effort: %w", err)
			}
			c.Effort = &effort
		}
		if mode != "" {
			if err := config.OneOf(config.Modes...)(mode); err != nil {
				return command.Usage("--mode: %w", err)
			}
			c.Mode = &mode
		}
		form := forms.SetForm{Run: id, Model: model, Mode: mode, Effort: effort, Name: name}
		if grants {
			_, s, err := ws.Load(ctx, id)
			if err != nil {
				return err
			}
			if form.Tools, err = ws.Grants(s, grant, revoke); err != nil {
				return err
			}
			c.Tools = &form.Tools
		}
		if renames {
			if err := ws.Rename(ctx, id, name); err != nil {
				return err
			}
		}
		from := "from its next step: " + view.ChangeWords(c)
		if mode != "" {
			if _, s, err := ws.Load(ctx, id); err == nil && len(runlog.Undecided(s)) > 0 { // before it is set: then nothing may wait
				from = "from now on: " + view.ChangeWords(c) + "; what waits for approval is decided by it"
				if _, driven, err := ws.Owner(ctx, id); err == nil && !driven {
					from += " when the run continues"
				}
			}
		}
		if changes {
			if err := ws.Set(ctx, id, c); err != nil {
				return err
			}
		}
		if *asJSON {
			return inv.Encode(form)
		}
		if renames {
			said := "is named \"" + command.Visible(name) + "\""
			if name == "" {
				said = "has no name"
			}
			fmt.Fprintf(inv.Stdout, "run %s %s\n", id, said)
		}
		if changes {
			fmt.Fprintf(inv.Stdout, "run %s has %s\n", id, from)
		}
		return nil
	})
}
