package sandbox

import (
	"io/fs"
	"path/filepath"
	"strings"

	"pawl/internal/helper"
	"pawl/run"
)

// A Fence is what rules keep from a command, beside what the policy says: patterns of absolute paths, in
// which * stands for any characters of a name. Where ** stands for folders, it holds for files whose names
// say that they have secrets (see [Options].IsSecret): others would have to be looked for. It is enforced
// where a command has a file tree of its own, for what is there when it starts.
type Fence struct {
	Hidden []string // not there for the command, with all below it
	Fixed  []string // it cannot change these, or anything below them
}

// onlyStars quotes what is no sign in the patterns of rules, and one in those of filepath.Match.
var onlyStars = strings.NewReplacer(`\`, `\\`, "[", `\[`, "?", `\?`)

// maxFenced bounds how many paths one pattern stands for.
const maxFenced = 1024

// fence adds a fence to the file tree of a command.
func (p *Policy) fence(g places, f Fence, level run.Confinement) {
	for _, pattern := range f.Hidden {
		for _, path := range p.meant(pattern) {
			if files := filesBelow(path); level != run.ReadOnly && len(files) <= maxFenced {
				for _, file := range files {
					g.hide(file)
				}
				continue
			}
			g.hide(path)
		}
	}
	for _, pattern := range f.Fixed {
		for _, path := range p.meant(pattern) {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				g.put(grant{path: real, source: real, kind: helper.ReadOnly, pinned: true})
			}
		}
	}
}

// filesBelow returns the files below a path, which may be one: to a command that commits, a folder that
// looks empty has lost its files. A few more than maxFenced are all.
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
	case !strings.Contains(pattern, "*"):
		return []string{pattern}
	case !deep:
		paths, _ = filepath.Glob(onlyStars.Replace(pattern)) // an error is of a pattern that is none
	case !strings.Contains(folder, "*") && !strings.Contains(name, "/"):
		p.index.refresh()
		for _, secret := range p.index.secretPaths() {
			if is, err := filepath.Match(onlyStars.Replace(name), filepath.Base(secret)); is && err == nil && isBelow(secret, folder) {
				paths = append(paths, secret)
			}
		}
	}
	return paths[:min(len(paths), maxFenced)]
}
