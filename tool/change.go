package tool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"pawl/run"
	"pawl/sandbox"
	"pawl/tool/changes"
	"pawl/tool/journal"
	"pawl/tool/tree"
)

// replacing lets one change of a file happen at a time in this process, from
// looking at the file to having replaced it: runs that share a workspace then
// cannot overwrite what the other has just written. It takes some milliseconds,
// most of it for the disk.
var replacing sync.Mutex

// A change makes one file's content another. It is carried out in two steps,
// keep and make, and a kill at any point leaves the file either as it was or
// as it is to be.
//
// The file is replaced, not written into: a link to it keeps pointing at it and
// its permission bits and owner stay, but another hard link to it keeps the old
// content, and extended attributes are lost.
type change struct {
	at     *place
	old    fs.FileInfo // of the file as it was read; nil: there is none
	before []byte
	after  []byte
	remove bool        // there is to be no file; after is empty
	mode   fs.FileMode // for a file that is made new; 0: the usual one

	entry journal.Entry // made by keep
}

// do carries c out as a call of a run.
func (c *change) do(env Env, id run.ID, call string) (run.FileChange, error) {
	if err := c.keep(env, id, call); err != nil {
		return run.FileChange{}, err
	}
	if err := c.make(); err != nil {
		env.journal().Discard(id, call)
		return run.FileChange{}, err
	}
	if c.remove {
		env.forget(c.at.rel)
	} else {
		info, _ := c.at.stat()
		env.saw(c.at.rel, view(c.after, info))
	}
	changes.Wrote(env.StateDir, env.Workspace, c.at.rel, c.entry.After)
	return run.FileChange{Path: c.entry.Path, Before: c.entry.Before, After: c.entry.After}, nil
}

// keep stores the content that is replaced and the intention, durably. It touches nothing
// in the workspace.
func (c *change) keep(env Env, id run.ID, call string) error {
	if !filepath.IsAbs(env.StateDir) {
		return fmt.Errorf("there is no state folder to keep %s as it is now: nothing was changed", c.at.rel)
	}
	// The temporary file's name is in the journal, so that it can be removed after a kill.
	c.entry = journal.Entry{Path: c.at.rel, Temp: tempPrefix + rand.Text()}
	var before []byte
	if c.old != nil {
		if c.mode == 0 {
			c.mode = c.old.Mode().Perm()
		}
		if before = c.before; before == nil {
			before = []byte{} // an empty file is not a missing one
		}
	}
	if !c.remove {
		c.entry.After = hashOf(c.after)
	}
	if c.mode != 0 {
		c.entry.Mode = fmt.Sprintf("%04o", c.mode)
	}
	e, err := env.journal().Record(id, call, c.entry, before)
	if err != nil {
		return fmt.Errorf("the change cannot be journaled in %s: %w; nothing was changed", env.StateDir, tree.InWords(err))
	}
	c.entry = e
	return nil
}

// make does what was kept.
func (c *change) make() error {
	if err := c.at.makeFolders(); err != nil {
		return err
	}
	if c.remove {
		if err := c.unchanged(); err != nil {
			return err
		}
		if err := c.at.dir.Remove(c.at.name); err != nil {
			return fmt.Errorf("%s cannot be removed: %w", c.at.rel, tree.InWords(err))
		}
		c.at.sync()
		return nil
	}
	if err := c.writeTemp(); err != nil {
		return fmt.Errorf("%s cannot be written: %w; it is as it was", c.at.rel, tree.InWords(err))
	}
	err := c.unchanged()
	if err == nil {
		err = c.install()
	}
	if err != nil {
		_ = c.at.dir.Remove(c.entry.Temp)
		return err
	}
	c.at.sync()
	return nil
}

// writeTemp writes the content to a file of its own beside the file, durably.
func (c *change) writeTemp() (err error) {
	perm := fs.FileMode(0o666) // less the umask
	if c.mode != 0 {
		// Never wider than the file itself, not even while it is written.
		perm = c.mode & 0o600
	}
	f, err := c.at.dir.OpenFile(c.entry.Temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			_ = c.at.dir.Remove(c.entry.Temp)
		}
	}()
	if _, err = f.Write(c.after); err != nil {
		return err
	}
	if c.old != nil {
		keepOwner(f, c.old)
	}
	if c.mode != 0 {
		if err = f.Chmod(c.mode); err != nil {
			return err
		}
	}
	return f.Sync()
}

