// Package store keeps runs and tasks: their event logs, the inboxes and owners of runs.
//
// When Append returns, its events are durable: they survive kill -9 and loss of power.
// Events of a run are numbered without gaps and chained by SHA-256; they never change.
// Only a run's owner appends to it; other processes put rows into its inbox.
//
// The store does not interpret events: that is package run.
//
// [Open] opens the store of one machine: a folder with one database file, in SQLite. The store of many is
// in package postgres.
//
//	pawl.db             events, summaries, inboxes, submissions (with its -wal and -shm files)
//	write.lock          held while a process writes to the database; names that process
//	locks/<run>.lock    held by the run's owner; names that process, and the last event
//	                    of the log; removed with the run
//
// The log guards itself. Each event has a hash over itself and the event before, and
// each summary one over itself; the last event is also noted outside of the database. A log
// that was changed, or has lost its end, is read up to that place and not continued
// ([ChainError]). With a key ([Options].Key) only its owner can compute all of this again, so a log from elsewhere is
// read and not continued; without one, such a change is not detected.
//
// A run can be removed as a whole ([Database].Remove, [Database].Prune); its events are never
// removed singly. A store that is opened for reading ([Options].ReadOnly) creates and locks
// nothing.
//
// What is not an event, such as a wake-up for an owner, goes through the sockets of package
// socket.
package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"pawl/run"
)

// A Store holds the runs of one workspace. It is safe for concurrent use, by
// several processes too.
//
// Errors about the files themselves are [ErrDiskFull], [ErrReadOnly], [ErrCorrupt],
// [ErrNewer] and [ErrNetworkFS], with the file and what to do in their text.
type Store interface {
	Tasks

	// Append adds events to a run after event number after (0: the run is new). In
	// the same transaction it takes rows out of the run's inbox and stores their
	// answers. It numbers the events itself. When it returns nil, all of it is durable.
	//
	// ErrConflict means that another process has appended: the caller's state is stale
	// and it must not continue. ErrTaken means that a row of taken is not waiting in this
	// run's inbox. After those, and after the context's error, nothing was written. After
	// any other error it is unknown what was written: the caller must discard its state
	// and load the run again.
	Append(ctx context.Context, id run.ID, after int64, events []run.Event, taken ...Taken) error

	// Events yields a run's events with numbers greater than after, in order, and
	// ends at the last one there was when it was called; ErrNotFound if there is
	// no such run. It checks the chain as it reads: where the log was changed or is
	// incomplete, it yields the events before that place and then a [*ChainError]; if
	// only the summary was changed, the error comes after the last event. An event
	// of an unknown type or a newer version is an [*UnreadableError]. An error is the
	// last thing it yields, and a run whose events end in one must not be continued.
	// The caller may use the store while it ranges.
	Events(ctx context.Context, id run.ID, after int64) iter.Seq2[run.Event, error]

	// Run returns the summary of a run; ErrNotFound if there is no such run.
	Run(ctx context.Context, id run.ID) (Summary, error)
	// Runs returns the root runs, the one appended to last first, at most limit (0: all).
	// The order is that of the appends, not of any clock.
	Runs(ctx context.Context, limit int) ([]Summary, error)
	// Children returns the runs whose parent is id, the oldest first.
	Children(ctx context.Context, id run.ID) ([]Summary, error)
	// Conversation returns the root run root, then every run below it, the oldest first.
	Conversation(ctx context.Context, root run.ID) ([]Summary, error)

	// Said returns what people have said to the agent of a run, oldest first, to be searched:
	// it does not read the rest of the log, and does not check the chain. ErrNotFound if there
	// is no such run.
	Said(ctx context.Context, id run.ID) ([]string, error)

	// Verify reads a run's whole chain and returns the first thing wrong with it;
	// ErrNotFound if there is no such run.
	Verify(ctx context.Context, id run.ID) error

	// Own makes the caller the owner of a run, which need not exist yet, until Release or
	// the death of the process. If the run has an owner, in this or another process, the
	// error is an [*OwnedError]. socket is the address the caller listens on; it is part
	// of that error and of Owner.
	Own(ctx context.Context, id run.ID, socket string) (Lease, error)
	// Owner reports whether a run has an owner now, and returns it. It does not own the
	// run temporarily. A run that does not exist has no owner.
	Owner(ctx context.Context, id run.ID) (Owner, bool, error)

	// Put puts a row into a run's inbox; a row whose key is already there, taken
	// or not, is ignored, so it is safe to repeat. It is durable on return. The
	// row's ID is ignored; a zero At becomes now. ErrNotFound if there is no such run.
	Put(ctx context.Context, id run.ID, row Row) error
	// Inbox returns the rows that were not taken yet, oldest first, whatever their kind.
	Inbox(ctx context.Context, id run.ID) ([]Row, error)
	// Inboxes returns the runs whose inbox has rows that were not taken yet.
	Inboxes(ctx context.Context) ([]run.ID, error)
	// Answer reports whether the row with the key was taken, and the answer stored
	// with it. A caller that repeats a Put thus gets the answer of the first.
	// ErrNoRow if the inbox never had such a row.
	Answer(ctx context.Context, id run.ID, key string) (answer string, taken bool, err error)

	// Close closes the store; leases stay until they are released. It may be called
	// twice. All methods return ErrClosed afterwards.
	Close() error
}

