// Command pawl is an agent runtime: it works on a task in a folder with a model and
// tools, records every step before and after it happens, and continues after anything
// that stops it.
//
// This package only starts the command line; see packages cli and app.
package main

import (
	"os"

	"pawl/cli"
	"pawl/cli/command"

	// The helpers of this program act before anything else initializes.
	_ "pawl/internal/helper"
)

func main() { os.Exit(cli.Main(os.Args[1:], command.System())) }
