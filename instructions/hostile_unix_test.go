//go:build unix

package instructions_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pawl/instructions"
)

func TestPipesDevicesAndLoopsOfLinksDoNotBlock(t *testing.T) {
	p := newPlace(t)
	p.link("/dev/zero", "repo/zero.md")
	p.link("/proc/self/environ", "repo/environ.md")
	p.link("loop.md", "repo/loop.md")
	for _, name := range []string{"AGENTS.md", "pipe.md", "sub/.git"} {
		p.mkdir("repo/sub")
		if err := syscall.Mkfifo(filepath.Join(p.repo, name), 0o600); err != nil {
			t.Skipf("needs named pipes: %v", err)
		}
	}
	p.mkdir("repo/CLAUDE.md")
	p.write("repo/GEMINI.md", "@pipe.md @zero.md @environ.md @loop.md")
	got := p.load("sub")
	if got.Root != p.repo {
		t.Errorf("a pipe called .git made %s a repository", got.Root)
	}
	for i, f := range got.Files {
		if want := i == 2; (f.Skipped == "") != want {
			t.Errorf("%s: skipped %q", f.Path, f.Skipped)
		}
	}
	p.files(got, "repo/AGENTS.md: not a regular file", "repo/CLAUDE.md: a folder", "repo/GEMINI.md: 38 bytes",
		"repo/pipe.md: not a regular file", "repo/zero.md: outside the repository", "repo/environ.md: outside the repository", "repo/loop.md: "+got.Files[6].Skipped)
}

func TestAFileOfTwoHundredGigabytesIsReadToTheLimit(t *testing.T) {
	p := newPlace(t)
	path := p.write("repo/AGENTS.md", "the beginning\n")
	if err := os.Truncate(path, 200<<30); err != nil {
		t.Skipf("needs files with holes: %v", err)
	}
	p.files(p.load(""), "repo/AGENTS.md: not text in UTF-8")
}

func TestFilesOfAnotherUserAreNotRead(t *testing.T) {
	p := newPlace(t)
	p.write("shared/.git/config", "")
	p.write("shared/AGENTS.md", "@words.md")
	words := p.write("shared/words.md", "words")
	p.write("shared/sub/AGENTS.md", "sub")
	if err := os.Chown(words, 12345, -1); err != nil {
		t.Skipf("needs root, to give a file to another user: %v", err)
	}
	got := instructions.Load(instructions.Options{Dir: filepath.Join(p.base, "shared/sub")})
	p.files(got, "shared/AGENTS.md: 9 bytes", "shared/words.md: belongs to user 12345", "shared/sub/AGENTS.md: 3 bytes")

	// A .git of another user makes no repository; one of the workspace's owner does.
	if err := os.Chown(filepath.Join(p.base, "shared/.git"), 12345, -1); err != nil {
		t.Fatal(err)
	}
	got = instructions.Load(instructions.Options{Dir: filepath.Join(p.base, "shared/sub")})
	p.files(got, "shared/sub/AGENTS.md: 3 bytes")
	if err := os.Chown(filepath.Join(p.base, "shared/sub"), 12345, -1); err != nil {
		t.Fatal(err)
	}
	got = instructions.Load(instructions.Options{Dir: filepath.Join(p.base, "shared/sub")})
	p.files(got, "shared/AGENTS.md: 9 bytes", "shared/words.md: 5 bytes", "shared/sub/AGENTS.md: 3 bytes")
}

func TestADraftDoesNotWaitForPipes(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"Makefile", "README.md", "package.json", "pyproject.toml"} {
		if err := syscall.Mkfifo(filepath.Join(p.repo, name), 0o600); err != nil {
			t.Skipf("needs named pipes: %v", err)
		}
	}
	p.link(p.secret, "repo/CLAUDE.md")
	p.link("..", "repo/loop")
	p.link("/dev/zero", "repo/justfile")
	p.write("repo/go.mod", "module x")
	got, err := instructions.Draft(p.repo)
	if want := "# repo\n\n## Commands\n\n- Build: `go build ./...`\n- Test: `go test ./...` (one test: go test ./PACKAGE -run NAME)\n- Lint: `go vet ./...`\n"; err != nil || got != want {
		t.Errorf("%v: %s", err, got)
	}
}
