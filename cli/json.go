package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"pawl/view"
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

// jsonLine returns v as JSON on a line that is safe to print.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return visibleJSON(b.Bytes()), nil
}

// visibleJSON makes JSON safe to print, as [visible] does for text, and keeps it JSON:
// what is not to be seen can only be in strings, and is escaped there.
func visibleJSON(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if c := raw[i]; c >= ' ' && c < 0x7f || c == '\n' {
			out = append(out, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(raw[i:])
		switch high, low := utf16.EncodeRune(r); {
		case visible(string(r)) == string(r):
			out = utf8.AppendRune(out, r)
		case r == '\r': // only between values
		case high != utf8.RuneError:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}

// A fileForm is a file that a call or a turn has changed, as JSON.
type fileForm struct {
	Path    string `json:"path"`
	Action  string `json:"action,omitempty"`  // created, edited, deleted; left out: not known, the turn began in another process
	Added   *int   `json:"added,omitempty"`   // lines; left out: not counted
	Removed *int   `json:"removed,omitempty"` // lines
}

// fileForms returns files in that form.
func fileForms(files []view.File) []fileForm {
	forms := []fileForm{}
	for _, f := range files {
		form := fileForm{Path: f.Path, Action: "edited"}
		switch {
		case f.Partial:
			form.Action = ""
		case f.After == "":
			form.Action = "deleted"
		case f.Before == "":
			form.Action = "created"
		}
		if f.Counted {
			form.Added, form.Removed = &f.Added, &f.Removed
		}
		forms = append(forms, form)
	}
	return forms
}
