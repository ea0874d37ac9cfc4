package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// What in a repository makes a git outside run programs: its configuration
// (core.fsmonitor, filters, aliases), its hooks, and the file that says that both
// are elsewhere; gitrepository-layout(5), read 2026-11-20.
var (
	gitObeys      = []string{"config", "hooks", "config.worktree", "commondir"}
	worktreeObeys = []string{"config.worktree", "commondir", "gitdir"}
)

// folder returns the folder of the repository that a workspace is in, its own
// (.git) or one outside; empty if there is none. A .git that is a file may name
// any folder: it counts if what it names says so too, for that cannot be forged
// from within the workspace.
func (g gitProgram) folder(workspace string) string {
	at := filepath.Join(workspace, ".git")
	if info, err := os.Lstat(at); err == nil {
		switch {
		case info.IsDir():
			return at
		case info.Mode().IsRegular():
			if dir := namedGit(at); dir != "" && (isBelow(dir, workspace) || g.namesBack(dir, workspace)) {
				return dir
			}
		}
		return ""
	}
	for up := filepath.Dir(workspace); up != filepath.Dir(up); up = filepath.Dir(up) {
		if at := filepath.Join(up, ".git"); isGit(at) {
			return at
		}
	}
	return ""
}

// namedGit returns the folder that a .git file names, its links resolved.
func namedGit(file string) string {
	text, err := small(file)
	if err != nil {
		return ""
	}
	name, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ") // a blank at its end is part of the name
	if !ok {
		return ""
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(file), name)
	}
	dir, err := filepath.EvalSymlinks(name)
	if err != nil {
		return ""
	}
	return dir
}

// namesBack reports whether a repository's folder says that its work is at
// workspace: a worktree's does in its file gitdir, a submodule's in its
// configuration.
func (g gitProgram) namesBack(dir, workspace string) bool {
	same := func(p string) bool {
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		real, err := filepath.EvalSymlinks(p)
		return err == nil && real == workspace
	}
	if back, err := small(filepath.Join(dir, "gitdir")); err == nil {
		return same(filepath.Dir(strings.TrimSpace(string(back))))
	}
	settings, _ := g.readConfig(filepath.Join(dir, "config"))
	at := last(settings, "core.worktree")
	return at != "" && same(at)
}

// commonFolder returns the folder of the repository that a worktree's folder
// belongs to; dir itself if it is no worktree's.
func commonFolder(dir string) string {
	if common := filepath.Dir(filepath.Dir(dir)); filepath.Base(filepath.Dir(dir)) == "worktrees" && isGit(common) {
		return common
	}
	return dir
}

// isGit reports whether a folder is a repository's.
func isGit(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// gitPaths returns what a git outside would obey of a repository: of its folder,
// of its submodules', and of its worktrees'.
func gitPaths(dir string) []string {
	var paths []string
	add := func(dir string, names []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	common := commonFolder(dir)
	add(common, gitObeys)
	worktrees, _ := filepath.Glob(filepath.Join(common, "worktrees", "*"))
	for _, w := range worktrees {
		add(w, worktreeObeys)
	}
	for _, m := range submodules(filepath.Join(common, "modules"), 4) {
		add(m, gitObeys)
	}
	return paths
}

// hooksElsewhere returns the folder that a repository's configuration has its hooks
// in (core.hooksPath, relative to the work); empty if it says none.
func (g gitProgram) hooksElsewhere(dir, work string) string {
	settings, _ := g.readConfig(filepath.Join(commonFolder(dir), "config"))
	path := last(settings, "core.hookspath")
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(work, path)
}

// maxGitFile bounds what is read of a file of git's, in bytes. A repository is
// nobody's word: its files can be pipes without a writer, and have no end.
const maxGitFile = 1 << 20

// small reads a regular file of at most maxGitFile bytes.
func small(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxGitFile {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is no small file")}
	}
	return io.ReadAll(io.LimitReader(f, maxGitFile))
}

// submodules returns the repositories below a folder; the names of submodules are
// paths.
func submodules(dir string, deep int) []string {
	entries, err := os.ReadDir(dir)
	if err != nil || deep == 0 {
		return nil
	}
	var found []string
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
		case isGit(sub):
			found = append(append(found, sub), submodules(filepath.Join(sub, "modules"), deep-1)...)
		default:
			found = append(found, submodules(sub, deep-1)...)
		}
	}
	return found
}

// harmlessGit are the settings of a new repository that run nothing, by section and
// name; a name of * stands for all of the section.
var harmlessGit = map[string]bool{
	"core.repositoryformatversion": true, "core.filemode": true, "core.bare": true, "core.logallrefupdates": true,
	"core.ignorecase": true, "core.precomposeunicode": true, "core.symlinks": true, "core.autocrlf": true, "core.eol": true, "core.safecrlf": true,
	"core.untrackedcache": true, "core.abbrev": true, "core.quotepath": true, "core.sharedrepository": true, "core.longpaths": true,
	"extensions.objectformat": true, "extensions.refstorage": true, "extensions.worktreeconfig": true,
	"user.name": true, "user.email": true, "init.defaultbranch": true, "pull.rebase": true, "pull.ff": true, "push.default": true, "push.autosetupremote": true,
	"merge.ff": true, "merge.conflictstyle": true, "rebase.autostash": true, "rerere.enabled": true, "fetch.prune": true, "commit.gpgsign": true, "tag.gpgsign": true,
	"remote.url": true, "remote.pushurl": true, "remote.fetch": true, "remote.push": true, "remote.tagopt": true, "remote.prune": true,
	"branch.remote": true, "branch.merge": true, "branch.rebase": true, "branch.description": true, "branch.autosetuprebase": true,
	"submodule.url": true, "submodule.active": true, "submodule.branch": true, "submodule.ignore": true,
	"advice.*": true, "color.*": true, "gc.*": true, "pack.*": true, "index.*": true,
}

// harmful returns the first setting of a new repository that may run a program or
// lead elsewhere; empty if none does. What is not known to be harmless is not. dir is
// the folder of the repository and workspace that of the policy.
func harmful(settings []setting, dir, workspace string) string {
	for _, s := range settings {
		switch {
		case s.key() == "core.worktree":
			work := s.value
			if !filepath.IsAbs(work) {
				work = filepath.Join(dir, work)
			}
			if real, err := filepath.EvalSymlinks(work); err != nil || !isBelow(real, workspace) {
				return s.fullKey()
			}
		case !harmlessGit[s.key()] && !harmlessGit[s.section+".*"],
			strings.Contains(s.value, "::"), strings.HasPrefix(s.value, "-"):
			return s.fullKey()
		}
	}
	return ""
}

// isHarmlessConfig reports whether a configuration of the workspace's own repository
// holds nothing but harmless settings.
func (p *Policy) isHarmlessConfig(text []byte) bool {
	settings, err := p.git.parseConfig(text)
	return err == nil && harmful(settings, filepath.Join(p.Workspace, ".git"), p.Workspace) == ""
}

// last returns the value of a key that counts, the last one; empty if it is not set.
func last(settings []setting, key string) string {
	value := ""
	for _, s := range settings {
		if s.key() == key {
			value = s.value
		}
	}
	return value
}
