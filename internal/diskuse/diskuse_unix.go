//go:build unix

package diskuse

import (
	"io/fs"
	"syscall"
)

// Of returns the bytes that a file takes.
func Of(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512 // stat(2): in units of 512 bytes on every system
	}
	return info.Size()
}