// install puts the temporary file into the file's place.
func (c *change) install() error {
	if c.old == nil {
		// A new name is made by linking, which fails when somebody else has made
		// the file meanwhile; renaming would replace theirs. Some file systems
		// have no hard links.
		err := c.at.dir.Link(c.entry.Temp, c.at.name)
		if err == nil {
			_ = c.at.dir.Remove(c.entry.Temp)
			return nil
		}
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s was made by another process just now: read it first", c.at.rel)
		}
	}
	if err := c.at.dir.Rename(c.entry.Temp, c.at.name); err != nil {
		return fmt.Errorf("%s cannot be replaced: %w; it is as it was", c.at.rel, tree.InWords(err))
	}
	return nil
}

// unchanged makes sure, at the last moment, that the file is the one that was
// read.
func (c *change) unchanged() error {
	now, err := c.at.stat()
	switch {
	case c.old == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case c.old == nil && err == nil:
		return fmt.Errorf("%s was made by another process just now: read it first", c.at.rel)
	case err != nil:
		return fmt.Errorf("%s cannot be looked at: %w", c.at.rel, tree.InWords(err))
	case !os.SameFile(c.old, now) || now.Size() != c.old.Size() || !now.ModTime().Equal(c.old.ModTime()):
		return fmt.Errorf("%s was changed by another process just now, and was not touched: read it again", c.at.rel)
	}
	return nil
}

// writable refuses what a call must not change: a repository's own folder, and
// files that somebody protected.
func writable(rel string, old fs.FileInfo) error {
	if inGit(rel) {
		return fmt.Errorf("%s is in the repository's own folder .git, which the file tools do not change: use git commands", rel)
	}
	if old != nil && old.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%s is read-only (mode %04o): it is protected; if it is right to change it, change its mode first", rel, old.Mode().Perm())
	}
	return nil
}

// mayBeMade refuses what a call must not write, old being what is there: see writable,
// nameable and makesNoRepository.
func mayBeMade(env Env, rel string, old fs.FileInfo) error {
	err := writable(rel, old)
	if err == nil {
		err = nameable(env, rel)
	}
	if err == nil {
		err = makesNoRepository(env, rel)
	}
	return err
}

// makesNoRepository refuses to write a file by which git would take a folder for a
// repository and run what its configuration or its hooks say.
func makesNoRepository(env Env, rel string) error {
	folder, _, rest, err := env.rootOf(rel)
	if err != nil {
		return err
	}
	if dir, makes := sandbox.MakesRepository(filepath.Join(folder, rest)); makes {
		return fmt.Errorf("%s makes %s a repository that git obeys, or changes one, which the file tools do not: use git commands", rel, dir)
	}
	return nil
}

// reconcile says what became of a call that was to change a file and whose
// process died; false means that nobody knows.
func reconcile(env Env, c Call) (Result, bool) {
	if _, err := os.Stat(env.StateDir); err != nil {
		return Result{}, false // with the journal gone, its silence means nothing
	}
	e, err := env.journal().Entry(c.Run, string(c.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return notApplied("the file"), true // nothing is touched before the journal is written
	}
	if err != nil {
		return Result{}, false
	}
	replacing.Lock()
	defer replacing.Unlock()
	at, err := locate(env, e.Path)
	if err != nil || at.rel != e.Path {
		return Result{}, false
	}
	defer at.Close()
	at.removeLeft(e)
	now := ""
	content, info, err := at.read()
	if err == nil {
		now = hashOf(content)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Result{}, false
	}
	switch now {
	case e.After:
		if info != nil {
			env.saw(e.Path, view(content, info))
		}
		says := fmt.Sprintf("%s was written; the process stopped right after it, so there is no more to report.", e.Path)
		return changedFile(says, run.FileChange{Path: e.Path, Before: e.Before, After: e.After}), true
	case e.Before:
		return notApplied(e.Path), true
	}
	return Result{}, false
}

// changedFile is the result of a call that has changed a file.
func changedFile(says string, c run.FileChange) Result {
	r := TextResult(says)
	r.Change, r.Files = run.Changed, []run.FileChange{c}
	return r
}

func notApplied(what string) Result {
	return ErrorResult(fmt.Sprintf("The process stopped before %s was written: nothing was changed, and the call may be made again.", what))
}
