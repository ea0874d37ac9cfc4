//go:build !unix

package console

import "os"

// notifyContinued does nothing: processes are not stopped here.
func notifyContinued(chan<- os.Signal) {}

func inForeground(*os.File) bool { return true }

// pushLine does nothing: the beginning of a line belongs to its rest.
func pushLine(*os.File) {}

// awaitClosed returns a function that reports nothing: a closed reader is only noticed at the next write.
func awaitClosed(*os.File) (wait func() bool) { return func() bool { return false } }
