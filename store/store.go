// Package store keeps runs: their event logs, their inboxes, and who owns them.
//
// An event that Append has returned for is durable: it survives kill -9 and the
// loss of power. Events of a run are numbered without gaps and chained by
// SHA-256; they never change. Only a run's owner appends to it; everyone else
// puts rows into its inbox.
//
// The store knows nothing of what a run may do next: that is package run.
package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"pawl/run"
)

// A Store holds the runs of one workspace. It is safe for concurrent use, by
// several processes too.
type Store interface {
	// Append adds events to a run behind number after (0: the run is new), in one
	// transaction with taking the inbox rows named in took out of the inbox. It
	// numbers the events itself. When it returns nil they are durable; on an
	// error nothing was written. ErrConflict means that someone else has
	// appended: the caller's state is stale and it must not go on.
	Append(ctx context.Context, id run.ID, after int64, events []run.Event, took ...int64) error

	// Events yields a run's events with numbers greater than after, in order. It
	// ends at the last one there is now. An event of an unknown type or a newer
	// version is an [*UnreadableError].
	Events(ctx context.Context, id run.ID, after int64) iter.Seq2[run.Event, error]

	// Run returns what is known of a run at a glance; ErrNotFound if there is none.
	Run(ctx context.Context, id run.ID) (Summary, error)
	// Runs returns the newest root runs first, at most limit (0: all).
	Runs(ctx context.Context, limit int) ([]Summary, error)

	// Verify reads a run's whole chain and returns the first thing wrong with it.
	Verify(ctx context.Context, id run.ID) error

	// Own makes the caller the owner of a run, until Release or the death of the
	// process. While another process has it, the error is an [*OwnedError].
	// socket is the address the owner listens on, told to those who are refused.
	Own(ctx context.Context, id run.ID, socket string) (Lease, error)

	// Put puts a row into a run's inbox; a row whose key is already there, taken
	// or not, is ignored, so it is safe to repeat. It is durable on return.
	Put(ctx context.Context, id run.ID, row Row) error
	// Inbox returns the rows that nobody took yet, oldest first.
	Inbox(ctx context.Context, id run.ID) ([]Row, error)

	Close() error
}

// A Lease is the right to drive a run. Release gives it up and may be called twice.
type Lease interface{ Release() error }

// A Row is something wanted of a run by somebody who does not own it.
type Row struct {
	ID      int64  // given by Put's store
	Key     string // idempotency key, unique in the run
	Kind    Kind
	Payload string // by kind: the words, the decision as JSON, …
	At      time.Time
}

// A Kind says what a row wants.
type Kind string

const (
	Prompt    Kind = "prompt"    // words: a new turn, or the answer to an open question
	Steer     Kind = "steer"     // words, delivered with the next results
	Queue     Kind = "queue"     // words, delivered when the turn has ended
	Withdraw  Kind = "withdraw"  // the id of a steering or queued message
	Interrupt Kind = "interrupt" // stop the turn; the payload says who
	Decide    Kind = "decide"    // JSON: {"call":…, "answer":…, "text":…, "by":…}
)

// A Summary is a run at a glance.
type Summary struct {
	ID        run.ID
	Parent    run.ID
	Workspace string
	Model     string
	Title     string // the first line of the first prompt, at most 80 characters
	Created   time.Time
	Updated   time.Time
	Seq       int64   // of its last event
	End       run.End // of its last turn; empty while a turn is open
	Reason    string
	Steps     int
	Usage     run.Usage
}

var (
	ErrNotFound = errors.New("no such run")
	ErrConflict = errors.New("someone else has written to this run")
)

// An OwnedError says who drives the run.
type OwnedError struct {
	Run    run.ID
	PID    int
	Socket string
}

// An UnreadableError is an event that this pawl cannot read: the run can be
// looked at up to here, and not driven.
type UnreadableError struct {
	Run     run.ID
	Seq     int64
	Type    string
	Version int
	Writer  string // the pawl that wrote it, where it says
}
