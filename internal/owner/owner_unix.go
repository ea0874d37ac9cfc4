//go:build unix

// Package owner tells which user a file belongs to, where files have owners.
package owner

import (
	"io/fs"
	"syscall"
)

// Of returns the user that a file belongs to; known is false where files have no owner in
// the sense of Unix.
func Of(info fs.FileInfo) (uid int, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
