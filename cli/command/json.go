package command

import (
	"fmt"

	"pawl/internal/plainjson"
	visibility "pawl/internal/visible"

	"github.com/spf13/cobra"
)

// JSONFlag gives cmd the flag --json. What it prints is described in docs/json.md, and its
// form is in docs/json.schema.json under the name of the command.
func JSONFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print one JSON object (docs/json.md)")
}

// Encode prints v as JSON on a line.
func (inv *Invocation) Encode(v any) error {
	line, err := JSONLine(v)
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

// JSONLine returns v as JSON on a line that is safe to print.
func JSONLine(v any) ([]byte, error) {
	line, err := plainjson.Marshal(v)
	if err != nil {
		return nil, err
	}
	return visibility.JSON(append(line, '\n')), nil
}
