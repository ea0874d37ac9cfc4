// Package task is the state machine of a task: a card that is planned by a planner agent,
// carried out by worker agents, and handed in exactly once.
//
// It is pure and has the shape of package run. What has happened is a list of events
// ([State.Apply]); what is owed is a function of the state ([State.Next]). [State.Do] turns
// what a person, an agent or a run does into the events that follow from it, or refuses it
// with an error that says why. A task has no owner: a writer appends the events of Do
// after the last event that it knows, and asks Do again if another writer was first.
//
//	           plan                    planned
//	pending ─────────▶ planning ──────────────────▶ planned ◀──────┐
//	   ▲                │ ▲   │ questions              │            │ reopen
//	   │         answers│ │   ▼                        │ start      │
//	   │                │ └── awaiting_input           ▼            │
//	   │ retry          │ stopped            blocked, pause         │
//	   │                ▼                    ┌────── active ──▶ completed
//	failed ◀─────── waiting ◀────────────────┘  ▲      │
//	   ▲                └──── resume ───────────┘      │
//	   └───── failed, cancelled (from any state that is not final)
//
// Words for a task that is completed or failed lead back to the agent that worked last.
//
// The status changes by [StatusChanged] alone, along a row of the table of transitions (transition.go). A status that
// has an agent at work carries its run; leaving the status leaves the run, and a run that
// has not ended and that the status does not carry is owed a [StopRun].
package task
