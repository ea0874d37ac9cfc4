package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"pawl/internal/diskuse"
	"pawl/internal/inside"
	"pawl/run"
)

// Remove removes the outputs of a run, whatever their age. No process may be storing one.
func (s *Store) Remove(conversation, owner run.ID) error {
	if s.shared != nil {
		if err := s.shared.RemoveOutputs(context.Background(), conversation, owner, ""); err != nil {
			return fmt.Errorf("remove the outputs of run %s: %w", owner, err)
		}
		return nil
	}
	dir := s.RunDir(conversation, owner)
	if err := inside.RemoveAll(s.above(), dir); err != nil {
		return fmt.Errorf("remove the outputs of run %s: %w", owner, err)
	}
	_ = inside.Remove(s.above(), filepath.Dir(dir)) // fails unless it is empty
	return nil
}

// above is the workspace's state folder, out of which nothing is followed.
func (s *Store) above() string { return filepath.Dir(s.dir) }

// Usage returns how many bytes on the disk the store occupies.
func (s *Store) Usage() int64 {
	if s.shared != nil {
		return s.sharedUsage("", "")
	}
	return diskuse.Tree(s.dir)
}

// UsageOf returns how many of these are a run's.
func (s *Store) UsageOf(conversation, owner run.ID) int64 {
	if s.shared != nil {
		return s.sharedUsage(conversation, owner)
	}
	return diskuse.Tree(s.RunDir(conversation, owner))
}

// RemovedRun is a run whose outputs were removed.
type RemovedRun struct {
	Conversation, Run run.ID
	Freed             int64 // bytes on the disk
}

// PruneRuns removes the outputs of the runs that exist does not report any more, whatever
// their age: those of a removal that was killed. exists is asked after the outputs of a
// run were found. If dry, nothing is removed, and the result says what would be.
func (s *Store) PruneRuns(exists func(run.ID) bool, dry bool) (removed []RemovedRun, err error) {
	runs, err := s.runsWithOutputs()
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, r := range runs {
		if exists(r.Run) {
			continue
		}
		if !dry {
			if err := s.Remove(r.Conversation, r.Run); err != nil {
				problems = append(problems, err)
				continue
			}
		}
		removed = append(removed, r)
	}
	return removed, errors.Join(problems...)
}

// runsWithOutputs returns the runs that have outputs, with what these occupy.
func (s *Store) runsWithOutputs() (runs []RemovedRun, err error) {
	if s.shared != nil {
		return s.sharedRuns()
	}
	folders, err := s.runFolders()
	for _, folder := range folders {
		conversation, owner := filepath.Base(filepath.Dir(folder)), filepath.Base(folder)
		if strings.Contains(conversation+owner, "%") {
			continue // not an id of package store
		}
		runs = append(runs, RemovedRun{Conversation: run.ID(conversation), Run: run.ID(owner), Freed: diskuse.Tree(folder)})
	}
	return runs, err
}

// runFolders returns the folders with the outputs of runs.
func (s *Store) runFolders() (folders []string, err error) {
	conversations, err := inside.ReadDir(s.above(), s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, c := range conversations {
		if strings.HasPrefix(c.Name(), ".") || !c.IsDir() {
			continue
		}
		runs, rerr := inside.ReadDir(s.above(), filepath.Join(s.dir, c.Name()))
		if rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		for _, r := range runs {
			folders = append(folders, filepath.Join(s.dir, c.Name(), r.Name()))
		}
	}
	return folders, err
}
