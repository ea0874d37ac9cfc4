//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package store

import "errors"

// errPlatform is said where there is no lock that the kernel frees with the process.
var errPlatform = errors.New("pawl cannot keep runs on this system; on Windows use it inside WSL")

func (l *fileLock) Lock() error            { return errPlatform }
func (l *fileLock) TryLock() (bool, error) { return false, errPlatform }
func (l *fileLock) Held() (bool, error)    { return false, errPlatform }
func (l *fileLock) Unlock() error          { return nil }
