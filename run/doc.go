// Package run is the heart of pawl: what one agent at work has done, as a list
// of events, and what it owes the world next, as a function of that list.
//
// It is pure. It has no clock (instants arrive with events), no randomness
// (identifiers are counted or arrive in events), no goroutine, no file, no
// network; a test forbids it the packages that would give it any. Three
// functions do the work:
//
//	State.Apply    the state after an event, or a refusal if it cannot follow
//	State.Next     everything owed now, from the state alone, restated each time
//	State.Recover  what to append after replay, because a process died
//
// So resuming is Next after a replay, the same code as never having stopped;
// cancelling is "in flight but no longer owed"; an approval that waits a month
// is plain data.
//
// A [Runner] is the loop around the three, still pure: it takes what came in, makes
// a [Batch] of events to append, and says what to start and what to cancel once they
// are durable. Package worker drives it with goroutines, the simulation in the tests
// with crashes. The example of Runner is the whole loop.
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
// Next returns one kind of command that needs nothing of the world, [Derive]: an event
// that follows from the log alone (the end of a turn, a nudge, the result of a call
// that was never started). A driver appends those with what made them true.
//
// # Choice and order
//
// Apply is strict about order: an answer without a request, a start without a
// decision, a second result are refused. It is lenient about choice: whether
// Next of this release would have nudged, stopped or compacted at that point.
// So the log of an older release replays under the rules it was made with. What
// interprets text (package heuristic) is not part of Apply: its conclusions are fields
// of events.
//
// # Values
//
// States are values, with one rule that keeps replay linear: go on from the
// result of Apply or from the state it was called on, not from both. Whoever
// needs both takes a [State.Clone] first. After a refusal nothing has changed.
package run
