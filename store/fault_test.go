package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"pawl/run"
)

// wantFault sees that err is of a kind, names the path, and says what to do.
func wantFault(t *testing.T, err, kind error, path string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got error %v, want %v", err, kind)
	}
	f, ok := errors.AsType[*FileError](err)
	if !ok || f.Path != path {
		t.Errorf("got %#v, want a FileError for %s", f, path)
	}
	for _, part := range []string{path, kind.Error(), advice[kind]} {
		if part == "" || !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func TestAFullDiskIsSaidAndPasses(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	var pages int
	if err := s.writer.conn.QueryRowContext(background, `PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		t.Helper()
		var got int
		if err := s.writer.conn.QueryRowContext(background, fmt.Sprintf(`PRAGMA max_page_count = %d`, n)).Scan(&got); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 1)
	big := []run.Event{{At: testTime, Fact: run.Synthesized{Text: strings.Repeat("x", 1<<20)}}}
	wantFault(t, s.Append(t.Context(), "r", 5, big), ErrDiskFull, s.path)
	if sum, err := s.Run(t.Context(), "r"); err != nil || sum.Seq != 5 {
		t.Errorf("after it: number %d, error %v; want 5, nil", sum.Seq, err)
	}
	limit(pages + 1000)
	if err := s.Append(t.Context(), "r", 5, big); err != nil {
		t.Errorf("when there is space again: %v", err)
	}
	if err := s.Verify(t.Context(), "r"); err != nil {
		t.Error(err)
	}
}

func TestADatabaseThatMayNotBeWrittenIsSaid(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	if _, err := s.writer.exec(`PRAGMA query_only = 1`); err != nil {
		t.Fatal(err)
	}
	wantFault(t, s.Append(t.Context(), "r", 5, newRun("r")), ErrReadOnly, s.path)
	wantFault(t, s.Put(t.Context(), "r", Row{Key: "a", Kind: Prompt}), ErrReadOnly, s.path)
}

func TestAFileInPlaceOfTheFolderIsSaid(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path, Options{})
	wantFault(t, err, ErrReadOnly, path)
}

func TestADamagedDatabaseIsSaid(t *testing.T) {
	t.Parallel()
	t.Run("the file is something else", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		path := filepath.Join(dir, "pawl.db")
		if err := os.WriteFile(path, []byte(strings.Repeat("this is no database\n", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir, Options{})
		wantFault(t, err, ErrCorrupt, path)
	})
	t.Run("pages were overwritten", func(t *testing.T) {
		t.Parallel()
		s := withRun(t, Options{})
		if err := s.Close(); err != nil { // takes the -wal file into the database
			t.Fatal(err)
		}
		content, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		const page = 4096
		copy(content[page:], strings.Repeat("garbage!", (len(content)-page)/8))
		if err := os.WriteFile(s.path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, s.dir, Options{})
		_, err = s.Run(t.Context(), "r")
		wantFault(t, err, ErrCorrupt, s.path)
		wantFault(t, s.Append(t.Context(), "r", 5, newRun("r")), ErrCorrupt, s.path)
		for _, err := range s.Events(t.Context(), "r", 0) {
			wantFault(t, err, ErrCorrupt, s.path)
		}
	})
}

func TestADatabaseOfANewerPawlIsRefused(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	tamper(t, s, `PRAGMA user_version = 99`)
	_, err := Open(s.dir, Options{})
	wantFault(t, err, ErrNewer, s.path)
	if !strings.Contains(err.Error(), "99") {
		t.Errorf("%q does not say how new it is", err)
	}
}

func TestAMigrationThatFailsLeavesTheOldForm(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	tamper(t, s, `DROP TABLE inbox; PRAGMA user_version = 0`) // the script will meet a table that is there
	if _, err := Open(s.dir, Options{}); err == nil || !strings.Contains(err.Error(), "migration 1") {
		t.Errorf("got error %v, want one that names the migration", err)
	}
	var tables, version int
	if err := s.reader.QueryRow(`SELECT count(*) FROM sqlite_schema WHERE name = 'inbox'`).Scan(&tables); err != nil {
		t.Fatal(err)
	}
	if err := s.reader.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	if tables != 0 || version != 0 {
		t.Errorf("the failed migration left %d of its tables and version %d, want nothing", tables, version)
	}
}

func TestANetworkFileSystemIsRefusedUnlessItIsAllowed(t *testing.T) {
	t.Parallel()
	nfs := func(string) (string, bool, error) { return "nfs", true, nil }
	dir := t.TempDir()
	_, err := Open(dir, Options{fileSystem: nfs})
	wantFault(t, err, ErrNetworkFS, dir)
	if _, err := os.Stat(filepath.Join(dir, "pawl.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the refused store was made all the same: %v", err)
	}
	openTest(t, dir, Options{fileSystem: nfs, AllowNetworkFS: true})
	openTest(t, t.TempDir(), Options{fileSystem: func(string) (string, bool, error) { return "ext4", false, nil }})
}

func TestKindsOfFault(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]error{
		&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOSPC}: ErrDiskFull,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EDQUOT}: ErrDiskFull,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}:  ErrReadOnly,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}: ErrReadOnly,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EIO}:    nil,
		context.Canceled: nil,
	} {
		if got := faultKind("x", err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
	if err := fileError("x", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	if err := fileError("there", syscall.EIO); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "there") {
		t.Errorf("another error became %v, want it with its path", err)
	}
}

func TestErrorsAreSentences(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"run r is driven by process 7":       &OwnedError{Run: "r", PID: 7},
		"run r is driven by another process": &OwnedError{Run: "r"},
		"run r: event 3 (teleported, version 1) was written by a newer pawl and cannot be read by this one: " +
			"the run is open for reading up to there; drive it with the pawl that wrote it": &UnreadableError{Run: "r", Seq: 3, Type: "teleported", Version: 1},
		"run r: event 3 (teleported, version 1) was written by pawl 2.0.0 and cannot be read by this one: " +
			"the run is open for reading up to there; drive it with the pawl that wrote it": &UnreadableError{Run: "r", Seq: 3, Type: "teleported", Version: 1, Writer: "2.0.0"},
		"run r: event 3 is missing: the log was changed after it was written; trust the events before it only": &ChainError{Run: "r", Seq: 3, What: "is missing"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a system with file modes")
	}
	s := openTest(t, filepath.Join(t.TempDir(), "new"), Options{})
	if err := s.Append(t.Context(), "r", 0, newRun("r")); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Own(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	seen := 0
	err = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, want nothing for others", path, info.Mode())
		}
		seen++
		return err
	})
	if err != nil || seen < 6 { // the folder, three database files, write.lock, locks, r.lock
		t.Errorf("%d files were seen, error %v", seen, err)
	}
}
