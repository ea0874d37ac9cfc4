package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	visibility "pawl/internal/visible"

	"github.com/spf13/cobra"
)

// jsonFlag gives cmd the flag --json. What it prints is described in docs/json.md, and its
// form is in docs/json.schema.json under the name of the command.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print one JSON object (docs/json.md)")
}

// encode prints v as JSON on a line.
func (inv *invocation) encode(v any) error {
	line, err := jsonLine(v)
	if err != nil {
		return err
	}
	_, err = inv.Stdout.Write(line)
	return err
}

// print prints a form as JSON, or else what it says to people.
func (inv *invocation) print(asJSON bool, form any, format string, args ...any) error {
	if asJSON {
		return inv.encode(form)
	}
	_, err := fmt.Fprintf(inv.Stdout, format, args...)
	return err
}

// jsonLine returns v as JSON on a line that is safe to print.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return visibility.JSON(b.Bytes()), nil
}
