//go:build unix && !linux

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput discards what was typed before it was asked for. An error leaves it there.
func flushInput(f *os.File) {
	const read = 1 // FREAD
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, read)
}
