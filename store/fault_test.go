package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
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
	big := []run.Event{{At: testTime, Payload: run.Synthesized{Text: strings.Repeat("x", 1<<20)}}}
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

func TestADatabaseThatIsDeletedOrReplacedStopsTheRun(t *testing.T) {
	t.Parallel()
	replace := func(s *fileStore, suffix string) error { // with a copy, as a backup that is put back
		content, err := os.ReadFile(s.path + suffix)
		return errors.Join(err, os.Remove(s.path+suffix), os.WriteFile(s.path+suffix, content, 0o600))
	}
	for name, c := range map[string]struct {
		damage func(s *fileStore) error
		named  string
	}{
		"the folder is deleted":     {func(s *fileStore) error { return os.RemoveAll(s.dir) }, ""},
		"the folder is moved":       {func(s *fileStore) error { return os.Rename(s.dir, s.dir+".old") }, ""},
		"the database is deleted":   {func(s *fileStore) error { return os.Remove(s.path) }, ""},
		"the database is replaced":  {func(s *fileStore) error { return replace(s, "") }, ""},
		"the -wal file is deleted":  {func(s *fileStore) error { return os.Remove(s.path + "-wal") }, "-wal"},
		"the -wal file is replaced": {func(s *fileStore) error { return replace(s, "-wal") }, "-wal"},
		"the -shm file is deleted":  {func(s *fileStore) error { return os.Remove(s.path + "-shm") }, "-shm"},
		"another pawl has begun anew": {func(s *fileStore) error {
			err := os.RemoveAll(s.dir)
			other, oerr := Open(s.dir, Options{})
			if oerr == nil {
				oerr = errors.Join(other.Append(t.Context(), "r", 0, newRun("r")), other.Close())
			}
			return errors.Join(err, oerr)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := openFile(filepath.Join(t.TempDir(), "state"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() }) // what it says about lost files is not the matter here
			if err := s.Append(t.Context(), "r", 0, newRun("r")); err != nil {
				t.Fatal(err)
			}
			if err := c.damage(s); err != nil {
				t.Fatal(err)
			}
			wantFault(t, s.Append(t.Context(), "r", 1, newRun("r")), ErrReplaced, s.path+c.named)
			wantFault(t, s.Put(t.Context(), "r", Row{Key: "a", Kind: "say"}), ErrReplaced, s.path+c.named)
		})
	}
}

