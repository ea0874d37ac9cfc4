package tool

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"pawl/run"
	"pawl/tool/changes"
	"pawl/tool/journal"
	"pawl/tool/tree"
)

// An UndoReport says what came of an [Undo].
type UndoReport struct {
	// Changes are what undoing did to files, one for each. Handed to Undo they
	// take it back.
	Changes []run.FileChange
	// Skipped are the changes that were left alone.
	Skipped []changes.Skipped
	// Uncovered says, for people, what commands may have changed that undoing does not look at.
	Uncovered []string
}

// Undo puts paths back to how they were before the given changes, which are in
// the order they were made; it goes from the last to the first. A change whose
// path is not as the change left it is skipped and reported: somebody has
// changed it since, and that is not thrown away. The rest is done wholly, or,
// with an error, not at all. Of folders only those that a command has made are removed, if
// nothing is in them.
//
// Contents replaced are kept, so an undo can be undone. It journals as run
// env.Run. It may be repeated, also after a kill.
func Undo(env Env, changes []run.FileChange) (UndoReport, error) {
	replacing.Lock()
	defer replacing.Unlock()
	removeLeftovers(env)
	todo, skipped := planUndo(env, changes)
	done, left, err := doAll(env, todo)
	if err != nil {
		return UndoReport{}, fmt.Errorf("undo: %w", err)
	}
	return UndoReport{Changes: done, Skipped: append(skipped, left...)}, nil
}

// PlanUndo returns what Undo would do, and does nothing.
func PlanUndo(env Env, changes []run.FileChange) UndoReport {
	todo, skipped := planUndo(env, changes)
	r := UndoReport{Skipped: skipped}
	for _, s := range todo {
		r.Changes = append(r.Changes, s.change())
	}
	return r
}

// removeLeftovers removes the temporary files of an undo that was killed.
func removeLeftovers(env Env) {
	files, _ := filepath.Glob(filepath.Join(env.journal().RunDir(env.Run), "undo-*.json"))
	for _, f := range files {
		e, err := env.journal().Entry(env.Run, strings.TrimSuffix(filepath.Base(f), ".json"))
		if err != nil {
			continue
		}
		if at, err := placeOf(env, e.Path); err == nil {
			at.removeLeft(e)
			at.Close()
		}
	}
}

// A condition is what a path is: nothing, a folder, or a file or a link with a content.
type condition struct {
	kind uint32 // 0: nothing
	perm fs.FileMode
	any  bool // the permission bits are not known
	hash string
}

// conditionOf returns the condition that a side of a change describes.
func conditionOf(hash, mode string) condition {
	if mode == "" {
		if hash == "" {
			return condition{}
		}
		return condition{kind: journal.KindFile, any: true, hash: hash}
	}
	m, _ := strconv.ParseUint(mode, 8, 32)
	return condition{kind: uint32(m) & journal.KindMask, perm: fs.FileMode(m).Perm(), hash: hash}
}

func before(c run.FileChange) condition { return conditionOf(c.Before, c.BeforeMode) }

func after(c run.FileChange) condition { return conditionOf(c.After, c.AfterMode) }

// mode returns a condition as a change has it; what an edit has left unsaid stays so.
func (c condition) mode() string {
	if c.kind == 0 || c.any {
		return ""
	}
	return journal.Octal(c.kind | uint32(c.perm))
}

// is reports whether a path in condition c is what was left there. Permission bits that
// somebody has changed since are not a reason to leave it.
func (c condition) is(left condition) bool { return c.kind == left.kind && c.hash == left.hash }

// A step is what undoing does to one path.
type step struct {
	path     string
	now, to  condition
	git      string // the object with the content of to, where it is not in the journal
	original run.FileChange
}

func (s step) change() run.FileChange {
	c := run.FileChange{Path: s.path, Before: s.now.hash, After: s.to.hash}
	if s.now.kind != journal.KindFile || s.to.kind != journal.KindFile || !s.to.any && s.now.perm != s.to.perm {
		c.BeforeMode, c.AfterMode = s.now.mode(), s.to.mode()
		if s.to.any {
			c.BeforeMode = ""
		}
	}
	return c
}

// planUndo works out what is to be done to each path, and what not. It looks at
// everything that could be in the way before anything is touched.
func planUndo(env Env, changes []run.FileChange) (todo []step, skipped []changes.Skipped) {
	chains := map[string][]run.FileChange{} // by path, last first
	for _, c := range slices.Backward(changes) {
		chains[c.Path] = append(chains[c.Path], c)
	}
	for _, path := range pathsOf(changes) {
		s, left := planPath(env, path, chains[path])
		skipped = append(skipped, left...)
		if s.now != s.to {
			todo = append(todo, s)
		}
	}
	// What is removed makes room for what was there, from the leaves on; then folders come before what is in them.
	slices.SortStableFunc(todo, func(a, b step) int {
		ra, rb := a.removes(), b.removes()
		if ra != rb {
			return rb - ra
		}
		if ra > 0 {
			return cmp.Compare(depth(b.path), depth(a.path))
		}
		return cmp.Compare(depth(a.path), depth(b.path))
	})
	return todo, skipped
}

