package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"pawl/internal/diskuse"
	"pawl/internal/inside"
)

// Tidy removes what killed processes have left and no run needs: lock files without a run,
// and the folders of a recovery. It removes only what is older than age, and returns how
// many bytes that has freed.
func (s *fileStore) Tidy(ctx context.Context, age time.Duration, now time.Time) (freed int64, err error) {
	if s.writer == nil {
		return 0, ErrForReading
	}
	marked, err := s.marked()
	if err != nil {
		return 0, err
	}
	var problems []error
	for _, id := range marked {
		if CheckID(id) != nil {
			continue // not one of ours
		}
		if _, err := s.lookup(ctx, id); !errors.Is(err, ErrNotFound) {
			if ctx.Err() != nil {
				return freed, ctx.Err()
			}
			continue
		}
		size, err := removeLock(lockPath(s.dir, id), age, now)
		freed += size
		problems = append(problems, err)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, recoverPattern))
	problems = append(problems, err)
	for _, dir := range left {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || now.Sub(info.ModTime()) <= age {
			continue
		}
		size := diskuse.Tree(dir)
		if err := inside.RemoveAll(s.dir, dir); err != nil {
			problems = append(problems, fileError(dir, err))
			continue
		}
		freed += size
	}
	return freed, errors.Join(problems...)
}

// removeLock removes a lock file that is older than age and that no process has locked. It
// is removed while it is locked: see [fileStore.own].
func removeLock(path string, age time.Duration, now time.Time) (freed int64, err error) {
	info, err := os.Lstat(path)
	if err != nil || now.Sub(info.ModTime()) <= age {
		return 0, nil // it was removed, or is new
	}
	lock, err := openLock(path)
	if err != nil {
		return 0, fileError(path, err)
	}
	got, err := lock.TryLock()
	if got && isAt(lock.file, path) {
		if err = inside.Remove(folderOf(path), path); err == nil {
			freed = diskuse.Of(info)
		}
	}
	return freed, errors.Join(fileError(path, err), lock.Close())
}
