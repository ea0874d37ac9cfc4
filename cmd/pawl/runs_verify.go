package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/run"
)

func runsVerifyCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify ID",
		Short: "Check that a run's log is whole and was not changed",
		Long: `Computes the chain of hashes of a run's log anew, and replays it: every event must
follow from those before it. It shows what was changed by accident or by hand.`,
		Example: "  pawl runs verify last",
	}
	return readRun(a, cmd, func(ctx context.Context, p place, id run.ID) error {
		if err := p.store.Verify(ctx, id); err != nil {
			return err
		}
		_, s, err := load(ctx, p.store, id)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "run %s: %d events, the chain is whole\n", id, s.Seq)
		return err
	})
}
