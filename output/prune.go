package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/inside"
	"pawl/internal/stable"
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
// A process that has one open can continue to read it (on Windows it then stays until the next
// time). What writers that died have left is removed too. If dry, nothing is removed, and
// the result says what would be.
//
// It needs no room on the disk. What cannot be removed is in the error, and the rest is
// removed all the same.
func (s *Store) Prune(quota Quota, live func(Meta) bool, dry bool) (Pruned, error) {
	var p Pruned
	all, err := s.everything()
	if err != nil {
		return p, err
	}
	stable.Sort(all, compareAge)
	for _, m := range all {
		p.Kept += m.Stored
	}
	var problems []error
	oldest := s.now()
	for _, m := range all {
		old := quota.Age > 0 && s.now().Sub(m.Created) > quota.Age
		full := quota.Bytes > 0 && p.Kept > quota.Bytes
		remove := (old || full) && !live(m)
		if remove && !dry {
			if err := s.remove(m); err != nil {
				problems = append(problems, err)
				remove = false
			}
		}
		if !remove {
			if m.Created.Before(oldest) {
				oldest = m.Created
			}
			continue
		}
		p.Removed = append(p.Removed, m)
		p.Freed += m.Stored
		p.Kept -= m.Stored
	}
	if quota.Bytes > 0 {
		p.Over = max(0, p.Kept-quota.Bytes)
	}
	if !dry {
		problems = append(problems, s.sweep())
		s.resetAccount(p.Kept, oldest)
		s.TakeReserve()
	}
	return p, errors.Join(problems...)
}

// remove removes an output and the folders that have become empty.
func (s *Store) remove(m Meta) error {
	if s.shared != nil {
		return s.shared.RemoveOutputs(context.Background(), m.Conversation, m.Run, m.ID)
	}
	name := s.file(m.Conversation, m.Run, m.ID)
	if err := inside.Remove(s.above(), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = inside.Remove(s.above(), filepath.Dir(name)) // fails unless it is empty
	_ = inside.Remove(s.above(), filepath.Dir(filepath.Dir(name)))
	return nil
}

// The account is a file with a line for each output that was stored since the last Prune,
// and one for all that were there then: bytes on disk, and the time of the oldest in
// seconds. It saves looking at every output to see whether there is anything to prune.
// It may be wrong by what was stored while Prune ran, until the next one.
func (s *Store) accountFile() string { return filepath.Join(s.dir, ".account") }

// account adds an output. An error only means that the next Prune looks at everything.
func (s *Store) account(bytes int64, created time.Time) {
	if s.shared != nil {
		return // it counts by itself
	}
	f, err := inside.OpenFile(s.above(), s.accountFile(), os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return // no Prune yet
	}
	if _, err = fmt.Fprintf(f, "%d %d\n", bytes, created.Unix()); errors.Join(err, f.Close()) != nil {
		_ = inside.Remove(s.above(), s.accountFile())
	}
}

func (s *Store) resetAccount(bytes int64, oldest time.Time) {
	if s.shared != nil {
		return
	}
	if err := atomicfile.Write(s.accountFile(), fmt.Appendf(nil, "%d %d\n", bytes, oldest.Unix()), atomicfile.NoSync); err != nil {
		_ = inside.Remove(s.above(), s.accountFile()) // a full disk
	}
}

// The reserve is a file that takes some room, to be released on a full disk: without any
// room the database of runs cannot be opened, and so nothing could be pruned.
func (s *Store) reserveFile() string { return filepath.Join(s.dir, ".reserve") }

const reserveSize = 256 << 10 // what SQLite needs to open a database, and some more

// ReleaseReserve frees the room of the reserve, which the next Prune takes again. It
// reports whether there was one.
func (s *Store) ReleaseReserve() bool { return inside.Remove(s.above(), s.reserveFile()) == nil }

// TakeReserve makes the reserve unless it is there, if there is room for it.
func (s *Store) TakeReserve() {
	if _, err := os.Stat(s.reserveFile()); err == nil {
		return
	}
	b := make([]byte, reserveSize)
	for i := range b {
		b[i] = byte(rand.Uint32()) // so that no file system stores it compressed
	}
	_ = atomicfile.Write(s.reserveFile(), b, atomicfile.NoSync)
}

// Exceeds reports whether Prune might have something to remove.
func (s *Store) Exceeds(quota Quota) bool {
	if s.shared != nil {
		return s.sharedExceeds(quota)
	}
	account, err := atomicfile.Read(s.accountFile())
	if err != nil {
		_, err := os.Stat(s.dir)
		return err == nil && quota != Quota{}
	}
	var total int64
	for line := range strings.Lines(string(account)) {
		var bytes, created int64
		if _, err := fmt.Sscan(line, &bytes, &created); err != nil {
			return true
		}
		if total += bytes; quota.Age > 0 && s.now().Sub(time.Unix(created, 0)) > quota.Age {
			return true
		}
	}
	return quota.Bytes > 0 && total > quota.Bytes
}

// everything returns what is known of all outputs.
func (s *Store) everything() ([]Meta, error) {
	if s.shared != nil {
		return s.sharedMetas("", "")
	}
	folders, err := inside.ReadDir(s.above(), s.dir)
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

// abandonedAfter is how long a file has not been written to before its writer is taken for
// dead. The output of a tool that prints nothing for longer cannot be stored.
const abandonedAfter = 24 * time.Hour

// sweep removes what writers that died have left.
func (s *Store) sweep() error {
	folder := filepath.Join(s.dir, tmpFolder)
	files, err := inside.ReadDir(s.above(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		info, infoErr := f.Info()
		if infoErr != nil {
			continue // gone
		}
		if s.now().Sub(info.ModTime()) > abandonedAfter {
			err = errors.Join(err, inside.Remove(s.above(), filepath.Join(folder, f.Name())))
		}
	}
	return err
}
