package forms

import (
	"time"

	"pawl/app"
	"pawl/external"
)

// A KeptForm is a conversation that another agent keeps, as `pawl import sessions` prints it.
type KeptForm struct {
	Agent string    `json:"agent"`
	ID    string    `json:"id"`
	Words string    `json:"words"` // the beginning of what was said first
	Last  time.Time `json:"last"`
	File  string    `json:"file"`
	Turns int       `json:"turns"`
	New   int       `json:"new"`           // of these, not in the run yet
	Run   string    `json:"run"`           // that it becomes
	State string    `json:"state"`         // new, added, there, left
	Why   string    `json:"why,omitempty"` // it is left
}

// KeptFormOf returns a conversation with its run; err says why there is none.
func KeptFormOf(c external.Kept, r app.KeptRun, added bool, err error) KeptForm {
	f := KeptForm{Agent: c.Kind.Name, ID: c.ID, Words: c.Words, Last: c.Last, File: c.File, Turns: r.Turns, New: r.New, Run: string(r.ID), State: "new"}
	switch {
	case err != nil:
		f.State, f.Why = "left", err.Error()
	case r.New == 0:
		f.State = "there"
	case added:
		f.State = "added"
	}
	return f
}
