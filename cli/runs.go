package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/text"
	"pawl/run"
	"pawl/store"
)

func runsCommand(inv *invocation) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "runs",
		Short: "List, inspect, resume, fork and undo runs",
		Long: `Works with the runs of this folder. An ID may be shortened to a unique prefix; last is the
most recent run.`,
		Example: `  pawl runs list
  pawl runs show last
  pawl runs why last`,
	})
	for _, c := range []func(*invocation) *cobra.Command{
		runsListCommand, runsShowCommand, runsLogCommand, runsWhyCommand, runsVerifyCommand,
		runsExportCommand, runsForkCommand, runsResumeCommand, runsStopCommand, runsDecideCommand, runsSetCommand, runsUndoCommand, runsRecoverCommand,
	} {
		cmd.AddCommand(c(inv))
	}
	return cmd
}

// oneRun gives cmd the form of a subcommand with one run as its argument: it opens the
// store, finds the run, calls do, and closes the store.
func oneRun(inv *invocation, cmd *cobra.Command, do func(ctx context.Context, p place, id run.ID) error) *cobra.Command {
	return withRun(cmd, inv.open, do)
}

// readRun is oneRun for a subcommand that only reads. It takes no lock, and works on a
// full or read-only disk.
func readRun(inv *invocation, cmd *cobra.Command, do func(ctx context.Context, p place, id run.ID) error) *cobra.Command {
	return withRun(cmd, inv.openForReading, do)
}

func withRun(cmd *cobra.Command, open func() (place, error), do func(ctx context.Context, p place, id run.ID) error) *cobra.Command {
	cmd.Args = exactlyOne
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := open()
		if errors.Is(err, store.ErrNoRuns) {
			return errNoRunYet
		} else if err != nil {
			return err
		}
		sum, err := find(cmd.Context(), p.store, args[0])
		if err == nil {
			err = do(cmd.Context(), p, sum.ID)
		}
		return errors.Join(err, p.store.Close())
	}
	return cmd
}

var errNoRunYet = usage("there is no run in this folder yet: start one with `pawl run -p \"…\"`")

func exactlyOne(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one run: an id, a prefix of one, or last", cmd.CommandPath())
	}
	return nil
}

// find returns the run named by which: an id, a unique prefix of one, or last.
func find(ctx context.Context, s store.Store, which string) (store.Summary, error) {
	if which == "last" {
		newest, err := s.Runs(ctx, 1)
		if err == nil && len(newest) == 0 {
			err = errNoRunYet
		}
		if err != nil {
			return store.Summary{}, err
		}
		return newest[0], nil
	}
	if store.CheckID(run.ID(which)) == nil {
		sum, err := s.Run(ctx, run.ID(which)) // also child runs, which Runs does not list
		if !errors.Is(err, store.ErrNotFound) {
			return sum, err
		}
	}
	all, err := s.Runs(ctx, 0)
	if err != nil {
		return store.Summary{}, err
	}
	var fit []store.Summary
	var ids []string
	for _, sum := range all {
		ids = append(ids, string(sum.ID))
		if which != "" && strings.HasPrefix(string(sum.ID), which) {
			fit = append(fit, sum)
		}
	}
	const most = 3
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		var some []string
		for _, sum := range fit[:min(len(fit), most)] {
			some = append(some, string(sum.ID))
		}
		return store.Summary{}, usage("%q matches %d runs, among them %s: give more of the id", which, len(fit), strings.Join(some, ", "))
	case len(all) == 0:
		return store.Summary{}, errNoRunYet
	}
	if near := text.Typo(which, ids); near != "" {
		return store.Summary{}, usage("there is no run %q; did you mean %s?", which, near)
	}
	return store.Summary{}, usage("there is no run %q; the newest are %s", which, strings.Join(ids[:min(len(ids), most)], ", "))
}

// load reads a run's events and the state after them. With an error it returns
// what could be read before it.
func load(ctx context.Context, s store.Store, id run.ID) ([]run.Event, run.State, error) {
	var events []run.Event
	var state run.State
	for e, err := range s.Events(ctx, id, 0) {
		if err != nil {
			return events, state, err
		}
		next, err := state.Apply(e)
		if err != nil {
			return events, state, fmt.Errorf("run %s: event %d does not follow from those before it: %w; see `pawl runs verify %s`", id, e.Seq, err, id)
		}
		events, state = append(events, e), next
	}
	return events, state, nil
}
