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
		Short:   "Show which pawl this is",
		Example: "  pawl version\n  pawl version --json",
		Args:    cobra.NoArgs,
	}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object")
	cmd.RunE = func(*cobra.Command, []string) error {
		b := app.ThisBuild()
		if *asJSON {
			return json.NewEncoder(inv.Stdout).Encode(b)
		}
		_, err := fmt.Fprintf(inv.Stdout, "pawl %s (%s, %s)\n", b.Version, b.Go, b.Platform)
		return err
	}
	return cmd
}
