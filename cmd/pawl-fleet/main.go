// Command pawl-fleet is pawl for many machines: its runs and tasks may be in a PostgreSQL
// database that the machines share, and Temporal gives the tasks to workers.
//
//	pawl-fleet [--store ADDRESS] [--temporal HOST:PORT[/NAMESPACE]] [--repository ADDRESS] COMMAND …
//
// The addresses are also those of the variables PAWL_STORE, PAWL_TEMPORAL and PAWL_REPOSITORY; without them it is pawl. It is a program
// of its own so that pawl does not link what one machine does not need.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"pawl/app"
	"pawl/cli"
	"pawl/cli/command"
	"pawl/config"
	"pawl/fleet"
	"pawl/forms"
	"pawl/gitcopy"
	"pawl/internal/inside"
	"pawl/internal/visible"
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
	for flag, variable := range map[string]string{"--store": config.StoreVariable, "--temporal": config.TemporalVariable, "--repository": config.RepositoryVariable} {
		var value string
		if args, value = takeFlag(args, flag); value != "" {
			os.Setenv(variable, value) // it fails for a NUL, which no argument has
		}
	}
	p := command.System()
	if err := checkRepository(p.Env); err != nil {
		fmt.Fprintln(os.Stderr, "pawl:", err)
		os.Exit(command.ExitUsage)
	}
	p.More = []command.More{{Group: "work", Name: "worker", Build: workerCommand}, {Group: "work", Name: "fleet", Build: fleetCommand}, {Group: "work", Name: "users", Build: usersCommand}}
	if os.Getenv(config.TemporalVariable) != "" {
		var temporal atomic.Pointer[fleet.Client]
		p.Carry = func(ctx context.Context, ws *app.Workspace) error {
			c, err := dial(ctx, p.Env, ws)
			if err != nil {
				return err
			}
			defer c.Close()
			temporal.Store(c)
			if err := cloneEmpty(ctx, ws); err != nil {
				return err
			}
			fleet.Watch(ctx, ws, c)
			return nil
		}
		p.Workers = func(ctx context.Context, ws *app.Workspace) (forms.FleetForm, error) {
			c := temporal.Load()
			if c == nil {
				return forms.FleetForm{}, errors.New("the server is not connected with Temporal yet")
			}
			return fleet.Look(ctx, ws, c)
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

// checkRepository returns an error if the address of the shared repository is none, or has a password: it is shown, and
// written into configurations of git.
func checkRepository(env config.Env) error {
	address := env.Get(config.RepositoryVariable)
	u, err := url.Parse(address)
	switch {
	case address == "":
		return nil
	case strings.HasPrefix(address, "-"):
		return config.Errorf("--repository %s: it is no address of a git repository", visible.Quote(address))
	case err == nil && u.User != nil && strings.HasPrefix(u.Scheme, "http"):
		u.User = nil
		return config.Errorf("--repository %s: a name or password is not taken from the address, which is shown: give it to git, with a credential helper", visible.Quote(u.String()))
	}
	if store := env.Get(config.StoreVariable); store == "" {
		return config.Errorf("--repository is for machines that share a database: give --store postgres://… too, or set %s", config.StoreVariable)
	}
	return nil
}

// cloneEmpty makes the workspace's folder, if it is empty, a clone of the shared repository, if there is one.
func cloneEmpty(ctx context.Context, ws *app.Workspace) error {
	if ws.Repository() == "" {
		return nil
	}
	// Two workers of a machine may be started at once.
	return inside.Locked(ws.State, "cloning", func() error { return gitcopy.Clone(ctx, ws.Repository(), ws.Dir) })
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
func dial(ctx context.Context, env config.Env, ws *app.Workspace) (*fleet.Client, error) {
	address, _ := env(config.TemporalVariable)
	if address == "" {
		return nil, config.Errorf("no Temporal is named: give --temporal HOST:PORT, or set %s", config.TemporalVariable)
	}
	hostPort, namespace, _ := strings.Cut(address, "/")
	return fleet.Dial(ctx, fleet.Address{HostPort: hostPort, Namespace: namespace}, env, ws.Log())
}
