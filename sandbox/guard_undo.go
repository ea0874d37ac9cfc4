package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// restore puts a path back and says so. What was there comes before what is kept of the
// command's, if the disk has no room for both.
func (p *Policy) restore(root *os.Root, path string, was, now *snapshot) string {
	what := "changed " + path
	switch {
	case !was.isThere():
		what = "made " + path
	case !now.isThere():
		what = "removed " + path
	}
	kept, to := "", p.refusedAt(path)
	if now.isThere() {
		if keep(root, path, to, now) {
			kept = "; what it had made of it is kept in " + to
		}
		if err := root.RemoveAll(path); err != nil {
			return fmt.Sprintf("The command %s, which it must not, and that could not be undone (%v): look at it before any program uses it", what, err)
		}
	}
	err := was.write(root, path)
	if isFull(err) && kept != "" && os.RemoveAll(to) == nil {
		kept = ""
		root.RemoveAll(path) // the part that was written
		err = was.write(root, path)
	}
	if err != nil {
		root.RemoveAll(path)
		if to = p.refusedAt(path) + ".before"; was.save(to) == nil {
			kept = "; it is in " + to + kept
		} else {
			os.RemoveAll(to)
		}
		return fmt.Sprintf("The command %s, which it must not; what was there could not be put back (%v)%s", what, err, kept)
	}
	return fmt.Sprintf("The command %s, which it must not: that was undone%s", what, kept)
}

// keep reports whether what is at a path is now kept at another, of which nothing is there
// otherwise. It may be at the path still.
func keep(root *os.Root, path, to string, now *snapshot) bool {
	err := now.save(to)
	if errors.Is(err, errTooLarge) {
		os.RemoveAll(to)
		err = moveOut(root, path, to)
		hideFromGit(to)
	}
	if err != nil {
		os.RemoveAll(to)
	}
	return err == nil
}

// isFull reports whether there was no room for what was to be written.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// inWords says what a person can do about an error of writing, if that is known.
func inWords(err error) error {
	if isFull(err) {
		return fmt.Errorf("the disk is full: free some space there and start again (%w)", err)
	}
	return err
}

// takeAway moves a new repository to where what was refused is kept, with what was
// taken from it before. Where that is on another disk only what made it harmful is kept,
// and it is removed.
func (p *Policy) takeAway(root *os.Root, path, harmful string, taken map[string]*snapshot) string {
	to := p.refusedAt(path)
	isKept := true
	if err := moveOut(root, path, to); err != nil {
		for _, name := range gitNames {
			if s := take(root, filepath.Join(path, name)); s.isThere() && !shallowNames[name] {
				isKept = s.save(filepath.Join(to, name)) == nil && isKept
			}
		}
		if err := root.RemoveAll(path); err != nil {
			return fmt.Sprintf("The command made %s, which it must not because of its %s, and that could not be undone (%v): look at it before any program uses it", path, harmful, err)
		}
	}
	for name, s := range taken {
		isKept = s.save(filepath.Join(to, name)) == nil && isKept
	}
	hideFromGit(to)
	kept := "what it had made of it is kept in " + to
	if !isKept {
		kept = "not all of what it had made of it could be kept in " + to
	}
	return fmt.Sprintf("The command made %s, which it must not because of its %s: that was undone; %s", path, harmful, kept)
}

// refusedAt returns where what was at a path is kept. Nothing there is called .git: the
// git of a person who looks at it must not obey it.
func (p *Policy) refusedAt(path string) string {
	names := strings.Split(path, "/")
	for i, name := range names {
		if isDotGit(name) {
			names[i] = "dot-git"
		}
	}
	return filepath.Join(p.refused, time.Now().UTC().Format("20060102-150405.000000"), filepath.Join(names...))
}

// hideFromGit renames what makes git take a folder, or one below it, for a repository.
func hideFromGit(dir string) {
	var paths []string
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if name := filepath.Base(path); err == nil && (isDotGit(name) || strings.EqualFold(name, "HEAD")) {
			paths = append(paths, path)
		}
		return nil
	})
	for _, path := range slices.Backward(paths) { // what is in a folder before the folder
		os.Rename(path, filepath.Join(filepath.Dir(path), strings.TrimPrefix(filepath.Base(path), ".")+".refused"))
	}
}

// recover puts back what the commands of a process that was killed have changed.
func (p *Policy) recover(dead deadJournal) []string {
	if slices.ContainsFunc(dead.Folders, func(f string) bool { return !slices.Contains(p.Folders, f) }) {
		// They ran with further folders that this policy does not have.
		o := p.options
		o.Folders = slices.DeleteFunc(slices.Concat(p.Folders, dead.Folders), func(f string) bool {
			_, err := CheckFolder(f, p.Workspace, p.options)
			return err != nil // it is gone
		})
		if q, err := For(p.Workspace, o); err == nil {
			defer q.Close()
			q.index.refresh()
			p = q
		}
	}
	g := &guard{before: &dead.baseline, undone: map[string]int{}, told: dead.told}
	g.check(p, nil, dead.until)
	for i, t := range g.told {
		g.told[i] = "When pawl was killed: " + t
	}
	return g.told
}

// Recover puts back what commands have changed whose pawl was killed, and returns
// what, a sentence each. A run does it when it starts.
func (p *Policy) Recover() ([]string, error) {
	if p == nil {
		return nil, nil
	}
	if !mayHaveLeft(p.journals) { // to find out what stands in the workspace is for its first command
		return nil, nil
	}
	g := guardOf(p)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.running) > 0 {
		return nil, nil
	}
	p.index.refresh()
	if err := g.open(p); err != nil {
		return nil, err
	}
	g.journal.end()
	return g.sayAll(p), nil
}

// recoverOthers does the same for a command that is about to start, also while others run.
func (p *Policy) recoverOthers() ([]string, error) {
	if !mayHaveLeft(p.journals) {
		return nil, nil
	}
	g := guardOf(p)
	g.mu.Lock()
	defer g.mu.Unlock()
	unlock, err := g.lockJournals(p)
	if err != nil {
		return nil, err
	}
	defer unlock()
	own := g.told
	g.told = nil
	g.recoverDead(p)
	own, g.told = g.told, own
	return own, nil
}

// recoverDead makes good the deaths of other processes, and returns what stood there before commands of those that live.
// The journals must be locked.
func (g *guard) recoverDead(p *Policy) (others []baseline) {
	dead, others := g.journal.others()
	if len(dead) > 0 {
		p.index.refresh()
	}
	for _, d := range dead {
		g.told = append(g.told, p.recover(d)...)
		g.journal.forget(d.path) // not before: this process may be killed too
	}
	if len(dead) > 0 {
		p.index.refresh()
	}
	return others
}
