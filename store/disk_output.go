package store

import "pawl/run"

// The forms of the result that a run hands in.

type submitted struct {
	Assignment int        `json:"assignment"`
	Call       run.CallID `json:"call,omitempty"`
	Value      string     `json:"value"`
}

type submissionRefused struct {
	Problem string `json:"problem"`
}

type reminded struct {
	N    int    `json:"n"`
	Text string `json:"text"`
}

type output struct {
	Tool   string `json:"tool,omitempty"`
	Schema string `json:"schema,omitempty"`
}
