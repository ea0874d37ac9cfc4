package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"pawl/run"
)

// owner is the content of a lock file, for those who are refused.
type owner struct {
	PID    int    `json:"pid"`
	Socket string `json:"socket,omitempty"`
}

// Own implements [Store].
//
// A lock file stays when its run is released. To remove it would let two processes
// own one run: A releases and removes while B, who has opened the file before, locks
// what now has no name, and C makes a new file of that name and locks it as well.
// One small file per run is the price.
func (s *SQLite) Own(ctx context.Context, id run.ID, socket string) (Lease, error) {
	if err := s.check(ctx, id); err != nil {
		return nil, err
	}
	l, err := s.own(id, socket)
	if err != nil {
		return nil, fmt.Errorf("own %s: %w", id, err)
	}
	return l, nil
}

func (s *SQLite) own(id run.ID, socket string) (*lease, error) {
	dir := filepath.Join(s.dir, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fileError(dir, err)
	}
	path := filepath.Join(dir, string(id)+".lock")
	lock, err := openLock(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	got, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, errors.Join(fileError(path, err), lock.Close())
	case !got:
		return nil, errors.Join(refusedBy(id, lock.file), lock.Close())
	}
	if err := writeOwner(lock.file, owner{os.Getpid(), socket}); err != nil {
		return nil, errors.Join(fileError(path, err), lock.Close())
	}
	return &lease{lock: lock}, nil
}

// refusedBy reads who has the lock. It is a courtesy and not a truth: in the
// instant between lock and name the file is empty or names an owner that was killed.
func refusedBy(id run.ID, file *os.File) error {
	refused := &OwnedError{Run: id}
	var o owner
	if content, err := io.ReadAll(io.NewSectionReader(file, 0, 64<<10)); err == nil && json.Unmarshal(content, &o) == nil {
		refused.PID, refused.Socket = o.PID, o.Socket
	}
	return refused
}

func writeOwner(file *os.File, o owner) error {
	content, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	return err
}

type lease struct {
	mu   sync.Mutex
	lock *fileLock // nil once released
}

func (l *lease) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock == nil {
		return nil
	}
	lock := l.lock
	l.lock = nil
	// The name goes while the lock still holds, so that nobody is told of an owner
	// that has gone. Unlocked by hand, not by closing alone: a child process that is
	// just being started may still share the descriptor.
	err := errors.Join(lock.file.Truncate(0), lock.Unlock(), lock.Close())
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}