// A Database is a [Store] that keeps runs until they are removed.
type Database interface {
	Store

	// Owned returns the runs that have an owner now.
	Owned(ctx context.Context) ([]run.ID, error)
	// Live, Removable, Prune, UsageOf and TaskCounts are those of [Tables].
	Live(ctx context.Context, id run.ID) (exists, live bool, err error)
	Removable(ctx context.Context, id run.ID) ([]run.ID, error)
	Prune(ctx context.Context, olderThan time.Duration, now time.Time, dry bool) (removed []run.ID, err error)
	UsageOf(ctx context.Context, ids ...run.ID) (Usage, error)
	TaskCounts(ctx context.Context) (map[string]int, error)
	// Remove deletes a run and the runs below it: logs, inboxes, summaries and lock files. It
	// returns the runs that were removed, the given one first. When it returns without an
	// error, this is durable; the room in the database is used for other runs until
	// Compact gives it back.
	//
	// The run may be unfinished, but must not be in use: if one of the runs has an owner, the
	// error is an [*OwnedError] that names the run; for a run that has forks, or a parent, it
	// is a [*NeededError]; if there is no such run, ErrNotFound. After these nothing was
	// removed. A process that is killed while it removes a run has removed all of it or none;
	// it may leave lock files, which Tidy removes.
	Remove(ctx context.Context, id run.ID) (removed []run.ID, err error)
	// End, TaskRuns and Unit are those of [Tables]: what is moved to another store.
	End(ctx context.Context, id run.ID) (seq int64, hash []byte, err error)
	TaskRuns(ctx context.Context, id string) ([]run.ID, error)
	Unit(ctx context.Context, task string, roots ...run.ID) (Unit, error)
	// Import adds runs with the events that they have in another store, and a task unless it is nil, in one transaction: all of it
	// is durable when it returns nil, and none of it is written after an error. The caller owns the runs. The error is
	// ErrConflict if one of them is there.
	Import(ctx context.Context, runs []Moved, t *TaskAppend) error
	// SetServed notes that a server of a machine drives a run, so that the next one continues it when that has died;
	// host "": none has to. The run may be one that has no event yet. Served returns those runs with their machines.
	SetServed(ctx context.Context, id run.ID, host string) error
	Served(ctx context.Context) (map[run.ID]string, error)
	// Tidy removes what killed processes have left, no run needs and is older than age. It
	// returns how many bytes that has freed.
	Tidy(ctx context.Context, age time.Duration, now time.Time) (freed int64, err error)
	// Usage returns what the store occupies.
	Usage(ctx context.Context) (Usage, error)
	// Compact gives the room of removed runs back.
	Compact(ctx context.Context) error
}

// A Lease is the right to drive a run.
type Lease interface {
	// Wait tells others, in [Owner], what keeps the owner from working; empty: nothing does.
	Wait(why string) error
	// Held reports whether the right has not ended: another process may have it when this one was stopped, or cut off from
	// the store, for too long.
	Held(ctx context.Context) (bool, error)
	// Lost is closed when the right has ended, or may have: it could not be renewed in time. It does not ask the store. nil:
	// it ends with the process.
	Lost() <-chan struct{}
	// Release gives the right up and may be called twice.
	Release() error
}

// A Row is a request to the owner of a run by another process.
type Row struct {
	ID      int64  // assigned by the store
	Key     string // idempotency key, unique in the run; not empty
	Kind    string // what is wanted; see package request
	Payload string // JSON, by kind
	At      time.Time
}

// Taken names an inbox row that Append takes, and the answer for its sender.
type Taken struct {
	ID     int64
	Answer string // JSON; may be empty
}

var (
	ErrNotFound = errors.New("no such run")
	ErrConflict = errors.New("another process has written to this run")
	ErrTaken    = errors.New("the inbox row is not waiting")
	ErrNoRow    = errors.New("no such inbox row")
	ErrClosed   = errors.New("the store is closed")
	ErrBadID    = errors.New("not a run id: it must be 1 to 80 of a-z, 0-9, _ and -")
)

// maxID bounds a run's id, which is a file name in the locks folder.
const maxID = 80

// CheckID returns ErrBadID unless id may name a run. Ids become file names, so
// nothing else gets in.
func CheckID(id run.ID) error {
	ok := len(id) >= 1 && len(id) <= maxID
	for i := range len(id) {
		c := id[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	}
	if !ok {
		return fmt.Errorf("%w: %.100q", ErrBadID, string(id))
	}
	return nil
}
