package forms

import (
	"pawl/app"
	"pawl/config"
	"pawl/instructions"
)

// An InstructionsForm is a file with instructions as JSON.
type InstructionsForm struct {
	Path       string `json:"path"`
	ImportedBy string `json:"imported_by,omitempty"`
	User       bool   `json:"user,omitempty"`
	Bytes      int    `json:"bytes"`
	Cut        bool   `json:"cut,omitempty"`
	Hidden     int    `json:"hidden,omitempty"`
	Skipped    string `json:"skipped,omitempty"`
	Later      bool   `json:"later,omitempty"`
}

// A ConfigForm is the settings as JSON.
type ConfigForm struct {
	Values       map[string][]config.Value `json:"values"` // by the name of the setting, the strongest first
	StateDir     string                    `json:"state_dir"`
	Notes        []string                  `json:"notes"`
	Instructions []InstructionsForm        `json:"instructions"`
}

// ConfigFormOf returns the settings of a workspace in that form.
func ConfigFormOf(w *app.Workspace) (ConfigForm, error) {
	c, err := w.Config()
	if err != nil {
		return ConfigForm{}, err
	}
	form := ConfigForm{map[string][]config.Value{}, w.Options().Env.StateDir(), append([]string{}, c.Notes...),
		Forms(w.Instructions().Files, func(f instructions.File) InstructionsForm { return InstructionsForm(f) })}
	c.All(func(k config.Key, found []config.Value) { form.Values[k.Name] = append([]config.Value{}, found...) })
	return form, nil
}

// A SettingForm is one setting for a program: what pawl config get, set and unset print.
type SettingForm struct {
	Key    string         `json:"key"`
	Values []config.Value `json:"values"` // the strongest first; several only of a list
}
