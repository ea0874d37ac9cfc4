package app

import (
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
}

// A ConfigForm is the settings as JSON.
type ConfigForm struct {
	Values       map[string][]config.Value `json:"values"` // by the name of the setting, the strongest first
	StateDir     string                    `json:"state_dir"`
	Notes        []string                  `json:"notes"`
	Instructions []InstructionsForm        `json:"instructions"`
}

func ConfigFormOf(c *config.Config, env config.Env, files []instructions.File) ConfigForm {
	form := ConfigForm{map[string][]config.Value{}, env.StateDir(), append([]string{}, c.Notes...),
		Forms(files, func(f instructions.File) InstructionsForm { return InstructionsForm(f) })}
	c.All(func(k config.Key, found []config.Value) { form.Values[k.Name] = append([]config.Value{}, found...) })
	return form
}

// ConfigForm returns the settings of the workspace in that form.
func (w *Workspace) ConfigForm() (ConfigForm, error) {
	c, err := w.Config()
	if err != nil {
		return ConfigForm{}, err
	}
	return ConfigFormOf(c, w.env, w.Instructions().Files), nil
}

// A SettingForm is one setting for a program: what pawl config get, set and unset print.
type SettingForm struct {
	Key    string         `json:"key"`
	Values []config.Value `json:"values"` // the strongest first; several only of a list
}
