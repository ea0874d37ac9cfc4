package sandbox

import (
	"bufio"
	"bytes"
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

// gitFolder returns the folder of the repository that a workspace is in, its own
// (.git) or one outside; empty if there is none. A .git that is a file may name
// any folder: it counts if what it names says so too, for that cannot be forged
// from within the workspace.
func gitFolder(workspace string) string {
	at := filepath.Join(workspace, ".git")
	if info, err := os.Lstat(at); err == nil {
		switch {
		case info.IsDir():
			return at
		case info.Mode().IsRegular():
			if dir := namedGit(at); dir != "" && (isBelow(dir, workspace) || namesBack(dir, workspace)) {
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
	name, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
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
func namesBack(dir, workspace string) bool {
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
	at := setting(filepath.Join(dir, "config"), "worktree")
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
func hooksElsewhere(dir, work string) string {
	path := setting(filepath.Join(commonFolder(dir), "config"), "hookspath")
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

// setting returns the last value of a key in a git configuration, whatever its
// section; empty if it is not there.
func setting(config, key string) string {
	text, err := small(config)
	if err != nil {
		return ""
	}
	value := ""
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, "="); ok && strings.EqualFold(strings.TrimSpace(k), key) {
			value = strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return value
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

// Where nested repositories are looked for, when a policy is made: deep enough for
// the usual vendor/x and packages/y/z, and bounded.
const (
	nestedDepth   = 3
	nestedEntries = 5_000
)

// nestedGit returns what is called .git in the folders below a workspace, not in
// the workspace itself.
func nestedGit(workspace string) []string {
	var found []string
	seen := 0
	filepath.WalkDir(workspace, func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > nestedEntries {
			return fs.SkipAll
		}
		rel, _ := filepath.Rel(workspace, path)
		switch depth := strings.Count(rel, string(filepath.Separator)); {
		case err != nil:
			return fs.SkipDir
		case d.Name() == ".git":
			if depth > 0 {
				found = append(found, path)
			}
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir() && (depth >= nestedDepth || d.Name() == "node_modules"):
			return fs.SkipDir
		}
		return nil
	})
	return found
}

// harmlessGit are the settings of a new repository that run nothing.
var harmlessGit = map[string]bool{
	"core.repositoryformatversion": true, "core.filemode": true, "core.bare": true, "core.logallrefupdates": true,
	"core.ignorecase": true, "core.precomposeunicode": true, "core.symlinks": true, "core.autocrlf": true, "core.eol": true,
	"extensions.objectformat": true, "extensions.refstorage": true,
	"user.name": true, "user.email": true, "init.defaultbranch": true, "pull.rebase": true, "push.default": true,
	"remote.url": true, "remote.fetch": true, "branch.remote": true, "branch.merge": true, "branch.rebase": true,
}

// isHarmlessConfig reports whether a configuration holds nothing but harmless
// settings. What it does not understand is not.
func isHarmlessConfig(text []byte) bool {
	section := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section, _, _ = strings.Cut(strings.ToLower(line[1:len(line)-1]), " ")
		default:
			key, value, _ := strings.Cut(line, "=")
			value = strings.TrimSpace(value)
			if !harmlessGit[section+"."+strings.ToLower(strings.TrimSpace(key))] || strings.HasSuffix(value, `\`) || strings.Contains(value, "::") || strings.HasPrefix(value, "-") {
				return false
			}
		}
	}
	return lines.Err() == nil
}
