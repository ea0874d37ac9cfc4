package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/diskuse"
	"pawl/internal/inside"
	"pawl/run"
)

// Sweep removes the contents that no entry refers to, and what killed writers have left,
// and returns how many bytes that has freed on the disk. If an entry cannot be read,
// nothing is removed.
//
// It is safe beside processes that change files, and may be killed at any moment: a
// content is first moved aside, where it can still be read, and removed only if then still
// no entry refers to it. A process that refers to a content afterwards sees that it is
// missing (see [Journal.Record]).
func (j Journal) Sweep(ctx context.Context, now time.Time) (freed int64, err error) {
	freed, err = j.sweep(ctx, now, func() {})
	if err != nil {
		err = fmt.Errorf("sweep %s: %w", j.blobs(), err)
	}
	return freed, err
}

// abandonedAfter is how old a temporary file must be before its writer is considered dead.
const abandonedAfter = time.Hour

// sweep calls aside between the two steps, for tests.
func (j Journal) sweep(ctx context.Context, now time.Time, aside func()) (freed int64, err error) {
	referred, err := j.referred(ctx)
	if err != nil {
		return 0, err
	}
	files, err := j.readDir(j.blobs())
	if err != nil {
		return 0, err
	}
	var problems []error
	for _, f := range files {
		hash, file := hashOf(f.Name()), filepath.Join(j.blobs(), f.Name())
		switch {
		case hash == "" && isTemp(f.Name()):
			size, err := j.removeAbandoned(file, now)
			freed += size
			problems = append(problems, err)
		case hash == "" && strings.HasPrefix(f.Name(), basePrefix):
			problems = append(problems, j.removeBase(file))
		case hash == "" || referred[hash]:
		default:
			err := os.Mkdir(j.trash(), 0o700)
			if err == nil || errors.Is(err, fs.ErrExist) {
				err = inside.Rename(j.dir, file, filepath.Join(j.trash(), f.Name()))
			}
			problems = append(problems, ignoreMissing(err))
		}
	}
	// Only what is in the trash before the entries are read again is decided on by them:
	// another sweep may add to it.
	inTrash, err := j.readDir(j.trash())
	if err != nil {
		return freed, err
	}
	aside()
	if referred, err = j.referred(ctx); err != nil {
		return freed, errors.Join(append(problems, err)...)
	}
	for _, f := range inTrash {
		file := filepath.Join(j.trash(), f.Name())
		if referred[hashOf(f.Name())] {
			problems = append(problems, ignoreMissing(inside.Rename(j.dir, file, filepath.Join(j.blobs(), f.Name()))))
			continue
		}
		size := diskuse.File(file)
		err := inside.Remove(j.dir, file)
		if err == nil {
			freed += size
		}
		problems = append(problems, ignoreMissing(err))
	}
	_ = inside.Remove(j.dir, j.trash()) // fails unless it is empty
	return freed, errors.Join(problems...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// isTemp reports whether a name is that of a file of package atomicfile that is not
// complete.
func isTemp(name string) bool { return strings.HasPrefix(name, ".new-") }

// removeAbandoned removes a temporary file whose writer was killed.
func (j Journal) removeAbandoned(file string, now time.Time) (freed int64, err error) {
	info, err := os.Lstat(file)
	if err != nil || now.Sub(info.ModTime()) < abandonedAfter {
		return 0, ignoreMissing(err)
	}
	if err := inside.Remove(j.dir, file); err != nil {
		return 0, ignoreMissing(err)
	}
	return diskuse.Of(info), nil
}

// removeBase removes a file with the hash of a base that is not stored any more.
func (j Journal) removeBase(file string) error {
	hash, err := atomicfile.Read(file)
	if err == nil {
		if _, err = os.Lstat(filepath.Join(j.blobs(), fileName(string(hash))+wholeEnding)); errors.Is(err, fs.ErrNotExist) {
			err = inside.Remove(j.dir, file)
		}
	}
	return ignoreMissing(err)
}

// referred returns the hashes of the contents that entries refer to, and of their bases.
func (j Journal) referred(ctx context.Context) (map[string]bool, error) {
	referred := map[string]bool{}
	names, err := j.runs()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := j.eachEntry(filepath.Join(j.entries(), name), func(e Entry, _ fs.FileInfo) { e.addContents(referred) })
		if err != nil {
			return nil, err
		}
	}
	j.addKnown(referred)
	return referred, j.addBases(referred)
}

// addBases adds the bases of contents. A content that is not stored has none.
func (j Journal) addBases(contents map[string]bool) error {
	var bases []string
	for hash := range contents {
		for _, dir := range []string{j.blobs(), j.trash()} {
			base, err := baseOf(filepath.Join(dir, fileName(hash)+deltaEnding))
			if err == nil {
				bases = append(bases, base)
			} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errDamaged) {
				return err
			}
		}
	}
	for _, base := range bases {
		contents[base] = true
	}
	return nil
}

