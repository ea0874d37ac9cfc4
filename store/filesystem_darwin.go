package store

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// fileSystem names the file system of dir and says whether it is on the network:
// what macOS does not call local is. statfs(2).
func fileSystem(dir string) (name string, network bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false, err
	}
	return unix.ByteSliceToString(st.Fstypename[:]), st.Flags&unix.MNT_LOCAL == 0, nil
}

// freeSpace returns the bytes that this user may still write where path is.
func freeSpace(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}
