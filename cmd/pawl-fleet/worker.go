package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/app"
	"pawl/board"
	"pawl/cli/command"
	"pawl/config"
	"pawl/fleet"
	"pawl/task"
)

func workerCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Work on the tasks of a shared database, with other machines",
		Long: `Works on the tasks of the database that --store names, as many at once as --runs says. Temporal gives each
task to one worker, and to another when that one dies.

An interrupt or a termination drains it: it takes no more tasks, its runs stop as they are, and other
workers continue them.`,
		Example: `  pawl-fleet worker --store postgres://pawl@db/pawl --temporal temporal:7233
  pawl-fleet worker --store postgres://pawl@db/pawl --temporal temporal:7233 --queue gpu --runs 2`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	queue := f.String("queue", fleet.DefaultQueue, "take the tasks of this queue: those with the label queue:`NAME`")
	runs := f.Int("runs", board.DefaultRuns, "work on at most `n` tasks at once")
	command.AddWaitingSettings(f)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := inv.AsPerson("work on tasks"); err != nil {
			return err
		}
		if *runs < 1 {
			return command.Usage("--runs is %d: must be 1 or more", *runs)
		}
		if err := shared(inv.Env); err != nil {
			return err
		}
		inv.Driving.Store(true)
		ws, err := app.Open(inv.ServeOptions(cmd.Flags()))
		if err != nil {
			return err
		}
		defer ws.Close() // what counts is durable
		if err := cloneEmpty(cmd.Context(), ws); err != nil {
			return err
		}
		if _, err := ws.Tasks(); err != nil { // it would wait for a database that it cannot use
			return err
		}
		return work(cmd.Context(), inv, ws, *queue, *runs)
	}
	return cmd
}

// openShared opens the workspace of a command that needs a shared database and whose flags are no settings.
func openShared(inv *command.Invocation) func(*pflag.FlagSet) (*app.Workspace, error) {
	return func(*pflag.FlagSet) (*app.Workspace, error) {
		if err := shared(inv.Env); err != nil {
			return nil, err
		}
		return inv.Open(nil)
	}
}

// shared returns an error unless the log is in a database for many machines.
func shared(env config.Env) error {
	if address, _ := env(config.StoreVariable); address == "" {
		return config.Errorf("no database is named: give --store postgres://…, or set %s", config.StoreVariable)
	}
	return nil
}

// work carries tasks, and tells Temporal of them, until ctx is done.
func work(ctx context.Context, inv *command.Invocation, ws *app.Workspace, queue string, runs int) error {
	c, err := dial(ctx, inv.Env, ws)
	if err != nil {
		return err
	}
	defer c.Close()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		fleet.Watch(watching, ws, c)
	}()
	var said sync.Map // tasks of which it was told why they cannot be carried here
	opt := board.Options{Runs: runs, Held: func(id task.ID, why string) { ws.Log().Info("a task waits for memory", "task", id, "why", why) }}
	err = fleet.Work(ctx, ws, c, queue, opt, func() {
		fmt.Fprintf(inv.Stderr, "working on the queue %s in %s, %d at once; end with Ctrl-C\n", command.Visible(queue), command.Visible(ws.Dir), runs)
	}, func(id task.ID, err error) {
		if _, told := said.LoadOrStore(id, true); !told {
			inv.Notice(fmt.Sprintf("task %s: %v", id, err))
		}
	})
	stop()
	<-watched
	if errors.Is(err, fleet.ErrDrained) {
		inv.Notice("the worker was drained by another process; other workers continue its tasks")
		return nil
	}
	if err != nil {
		return err
	}
	return command.Exit{Code: command.InterruptCode(ctx)}
}