func TestADatabaseThatMayNotBeWrittenIsSaid(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	if _, err := s.writer.exec(`PRAGMA query_only = 1`); err != nil {
		t.Fatal(err)
	}
	wantFault(t, s.Append(t.Context(), "r", 5, newRun("r")), ErrReadOnly, s.path)
	wantFault(t, s.Put(t.Context(), "r", Row{Key: "a", Kind: "say"}), ErrReadOnly, s.path)
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

func TestLocksThatCannotBeUsedAreSaid(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	locks := filepath.Join(s.dir, "locks")
	if err := errors.Join(os.RemoveAll(locks), os.WriteFile(locks, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err := s.Own(t.Context(), "r", "")
	wantFault(t, err, ErrReadOnly, locks)
	_, err = s.Runs(t.Context(), 0)
	wantFault(t, err, ErrReadOnly, locks)
	_, _, err = s.Owner(t.Context(), "r")
	wantFault(t, err, ErrReadOnly, filepath.Join(locks, "r.lock"))
	if err := s.Append(t.Context(), "r", 5, newRun("r")); err != nil {
		t.Errorf("an append needs no mark: %v", err)
	}

	if err := errors.Join(s.Close(), os.RemoveAll(filepath.Join(s.dir, "write.lock")), os.Mkdir(filepath.Join(s.dir, "write.lock"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s.dir, Options{}); err == nil || !strings.Contains(err.Error(), "write.lock") {
		t.Errorf("a folder in place of the lock: %v", err)
	}
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
		ctx := t.Context()
		errs := []error{s.Append(ctx, "r", 5, newRun("r")), s.Put(ctx, "r", Row{Key: "a", Kind: "say"}), s.Verify(ctx, "r")}
		note := func(err error) { errs = append(errs, err) }
		_, err = s.Run(ctx, "r")
		note(err)
		_, err = s.Runs(ctx, 0)
		note(err)
		_, err = s.Runs(ctx, 1)
		note(err)
		_, err = s.Children(ctx, "r")
		note(err)
		_, err = s.Conversation(ctx, "r")
		note(err)
		_, err = s.Inbox(ctx, "r")
		note(err)
		_, _, err = s.Answer(ctx, "r", "a")
		note(err)
		_, err = reading(s, "r", 0)
		note(err)
		for _, err := range errs {
			wantFault(t, err, ErrCorrupt, s.path)
		}
	})
}

func TestADatabaseOfANewerPawlIsRefused(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	tamper(t, s, `PRAGMA user_version = 999`)
	_, err := Open(s.dir, Options{})
	wantFault(t, err, ErrNewer, s.path)
	if !strings.Contains(err.Error(), "999") {
		t.Errorf("%q does not say how new it is", err)
	}
}

func TestADatabaseOfAnUnreleasedPawlIsNamed(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	tamper(t, s, `PRAGMA user_version = 6`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		_, err := Open(s.dir, Options{ReadOnly: readOnly})
		wantFault(t, err, ErrUnreleased, s.path)
	}
}

// A new database in its place would hide that runs are gone.
func TestADatabaseThatIsGoneBesideItsLogsIsMissed(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(path string) error{
		"removed": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"a dangling link": func(path string) error {
			return errors.Join(os.Remove(path), os.Symlink(path+".elsewhere", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withRun(t, Options{})
			if err := errors.Join(s.Close(), lose(s.path)); err != nil {
				t.Fatal(err)
			}
			for _, readOnly := range []bool{true, false} {
				_, err := Open(s.dir, Options{ReadOnly: readOnly})
				wantFault(t, err, ErrLost, s.path)
			}
		})
	}
}

func TestAFailedCreationLeavesNothing(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	tamper(t, s, `DROP TABLE inbox; PRAGMA user_version = 0`) // the schema will meet a table that is there
	if _, err := Open(s.dir, Options{}); err == nil || !strings.Contains(err.Error(), "creating its tables") {
		t.Errorf("got error %v, want one that says what failed", err)
	}
	var tables, version int
	if err := s.reader.QueryRow(`SELECT count(*) FROM sqlite_schema WHERE name = 'inbox'`).Scan(&tables); err != nil {
		t.Fatal(err)
	}
	if err := s.reader.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	if tables != 0 || version != 0 {
		t.Errorf("it left %d of its tables and version %d, want nothing", tables, version)
	}
}

func TestALeaseThatCannotBeReleasedIsSaid(t *testing.T) {
	t.Parallel()
	l, err := withRun(t, Options{}).Own(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.(*lease).lock.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err == nil || !strings.HasPrefix(err.Error(), "release: ") {
		t.Errorf("got error %v", err)
	}
	if err := l.Release(); err != nil {
		t.Errorf("again: got error %v", err)
	}
}

func TestANetworkFileSystemIsRefused(t *testing.T) {
	t.Parallel()
	nfs := func(string) (string, bool, error) { return "nfs", true, nil }
	dir := t.TempDir()
	_, err := Open(dir, Options{fileSystem: nfs})
	wantFault(t, err, ErrNetworkFS, dir)
	if _, err := os.Stat(filepath.Join(dir, "pawl.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the refused store was made all the same: %v", err)
	}
	openTest(t, dir, Options{})
	_, err = Open(dir, Options{fileSystem: nfs, ReadOnly: true})
	wantFault(t, err, ErrNetworkFS, dir)
	broken := errors.New("statfs failed")
	if _, err := Open(dir, Options{fileSystem: func(string) (string, bool, error) { return "", false, broken }}); !errors.Is(err, broken) {
		t.Errorf("where it is not known: %v", err)
	}
	openTest(t, t.TempDir(), Options{fileSystem: func(string) (string, bool, error) { return "ext4", false, nil }})
}

// A program that is not pawl can lock the database for longer than is waited.
func TestADatabaseThatAnotherProgramHasLockedIsSaid(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	if _, err := s.writer.conn.ExecContext(background, `PRAGMA busy_timeout = 1`); err != nil {
		t.Fatal(err)
	}
	other, err := openDB(s.path, url.Values{"_txlock": {"immediate"}})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	more := []run.Event{{At: testTime, Payload: run.Synthesized{Text: "x"}}}
	wantFault(t, s.Append(t.Context(), "r", 5, more), ErrLocked, s.path)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), "r", 5, more); err != nil {
		t.Errorf("when it is not locked any more: %v", err)
	}
}

func TestKindsOfFault(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]error{
		&fs.PathError{Op: "open", Path: "x", Err: syscall.ENOSPC}: ErrDiskFull,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EDQUOT}: ErrDiskFull,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}:  ErrReadOnly,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}: ErrReadOnly,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EIO}:    ErrIO,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EFBIG}:  ErrFileLimit,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EINVAL}: nil,
		context.Canceled: nil,
	} {
		if got := faultKind("x", err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
	wantFault(t, FileFault("there", syscall.ENOSPC), ErrDiskFull, "there")
	// A disk with room, and a file that may grow, are not what is wrong.
	if path := filepath.Join(t.TempDir(), File); diskFull(path) || atSizeLimit(path) {
		t.Errorf("of an empty folder: full %t, at the limit %t", diskFull(path), atSizeLimit(path))
	}
	if path := filepath.Join(t.TempDir(), "gone", File); diskFull(path) || atSizeLimit(path) {
		t.Errorf("of a folder that is gone: full %t, at the limit %t", diskFull(path), atSizeLimit(path))
	}
	if err := fileError("x", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	if err := fileError("there", syscall.EINVAL); !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "there") {
		t.Errorf("another error became %v, want it with its path", err)
	}
}

func TestErrorsAreSentences(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"run r is driven by process 7":               &OwnedError{Run: "r", PID: 7},
		"run r is driven by another process":         &OwnedError{Run: "r"},
		"write.lock: process 7 holds the lock":       &LockedError{Path: "write.lock", PID: 7, State: "S"},
		"write.lock: another process holds the lock": &LockedError{Path: "write.lock"},
		"write.lock: process 7 holds the lock and is stopped (state T): continue it with `kill -CONT 7`, or end it with `kill -KILL 7`": &LockedError{Path: "write.lock", PID: 7, State: "T"},
		"run r: event 3 (teleported, version 1) was written by a newer pawl and cannot be read by this one: " +
			"the run can be read up to there; drive it with the pawl that wrote it": &UnreadableError{Run: "r", Seq: 3, Type: "teleported", Version: 1},
		"run r: event 3 (teleported, version 1) was written by pawl 2.0.0 and cannot be read by this one: " +
			"the run can be read up to there; drive it with the pawl that wrote it": &UnreadableError{Run: "r", Seq: 3, Type: "teleported", Version: 1, Writer: "2.0.0"},
		"run r: event 3 is missing: the log was changed or damaged after it was written; the events before it are intact: " +
			"`pawl runs fork r --at 2` continues from there": &ChainError{Run: "r", Seq: 3, What: "is missing"},
		"run r: event 1 is missing: the log was changed or damaged after it was written":                  &ChainError{Run: "r", Seq: 1, What: "is missing"},
		"run r: its summary was changed: `pawl runs recover` restores it from the log, if it is your own": &ChainError{Run: "r", What: "its summary was changed"},
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
