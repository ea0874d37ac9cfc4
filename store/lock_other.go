//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package store

import "errors"

// errPlatform is returned on systems without locks that the kernel releases with the process.
var errPlatform = errors.New("pawl cannot keep runs on this system; on Windows use it inside WSL")

func (l *fileLock) Lock() error            { return errPlatform }
func (l *fileLock) TryLock() (bool, error) { return false, errPlatform }
func (l *fileLock) Held() (bool, error)    { return false, errPlatform }
func (l *fileLock) Unlock() error          { return nil }
