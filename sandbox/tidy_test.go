//go:build unix

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTemporaryFilesOfCommandsThatMayRunAreKept(t *testing.T) {
	t.Parallel()
	state, workspace := t.TempDir(), t.TempDir()
	p, err := For(workspace, Options{StateDir: state, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	file := filepath.Join(p.Temp, "file")
	leave := func() {
		t.Helper()
		if err := os.WriteFile(file, make([]byte, 10_000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tidy := func(what string, removed bool) {
		t.Helper()
		leave()
		freed, err := TidyTemp(t.Context(), state, workspace, time.Hour, time.Now().Add(2*time.Hour))
		_, serr := os.Stat(file)
		if err != nil || (serr != nil) != removed || (freed > 0) != removed {
			t.Errorf("%s: %d bytes were freed, %v, the file: %v; want it removed: %v", what, freed, err, serr, removed)
		}
	}
	tidy("no command has ever run", true)
	j, err := openJournal(p.journals)
	if err != nil {
		t.Fatal(err)
	}
	tidy("a process that has run commands lives", false)
	// Closed alone, it would stay locked for as long as a child of another test, which is being
	// started, has it open.
	if err := errors.Join(unlockFile(j.file), j.file.Close()); err != nil {
		t.Fatal(err)
	}
	tidy("it is dead", true)
	if unlock, err := j.lock(); err != nil {
		t.Fatal(err)
	} else {
		tidy("another process is about to run one", false)
		unlock()
	}
	if err := errors.Join(unlockFile(j.locking), j.locking.Close()); err != nil {
		t.Fatal(err)
	}
	leave()
	if freed, err := TidyTemp(t.Context(), state, workspace, time.Hour, time.Now()); freed != 0 || err != nil {
		t.Errorf("a file that is new: %d bytes were freed, %v", freed, err)
	}
	if used := TempUsage(state, workspace); used < 10_000 {
		t.Errorf("the folder occupies %d bytes", used)
	}
	if freed, err := TidyTemp(t.Context(), t.TempDir(), workspace, 0, time.Now()); freed != 0 || err != nil {
		t.Errorf("no folder: %d bytes were freed, %v", freed, err)
	}
}

// The folder of temporary files is made by pawl. A link in its place leads to somebody
// else's files, which are neither opened to commands nor removed.
func TestALinkInPlaceOfTheTemporaryFolderIsNotFollowed(t *testing.T) {
	t.Parallel()
	state, workspace, victim := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "victim")
	file := filepath.Join(victim, "file")
	if err := os.Mkdir(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	resolved, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		t.Fatal(err)
	}
	temp := tempDir(state, resolved)
	if err := os.MkdirAll(filepath.Dir(temp), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, temp); err != nil {
		t.Fatal(err)
	}
	if p, err := For(workspace, Options{StateDir: state, Getenv: func(string) string { return "" }}); err == nil {
		p.Close()
		t.Error("commands have it as their temporary folder")
	}
	if freed, err := TidyTemp(t.Context(), state, workspace, time.Hour, time.Now().Add(2*time.Hour)); freed != 0 || err != nil {
		t.Errorf("%d bytes were freed, %v", freed, err)
	}
	info, err := os.Stat(victim)
	if _, serr := os.Stat(file); err != nil || serr != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the file: %v; the folder: %v, %v", serr, info.Mode(), err)
	}
}
