//go:build unix

package output

import (
	"syscall"
	"time"
)

func init() {
	cpuTime = func(children bool) time.Duration {
		who := syscall.RUSAGE_SELF
		if children {
			who = syscall.RUSAGE_CHILDREN
		}
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			panic(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
}
