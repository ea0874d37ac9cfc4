package cli

import (
	"fmt"
	"pawl/app"

	"github.com/spf13/cobra"
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
		if *asJSON {
			return inv.encode(app.ThisBuild())
		}
		return inv.printVersion()
	}
	return cmd
}

func (inv *invocation) printVersion() error {
	b := app.ThisBuild()
	_, err := fmt.Fprintf(inv.Stdout, "pawl %s (%s, %s)\n", b.Version, b.Go, b.Platform)
	return err
}
