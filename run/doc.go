// Package run is the heart of pawl: what one agent at work has done, as a list
// of events, and what it owes the world next, as a function of that list.
//
// It is pure. It has no clock (instants arrive with events), no dice
// (identifiers are counted or arrive in events), no goroutine, no file, no
// network; a test forbids it the packages that would give it any. Three
// functions do the work:
//
//	State.Apply  the state after an event, or a refusal if it cannot follow
//	State.Next   everything owed now, from the state alone, restated each time
//	State.Lost   what to record after replay, because a process died
//
// So resuming is Next after a replay, the same code as never having stopped;
// cancelling is "in flight but no longer owed"; an approval that waits a month
// is plain data. Whoever drives a run (package worker) is a straight line: check
// with Apply, append durably, adopt.
//
// # A turn
//
//	            prompted, question_answered
//	idle ───────────────────────────────────▶ owes a request ◀──────────────┐
//	 ▲                                          │ request_started           │
//	 │                                          ▼                           │
//	 │                                        asking the model ── failed ───┤
//	 │                                          │ replied                   │
//	 │              no calls                    ▼          calls            │
//	 │        ┌───────────────────────────── replied ───────────┐           │
//	 │        ▼                                                 ▼           │
//	 │   end, nudge, continue ──(nudged, steered)──▶     asked ▶ allowed    │
//	 │        │                                          ▶ started ▶ settled┤
//	 │        ▼                                                 │           │
//	 └──── turn_ended ◀── synthesis ◀── limit, loop, interrupt ─┘───────────┘
//
// Next returns one kind of command that needs no world at all, [Record]: a fact
// that follows from the log alone (the end of a turn, a nudge, the answer to a
// call that was never started). A driver applies those at once and appends them
// with what made them true.
//
// # Choice and order
//
// Apply is strict about order: an answer without a request, a start without a
// decision, a second result are refused. It is lenient about choice: whether
// Next of this release would have nudged, stopped or compacted at that point.
// So the log of an older release replays under the rules it was made with.
//
// # Values
//
// States are values, with one rule that keeps replay linear: go on from the
// result of Apply or from the state it was called on, not from both. Whoever
// needs both takes a [State.Clone] first. On a refusal nothing has changed.
package run
