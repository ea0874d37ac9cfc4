package gitcopy

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Discard removes the copy, what was saved of it and what keeps its objects. What was merged stays.
func (c Copy) Discard(ctx context.Context) error {
	if c.name() == "." || c.name() == string(filepath.Separator) {
		return errors.New("a copy without a name")
	}
	var saved error
	if c.Remote != "" {
		saved = c.unsave(ctx)
	}
	err := errors.Join(saved, removeAll(c.Dir))
	if _, statErr := os.Stat(c.Repository); statErr == nil {
		if _, keptErr := c.person().run(ctx, "rev-parse", "--verify", "--quiet", c.keep()); keptErr == nil {
			_, keptErr = c.person().run(ctx, "update-ref", "-d", c.keep())
			err = errors.Join(err, keptErr)
		}
	}
	return err
}

// removeAll removes a folder of which a process that is killed leaves none under its name.
// Folders that the agent has closed to itself are opened.
func removeAll(dir string) error {
	gone := dir + making + strings.ToLower(rand.Text()[:8])
	if strings.Contains(filepath.Base(dir), making) {
		gone = dir
	} else if err := os.Rename(dir, gone); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	err := os.RemoveAll(gone)
	if err == nil || !errors.Is(err, os.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(gone, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // what cannot be removed is reported below
		}
		return nil
	})
	return os.RemoveAll(gone)
}

// Tidy removes from a folder of copies of repository those that needed does not report, and
// what processes that were killed have left there; but nothing that is younger than age,
// because it may be being made. needed is given the names.
func Tidy(ctx context.Context, dir, repository string, age time.Duration, now time.Time, needed func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	problems := []error{err}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || now.Sub(info.ModTime()) <= age {
			continue
		}
		name, _, left := strings.Cut(e.Name(), making)
		c := Copy{Dir: filepath.Join(dir, name), Repository: repository}
		if left {
			problems = append(problems, removeAll(filepath.Join(dir, e.Name())))
		}
		if !needed(name) && (!left || !c.Exists()) {
			problems = append(problems, c.Discard(ctx))
		}
	}
	return errors.Join(problems...)
}
