package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pawl/internal/inside"
	"pawl/internal/proc"
)

// A fileLock is an exclusive lock on a file, released by the kernel when the process
// dies. It belongs to the open file: opening the file again, in this or another process,
// gives a conflicting lock. The platform-specific methods are:
//
//	func (l *fileLock) Lock() error            // waits
//	func (l *fileLock) TryLock() (bool, error) // does not wait
//	func (l *fileLock) Held() (bool, error)    // by another open file; takes no lock
//	func (l *fileLock) Unlock() error
type fileLock struct{ file *os.File }

// openLock opens the lock file at path, and creates it if it does not exist.
func openLock(path string) (*fileLock, error) {
	f, err := openLockFile(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	return &fileLock{f}, nil
}

// openLockFile opens a lock file of the store, and nothing outside of the store's folder.
func openLockFile(path string, flag int) (*os.File, error) {
	return inside.OpenFile(folderOf(path), path, flag, 0o600)
}

// folderOf returns the store's folder, in which the lock file at path is, or in its locks.
func folderOf(path string) string {
	dir := filepath.Dir(path)
	if filepath.Base(dir) == "locks" {
		dir = filepath.Dir(dir)
	}
	return dir
}

// Acquire takes the lock, writes this process's id to the file, and returns a function
// that frees the lock. After waiting for patience it calls waiting, once, with the
// process that holds it. If done is closed first, the error is a [*LockedError].
func (l *fileLock) Acquire(done <-chan struct{}, patience time.Duration, waiting func(*LockedError)) (unlock func() error, err error) {
	got, err := l.TryLock()
	if got {
		l.sign()
		return l.Unlock, nil
	} else if err != nil {
		return nil, err
	}
	// The wait in the kernel cannot be interrupted, so it uses an opening of its own. If
	// the lock comes after this function has returned, closing that frees the lock.
	own, err := openLock(l.file.Name())
	if err != nil {
		return nil, err
	}
	locked, gone := make(chan error), make(chan struct{})
	defer close(gone)
	go func() {
		err := own.Lock()
		select {
		case locked <- err:
		case <-gone:
			own.Close() // nothing was written to it
		}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case err := <-locked:
			if err != nil {
				return nil, errors.Join(err, own.Close())
			}
			own.sign()
			return func() error { return errors.Join(own.Unlock(), own.Close()) }, nil
		case <-timer.C:
			if waiting != nil {
				waiting(l.holder())
			}
		case <-done:
			return nil, l.holder()
		}
	}
}

// AcquireWithin is Acquire with an error after patience.
func (l *fileLock) AcquireWithin(patience time.Duration) (unlock func() error, err error) {
	done := make(chan struct{})
	return l.Acquire(done, patience, func(*LockedError) { close(done) })
}

// signature is the length of what sign writes.
const signature = 32

// sign writes this process's id to the file, for the processes that wait for it. An
// error is ignored: the id is information only.
func (l *fileLock) sign() {
	content, _ := json.Marshal(Owner{PID: os.Getpid()}) // two plain fields
	l.file.WriteAt(fmt.Appendf(nil, "%-*s\n", signature-1, content), ownerAt)
}

// holder reads which process has signed the file.
func (l *fileLock) holder() *LockedError {
	pid := readOwner(l.file).PID
	return &LockedError{Path: l.file.Name(), PID: pid, State: proc.State(pid)} // 0 has none
}

// Close releases the lock, if it is held, and closes the file. It may be called twice.
func (l *fileLock) Close() error {
	if err := l.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