// removes is 1 if the step takes away what is there before it puts something in its place, or nothing.
func (s step) removes() int {
	if s.to.kind == 0 || s.now.kind != 0 && s.now.kind != s.to.kind {
		return 1
	}
	return 0
}

func depth(path string) int { return strings.Count(path, "/") }

// doAll makes all changes, or none. Folders that are not empty stay.
func doAll(env Env, todo []step) (done []run.FileChange, left []changes.Skipped, err error) {
	var made []step
	for _, s := range todo {
		err := s.do(env)
		if errors.Is(err, errNotEmpty) {
			left = append(left, changes.Skipped{Change: s.original, Reason: s.path + " is not empty: something in it was not made by the run, or was changed since"})
			continue
		}
		if err != nil {
			return nil, nil, errors.Join(err, takeBack(env, made))
		}
		made = append(made, s)
		done = append(done, s.change())
	}
	protect(env, made)
	return done, left, nil
}

// protect takes away the permissions of folders that their owner needs to put something into them, which they had until
// everything was in its place.
func protect(env Env, made []step) {
	folders := slices.DeleteFunc(slices.Clone(made), func(s step) bool { return s.to.kind != journal.KindDir || s.to.perm&0o700 == 0o700 })
	slices.SortFunc(folders, func(a, b step) int { return cmp.Compare(depth(b.path), depth(a.path)) })
	for _, s := range folders {
		if at, err := placeOf(env, s.path); err == nil {
			_ = at.dir.Chmod(at.name, s.to.perm) // what it holds is right
			at.Close()
		}
	}
}

