package store

import "pawl/run"

// The forms of what happens to a turn as a whole.

type nudged struct {
	Reason run.NudgeReason `json:"reason"`
	Text   string          `json:"text,omitempty"`
}

type interrupted struct {
	Cause   run.Cause  `json:"cause"`
	Call    run.CallID `json:"call,omitempty"`
	By      string     `json:"by,omitempty"`
	Then    []part     `json:"then,omitempty"`
	Partial []part     `json:"partial,omitempty"`
}

func (d interrupted) fact() run.Interrupted {
	return run.Interrupted{Cause: d.Cause, Call: d.Call, By: d.By, Then: runParts(d.Then), Partial: runParts(d.Partial)}
}

type compacted struct {
	Stage   int          `json:"stage"`
	Calls   []run.CallID `json:"calls,omitempty"`
	Through string       `json:"through,omitempty"`
	Summary string       `json:"summary,omitempty"`
	Freed   int64        `json:"freed,omitempty"`
}

type synthesized struct {
	Text string    `json:"text,omitempty"`
	End  turnEnded `json:"end,omitzero"`
}

func (d synthesized) fact() run.Synthesized {
	return run.Synthesized{Text: d.Text, End: run.Ended(d.End)}
}

type turnEnded struct {
	End    run.End `json:"end"`
	Reason string  `json:"reason,omitempty"`
	Detail string  `json:"detail,omitempty"`
}
