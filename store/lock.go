package store

import (
	"errors"
	"os"
)

// A fileLock is an exclusive lock on a file, freed by the kernel when the process
// dies. It belongs to this opening of the file: a second opening, in this
// process or another, conflicts with it. The methods are written per platform:
//
//	func (l *fileLock) Lock() error            // waits
//	func (l *fileLock) TryLock() (bool, error) // does not wait
//	func (l *fileLock) Held() (bool, error)    // by another opening; takes no lock itself
//	func (l *fileLock) Unlock() error
type fileLock struct{ file *os.File }

// openLock opens the lock file at path, and makes it if it is not there.
func openLock(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &fileLock{f}, nil
}

// Close frees the lock, if it is held, and closes the file. It may be called twice.
func (l *fileLock) Close() error {
	if err := l.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
