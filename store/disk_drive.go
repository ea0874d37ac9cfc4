package store

import "pawl/run"

// The forms of an external agent's turn.

type driveStarted struct {
	Conversation string `json:"conversation,omitempty"`
	Attempt      int    `json:"attempt,omitempty"`
}

type observed struct {
	Conversation string `json:"conversation,omitempty"`
	Parts        []part `json:"parts,omitempty"`
	Usage        usage  `json:"usage,omitzero"`
}

func (d observed) fact() run.Observed {
	return run.Observed{Conversation: d.Conversation, Parts: runParts(d.Parts), Usage: run.Usage(d.Usage)}
}

type driveEnded struct {
	Text   string        `json:"text,omitempty"`
	Failed bool          `json:"failed,omitempty"`
	Kind   run.ErrorKind `json:"kind,omitempty"`
	Reason string        `json:"reason,omitempty"`
}
