package cli

import (
	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/internal/build"
)

func versionCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  pawl version\n  pawl version --json",
		Args:    cobra.NoArgs,
	}
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		return printVersion(inv, *asJSON)
	}
	return cmd
}

func printVersion(inv *command.Invocation, asJSON bool) error {
	b := build.This()
	return inv.Print(asJSON, b, "pawl %s (%s, %s)\n", b.Version, b.Go, b.Platform)
}
