package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/fleet"
	"pawl/forms"
)

func fleetCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "fleet",
		Short: "See the workers of a shared database and what they hold",
		Args:  cobra.NoArgs,
	})
	cmd.AddCommand(statusCommand(inv), drainCommand(inv), fleetDoctorCommand(inv))
	return cmd
}

func statusCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "List workers and the tasks that have something to be done",
		Example: "  pawl-fleet fleet status --store postgres://pawl@db/pawl --temporal temporal:7233",
		Args:    cobra.NoArgs,
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, openShared(inv), func(ctx context.Context, ws *app.Workspace, _ []string) error {
		s, err := look(ctx, inv, ws)
		if err != nil {
			return err
		}
		if *asJSON {
			return inv.Print(true, s, "")
		}
		t := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "WORKER\tQUEUE\tTASKS\tSEEN")
		for _, w := range s.Workers {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s ago\n", command.Visible(w.Name), command.Visible(w.Queue), w.Holds, time.Since(w.Seen).Round(time.Second))
		}
		fmt.Fprintln(t, "\nTASK\tQUEUE\tSTATUS\tHELD BY\tTITLE")
		for _, k := range s.Tasks {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", k.ID, command.Visible(k.Queue), k.Status, command.Visible(k.By), command.Visible(k.Title))
		}
		if s.Watcher == "" {
			fmt.Fprintln(t, "\nNobody tells Temporal of new tasks: start a worker, or pawl-fleet serve --temporal.")
		}
		for _, q := range s.Unattended {
			fmt.Fprintf(t, "\nNo worker takes tasks of the queue %s.\n", command.Visible(q))
		}
		return t.Flush()
	})
}

// look returns what the workers do.
func look(ctx context.Context, inv *command.Invocation, ws *app.Workspace) (forms.FleetForm, error) {
	c, err := dial(ctx, inv.Env, ws)
	if err != nil {
		return forms.FleetForm{}, err
	}
	defer c.Close()
	return fleet.Look(ctx, ws, c)
}

func drainCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain NAME",
		Short: "Have a worker end, or all of a machine, and wait for that",
		Long: `Has a worker take no more tasks, stop its runs as they are, and end, as a termination does. Other workers
continue its tasks. NAME is a worker as "fleet status" lists it, or a machine.`,
		Example: `  pawl-fleet fleet drain node-3
  pawl-fleet fleet drain "process 4112 on node-3"`,
		Args: cobra.ExactArgs(1),
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, openShared(inv), func(ctx context.Context, ws *app.Workspace, args []string) error {
		if err := inv.AsPerson("drain workers"); err != nil {
			return err
		}
		s, err := look(ctx, inv, ws)
		if err != nil {
			return err
		}
		names, err := fleet.Named(s, args[0])
		if err != nil {
			return err
		}
		ends := make([]error, len(names))
		var all sync.WaitGroup
		for i, name := range names {
			all.Go(func() { ends[i] = fleet.Drain(ctx, ws, name) })
		}
		all.Wait()
		if err := errors.Join(ends...); err != nil {
			return err
		}
		return inv.Print(*asJSON, drainedJSON{names}, "Drained: %s\n", command.Visible(strings.Join(names, ", ")))
	})
}

// drainedJSON is the form of fleet drain.
type drainedJSON struct {
	Drained []string `json:"drained"` // the names of the workers
}
