package changes

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

func changedOf(info fs.FileInfo) time.Time {
	if t, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(t.Ctimespec.Unix())
	}
	return info.ModTime()
}

func inodeOf(info fs.FileInfo) uint64 {
	if t, ok := info.Sys().(*syscall.Stat_t); ok {
		return t.Ino
	}
	return 0
}

func deviceOf(info fs.FileInfo) uint64 {
	if t, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(t.Dev)
	}
	return 0
}

// namesOf returns how many names a file has.
func namesOf(info fs.FileInfo) uint64 {
	if t, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(t.Nlink)
	}
	return 1
}

// bornAt returns when a file was made; false if the file system does not say.
func bornAt(f *os.File) (time.Time, bool) {
	if info, err := f.Stat(); err == nil {
		if t, ok := info.Sys().(*syscall.Stat_t); ok {
			return time.Unix(t.Birthtimespec.Unix()), t.Birthtimespec.Sec > 0
		}
	}
	return time.Time{}, false
}
