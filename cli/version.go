package cli

import (
	"encoding/json"
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
	asJSON := cmd.Flags().Bool("json", false, "one JSON object")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			return json.NewEncoder(inv.Stdout).Encode(app.ThisBuild())
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
