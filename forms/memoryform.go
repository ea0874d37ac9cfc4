package forms

import "pawl/memory"

// A MemoryNoteForm is a note of the memory of a workspace as JSON.
type MemoryNoteForm struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// MemoryNoteFormOf returns a note as JSON.
func MemoryNoteFormOf(n memory.Note) MemoryNoteForm { return MemoryNoteForm{ID: n.ID, Text: n.Text} }

// A MemoryForm is the memory of a workspace as JSON.
type MemoryForm struct {
	File  string           `json:"file"` // it need not be there
	On    bool             `json:"on"`   // runs are told it and may note more
	All   bool             `json:"all"`  // it is not too large for runs to be told all of it
	Items []MemoryNoteForm `json:"items"`
}

// A ForgottenForm says what was removed from the memory of a workspace, as JSON.
type ForgottenForm struct {
	File    string           `json:"file"`
	Removed []MemoryNoteForm `json:"removed"`
}
