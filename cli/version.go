package cli

import (
	"github.com/spf13/cobra"

	"pawl/app"
)

func versionCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  pawl version\n  pawl version --json",
		Args:    cobra.NoArgs,
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		return inv.printVersion(*asJSON)
	}
	return cmd
}

func (inv *invocation) printVersion(asJSON bool) error {
	b := app.ThisBuild()
	return inv.print(asJSON, b, "pawl %s (%s, %s)\n", b.Version, b.Go, b.Platform)
}
