//go:build unix && !solaris && !illumos && !aix

package policy

import (
	"io/fs"
	"syscall"
)

func signatureOf(info fs.FileInfo) signature {
	sig := signature{found: true, size: info.Size(), modified: info.ModTime().UnixNano(), mode: info.Mode()}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		sig.device, sig.inode, sig.owner = uint64(s.Dev), s.Ino, int(s.Uid)
		sig.change = changeTime(s)
	}
	return sig
}
