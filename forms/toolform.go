package forms

import (
	"encoding/json"

	"pawl/run"
	"pawl/tool"
)

// A ToolForm is a tool as JSON.
type ToolForm struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // of the arguments
}

// A ToolResult is the result of a call as JSON.
type ToolResult struct {
	Run     run.ID `json:"run"`
	Tool    string `json:"tool"`
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`
}

// ToolForms returns tools in that form.
func ToolForms(specs []tool.Spec) List[ToolForm] {
	return List[ToolForm]{Items: Forms(specs, func(s tool.Spec) ToolForm { return ToolForm{s.Name, s.Description, s.Schema} })}
}
