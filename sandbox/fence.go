package sandbox

import (
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"pawl/internal/helper"
	"pawl/run"
)

// A Fence is what rules keep from a command, in addition to the policy: patterns of absolute paths in the form
// of [filepath.Match]. A ** stands for any folders, but such a pattern only covers files with the names of
// secrets (see [Options].IsSecret), because finding others would mean a search. A fence is enforced where a
// command has a file tree of its own, for the files that exist when the command starts.
//
// Files that git tracked when the policy was first used are an exception. Git would commit a hidden file as
// empty, so they are hidden from commands that only read and from no others. Git could not check out or merge
// a file that it cannot replace, and leaves the work half done, so they can be changed by git's own work.
type Fence struct {
	Hidden []string // not there for the command, with all below it
	Fixed  []string // it cannot change these, or anything below them
	// Git: the command is git's own work and consists of nothing else. It sees and changes the files that git
	// tracks, unless the repository makes git run other programs.
	Git bool
	// Repository: the command has work of git's in it that adds to the repository, and nothing that is not known. One
	// that runs unasked whatever it does, at [run.Inside], cannot write repositories without that.
	Repository bool
	// Owns are folders that the command may change beside those of the policy, such as the data of a plugin whose hook
	// it is. Where commands change nothing, or are bounded, it does not.
	Owns []string
}

// maxFenced bounds how many paths one pattern stands for. If there are more, their whole folder is fenced.
const maxFenced = 8192

// fence adds a fence to the file tree of a command. It reports whether it left out what git tracks because the
// command is git's own work.
func (p *Policy) fence(g places, f Fence, level run.Confinement) (left bool) {
	readOnly := level == run.ReadOnly || level == run.Trial
	// At run.ReadOnly git runs no programs of the repository's choice.
	git := sync.OnceValue(func() bool { return f.Git && (level == run.ReadOnly || p.runsNoOthers()) })
	var hidden []string
	if readOnly || level == run.Inside {
		hidden = p.index.secretPaths()
	}
	for _, pattern := range f.Hidden {
		hidden = append(hidden, p.meant(pattern)...)
	}
	for _, path := range hidden {
		if readOnly && !(p.tracks(path) && git()) {
			g.hide(path)
			continue
		}
		left = left || readOnly
		files := filesBelow(path)
		if len(files) > maxFenced {
			g.hide(path)
			p.pin(g, path)
			continue
		}
		for _, file := range files {
			if !p.tracks(file) {
				g.hide(file)
				p.pin(g, file)
			}
		}
	}
	for _, pattern := range f.Fixed {
		for _, path := range p.meant(pattern) {
			real, err := filepath.EvalSymlinks(path)
			switch {
			case err != nil: // it is not there
			case p.tracks(real) && git():
				left = true
			default:
				for inside, n := range g {
					if n.kind == helper.Writable && isBelow(inside, real) {
						g.put(grant{path: inside, source: n.source, kind: helper.ReadOnly, pinned: true})
					}
				}
				g.put(grant{path: real, source: real, kind: helper.ReadOnly, pinned: true})
				p.pin(g, real)
			}
		}
	}
	return left
}

// runsNoOthers reports whether the repositories of the workspace make git run no program, such as a hook.
func (p *Policy) runsNoOthers() bool {
	looks, works := p.GitPrograms(p.workFolders()...)
	return looks == "" && works == ""
}

// pin keeps the folders of a fenced path from being renamed: otherwise the next command could reach it by a
// name that no rule covers.
func (p *Policy) pin(g places, path string) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		over, ok := g.nearest(dir)
		if !ok || over.path == dir || over.kind != helper.Writable || over.source != over.path {
			return // the folder that is worked in, or one that is pinned or cannot be changed
		}
		g.put(grant{path: dir, source: dir, kind: helper.Writable, pinned: true})
	}
}

// tracks reports whether git tracked a path, or a file below it, when this was first called. Files that a
// command adds later are fenced.
func (p *Policy) tracks(path string) bool {
	p.tracked.once.Do(func() {
		p.tracked.paths = map[string]bool{}
		repositories, _ := p.index.gitPaths()
		for _, dir := range repositories {
			for _, at := range p.trackedIn(p.git, dir, p.workOf(dir)) {
				for ; at != p.workOf(dir) && at != "/" && !p.tracked.paths[at]; at = filepath.Dir(at) {
					p.tracked.paths[at] = true
				}
			}
		}
	})
	return p.tracked.paths[path]
}

// filesBelow returns the files below a path, or the path if it is a file. Files are covered one by one because
// a folder that looks empty would be committed as emptied. It returns at most one more than maxFenced.
func filesBelow(path string) (files []string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	_ = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		if len(files) > maxFenced {
			return fs.SkipAll
		}
		return nil // what cannot be read is nothing to hide
	})
	return files
}

// hide covers a path, if it is there, until another file is given its name.
func (g places) hide(path string) {
	if real, ok := g.cover(path); ok {
		n := g[real]
		n.source = real
		g[real] = n
	}
}

// meant returns the paths that a pattern of a fence stands for.
func (p *Policy) meant(pattern string) (paths []string) {
	folder, name, deep := strings.Cut(pattern, "/**/")
	switch {
	case !strings.ContainsAny(pattern, `*?[\`):
		return []string{pattern}
	case !deep:
		paths, _ = filepath.Glob(pattern) // an error is of a pattern that is none
		if len(paths) > maxFenced {
			return []string{filepath.Dir(paths[0])}
		}
	case !strings.ContainsAny(folder, `*?[\`) && !strings.Contains(name, "/"):
		for _, secret := range p.index.secretPaths() {
			if is, err := filepath.Match(name, filepath.Base(secret)); is && err == nil && isBelow(secret, folder) {
				paths = append(paths, secret)
			}
		}
	}
	return paths
}
