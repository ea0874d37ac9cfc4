package changes

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

func changedOf(info fs.FileInfo) time.Time { return info.ModTime() }

// Inodes are not known here: a file that a command renames counts as one that was there before, and stays.
func inodeOf(fs.FileInfo) uint64 { return 0 }

func deviceOf(fs.FileInfo) uint64 { return 0 }

func namesOf(fs.FileInfo) uint64 { return 1 }

// bornAt returns when a file was made.
func bornAt(f *os.File) (time.Time, bool) {
	if info, err := f.Stat(); err == nil {
		if t, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
			return time.Unix(0, t.CreationTime.Nanoseconds()), true
		}
	}
	return time.Time{}, false
}
