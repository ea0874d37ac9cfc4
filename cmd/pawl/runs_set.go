package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/run"
	"pawl/store"
	"pawl/worker"
)

func runsSetCommand(a *app) *cobra.Command {
	var c worker.Change
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Give a run another model or mode, also in the middle of a turn",
		Long: `Gives a run another model or another permission mode from its next step on, whoever
drives it. What the model thought in another provider's words is not sent to the new one.`,
		Example: "  pawl runs set last --mode accept-edits\n  pawl runs set last --model openai/gpt-6.1-sol",
		Args:    exactlyOne,
	}
	cmd.Flags().StringVar(&c.Model, "model", "", "the `provider/name` that works from now on")
	cmd.Flags().StringVar(&c.Mode, "mode", "", "what runs without a question: `"+modes+"`")
	return oneRun(a, cmd, func(ctx context.Context, p place, id run.ID) error {
		if c == (worker.Change{}) {
			return usage("nothing to set: give --model or --mode")
		}
		if c.Mode != "" {
			if err := oneOf(modes)(c.Mode); err != nil {
				return usage("--mode: %w", err)
			}
		}
		table, err := a.models()
		if err != nil {
			return err
		}
		if c.Model != "" {
			if err := a.checkModel(c.Model, p.workspace); err != nil {
				return err
			}
			c.Window = table.Window(c.Model)
		}
		payload, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if err := p.store.Put(ctx, id, store.Row{Key: "set-" + rand.Text(), Kind: store.Configure, Payload: string(payload)}); err != nil {
			return err
		}
		// Who drives the run looks at its inbox often enough.
		_, err = fmt.Fprintf(a.stdout, "run %s goes on like that with its next step\n", id)
		return err
	})
}
