package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Quota says how much a store may keep. Zero is no limit.
type Quota struct {
	Bytes int64         // on disk, all outputs together
	Age   time.Duration // since they were stored
}

// Pruned says what Prune did.
type Pruned struct {
	Removed []Meta // oldest first
	Freed   int64  // bytes on disk
	Kept    int64  // bytes on disk that are left
	// Over is by how many bytes the quota is exceeded still, because what is left
	// belongs to live runs.
	Over int64
}

// Prune removes outputs that are older than the quota allows and then, oldest first, as
// many as it takes to be within it; never one that live says a run may still refer to.
// Whoever has one open can go on reading it (on Windows it then stays until the next
// time). What writers that died have left is removed too.
func (s *Store) Prune(quota Quota, live func(Meta) bool) (Pruned, error) {
	var p Pruned
	all, err := s.everything()
	if err != nil {
		return p, err
	}
	slices.SortFunc(all, func(a, b Meta) int { return a.Created.Compare(b.Created) })
	for _, m := range all {
		p.Kept += m.Stored
	}
	var problems []error
	for _, m := range all {
		old := quota.Age > 0 && s.now().Sub(m.Created) > quota.Age
		full := quota.Bytes > 0 && p.Kept > quota.Bytes
		if !old && !full || live(m) {
			continue
		}
		name := s.file(m.Conversation, m.Run, m.ID)
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
			continue
		}
		p.Removed = append(p.Removed, m)
		p.Freed += m.Stored
		p.Kept -= m.Stored
		// Folders go with their last file; these fail while there is another.
		_ = os.Remove(filepath.Dir(name))
		_ = os.Remove(filepath.Dir(filepath.Dir(name)))
	}
	if quota.Bytes > 0 {
		p.Over = max(0, p.Kept-quota.Bytes)
	}
	return p, errors.Join(append(problems, s.sweep())...)
}

// everything returns what is known of all outputs.
func (s *Store) everything() ([]Meta, error) {
	folders, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Meta
	for _, f := range folders {
		if strings.HasPrefix(f.Name(), ".") {
			continue
		}
		in, err := s.below(filepath.Join(s.dir, f.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, in...)
	}
	return all, nil
}

// abandonedAfter is how long nobody has written to a file before its writer is taken
// for dead. A tool that prints nothing for longer and then goes on loses its output's
// storing, not its output.
const abandonedAfter = 24 * time.Hour

// sweep removes what writers that died have left.
func (s *Store) sweep() error {
	folder := filepath.Join(s.dir, tmpFolder)
	files, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		info, infoErr := f.Info()
		if infoErr != nil {
			continue // gone
		}
		if s.now().Sub(info.ModTime()) > abandonedAfter {
			err = errors.Join(err, os.Remove(filepath.Join(folder, f.Name())))
		}
	}
	return err
}