// pathsOf returns the paths of changes, each once, in their order.
func pathsOf(changes []run.FileChange) []string {
	var paths []string
	seen := map[string]bool{}
	for _, c := range changes {
		if !seen[c.Path] {
			seen[c.Path] = true
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// planPath works out what is to be done to one path.
func planPath(env Env, path string, chain []run.FileChange) (plan step, skipped []changes.Skipped) {
	skipAll := func(reason string) (step, []changes.Skipped) {
		var all []changes.Skipped
		for _, c := range chain {
			all = append(all, changes.Skipped{Change: c, Reason: reason})
		}
		return step{}, all
	}
	now, err := conditionAt(env, path)
	if err != nil {
		return skipAll(err.Error())
	}
	oldest := chain[len(chain)-1]
	if now.is(before(oldest)) && !now.is(after(chain[0])) {
		return skipAll(fmt.Sprintf("%s is already restored", path))
	}
	to, git := now, ""
	for _, c := range chain {
		if !to.is(after(c)) {
			skipped = append(skipped, changes.Skipped{Change: c, Reason: fmt.Sprintf("%s was changed after this", path)})
			continue
		}
		is, was := after(c), before(c)
		if was.kind == to.kind && (was.any || is.any || to.perm != is.perm) {
			was.perm, was.any = to.perm, false // they were not changed, or by somebody else since
		}
		to, git = was, c.Git
		plan.original = c
	}
	if to.kind == journal.KindFile && now.kind == 0 && to.any {
		if perm := env.journal().KeptPerm(env.Run, path, to.hash); perm != 0 {
			to.perm, to.any = perm, false
		}
	}
	plan.path, plan.now, plan.to, plan.git = path, now, to, git
	if to.hash != "" && to.hash != now.hash {
		if _, err := changes.Content(env.StateDir, env.Workspace, to.hash, git); err != nil {
			return skipAll(fmt.Sprintf("%s: %v", path, err))
		}
	}
	return plan, skipped
}

// errNoFolder says that a path is in something that is no folder: nothing is there.
var errNoFolder = errors.New("what it is in is no folder")

// placeOf opens the folder that a path of a change is in, no link on the way; what it is itself is not followed.
func placeOf(env Env, path string) (*place, error) {
	root, _, rest, err := env.rootOf(path)
	if err != nil {
		return nil, err
	}
	names := strings.Split(rest, "/")
	if slices.ContainsFunc(names, func(name string) bool { return name == "" || name == "." || name == ".." }) {
		return nil, fmt.Errorf("%s names no file", path)
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("the workspace %s cannot be opened: %w", root, tree.InWords(err))
	}
	p := &place{rel: path, dir: dir, name: names[len(names)-1]}
	for i, name := range names[:len(names)-1] {
		next, err := tree.Descend(p.dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			p.missing = names[i : len(names)-1]
			break
		}
		p.dir.Close()
		switch {
		case errors.Is(err, tree.ErrSwapped):
			return nil, fmt.Errorf("%s leads elsewhere now: %s became a link", path, strings.Join(names[:i+1], "/"))
		case errors.Is(err, syscall.ENOTDIR):
			return nil, errNoFolder
		case err != nil:
			return nil, fmt.Errorf("%s cannot be opened: %w", path, tree.InWords(err))
		}
		p.dir = next
	}
	return p, nil
}

// conditionAt looks at a path. The error is a sentence.
func conditionAt(env Env, path string) (condition, error) {
	at, err := placeOf(env, path)
	if errors.Is(err, errNoFolder) {
		return condition{}, nil
	} else if err != nil {
		return condition{}, err
	}
	defer at.Close()
	return at.condition()
}

func (p *place) condition() (condition, error) {
	info, err := p.stat()
	if errors.Is(err, fs.ErrNotExist) {
		return condition{}, nil
	} else if err != nil {
		return condition{}, fmt.Errorf("%s cannot be looked at: %w", p.rel, tree.InWords(err))
	}
	c := condition{kind: journal.ModeOf(info) & journal.KindMask, perm: info.Mode().Perm()}
	switch c.kind {
	case journal.KindLink:
		c.perm = 0o777
		to, err := p.dir.Readlink(p.name)
		if err != nil {
			return c, fmt.Errorf("%s cannot be read: %w", p.rel, tree.InWords(err))
		}
		c.hash = hashOf([]byte(filepath.ToSlash(to)))
	case journal.KindFile:
		content, _, err := p.read()
		if err != nil {
			return c, err
		}
		c.hash = hashOf(content)
	case 0:
		return c, fmt.Errorf("%s cannot be restored: %w", p.rel, &tree.NotRegularError{Mode: info.Mode()})
	}
	return c, nil
}

// errNotEmpty says that a folder stays.
var errNotEmpty = errors.New("the folder is not empty")

// do makes a path that is in condition now what it is to be.
func (s step) do(env Env) error {
	at, err := placeOf(env, s.path)
	if err != nil {
		return err
	}
	defer at.Close()
	now, err := at.condition()
	if err != nil {
		return err
	}
	if now != s.now {
		return fmt.Errorf("%s was changed by another process just now, and was not touched: look at it again", s.path)
	}
	if s.now.kind == journal.KindFile && s.to.kind == journal.KindFile || s.now.kind == journal.KindFile && s.to.kind == 0 || s.now.kind == 0 && s.to.kind == journal.KindFile {
		return s.file(env, at)
	}
	if s.now.kind != 0 && s.now.kind != s.to.kind || s.now.kind == journal.KindLink {
		if err := s.remove(env, at); err != nil || s.to.kind == 0 {
			return err
		}
		s.now = condition{}
	}
	switch s.to.kind {
	case journal.KindFile:
		return s.file(env, at)
	case journal.KindDir:
		if s.now.kind == 0 {
			if err := at.makeFolders(); err != nil {
				return err
			}
			if err := at.dir.Mkdir(at.name, 0o777); err != nil {
				return fmt.Errorf("the folder %s cannot be made: %w", s.path, tree.InWords(err))
			}
		}
		if err := at.dir.Chmod(at.name, s.to.perm|0o700); err != nil {
			return fmt.Errorf("the mode of %s cannot be changed: %w", s.path, tree.InWords(err))
		}
	case journal.KindLink:
		target, err := changes.Content(env.StateDir, env.Workspace, s.to.hash, s.git)
		if err == nil {
			err = at.makeFolders()
		}
		if err == nil {
			err = at.dir.Symlink(filepath.FromSlash(string(target)), at.name)
		}
		if err != nil {
			return fmt.Errorf("the link %s cannot be made: %w", s.path, tree.InWords(err))
		}
	}
	at.sync()
	return nil
}

// remove takes away what is at a path; where a link led is kept.
func (s step) remove(env Env, at *place) error {
	if s.now.kind == journal.KindFile {
		gone := s
		gone.to = condition{}
		return gone.file(env, at)
	}
	if s.now.kind == journal.KindLink {
		target, err := at.dir.Readlink(at.name)
		if err == nil {
			_, err = env.journal().Record(env.Run, "undo-"+rand.Text(), journal.Entry{Path: s.path, Mode: journal.Octal(journal.KindLink | 0o777)}, []byte(filepath.ToSlash(target)))
		}
		if err != nil {
			return err
		}
	}
	err := at.dir.Remove(at.name)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return errNotEmpty
	}
	if err != nil {
		return fmt.Errorf("%s cannot be removed: %w", s.path, tree.InWords(err))
	}
	at.sync()
	return nil
}

// file makes, replaces or removes a file.
func (s step) file(env Env, at *place) error {
	c := &change{at: at, remove: s.to.kind == 0}
	content, info, err := at.read()
	if err == nil && s.now.kind == journal.KindFile {
		c.before, c.old = content, info
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !c.remove {
		if c.after = content; s.to.hash != s.now.hash {
			if c.after, err = changes.Content(env.StateDir, env.Workspace, s.to.hash, s.git); err != nil {
				return fmt.Errorf("%s: %w", s.path, err)
			}
		}
		if !s.to.any {
			c.mode = s.to.perm
		}
	}
	_, err = c.do(env, env.Run, "undo-"+rand.Text())
	return err
}

// takeBack reverses what was done, last first.
func takeBack(env Env, made []step) error {
	var errs []error
	var back []step
	for _, s := range slices.Backward(made) {
		b := step{path: s.path, to: s.now}
		var err error
		if b.now, err = conditionAt(env, s.path); err == nil {
			err = b.do(env)
		}
		back = append(back, b)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s stays changed: %w", s.path, err))
		}
	}
	protect(env, back)
	return errors.Join(errs...)
}
