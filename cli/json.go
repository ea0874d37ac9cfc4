package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"
)

// jsonFlag gives cmd the flag --json. What it prints is described in docs/json.md, and its
// form is in docs/json.schema.json under the name of the command.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print one JSON object (docs/json.md)")
}

// encode prints v as JSON on a line.
func (inv *invocation) encode(v any) error {
	out := json.NewEncoder(inv.Stdout)
	out.SetEscapeHTML(false)
	return out.Encode(v)
}
