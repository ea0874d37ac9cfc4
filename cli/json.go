package cli

import (
	"encoding/json"

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
	out := json.NewEncoder(inv.Stdout)
	out.SetEscapeHTML(false)
	return out.Encode(v)
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
