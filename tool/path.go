package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"pawl/tool/tree"
)

const (
	// maxPath is the longest path Linux opens (PATH_MAX, linux/limits.h).
	maxPath = 4096
	// maxLinks is how many links Linux follows in one path (path_resolution(7)).
	maxLinks = 40
)

// Resolve says where a path given by a model leads: rel is relative to the
// workspace, with slashes, every link on the way followed ("." is the workspace
// itself); in one of the further folders of env it is absolute. What does not exist yet is taken literally. When the path leads out
// of the workspace, outside is true and rel is the absolute path it leads to.
//
// The error is a sentence for the model: the path can be no file's, or could
// not be followed. "~" and "$HOME" are names like any other.
//
// Resolve only looks: the answer may be wrong the moment after. Tools open what
// it found with [os.Root] and follow no link then, so a folder that is swapped
// for a link in between makes the call fail and never makes it leave.
func Resolve(env Env, path string) (rel string, outside bool, err error) {
	if err := plausible(path); err != nil {
		return "", false, err
	}
	full, err := follow(env.Workspace, path)
	if err != nil {
		return "", false, err
	}
	if dir := kernelFolder(full); dir != "" && dir != kernelFolder(env.Workspace) {
		return "", false, fmt.Errorf("%s is in %s, which holds devices and the kernel's own files: the file tools do not open them", path, dir)
	}
	if rel, ok := tree.Below(env.Workspace, full); ok {
		return rel, false, nil
	}
	return full, env.dirOf(full) == "", nil
}

// dirOf returns which of the further folders an absolute path is in; empty: none.
func (e Env) dirOf(full string) string {
	for _, dir := range e.Dirs {
		if _, ok := tree.Below(dir, full); ok {
			return dir
		}
	}
	return ""
}

// rootOf returns the folder that a path of [Resolve] is in, how paths in it are called, and
// the path from there; "." is the folder itself.
func (e Env) rootOf(rel string) (root, called, rest string, err error) {
	if !filepath.IsAbs(rel) {
		return e.Workspace, ".", rel, nil
	}
	dir := e.dirOf(rel)
	if dir == "" {
		return "", "", "", fmt.Errorf("%s is outside the workspace", rel)
	}
	rest, _ = tree.Below(dir, rel)
	return dir, dir, rest, nil
}

// openFolder opens a folder by its resolved path.
func openFolder(env Env, rel string) (*tree.Folder, error) {
	root, called, rest, err := env.rootOf(rel)
	if err != nil {
		return nil, err
	}
	return tree.Open(root, called, rest)
}

// inside is Resolve for those who can do nothing with a path outside.
func inside(env Env, path string) (rel string, err error) {
	rel, outside, err := Resolve(env, path)
	if err != nil {
		return "", err
	}
	if outside {
		leads := ""
		if rel != path {
			leads = fmt.Sprintf(" (it leads to %s)", rel)
		}
		dirs := ""
		if len(env.Dirs) > 0 {
			dirs = ", or inside " + strings.Join(env.Dirs, ", ")
		}
		return "", fmt.Errorf("%s is outside the workspace%s: give a path inside %s, best relative to it%s", path, leads, env.Workspace, dirs)
	}
	if env.Leads != nil && !slices.Contains(env.Leads, rel) {
		// Within the workspace, too: what was decided was decided about another file.
		return "", fmt.Errorf("%s leads to %s by now, and what was allowed was %s: something replaces links or folders there; try again when it has stopped", path, rel, strings.Join(env.Leads, ", "))
	}
	return rel, nil
}

// plausible refuses what can be no path. A line break or another control
// character is refused although a file may be named so: it would forge lines in
// what people and models are shown.
func plausible(path string) error {
	switch {
	case path == "":
		return errors.New("the path is empty: give a path relative to the workspace")
	case len(path) > maxPath:
		return fmt.Errorf("the path has %d bytes, and the limit is %d", len(path), maxPath)
	case !utf8.ValidString(path):
		return fmt.Errorf("the path %q is not valid UTF-8", path)
	case strings.ContainsFunc(path, unicode.IsControl):
		return fmt.Errorf("the path %q has a control character (a line break, NUL) in it", path)
	}
	return nil
}

// nameable refuses to make a file or folder whose name ends in a blank or a dot, of
// a path that [inside] returned: Windows and some network disks drop these, so that
// "rules.json." would there be made in the place of rules.json, and nobody sees the
// difference. What has such a name already may be read and changed.
func nameable(env Env, rel string) error {
	at, _, rest, err := env.rootOf(rel)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(rest, "/") {
		at = filepath.Join(at, name)
		if !strings.HasSuffix(name, " ") && !strings.HasSuffix(name, ".") {
			continue
		}
		if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("no file is made with the name %q: it ends in a blank or a dot, which some disks drop; leave it out", name)
		}
	}
	return nil
}

// follow returns the absolute path that path leads to from the workspace, the
// way the kernel goes: names one by one, a ".." after a link being the parent
// of the link's target.
func follow(workspace, path string) (string, error) {
	at, rest := workspace, path
	if filepath.IsAbs(path) {
		at = "/"
		// The workspace's own path has no links in it.
		if r, ok := strings.CutPrefix(path, workspace); ok && (r == "" || r[0] == '/') {
			at, rest = workspace, r
		}
	}
	names := strings.Split(rest, "/")
	links := 0
	missing := 0 // names at the end of at that do not exist
	folder := true
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		switch {
		case name == "" || name == ".":
			continue
		case name == "..":
			at, folder = filepath.Dir(at), true
			missing = max(0, missing-1)
			continue
		}
		next := filepath.Join(at, name)
		if missing > 0 {
			at = next
			missing++
			continue
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			at, missing = next, 1
		case errors.Is(err, syscall.ENOTDIR):
			return "", fmt.Errorf("%s cannot be: %s is a file, not a folder", path, at)
		case err != nil:
			return "", fmt.Errorf("%s cannot be followed: %w", path, tree.InWords(err))
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", fmt.Errorf("%s goes through more than %d links: they lead in a circle", path, maxLinks)
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", fmt.Errorf("%s cannot be followed: %w", path, tree.InWords(err))
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			names = append(strings.Split(target, "/"), names...)
		default:
			at, folder = next, info.IsDir()
		}
	}
	if missing == 0 && !folder && strings.HasSuffix(path, "/") {
		return "", fmt.Errorf("%s cannot be: %s is a file, not a folder", path, at)
	}
	return at, nil
}

// kernelFolder returns the one of the kernel's own folders that path is in.
func kernelFolder(path string) string {
	for _, dir := range []string{"/dev", "/proc", "/sys"} {
		if _, ok := tree.Below(dir, path); ok {
			return dir
		}
	}
	return ""
}

// inGit reports whether rel is in a repository's own folder. Case is folded:
// on a case-insensitive disk .GIT is the same.
func inGit(rel string) bool {
	for name := range strings.SplitSeq(rel, "/") {
		if strings.EqualFold(name, ".git") {
			return true
		}
	}
	return false
}
