package store

import (
	"fmt"
	"time"

	"pawl/run"
)

// An OwnedError means that another owner has the run. PID is 0 and Socket empty if the
// owner has the lock and has not written its name yet.
type OwnedError struct {
	Run    run.ID
	PID    int
	Socket string
	Host   string // of the owner; empty: this machine
	// Left is the time until the lease expires if its owner has died; 0 if the lease ends with its owner.
	Left time.Duration
}

func (e *OwnedError) Error() string { return fmt.Sprintf("run %s is driven by %s", e.Run, e.By()) }

// By names the owner: "process 7", "process 7 on db1".
func (e *OwnedError) By() string {
	switch {
	case e.PID == 0:
		return "another process"
	case e.Host != "":
		return fmt.Sprintf("process %d on %s", e.PID, e.Host)
	}
	return fmt.Sprintf("process %d", e.PID)
}

// A LockedError says which process holds the lock that a writer needs.
type LockedError struct {
	Path  string
	PID   int    // 0: unknown
	State string // of that process, as in proc_pid_stat(5); empty: unknown
	Err   error  // the context's error, if that ended the wait
}

func (e *LockedError) Error() string {
	switch {
	case e.PID == 0:
		return e.Path + ": another process holds the lock"
	case e.State == "T" || e.State == "t":
		return fmt.Sprintf("%s: process %d holds the lock and is stopped (state %s): "+
			"continue it with `kill -CONT %[2]d`, or end it with `kill -KILL %[2]d`", e.Path, e.PID, e.State)
	}
	return fmt.Sprintf("%s: process %d holds the lock", e.Path, e.PID)
}

func (e *LockedError) Unwrap() error { return e.Err }

// An UnreadableError means that this release of pawl cannot read an event: the run can be
// read up to it, and cannot be driven.
type UnreadableError struct {
	Run     run.ID
	Seq     int64
	Type    string
	Version int
	Writer  string // the version of pawl that appended last; empty: unknown
}

func (e *UnreadableError) Error() string {
	by := e.Writer
	if by == "" {
		by = "a newer pawl"
	} else {
		by = "pawl " + by
	}
	return fmt.Sprintf("run %s: event %d (%s, version %d) was written by %s and cannot be read by this one: "+
		"the run can be read up to there; drive it with the pawl that wrote it", e.Run, e.Seq, e.Type, e.Version, by)
}

// A ChainError is the first thing wrong with a run's log. It is an [ErrCorrupt].
type ChainError struct {
	Run  run.ID
	Seq  int64  // the event; 0: the summary
	What string // what is wrong with it
	// Server: the log is in the database of a server, which `pawl runs recover` cannot read.
	Server bool
}

func (e *ChainError) Error() string {
	if e.Seq == 0 && e.Server {
		return fmt.Sprintf("run %s: %s: restore the database from a backup; the other runs and tasks can be used as before", e.Run, e.What)
	}
	if e.Seq == 0 {
		return fmt.Sprintf("run %s: %s: `pawl runs recover` restores it from the log, if it is your own", e.Run, e.What)
	}
	s := fmt.Sprintf("run %s: event %d %s: the log was changed or damaged after it was written", e.Run, e.Seq, e.What)
	if e.Seq > 1 {
		s += fmt.Sprintf("; the events before it are intact: `pawl runs fork %s --at %d` continues from there", e.Run, e.Seq-1)
	}
	return s
}

// Is reports whether target is ErrCorrupt.
func (e *ChainError) Is(target error) bool { return target == ErrCorrupt }
