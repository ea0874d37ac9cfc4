package store

import "pawl/run"

// The forms of what a model chooses in controller mode.

type planOpened struct {
	ID   string `json:"id"`
	Goal string `json:"goal"`
}

type stepChosen struct {
	Kind        run.StepKind `json:"kind"`
	InPlan      bool         `json:"in_plan,omitempty"`
	Description string       `json:"description,omitempty"`
	Thinking    string       `json:"thinking,omitempty"`
	Message     string       `json:"message,omitempty"`
	Reason      string       `json:"reason,omitempty"`
	Resume      string       `json:"resume,omitempty"`
	Dropped     int          `json:"dropped,omitempty"`
}

type stepRefused struct {
	Problem  string `json:"problem"`
	Feedback string `json:"feedback"`
}
