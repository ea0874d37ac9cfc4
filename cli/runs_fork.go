package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pawl/run"
)

func runsForkCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Copy a run up to an event into a new run",
		Long: `Copies a run up to an event into a new run, which can then continue another way, and
prints its id. Files are not copied: the new run works in the same folder as it is now.`,
		Example: "  pawl runs fork last --at 12 --model anthropic/claude-opus-4-5\n  pawl run --resume $(pawl runs fork last) -p \"try it without the cache\"",
	}
	at := cmd.Flags().Int64("at", 0, "copy up to this `event`; 0: all")
	model := cmd.Flags().String("model", "", "the `provider/name` of the new run; empty: the same")
	return oneRun(inv, cmd, func(ctx context.Context, p place, id run.ID) error {
		if *model != "" {
			if err := inv.checkModel(*model, p.workspace); err != nil {
				return err
			}
		}
		events, s, err := load(ctx, p.store, id)
		if err != nil && (*at < 1 || *at > s.Seq) { // events before the damage can be copied, if --at names one
			return err
		}
		if *at == 0 {
			*at = s.Seq
		}
		if *at < 1 || *at > s.Seq {
			return usage("--at: run %s has the events 1 to %d", id, s.Seq)
		}
		change, err := inv.changeTo(*model)
		if err != nil {
			return err
		}
		now := time.Now().UTC()
		forked, err := fork(events[:*at], newRun(now), change, now)
		if err != nil {
			return err
		}
		to := forked[0].Payload.(run.Created).Run
		if err := p.store.Append(ctx, to, 0, forked); err != nil {
			return err
		}
		_, err = fmt.Fprintln(inv.Stdout, to)
		return err
	})
}

// fork returns the events of a new run with the same past, and with change if it is not
// nil. Operations that were in flight are settled as lost.
func fork(past []run.Event, to run.ID, change *run.ConfigChange, now time.Time) ([]run.Event, error) {
	events := append([]run.Event{}, past...)
	c := events[0].Payload.(run.Created) // Apply accepts no other first event
	c.ForkedFrom, c.ForkedAt, c.Run = c.Run, int64(len(past)), to
	c.Parent, c.ParentCall, c.Root, c.Depth = "", "", "", 0 // no parent call waits for its result
	events[0].Payload, events[0].At = c, now                // it was created now
	s, err := run.Replay(events)
	if err != nil {
		return nil, err
	}
	more := s.Recover()
	if change != nil {
		more = append(more, run.Configured{Change: *change})
	}
	for _, p := range more {
		e := run.Event{At: now, Payload: p}
		if s, err = s.Apply(e); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}
