package command

import (
	"fmt"

	"pawl/internal/plainjson"

	"github.com/spf13/cobra"
)

// JSONFlag gives cmd the flag --json. What it prints is described in docs/json.md, and its
// form is in docs/json.schema.json under the name of the command.
func JSONFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print one JSON object (docs/json.md)")
}

// Encode prints v as JSON on a line.
func (inv *Invocation) Encode(v any) error {
	line, err := plainjson.Line(v)
	if err != nil {
		return err
	}
	_, err = inv.Stdout.Write(line)
	return err
}

// Print prints a form as JSON, or else what it says to people.
func (inv *Invocation) Print(asJSON bool, form any, format string, args ...any) error {
	if asJSON {
		return inv.Encode(form)
	}
	_, err := fmt.Fprintf(inv.Stdout, format, args...)
	return err
}
