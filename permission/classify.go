package permission

import (
	"path"
	"slices"
	"strings"

	"pawl/permission/filenames"
	"pawl/run"
)

// A Classification is what a shell command would do to the world, told from its
// syntax tree.
type Classification struct {
	// Class is [run.Reads] only if every part of the command is known to read,
	// and [run.Writes] otherwise.
	Class run.Class
	Waits bool // it spends its time waiting: sleeps 5 s or more, follows a file
	// Programs are the programs it names, in the order met, each once.
	Programs []string
	// Paths are what may be names of files, relative to the folder the command
	// starts in or absolute. Whether a link on the way leads out of the workspace
	// is for the caller to look; see [Request]. A path with ".." is given twice,
	// the second time cleaned: the kernel goes the first way, cd the second.
	Paths []string
	// Patterns are the same with * and ? for the shell to expand.
	Patterns []string
	// Recurses: it reads the folders among Paths and Patterns with everything in
	// them, or, if there are any, the files called as one of Only.
	Recurses bool
	Only     []string
	Follows  bool // it follows the links that are in these folders
	// Git: it is git's own work, and consists of nothing else that opens a file. It shows what git tracks
	// as git has it, and changes it as a checkout does.
	Git bool
	// Repository: it has work of git's in it that changes the repository.
	Repository bool
}

// Classify classifies a shell command. What it does not understand writes.
func Classify(command string) Classification {
	s := read(command)
	c := Classification{Class: s.class(), Waits: s.waits}
	add := func(list *[]string, more ...string) {
		for _, x := range more {
			if !slices.Contains(*list, x) {
				*list = append(*list, x)
			}
		}
	}
	addPaths := func(list *[]string, paths ...string) {
		for _, p := range paths {
			add(list, p)
			if strings.Contains(p, "..") {
				add(list, path.Clean(p))
			}
		}
	}
	recursing := 0
	c.Git = s.ownWork()
	for _, p := range s.parts {
		if p.speculative {
			continue
		}
		if p.words[0].kind == static {
			add(&c.Programs, p.program())
			name := path.Base(p.program())
			if is(name, asksGit) {
				add(&c.Programs, name) // /usr/bin/git obeys a repository like git
			}
			c.Repository = c.Repository || p.changesRepository()
		}
		if p.recurses() {
			recursing++
			c.Recurses, c.Follows = true, c.Follows || p.follows()
			c.Only = p.only()
			if p.readsHere() || !slices.ContainsFunc(p.info().paths, func(w word) bool { return !strings.HasPrefix(w.source, "-") }) {
				addPaths(&c.Paths, p.dirs...)
			}
		}
		for _, w := range p.info().paths {
			switch {
			case w.kind == static:
				addPaths(&c.Paths, p.places(w.text)...)
			case w.kind == pattern:
				addPaths(&c.Patterns, p.places(w.text)...)
			}
		}
	}
	for _, rd := range s.redirects {
		addPaths(&c.Paths, rd.places...)
	}
	if recursing > 1 { // each has its own
		c.Only = nil
	}
	return c
}

// ownWork reports whether a script is git's own work; see [Classification].
func (s *script) ownWork() bool {
	return len(s.faults)+len(s.unknown)+len(s.unsure) == 0 && len(s.parts) > 0 &&
		!slices.ContainsFunc(s.redirects, func(rd redirect) bool { return len(rd.places) != 1 || !filenames.HarmlessDevice(rd.places[0]) }) &&
		!slices.ContainsFunc(s.parts, func(p *simpleCommand) bool {
			if p.speculative || p.program() != "git" {
				return p.speculative || !idles(p, p.info())
			}
			command, rest := p.git()
			return p.greps() || p.recurses() || len(p.info().hazards) > 0 || !p.info().reads && !commandOf("git", command).is(ownWork) ||
				slices.ContainsFunc(rest, func(w word) bool { return hasAny(w.text, "--no-index", "--pathspec-from-file") })
		})
}

// class returns the script's class.
func (s *script) class() run.Class {
	if len(s.faults) > 0 || len(s.unknown) > 0 || len(s.parts)+len(s.redirects) == 0 ||
		slices.ContainsFunc(s.redirects, func(rd redirect) bool { return rd.writes }) ||
		slices.ContainsFunc(s.parts, func(p *simpleCommand) bool { return p.speculative || !p.transparent && !p.info().reads }) {
		return run.Writes
	}
	return run.Reads
}
