//go:build linux || darwin

package proc

import "syscall"

// readNow reads what is there from a descriptor that does not block.
func readNow(fd uintptr, buf []byte) (int, error) { return syscall.Read(int(fd), buf) }
