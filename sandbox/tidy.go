package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/diskuse"
	"pawl/internal/inside"
)

// tempDir returns the temporary folder of the commands of a workspace, whose links are
// resolved.
func tempDir(stateDir, workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(stateDir, "tmp", hex.EncodeToString(sum[:6]))
}

// journalsDir returns the folder of the journals of a workspace.
func journalsDir(stateDir, workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(stateDir, "sandbox", hex.EncodeToString(sum[:16]))
}

// MayHaveLeft reports whether a process that ran commands in a workspace may have been killed
// meanwhile, so that there may be something for [Policy.Recover] to undo. It costs less than to
// make a policy. stateDir is as in [Options].
func MayHaveLeft(stateDir, workspace string) bool {
	if resolved, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = resolved
	}
	return mayHaveLeft(journalsDir(stateDir, workspace))
}

// mayHaveLeft is [MayHaveLeft] for a folder of journals.
func mayHaveLeft(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasSuffix(e.Name(), journalSuffix) && !isIdle(filepath.Join(dir, e.Name()))
	})
}

// overlaysDir returns the folder of the changes to caches of a workspace.
func overlaysDir(stateDir, workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(stateDir, "overlays", hex.EncodeToString(sum[:16]))
}

// TempUsage returns how many bytes on the disk the temporary files of a workspace's commands
// occupy. stateDir is as in [Options].
func TempUsage(stateDir, workspace string) int64 {
	if resolved, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = resolved
	}
	return diskuse.Tree(tempDir(stateDir, workspace))
}

// TidyTemp removes from the temporary folder of a workspace's commands what was not written
// to for age, and returns how many bytes on the disk that has freed. A folder counts with
// all that is in it. While a process runs commands in the workspace, or may soon, nothing
// is removed; the caller makes sure that no run of the workspace has an owner.
func TidyTemp(ctx context.Context, stateDir, workspace string, age time.Duration, now time.Time) (freed int64, err error) {
	if resolved, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = resolved
	}
	inUse, err := commandsMayRun(stateDir, journalsDir(stateDir, workspace))
	if inUse || err != nil {
		return 0, err
	}
	temp := tempDir(stateDir, workspace)
	if info, err := os.Lstat(temp); err == nil && !info.IsDir() {
		return 0, nil // a link leads to somebody else's files
	}
	entries, err := inside.ReadDir(stateDir, temp)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	problems := []error{err}
	for _, e := range entries {
		if ctx.Err() != nil {
			return freed, ctx.Err()
		}
		path := filepath.Join(temp, e.Name())
		if now.Sub(lastWritten(path)) <= age {
			continue
		}
		size := diskuse.Tree(path)
		if err := removeTree(stateDir, path); err != nil {
			problems = append(problems, fmt.Errorf("remove temporary files: %w", err))
			continue
		}
		freed += size
	}
	return freed, errors.Join(problems...)
}

// Forget removes what is kept for the commands of a workspace that is not there any more:
// their temporary files, their changes to caches, and the journals.
func Forget(stateDir, workspace string) error {
	var problems []error
	for _, dir := range []string{tempDir(stateDir, workspace), overlaysDir(stateDir, workspace), journalsDir(stateDir, workspace)} {
		problems = append(problems, removeTree(stateDir, dir))
	}
	return errors.Join(problems...)
}

// commandsMayRun reports whether a process that has run commands in the workspace lives.
// It does not wait for one that holds the lock of the journals.
func commandsMayRun(stateDir, journals string) (bool, error) {
	locking, err := inside.OpenFile(stateDir, filepath.Join(journals, "lock"), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // none ever has
	} else if err != nil {
		return true, err
	}
	defer locking.Close() // this frees the lock too
	if tryLockFile(locking) != nil {
		return true, nil
	}
	entries, err := inside.ReadDir(stateDir, journals)
	if err != nil {
		return true, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), journalSuffix) {
			continue
		}
		f, err := inside.OpenFile(stateDir, filepath.Join(journals, e.Name()), os.O_RDONLY, 0)
		if err != nil {
			continue // it was removed
		}
		lives := tryLockFile(f) != nil
		f.Close() // this frees the lock too
		if lives {
			return true, nil
		}
	}
	return false, nil
}

// lastWritten returns when path, or something below it, was last written to.
func lastWritten(path string) (last time.Time) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		return nil
	})
	return last
}

// removeTree removes path and everything below it, read-only folders too, as those of
// Go's module cache are.
func removeTree(stateDir, path string) error {
	err := inside.RemoveAll(stateDir, path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	root, err := os.OpenRoot(stateDir)
	if err != nil {
		return err
	}
	defer root.Close()
	name, err := filepath.Rel(stateDir, path)
	if err != nil {
		return err
	}
	_ = fs.WalkDir(root.FS(), filepath.ToSlash(name), func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(name, 0o700) // before it is read
		}
		return nil
	})
	return root.RemoveAll(name)
}
