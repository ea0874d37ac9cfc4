package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Find returns the path of a program, as a search in the folders of path finds it. Folders
// that are not absolute do not count, and neither do programs in one of the folders not, or
// that lead into one: an agent writes there. The error is an [*exec.Error] with
// [exec.ErrNotFound].
func Find(name, path string, not ...string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file, err := exec.LookPath(filepath.Join(dir, name)) // on Windows with its suffix
		if err == nil && !IsIn(file, not...) {
			return file, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// IsIn reports whether the file at an absolute path lies in one of folders, or leads into one,
// whatever links are in them; and if that cannot be seen.
func IsIn(file string, folders ...string) bool {
	real, err := filepath.EvalSymlinks(file)
	return err != nil || slices.ContainsFunc(folders, func(folder string) bool { return isBelow(folder, file, real) })
}

// isBelow reports whether one of paths lies in a folder, whose links are resolved too.
func isBelow(folder string, paths ...string) bool {
	real, err := filepath.EvalSymlinks(folder)
	for _, f := range []string{folder, real} {
		for _, path := range paths {
			if rel, relErr := filepath.Rel(f, path); f != "" && relErr == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(os.PathSeparator)) {
				return true
			}
		}
		if err != nil {
			break
		}
	}
	return false
}
