package tool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"pawl/run"
)

// An UndoReport says what came of an [Undo].
type UndoReport struct {
	// Changes are what undoing did to files, one for each. Handed to Undo they
	// take it back.
	Changes []run.FileChange
	// Skipped are the changes that were left alone.
	Skipped []Skipped
}

// A Skipped change was not undone.
type Skipped struct {
	Change run.FileChange
	Reason string // for people
}

// Undo puts files back to how they were before the given changes, which are in
// the order they were made; it goes from the last to the first. A change whose
// file is not as the change left it is skipped and reported: somebody has
// changed it since, and that is not thrown away. The rest is done wholly, or,
// with an error, not at all. Folders that were made stay.
//
// Contents replaced are kept, so an undo can be undone. It journals as run
// env.Run. It may be repeated, also after a kill.
func Undo(env Env, changes []run.FileChange) (UndoReport, error) {
	replacing.Lock()
	defer replacing.Unlock()
	removeLeftovers(env)
	todo, skipped := planUndo(env, changes)
	defer func() {
		for _, c := range todo {
			c.at.Close()
		}
	}()
	done, err := doAll(env, todo)
	if err != nil {
		return UndoReport{}, fmt.Errorf("undo: %w", err)
	}
	return UndoReport{Changes: done, Skipped: skipped}, nil
}

// removeLeftovers removes the temporary files of an undo that was killed.
func removeLeftovers(env Env) {
	files, _ := filepath.Glob(filepath.Join(env.journal().RunDir(env.Run), "undo-*.json"))
	for _, f := range files {
		e, err := env.journal().Entry(env.Run, strings.TrimSuffix(filepath.Base(f), ".json"))
		if err != nil {
			continue
		}
		if at, err := locate(env, e.Path); err == nil {
			if at.rel == e.Path {
				at.removeLeft(e)
			}
			at.Close()
		}
	}
}

// planUndo works out what is to be done to each file, and what not. It looks at
// everything that could be in the way before anything is touched.
func planUndo(env Env, changes []run.FileChange) (todo []*change, skipped []Skipped) {
	for _, path := range pathsOf(changes) {
		c, s := planFile(env, path, changes)
		skipped = append(skipped, s...)
		if c != nil {
			todo = append(todo, c)
		}
	}
	return todo, skipped
}

// doAll makes all changes, or none.
func doAll(env Env, todo []*change) (done []run.FileChange, err error) {
	for i, c := range todo {
		d, err := c.do(env, env.Run, "undo-"+rand.Text())
		if err != nil {
			return nil, errors.Join(err, takeBack(env, todo[:i]))
		}
		done = append(done, d)
	}
	return done, nil
}

// pathsOf returns the files of changes, each once, in their order.
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

// planFile works out what is to be done to one file: nil for nothing. The place
// of a change it returns is open.
func planFile(env Env, path string, changes []run.FileChange) (plan *change, skipped []Skipped) {
	var chain []run.FileChange // of this file, last first
	for i := len(changes) - 1; i >= 0; i-- {
		if changes[i].Path == path {
			chain = append(chain, changes[i])
		}
	}
	skipAll := func(reason string) []Skipped {
		var s []Skipped
		for _, c := range chain {
			s = append(s, Skipped{c, reason})
		}
		return s
	}
	at, err := locate(env, path)
	if err != nil {
		return nil, skipAll(err.Error())
	}
	defer func() {
		if plan == nil {
			at.Close()
		}
	}()
	if at.rel != path {
		return nil, skipAll(fmt.Sprintf("%s leads to %s now", path, at.rel))
	}
	content, info, err := at.read()
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, skipAll(err.Error())
	}
	now := ""
	if exists {
		now = hashOf(content)
	}
	if oldest := chain[len(chain)-1]; now == oldest.Before && now != chain[0].After {
		return nil, skipAll(fmt.Sprintf("%s is already restored", path))
	}
	goal := now
	for _, c := range chain {
		if c.After != goal {
			skipped = append(skipped, Skipped{c, fmt.Sprintf("%s was changed after this", path)})
			continue
		}
		goal = c.Before
	}
	if goal == now {
		return nil, skipped
	}
	c := &change{at: at, before: content, remove: goal == ""}
	if exists {
		c.old = info
	} else {
		c.mode = env.journal().KeptPerm(env.Run, path, goal)
	}
	if goal != "" {
		if c.after, err = env.journal().Content(goal); err != nil {
			return nil, skipAll(err.Error())
		}
	}
	return c, skipped
}

// takeBack reverses changes that were made, last first.
func takeBack(env Env, made []*change) error {
	var errs []error
	for i := len(made) - 1; i >= 0; i-- {
		c := made[i]
		back := &change{at: c.at, before: c.after, after: c.before, remove: c.old == nil, mode: c.mode}
		if !c.remove {
			info, err := c.at.stat()
			if err != nil {
				errs = append(errs, fmt.Errorf("%s stays changed: %w", c.at.rel, inWords(err)))
				continue
			}
			back.old = info
		}
		if _, err := back.do(env, env.Run, "undo-"+rand.Text()); err != nil {
			errs = append(errs, fmt.Errorf("%s stays changed: %w", c.at.rel, err))
		}
	}
	return errors.Join(errs...)
}
