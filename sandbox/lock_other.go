//go:build !unix

package sandbox

import (
	"errors"
	"os"
)

// There are no commands here, and so nothing to lock for.
func lockFile(*os.File) error    { return errors.ErrUnsupported }
func tryLockFile(*os.File) error { return errors.ErrUnsupported }
func shareFile(*os.File) error   { return errors.ErrUnsupported }
func unlockFile(*os.File) error  { return errors.ErrUnsupported }
func isLocked(error) bool        { return false }
