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

// gitNames are what of a repository's folder makes a git outside run programs or
// obey another: its configuration (core.fsmonitor, filters, aliases), its hooks, the
// files that say that both are elsewhere, what a rebase or a cherry-pick that continues
// would run, the folders with further repositories, which must not be links, and where objects are read from;
// gitrepository-layout(5), git-rebase(1) and git-merge(1), read 2026-11-22. A gitlink in the index
// matters by the repository that it leads to, which is looked at wherever it is.
var gitNames = []string{"config", "hooks", "config.worktree", "commondir", "gitdir", "rebase-merge", "rebase-merge/git-rebase-todo", "rebase-merge/strategy",
	"rebase-apply", "sequencer", "sequencer/opts", "modules", "worktrees", alternates}

// alternates names folders whose objects count as those of the repository: git outside reads
// these, and so do the commands of a task in a copy of it.
const alternates = "objects/info/alternates"

// fixedNames are those that git does not change as it works, shallowNames those of
// which only what they are counts, and not what is in them.
var (
	fixedNames   = map[string]bool{"config": true, "hooks": true, "config.worktree": true, "commondir": true, "gitdir": true, alternates: true}
	shallowNames = map[string]bool{"rebase-merge": true, "rebase-apply": true, "sequencer": true, "modules": true, "worktrees": true}
)

// splitGitName cuts one of [gitNames] from the end of a path; the name is empty if
// it has none.
func splitGitName(path string) (dir, name string) {
	for _, n := range gitNames {
		if d, ok := strings.CutSuffix(path, "/"+n); ok && foreignConfigs[filepath.Base(d)] == nil {
			return d, n
		}
	}
	return "", ""
}

// isOfGit reports whether the folder of a repository is a .git, or in one: then
// commands have no business with its configuration. Other repositories are made and
// configured by tests.
func isOfGit(dir string) bool {
	return isDotGit(filepath.Base(dir)) || strings.Contains(dir, "/.git/")
}

// isNobodys reports whether a path is that of a commondir where git never makes one:
// only the folder of a worktree has it. One that is there came with the repository or
// was left; it makes the next git obey settings and hooks of its choice.
func isNobodys(path string) bool {
	dir, name := splitGitName(path)
	return name == "commondir" && isOfGit(dir) && filepath.Base(filepath.Dir(dir)) != "worktrees"
}

// takeGuarded returns a snapshot of a guarded path.
func takeGuarded(root *os.Root, path, rel string) *snapshot {
	if _, name := splitGitName(path); shallowNames[name] {
		if info, err := root.Lstat(rel); err == nil && info.IsDir() {
			return &snapshot{Mode: info.Mode(), stat: statOf(info)}
		}
	}
	return take(root, rel)
}

// harmlessSteps are the steps of a rebase that run no program but git's.
var harmlessSteps = map[string]bool{
	"pick": true, "p": true, "reword": true, "r": true, "edit": true, "e": true, "squash": true, "s": true, "fixup": true, "f": true, "drop": true, "d": true,
	"label": true, "l": true, "reset": true, "t": true, "merge": true, "m": true, "update-ref": true, "u": true, "noop": true, "break": true, "b": true,
}

// mergeStrategies are git's own. For any other name git runs the program git-merge-NAME,
// and for one with a slash that is a file below the current folder.
var mergeStrategies = map[string]bool{"ort": true, "recursive": true, "resolve": true, "octopus": true, "ours": true, "subtree": true}

// runsNothingNew reports whether the steps of a rebase run no program that those
// before did not.
func runsNothingNew(was, now []byte) bool {
	before := map[string]bool{}
	for line := range strings.Lines(string(was)) {
		before[strings.TrimSpace(line)] = true
	}
	for _, line := range programSteps(now) {
		if !before[line] {
			return false
		}
	}
	return true
}

// programSteps returns the steps of a rebase that may run a program.
func programSteps(text []byte) (lines []string) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		step, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
		if line != "" && line[0] != '#' && !harmlessSteps[step] {
			lines = append(lines, line)
		}
	}
	return lines
}

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
	return namedIn(text, filepath.Dir(file))
}

// namedIn is the same for the content of a .git file and the folder it is in.
func namedIn(text []byte, folder string) string {
	name, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ") // a blank at its end is part of the name
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(name, "\x00") // to git it is a string of C
	if !filepath.IsAbs(name) {
		name = filepath.Join(folder, name)
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
	"gc.auto": true, "gc.autodetach": true, "gc.autopacklimit": true, "gc.packrefs": true, "gc.pruneexpire": true, "gc.reflogexpire": true, "gc.reflogexpireunreachable": true, // not gc.recentObjectsHook
	"advice.*": true, "color.*": true, "pack.*": true, "index.*": true,
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
