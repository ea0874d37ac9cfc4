package forms

import "pawl/instructions"

// A SkillForm is a skill as JSON.
type SkillForm struct {
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Source       string   `json:"source"` // user, repository, plugin NAME
	File         string   `json:"file"`
	Hidden       bool     `json:"hidden"`   // the model is not told of it
	Callable     bool     `json:"callable"` // it is called with /name
	Fork         bool     `json:"fork"`     // it is done by a child run
	Warnings     []string `json:"warnings"`
	Instructions string   `json:"instructions,omitempty"` // what the model is given; only of one skill
}

// SkillFormOf returns a skill as JSON, without its instructions.
func SkillFormOf(s instructions.Skill) SkillForm {
	f := SkillForm{Name: s.Name, Description: s.Description, Source: "user", File: s.Source, Hidden: s.Hidden, Callable: !s.Uncallable, Fork: s.Fork, Warnings: append([]string{}, s.Warnings...)}
	switch {
	case s.Plugin != "":
		f.Source = "plugin " + s.Plugin
	case s.Repository:
		f.Source = "repository"
	}
	return f
}

// A SkillsForm is the skills that there are as JSON.
type SkillsForm struct {
	Items     []SkillForm `json:"items"`
	Untrusted []string    `json:"untrusted"` // files that do not count before they are reviewed
	Problems  []string    `json:"problems"`  // what else does not count, and why
}
