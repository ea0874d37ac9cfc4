//go:build !linux && unix

package external

import (
	"syscall"
	"time"

	"pawl/run"
)

// Without /proc a turn is the session of its program: what an agent starts in a session of
// its own is not found.

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func interrupt(pid int) { _ = syscall.Kill(-pid, syscall.SIGINT) }

func terminateTree(_ string, pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

type members struct{}

func tree(string, int) members { return members{} }

func killTree(_ string, pid int, _ members) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

func endTree(string, time.Duration) {}

func atWork(string) map[run.ID]members { return nil }

func (members) memory() int64 { return 0 }

func isLeft(string) bool { return false }
