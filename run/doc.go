// Package run is the state machine of an agent's run: what the run has done is a
// list of events, and what it owes next is a function of that list.
//
// The package is pure: it uses no clock (times arrive with events), random numbers
// (identifiers are counted or arrive in events), goroutines, files or network. A test
// checks its imports. Three functions do the work:
//
//	State.Apply    the state after an event, or an error if it cannot follow
//	State.Next     all commands owed now, computed from the state each time
//	State.Recover  what to append after a replay, because a process died
//
// So to resume a run is to call Next after a replay, the code of a run that never
// stopped; to cancel is to stop what is in flight and no longer owed; and an approval
// that takes a month is plain data.
//
// A [Runner] is the loop around the three, also pure: from its input it makes a
// [Batch] of events to append, and says what to start and what to cancel once they
// are durable. Package worker drives it with goroutines, the simulation in the tests
// with crashes. The example of Runner is a complete driver.
//
// # A turn
//
//	            prompted
//	idle ──────────────────▶ ready ◀──────────────────────────────┐
//	 ▲                         │ request_started                  │
//	 │                         ▼                                  │
//	 │                     requesting ── request_failed ──────────┤
//	 │                         │ replied                          │
//	 │        no calls         ▼         calls                    │
//	 │        ┌───────────────────────────────┐                   │
//	 │        ▼                               ▼                   │
//	 │     spoken ──(told, said)──┐        calling                │
//	 │        │                   │   inspected ▶ decided         │
//	 │        │                   │        ▶ started ▶ settled ───┤
//	 │        │                   └───────────────────────────────┘
//	 │        ▼
//	 └──── turn_ended ◀── ending (account) ◀── limit, loop, failure
//	           ▲
//	           └───────── interrupting ◀── interrupted, from any phase
//
// One kind of command has no effect outside the log, [Derive]: an event that follows
// from the log alone (the end of a turn, a nudge, the result of a call that was never
// started). A driver appends it in the same batch as the events it follows from.
//
// # Choice and order
//
// Apply is strict about order: an answer without a request, a start without a
// decision, a second result are refused. It does not check choices: whether Next of
// this release would have nudged, stopped or compacted at that point. So the log of an
// older release replays under the rules it was made with. The interpretation of text
// (package heuristic) is not part of Apply: its results are fields of events.
//
// # Values
//
// States are values, with one rule that keeps replay linear: continue from the result
// of Apply or from the state it was called on, not from both. To use both, take a
// [State.Clone] first. An error of Apply leaves the state unchanged.
package run