// addContents adds the contents that an entry refers to.
func (e Entry) addContents(contents map[string]bool) {
	contents[e.Before] = true
	if e.Command != nil {
		for _, f := range e.Command.Files {
			contents[f.Before] = true
		}
	}
}

// eachEntry calls do with every entry of a run's folder. A folder or an entry that is
// removed meanwhile is not there.
func (j Journal) eachEntry(dir string, do func(Entry, fs.FileInfo)) error {
	files, err := j.readDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".json") || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		e, err := readEntry(filepath.Join(dir, f.Name()))
		var info fs.FileInfo
		if err == nil {
			info, err = f.Info()
		}
		if err == nil {
			do(e, info)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Usage is how many bytes on the disk a part of the journal occupies.
type Usage struct {
	Entries  int64
	Contents int64 // of a run: only those that no other run refers to
	Shared   int64 // of a run: those that other runs refer to too
}

// Usage returns what the whole journal occupies.
func (j Journal) Usage() Usage {
	return Usage{Entries: diskuse.Tree(j.entries()), Contents: diskuse.Tree(j.blobs())}
}

// UsageOf returns what the journals of runs occupy: what removing all of them, and a
// sweep, would free.
func (j Journal) UsageOf(ctx context.Context, ids ...run.ID) (u Usage, err error) {
	mine, others, own := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, id := range ids {
		own[fileName(string(id))] = true
		u.Entries += diskuse.Tree(j.RunDir(id))
	}
	names, err := j.runs()
	if err != nil {
		return u, err
	}
	for _, name := range names {
		contents := others
		if own[name] {
			contents = mine
		}
		if err := ctx.Err(); err != nil {
			return u, err
		}
		if err := j.eachEntry(filepath.Join(j.entries(), name), func(e Entry, _ fs.FileInfo) { e.addContents(contents) }); err != nil {
			return u, err
		}
	}
	if err := errors.Join(j.addBases(mine), j.addBases(others)); err != nil {
		return u, err
	}
	for hash := range mine {
		if hash == "" {
			continue
		}
		for _, ending := range []string{wholeEnding, deltaEnding, ""} {
			size := diskuse.File(filepath.Join(j.blobs(), fileName(hash)+ending))
			if others[hash] {
				u.Shared += size
			} else {
				u.Contents += size
			}
		}
	}
	return u, nil
}

// Gone returns the runs that have a journal and, as exists says, are not there any more.
func (j Journal) Gone(exists func(run.ID) bool) (gone []run.ID, err error) {
	names, err := j.runs()
	for _, name := range names {
		if id := run.ID(name); !exists(id) { // the name is the id: see store.CheckID
			gone = append(gone, id)
		}
	}
	return gone, err
}

// KeptPerm returns the permission bits that the file at path had when it last had the
// content with the hash, as far as the run's journal says; otherwise 0. The newest entry
// counts, and one made when the content was replaced more than one made when it was
// written: the bits may have been changed in between.
func (j Journal) KeptPerm(id run.ID, path, hash string) (perm fs.FileMode) {
	var best time.Time
	replaced := false
	_ = j.eachEntry(j.RunDir(id), func(e Entry, info fs.FileInfo) {
		if e.Path != path || e.Mode == "" || e.Before != hash && (e.After != hash || replaced) {
			return
		}
		if e.Before == hash && !replaced || info.ModTime().After(best) {
			perm, best, replaced = e.Perm(), info.ModTime(), e.Before == hash
		}
	})
	return perm
}
