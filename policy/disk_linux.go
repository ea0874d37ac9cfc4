package policy

import "syscall"

// changeTime returns when the file itself was last changed, in nanoseconds.
func changeTime(s *syscall.Stat_t) int64 { return s.Ctim.Nano() }
