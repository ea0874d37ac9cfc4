package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/run"
	"pawl/store"
	"pawl/worker"
)

// stopPatience is how long runs stop waits for the turn to end. The owner abandons
// operations that do not stop within a second, so a longer wait has another cause.
const stopPatience = 10 * time.Second

// stopPoll is how often runs stop and runs decide read the store meanwhile.
const stopPoll = 50 * time.Millisecond

func runsStopCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop ID",
		Short: "Interrupt a run and wait until its turn has ended",
		Long: `Interrupts a run. If a process drives it, that process is told; if a turn was left open by
a process that was killed, the turn is ended here. The run can be continued afterwards.`,
		Example: "  pawl runs stop last",
	}
	return oneRun(inv, cmd, func(ctx context.Context, p place, id run.ID) error {
		_, s, err := load(ctx, p.store, id)
		switch {
		case err != nil:
			return err
		case s.Turn.N == 0:
			_, err := fmt.Fprintf(inv.Stdout, "run %s has no turn to stop\n", id)
			return err
		}
		payload, err := json.Marshal(worker.Stopping{Turn: s.Turn.N, By: "pawl runs stop"})
		if err != nil {
			return err
		}
		row := store.Row{Key: "stop-" + rand.Text(), Kind: store.Interrupt, Payload: string(payload)}
		deadline := time.NewTimer(stopPatience)
		defer deadline.Stop()
		for put := false; ; {
			sum, err := p.store.Run(ctx, id)
			if err != nil {
				return err
			}
			if sum.End != "" {
				verb := "had ended already"
				if put {
					verb = "has ended"
				}
				_, err := fmt.Fprintf(inv.Stdout, "run %s %s: %s\n", id, verb, endWords[sum.End])
				return err
			}
			owner, owned, err := p.store.Owner(ctx, id)
			if err != nil {
				return err
			}
			if !owned {
				err := inv.stopHere(ctx, p, id)
				if _, raced := errors.AsType[*store.OwnedError](err); err != nil && !raced {
					return err
				}
				put = put || err == nil
				continue
			}
			if !put {
				if err := p.store.Put(ctx, id, row); err != nil {
					return err
				}
				put = true
				worker.Wake(ctx, p.store, id)
			}
			select {
			case <-time.After(stopPoll):
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-deadline.C:
				return fmt.Errorf("run %s has not stopped: process %d was told to and has not answered for %s; the request stays in the inbox: see `pawl runs why %s`", id, owner.PID, stopPatience, id)
			}
		}
	})
}

// stopHere ends the open turn of a run that no process drives, by driving it with a
// context that is cancelled already.
func (inv *invocation) stopHere(ctx context.Context, p place, id run.ID) error {
	flags := pflag.NewFlagSet("stop", pflag.ContinueOnError)
	addSettings(flags)
	s, err := inv.readSettings(flags, p.workspace)
	if err != nil {
		return err
	}
	w, err := inv.worker(p, s)
	if err != nil {
		return err
	}
	d, err := w.Open(ctx, id, nil)
	if err != nil {
		return err
	}
	stopped, stop := context.WithCancelCause(ctx)
	stop(worker.Stop{Interrupted: run.Interrupted{Cause: run.ByPerson, By: "pawl runs stop"}})
	_, err = d.Run(stopped) // nothing starts: the interrupt is recorded first
	return errors.Join(err, d.Close())
}
