package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"pawl/run"
)

// An Owner is the process that drives a run, as written in the run's lock file. All
// fields are empty if the owner has the lock and has not written them yet.
type Owner struct {
	PID    int    `json:"pid"`
	Socket string `json:"socket,omitempty"` // the address it listens on, for socket.Dial; may be empty
	Waits  string `json:"waits,omitempty"`  // what keeps it from working, for people; see [Lease]
	Host   string `json:"host,omitempty"`   // empty: this machine
}

// Own implements [Store].
//
// A lock file is removed with its run and not when the run is released. It is removed while
// it is locked: a process that has opened it before, and locks it after, finds that it is
// not the file at its path any more and tries again.
func (s *fileStore) Own(ctx context.Context, id run.ID, socket string) (Lease, error) {
	if err := s.check(ctx, id); err != nil {
		return nil, err
	}
	l, err := s.own(id, socket)
	if err != nil {
		return nil, fmt.Errorf("own %s: %w", id, err)
	}
	return l, nil
}

func (s *fileStore) own(id run.ID, socket string) (*lease, error) {
	if s.writer == nil {
		return nil, ErrForReading
	}
	path := lockPath(s.dir, id)
	if err := makeDir(filepath.Dir(path)); err != nil {
		return nil, fileError(filepath.Dir(path), err)
	}
	var lock *fileLock
	for lock == nil {
		var err error
		if lock, err = openLock(path); err != nil {
			return nil, fileError(path, err)
		}
		got, err := lock.TryLock()
		switch {
		case err != nil:
			return nil, errors.Join(fileError(path, err), lock.Close())
		case !got:
			o := readOwner(lock.file)
			return nil, errors.Join(&OwnedError{Run: id, PID: o.PID, Socket: o.Socket}, lock.Close())
		case !isAt(lock.file, path):
			lock.Close() // nothing was written to it
			lock = nil
		}
	}
	o := Owner{PID: os.Getpid(), Socket: socket}
	if err := writeOwner(lock.file, o); err != nil {
		return nil, errors.Join(fileError(path, err), lock.Close())
	}
	return &lease{lock: lock, owner: o}, nil
}

// isAt reports whether file is the one at path.
func isAt(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(opened, now)
}

// Owner implements [Store]. It takes no lock, so it cannot make a concurrent Own fail.
func (s *fileStore) Owner(ctx context.Context, id run.ID) (Owner, bool, error) {
	if err := s.check(ctx, id); err != nil {
		return Owner{}, false, err
	}
	path := lockPath(s.dir, id)
	f, err := openLockFile(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return Owner{}, false, nil
	} else if err != nil {
		return Owner{}, false, fileError(path, err)
	}
	defer f.Close() // it was only read
	held, err := (&fileLock{f}).Held()
	if err != nil || !held {
		return Owner{}, false, fileError(path, err)
	}
	return readOwner(f), true, nil
}

// readOwner reads a lock file that is locked by another open file. Before the new owner
// has written its name, the file is empty or names an owner that was killed.
func readOwner(file *os.File) Owner {
	var o Owner
	content, err := io.ReadAll(io.NewSectionReader(file, ownerAt, 64<<10))
	if err != nil || json.Unmarshal(content, &o) != nil {
		return Owner{}
	}
	return o
}

func writeOwner(file *os.File, o Owner) error {
	content, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := file.Truncate(ownerAt); err != nil {
		return err
	}
	_, err = file.WriteAt(content, ownerAt)
	return err
}

type lease struct {
	mu    sync.Mutex
	lock  *fileLock // nil once released
	owner Owner     // but for Waits
	size  int       // of what Wait has written
}

// Held implements [Lease]: the lock ends with the process.
func (l *lease) Held(context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lock != nil, nil
}

// Lost implements [Lease].
func (l *lease) Lost() <-chan struct{} { return nil }

func (l *lease) Wait(why string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock == nil {
		return nil
	}
	o := l.owner
	o.Waits = why
	content, err := json.Marshal(o)
	if err == nil { // over what is there, in one piece: who reads it meanwhile still finds the owner
		content = append(content, bytes.Repeat([]byte{' '}, max(0, l.size-len(content)))...)
		l.size = len(content)
		_, err = l.lock.file.WriteAt(content, ownerAt)
	}
	return err
}

func (l *lease) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock == nil {
		return nil
	}
	lock := l.lock
	l.lock = nil
	// The name is removed while the lock is held, so that no process is told of an
	// owner that has released. Unlocked by hand, not by closing alone: a child process that is
	// just being started may still share the descriptor.
	err := errors.Join(lock.file.Truncate(ownerAt), lock.Unlock(), lock.Close())
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}
