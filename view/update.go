// Package view turns what happens in a run into what a person reads: messages, calls with
// their state, decisions, notices, ends. It is the one projection behind every face; what
// a face adds is how an [Item] looks.
//
// It is pure: the same updates give the same items, whether they come live or from the
// log of a run that ended years ago.
package view

import "pawl/run"

// An Update is something new of a run. Exactly one field is set, but for Waiting and Diff.
// Events are durable before they are shown, and come in order without gaps; everything else
// is live: it is lost if no face followed the run at that moment.
type Update struct {
	Event *run.Event
	// Diff is what the call that Event settles has changed, as a unified diff: a face that
	// wants more than the result says finds it out. It may be empty.
	Diff  string
	Delta *Delta // a piece of the answer that streams
	// Drop says that the answer that streams will be requested again: what was shown
	// of it does not count.
	Drop     bool
	Progress *Progress
	// Stopping says that an interrupt was accepted: nothing starts any more. Its event
	// follows.
	Stopping *run.Interrupted
	// Waiting are the calls that wait for a person now; not nil. Empty: the run has
	// resumed, or its turn has ended.
	Waiting []run.CallID
	// Below is a run that a call of this one has started, or one below that, which has come to
	// wait for a person, or waits no more.
	Below run.ID
	// Notice is a sentence about something that does not work and does not keep the run
	// from working.
	Notice string
}

// A Delta is a piece of an answer as it arrives.
type Delta struct {
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	Tool     string `json:"tool,omitempty"` // a call to this tool has begun
	// Arguments is a piece of the arguments of the call that has begun last.
	Arguments string `json:"arguments,omitempty"`
}

// Progress is what a running call prints. Text is the end of all it has printed so far, a
// few lines: it replaces what was shown before.
type Progress struct {
	Call run.CallID `json:"call"`
	Text string     `json:"text"`
}
