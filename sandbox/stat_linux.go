package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// fill takes what package os does not show.
func (s *fileStat) fill(info fs.FileInfo) {
	if t, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode = uint64(t.Dev), t.Ino
		s.changed = time.Unix(t.Ctim.Unix())
	}
}

// namesOf returns how many names a file has.
func namesOf(info fs.FileInfo) uint64 {
	if t, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(t.Nlink)
	}
	return 1
}

// moveOut moves what is at a path in root to a path outside of it, whose folder is made. It
// follows no link on the way in.
func moveOut(root *os.Root, path, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	dir, err := root.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return os.Rename(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), to)
}
