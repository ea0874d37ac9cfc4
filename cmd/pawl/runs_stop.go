package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pawl/run"
	"pawl/store"
	"pawl/worker"
)

// stopPatience is how long runs stop waits for the turn to end: what runs is left
// behind after 2 s, so more than that has another reason.
const stopPatience = 10 * time.Second

// stopPoll is how often the log is looked at meanwhile.
const stopPoll = 50 * time.Millisecond

func runsStopCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop ID",
		Short: "Interrupt a run, whoever drives it, and wait until its turn has ended",
		Long: `Interrupts a run. If another process drives it, that process is told; if none does and a
turn is open after a kill, the turn is ended here. It can be gone on with afterwards.`,
		Example: "  pawl runs stop last",
	}
	return oneRun(a, cmd, func(ctx context.Context, p place, id run.ID) error {
		row := store.Row{Key: "stop-" + rand.Text(), Kind: store.Interrupt, Payload: "pawl runs stop"}
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
				_, err := fmt.Fprintf(a.stdout, "run %s %s: %s\n", id, verb, endWords[sum.End])
				return err
			}
			owner, owned, err := p.store.Owner(ctx, id)
			if err != nil {
				return err
			}
			if !owned {
				err := a.stopHere(ctx, p, id)
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
				wake(ctx, owner.Socket)
			}
			select {
			case <-time.After(stopPoll):
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-deadline.C:
				return fmt.Errorf("run %s has been told to stop and process %d has not done so for %s; the wish is kept: see `pawl runs why %s`", id, owner.PID, stopPatience, id)
			}
		}
	})
}

// stopHere interrupts a run that nobody drives: it takes it, and lets the turn end.
func (a *app) stopHere(ctx context.Context, p place, id run.ID) error {
	w := &worker.Worker{Store: p.store, Tools: registry(nil), Provider: a.providers(p.workspace, settings{}), StateDir: p.state, Log: a.log()}
	d, err := w.Open(ctx, id, nil)
	if err != nil {
		return err
	}
	d.Interrupt(run.Interrupted{Cause: run.ByPerson, By: "pawl runs stop"})
	_, err = d.Run(ctx) // nothing starts: the gate is closed
	return errors.Join(err, d.Close())
}

// wake tells the owner to look at its inbox. If it cannot be reached it looks by
// itself, a little later.
func wake(ctx context.Context, socket string) {
	if socket == "" {
		return
	}
	v, err := store.Dial(ctx, socket)
	if err != nil {
		return
	}
	defer v.Close()
	_ = v.Wake()
}
