package policy

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// changeTime returns when the file itself was last changed, in nanoseconds.
func changeTime(s *syscall.Stat_t) int64 { return s.Ctim.Nano() }

// openUnlinked opens a file below dir if there is no link in its path. It returns nil if it cannot.
func openUnlinked(dir *os.File, name string) *os.File {
	if dir == nil {
		return nil
	}
	fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), name)
}
