// Command pawl-fleet is pawl for many machines: its runs and tasks may be in a PostgreSQL
// database that the machines share, and Temporal gives the tasks to workers.
//
//	pawl-fleet [--store ADDRESS] [--temporal HOST:PORT[/NAMESPACE]] COMMAND …
//
// The addresses are also those of the variables PAWL_STORE and PAWL_TEMPORAL; without them it is pawl. It is a program
// of its own so that pawl does not link what one machine does not need.
package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"go.temporal.io/sdk/client"

	"pawl/app"
	"pawl/cli"
	"pawl/cli/command"
	"pawl/config"
	"pawl/fleet"
	"pawl/store"
	"pawl/store/postgres"

	// The helpers of this program act before anything else initializes.
	_ "pawl/internal/helper"
)

func main() {
	for _, scheme := range []string{"postgres", "postgresql"} {
		store.Register(scheme, open)
	}
	args := os.Args[1:]
	for flag, variable := range map[string]string{"--store": config.StoreVariable, "--temporal": config.TemporalVariable} {
		var value string
		if args, value = takeFlag(args, flag); value != "" {
			os.Setenv(variable, value) // it fails for a NUL, which no argument has
		}
	}
	p := command.System()
	p.More = []command.More{{Group: "work", Name: "worker", Build: workerCommand}, {Group: "work", Name: "fleet", Build: fleetCommand}}
	if os.Getenv(config.TemporalVariable) != "" {
		p.Carry = func(ctx context.Context, ws *app.Workspace) error {
			c, err := dial(ctx, p.Env, ws)
			if err != nil {
				return err
			}
			defer c.Close()
			fleet.Watch(ctx, ws, c)
			return nil
		}
	}
	os.Exit(cli.Main(args, p))
}

func open(address string, opt store.Options) (store.Database, error) {
	s, err := postgres.Open(context.Background(), address, postgres.Options{Version: opt.Version, ReadOnly: opt.ReadOnly})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// takeFlag takes a flag that all commands have out of the arguments before "--".
func takeFlag(args []string, flag string) (rest []string, value string) {
	for i, arg := range args {
		value, joined := strings.CutPrefix(arg, flag+"=")
		switch {
		case arg == "--":
			return args, ""
		case joined:
			return slices.Delete(slices.Clone(args), i, i+1), value
		case arg == flag && i+1 < len(args):
			return slices.Delete(slices.Clone(args), i, i+2), args[i+1]
		}
	}
	return args, ""
}

// dial connects to the Temporal of the variable.
func dial(ctx context.Context, env config.Env, ws *app.Workspace) (client.Client, error) {
	address, _ := env(config.TemporalVariable)
	if address == "" {
		return nil, config.Errorf("no Temporal is named: give --temporal HOST:PORT, or set %s", config.TemporalVariable)
	}
	hostPort, namespace, _ := strings.Cut(address, "/")
	return fleet.Dial(ctx, fleet.Address{HostPort: hostPort, Namespace: namespace}, env, ws.Log())
}
