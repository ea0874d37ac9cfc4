// Command pawl-fleet is pawl for many machines: its runs and tasks may be in a PostgreSQL
// database that the machines share.
//
//	pawl-fleet [--store ADDRESS] COMMAND …
//
// The address is also that of the variable PAWL_STORE; without one it is pawl. It is a program of its
// own so that pawl does not link what one machine does not need.
package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"pawl/cli"
	"pawl/cli/command"
	"pawl/config"
	"pawl/store"
	"pawl/store/postgres"

	// The helpers of this program act before anything else initializes.
	_ "pawl/internal/helper"
)

func main() {
	for _, scheme := range []string{"postgres", "postgresql"} {
		store.Register(scheme, open)
	}
	args, address := takeStore(os.Args[1:])
	if address != "" {
		os.Setenv(config.StoreVariable, address) // it fails for a NUL, which no argument has
	}
	os.Exit(cli.Main(args, command.System()))
}

func open(address string, opt store.Options) (store.Database, error) {
	s, err := postgres.Open(context.Background(), address, postgres.Options{Version: opt.Version, ReadOnly: opt.ReadOnly})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// takeStore takes the flag --store out of the arguments before "--".
func takeStore(args []string) (rest []string, address string) {
	for i, arg := range args {
		value, joined := strings.CutPrefix(arg, "--store=")
		switch {
		case arg == "--":
			return args, ""
		case joined:
			return slices.Delete(slices.Clone(args), i, i+1), value
		case arg == "--store" && i+1 < len(args):
			return slices.Delete(slices.Clone(args), i, i+2), args[i+1]
		}
	}
	return args, ""
}
