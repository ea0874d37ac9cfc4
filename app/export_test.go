package app

import (
	"encoding/json"

	"pawl/permission"
	"pawl/run"
)

// RequestFor returns a call in the form that [Workspace.Explain] decides on.
func RequestFor(w *Workspace, name string, args map[string]any) (permission.Request, error) {
	request, err := w.Requests(nil)
	if err != nil {
		return permission.Request{}, err
	}
	text, err := json.Marshal(args)
	return request(name, run.Writes, string(text)), err
}
