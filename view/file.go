package view

// A FileForm is a file that a call or a turn has changed, as JSON.
type FileForm struct {
	Path    string `json:"path"`
	Action  string `json:"action,omitempty"`  // created, edited, deleted; left out: not known, the turn began in another process
	Added   *int   `json:"added,omitempty"`   // lines; left out: not counted
	Removed *int   `json:"removed,omitempty"` // lines
}

// FileForms returns files in that form.
func FileForms(files []File) []FileForm {
	forms := []FileForm{}
	for _, f := range files {
		form := FileForm{Path: f.Path, Action: "edited"}
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
