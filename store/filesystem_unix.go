//go:build linux || darwin

package store

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// freeSpace returns the bytes that this user may still write where path is.
func freeSpace(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// fileSizeLimit returns how long this process may make a file.
func fileSizeLimit() (uint64, error) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit)
	return limit.Cur, err
}
