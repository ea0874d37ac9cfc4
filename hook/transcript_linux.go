package hook

import (
	"os"

	"golang.org/x/sys/unix"
)

// shared returns content as a file of no folder that any number of commands can open by path, as the first file after
// those of [tool.RunCommand]: nothing of it stays on the disk, and none of them can change it for the others.
func shared(content []byte) (f *os.File, path string, err error) {
	fd, err := unix.MemfdCreate("transcript", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, "", os.NewSyscallError("memfd_create", err)
	}
	f = os.NewFile(uintptr(fd), "transcript")
	if _, err = f.Write(content); err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK)
	}
	return f, "/dev/fd/5", err
}

func forget(f *os.File) { f.Close() }
