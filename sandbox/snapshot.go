package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Bounds of what a snapshot holds of one path; what is more can be told to have
// changed, and not be put back.
const (
	maxSnapshotFile  = 1 << 20 // bytes
	maxSnapshotFiles = 200
)

// A snapshot is a path as it was: a file, a link, a folder with all that is in it, or
// nothing. It is kept in memory and, as JSON, in a journal.
type snapshot struct {
	Mode    fs.FileMode          `json:"mode,omitempty"`    // 0: nothing was there
	Content []byte               `json:"content,omitempty"` // of a file; where a link leads
	Stamp   string               `json:"stamp,omitempty"`   // of what is too large to be held
	Files   map[string]*snapshot `json:"files,omitempty"`   // of a folder

	stat fileStat // when it was taken; zero: not known, so the content has to be compared
}

// A fileStat says whether something is still what it was, without reading it. The
// time of the last change of a file's data or attributes cannot be set back.
type fileStat struct {
	device, inode  uint64
	size           int64
	changed, taken time.Time
}

// clockTick is the coarsest that file systems tell times apart by; what changes
// within one of what was read cannot be told by its time.
const clockTick = 20 * time.Millisecond

func statOf(info fs.FileInfo) fileStat {
	s := fileStat{size: info.Size(), changed: info.ModTime(), taken: time.Now()}
	s.fill(info)
	return s
}

// same reports whether two looks at a path saw the same unchanged thing.
func (s fileStat) same(now fileStat) bool {
	return s.inode != 0 && s.isFile(now) && s.size == now.size && s.changed.Equal(now.changed) && s.taken.Sub(s.changed) > clockTick
}

// isFile reports whether both are of the same file, changed or not.
func (s fileStat) isFile(now fileStat) bool { return s.device == now.device && s.inode == now.inode }

// errTooLarge says that a snapshot has only a stamp of something.
var errTooLarge = errors.New("it was too large to be remembered")

func (s *snapshot) isThere() bool { return s.Mode != 0 }

// equals compares what two snapshots hold.
func (s *snapshot) equals(o *snapshot) bool {
	return s.Mode == o.Mode && s.Stamp == o.Stamp && bytes.Equal(s.Content, o.Content) && maps.EqualFunc(s.Files, o.Files, (*snapshot).equals)
}

// unchanged reports whether a path is certainly what it was when the snapshot was
// taken, without reading more than what the system knows of it.
func (s *snapshot) unchanged(root *os.Root, path string) bool {
	info, err := root.Lstat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) && !s.isThere()
	}
	if !s.isThere() || !s.stat.same(statOf(info)) {
		return false
	}
	if len(s.Files) == 0 {
		return true
	}
	dir, err := root.OpenRoot(path) // once for all that is in it
	if err != nil {
		return false
	}
	defer dir.Close()
	if info, err = dir.Stat("."); err != nil || !s.stat.isFile(statOf(info)) {
		return false // it was exchanged meanwhile
	}
	for name, f := range s.Files {
		if !f.unchanged(dir, name) {
			return false
		}
	}
	return true
}

// withoutStat makes s one whose content is always compared. It is for what was looked at
// while commands run: one that has a file mapped into its memory continues to write it, and
// the time of its last change stays.
func (s *snapshot) withoutStat() *snapshot {
	s.stat = fileStat{}
	for _, f := range s.Files {
		f.withoutStat()
	}
	return s
}

// take returns a snapshot of a path in root.
func take(root *os.Root, path string) *snapshot { return takeSome(root, path, new(int)) }

func takeSome(root *os.Root, path string, seen *int) *snapshot {
	s := &snapshot{}
	info, err := root.Lstat(path)
	if err != nil {
		return s
	}
	s.stat = statOf(info)
	if *seen++; *seen > maxSnapshotFiles {
		s.Mode, s.Stamp = fs.ModeIrregular, "many"
		return s
	}
	s.Mode = info.Mode()
	switch {
	case s.Mode.IsDir():
		dir, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return s
		}
		names, _ := dir.Readdirnames(-1)
		dir.Close()
		s.Files = map[string]*snapshot{}
		for _, name := range names {
			s.Files[name] = takeSome(root, filepath.Join(path, name), seen)
		}
	case s.Mode&fs.ModeSymlink != 0:
		to, _ := root.Readlink(path)
		s.Content = []byte(to)
	case s.Mode.IsRegular() && info.Size() <= maxSnapshotFile:
		// By now it may be a pipe without a writer, or have no end.
		f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return s
		}
		s.Content, _ = io.ReadAll(io.LimitReader(f, maxSnapshotFile))
		f.Close()
	case s.Mode.IsRegular():
		s.Stamp = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	}
	return s
}

// write puts what the snapshot holds at a path where nothing is.
func (s *snapshot) write(root *os.Root, path string) error {
	switch {
	case !s.isThere():
		return nil
	case s.Stamp != "":
		return errTooLarge
	case s.Mode.IsDir():
		if err := root.Mkdir(path, s.Mode.Perm()); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(s.Files)) {
			if err := s.Files[name].write(root, filepath.Join(path, name)); err != nil {
				return err
			}
		}
		return nil
	case s.Mode&fs.ModeSymlink != 0:
		return root.Symlink(string(s.Content), path)
	}
	f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, s.Mode.Perm())
	if err != nil {
		return err
	}
	_, err = f.Write(s.Content)
	return errors.Join(err, f.Close(), root.Chmod(path, s.Mode.Perm())) // the umask may have taken from it
}

// save writes what the snapshot holds to a folder outside, for a person to look at:
// files without their right to run, links as text.
func (s *snapshot) save(path string) error {
	if s.Stamp != "" {
		return errTooLarge
	}
	if s.Mode.IsDir() {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		for name, f := range s.Files {
			if err := f.save(filepath.Join(path, name)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, s.Content, 0o600)
}

// changedBefore reports whether what is at a path was last changed before a time.
func changedBefore(root *os.Root, path string, limit time.Time) bool {
	info, err := root.Lstat(path)
	return err == nil && statOf(info).changed.Before(limit)
}
