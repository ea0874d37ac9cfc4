package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/run"
	"pawl/store"
)

func runsSetCommand(a *app) *cobra.Command {
	var model, mode string
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Give a run another model or mode, also in the middle of a turn",
		Long: `Gives a run another model or another permission mode from its next step on, whoever
drives it. What the model thought in another provider's words is not sent to the new one.`,
		Example: "  pawl runs set last --mode accept-edits\n  pawl runs set last --model openai/gpt-6.1-sol",
		Args:    exactlyOne,
	}
	cmd.Flags().StringVar(&model, "model", "", "the `provider/name` that works from now on")
	cmd.Flags().StringVar(&mode, "mode", "", "what runs without a question: `"+modes+"`")
	return oneRun(a, cmd, func(ctx context.Context, p place, id run.ID) error {
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
			if err := a.checkModel(model, p.workspace); err != nil {
				return err
			}
			to, err := a.changeTo(model)
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
		// The process that drives the run reads its inbox often enough.
		_, err = fmt.Fprintf(a.stdout, "run %s uses this from its next step on\n", id)
		return err
	})
}
