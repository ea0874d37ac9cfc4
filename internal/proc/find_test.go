package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAProgramOfTheWorkspaceIsNotFound: PATH may lead into the workspace, as that of `npm run` and
// of an activated environment of Python does, and what an agent has left there is not run.
func TestAProgramOfTheWorkspaceIsNotFound(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	program := func(dir string) string {
		file := filepath.Join(top, dir, "git")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	own, planted := program("bin"), program("w/node_modules/.bin")
	links := filepath.Join(top, "links")
	if err := os.Mkdir(links, 0o755); err != nil {
		t.Fatal(err)
	}
	for to, file := range map[string]string{planted: filepath.Join(links, "git"), filepath.Join(top, "w"): filepath.Join(top, "by-link")} {
		if err := os.Symlink(to, file); err != nil {
			t.Skip("needs symbolic links")
		}
	}
	path := func(dirs ...string) string { return strings.Join(dirs, string(os.PathListSeparator)) }
	w := filepath.Join(top, "w")
	for name, c := range map[string]struct {
		path string
		not  []string
		want string
	}{
		"no folder to leave out":  {path(filepath.Dir(planted), filepath.Dir(own)), nil, planted},
		"the workspace":           {path(filepath.Dir(planted), filepath.Dir(own)), []string{w}, own},
		"by a link to it":         {path(filepath.Join(top, "by-link", "node_modules", ".bin"), filepath.Dir(own)), []string{w}, own},
		"a link into it":          {path(links, filepath.Dir(own)), []string{w}, own},
		"the workspace is a link": {path(filepath.Dir(planted), filepath.Dir(own)), []string{filepath.Join(top, "by-link")}, own},
		"not absolute":            {path("", ".", "w", filepath.Dir(own)), nil, own},
		"nowhere else":            {path(filepath.Dir(planted)), []string{w}, ""},
	} {
		got, err := Find("git", c.path, c.not...)
		if got != c.want || (err != nil) != (c.want == "") || err != nil && !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
