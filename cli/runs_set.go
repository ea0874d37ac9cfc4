package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/run"
	"pawl/store"
)

func runsSetCommand(inv *invocation) *cobra.Command {
	var model, mode string
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Change the model or mode of a run, also in the middle of a turn",
		Long: `Changes the model or the permission mode of a run from its next step on, whichever process
drives it. Thinking that one provider produced is not sent to another.`,
		Example: "  pawl runs set last --mode accept-edits\n  pawl runs set last --model openai/gpt-6.1-sol",
		Args:    exactlyOne,
	}
	cmd.Flags().StringVar(&model, "model", "", "the `provider/name` to use from now on")
	cmd.Flags().StringVar(&mode, "mode", "", "the permission mode: `"+modes+"`")
	return oneRun(inv, cmd, func(ctx context.Context, p place, id run.ID) error {
		var c run.ConfigChange
		if model == "" && mode == "" {
			return usage("nothing to set: give --model or --mode")
		}
		if mode != "" {
			if err := oneOf(modes)(mode); err != nil {
				return usage("--mode: %w", err)
			}
			c.Mode = &mode
		}
		if model != "" {
			if err := inv.checkModel(model, p.workspace); err != nil {
				return err
			}
			to, err := inv.changeTo(model)
			if err != nil {
				return err
			}
			to.Mode = c.Mode
			c = *to
		}
		payload, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if err := p.store.Put(ctx, id, store.Row{Key: "set-" + rand.Text(), Kind: store.Configure, Payload: string(payload)}); err != nil {
			return err
		}
		// The owner is not woken: it polls its inbox.
		_, err = fmt.Fprintf(inv.Stdout, "run %s: changed from its next step on\n", id)
		return err
	})
}
