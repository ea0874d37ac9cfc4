package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput discards what was typed before it was asked for. An error leaves it there.
func flushInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
