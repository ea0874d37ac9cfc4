//go:build linux && (amd64 || arm64)

package helper

// forkInit forks the process, with its memory shared. The child makes the system calls
// from calls on, forever, and touches neither stack nor anything of the Go runtime. It
// returns the process id of the child, or the negative number of an error.
//
//go:noescape
func forkInit(calls *systemCall) (pid int)
