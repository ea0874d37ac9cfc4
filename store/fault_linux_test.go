package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"pawl/run"
)

// inNamespace starts the test binary as a child with mounts of its own.
func inNamespace(t *testing.T, what string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+what), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.Contains(string(out), needsMounts) {
		t.Skipf("needs user and mount namespaces: %v %s", err, out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func init() {
	children["read-only"], children["full"], children["broken"] = readReadOnly, readFullDisk, appendToABrokenDisk
}

const needsMounts = "cannot mount"

// readReadOnly prints what can be read of the store in a folder that it makes
// read-only for itself.
func readReadOnly(dir string) error {
	for _, err := range []error{
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount(dir, dir, "", unix.MS_BIND, ""),
		unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|mountFlags(dir), ""),
	} {
		if err != nil {
			return fmt.Errorf("%s: %w", needsMounts, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("the folder is not read-only: %v", err)
	}
	return printStore(dir)
}

// mountFlags returns the flags that a mount in a user namespace must keep.
func mountFlags(dir string) uintptr {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0
	}
	return uintptr(st.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_RELATIME)
}

// readFullDisk prints what can be read of a copy of the store on a disk that is full.
func readFullDisk(dir string) error {
	disk, err := os.MkdirTemp("", "full")
	if err != nil {
		return err
	}
	defer os.Remove(disk)
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		return fmt.Errorf("%s: %w", needsMounts, err)
	}
	defer unix.Unmount(disk, 0)
	if err := os.CopyFS(disk, os.DirFS(dir)); err != nil {
		return err
	}
	filler, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		return err
	}
	defer filler.Close()
	for err == nil {
		_, err = filler.Write(make([]byte, 1<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the disk is not full: %w", err)
	}
	was, err := readFiles(disk)
	if err != nil {
		return err
	}
	if err := printStore(disk); err != nil {
		return err
	}
	is, err := readFiles(disk)
	if diff := cmp.Diff(was, is); diff != "" {
		return fmt.Errorf("reading has changed the files: %s", diff)
	}
	return err
}

// readFiles returns what must not change when a store is read.
func readFiles(dir string) (content [2]string, err error) {
	for i, name := range []string{"pawl.db", "pawl.db-wal"} {
		b, rerr := os.ReadFile(filepath.Join(dir, name))
		if content[i] = string(b); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = rerr
		}
	}
	return content, err
}

func printStore(dir string) error {
	s, err := openFile(dir, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	all, err := s.Runs(background, 0)
	if err != nil {
		return err
	}
	for _, sum := range all {
		seen, err := reading(s, sum.ID, 0)
		if err := errors.Join(err, s.Verify(background, sum.ID)); err != nil {
			return err
		}
		if _, _, err := s.Owner(background, sum.ID); err != nil {
			return err
		}
		waiting, err := s.Inbox(background, sum.ID)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d events, %d rows\n", sum.ID, len(seen), len(waiting))
	}
	return s.Close()
}

func TestAStoreIsReadOnAReadOnlyAndOnAFullDisk(t *testing.T) {
	t.Parallel()
	full := func(t *testing.T) *fileStore {
		s := withRun(t, Options{})
		if err := s.Put(t.Context(), "r", Row{Key: "a", Kind: "say"}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for state, c := range map[string]struct {
		make func(t *testing.T) (dir string)
		want string
	}{
		"a store that was closed": {func(t *testing.T) string {
			s := full(t)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(s.path + "-wal"); err == nil {
				t.Error("the -wal file is still there")
			}
			return s.dir
		}, "r: 5 events, 1 rows\n"},
		"a store that another process writes to": {func(t *testing.T) string { return full(t).dir }, "r: 5 events, 1 rows\n"},
		"a store of a process that was killed": {func(t *testing.T) string {
			dir := t.TempDir()
			s, err := openFile(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.Append(t.Context(), "r", 0, newRun("r")), s.Close()); err != nil {
				t.Fatal(err)
			}
			c := startChild(t, "append", dir)
			c.line(t)
			c.killed(t)
			if _, err := os.Stat(s.path + "-shm"); err != nil {
				t.Error(err)
			}
			return dir
		}, ""},
		"a copy without the -shm file": {func(t *testing.T) string { return backup(t, full(t)) }, "r: 5 events, 1 rows\n"},
	} {
		for _, disk := range []string{"read-only", "full"} {
			t.Run(state+", "+disk, func(t *testing.T) {
				t.Parallel()
				dir := c.make(t)
				want := c.want
				if want == "" { // as it can be read on an ordinary disk
					s := openTest(t, backup(t, &fileStore{dir: dir}), Options{})
					want = fmt.Sprintf("r: %d events, 0 rows\n", len(load(t, s, "r")))
				}
				if d := cmp.Diff(want, inNamespace(t, disk, childDirEnv+"="+dir)); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		}
	}
}

func TestAReaderFollowsTheWriter(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	r := openTest(t, s.dir, Options{ReadOnly: true})
	for seq := int64(5); seq < 8; seq++ {
		if seen, err := reading(r, "r", 0); int64(len(seen)) != seq || err != nil {
			t.Errorf("the events %v were read, error %v; want %d", seen, err, seq)
		}
		if err := s.Append(t.Context(), "r", seq, newRun("r")); err != nil {
			t.Fatal(err)
		}
	}
}

// A reader that was opened before the writer, when there was nothing to share with it.
func TestAReaderThatWasFirstFollowsTheWriter(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := openTest(t, s.dir, Options{ReadOnly: true})
	for seq := int64(5); seq < 11; seq += 2 {
		if seen, err := reading(r, "r", 0); int64(len(seen)) != seq || err != nil {
			t.Errorf("the events %v were read, error %v; want %d", seen, err, seq)
		}
		w := openTest(t, s.dir, Options{})
		if err := w.Append(t.Context(), "r", seq, newRun("r")); err != nil {
			t.Fatal(err)
		}
		if seen, err := reading(r, "r", 0); int64(len(seen)) != seq+1 || err != nil {
			t.Errorf("while it is written, %v were read, error %v; want %d", seen, err, seq+1)
		}
		if err := errors.Join(w.Append(t.Context(), "r", seq+1, newRun("r")), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Verify(t.Context(), "r"); err != nil {
		t.Error(err)
	}
}

func TestAReaderMakesNoFiles(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	copied := backup(t, s) // without the -shm file
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for what, dir := range map[string]string{"a store that was closed": s.dir, "a copy": copied} {
		tree := func() (names []string) {
			t.Helper()
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				names = append(names, fmt.Sprint(path, info.Mode(), info.ModTime()))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return names
		}
		before := tree()
		r := openTest(t, dir, Options{ReadOnly: true})
		if all, err := r.Runs(t.Context(), 0); err != nil || len(all) != 1 {
			t.Errorf("%s: the list: %+v, %v", what, all, err)
		}
		if seen, err := reading(r, "r", 0); err != nil || len(seen) != 5 {
			t.Errorf("%s: the events: %v, %v", what, seen, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, tree()); d != "" {
			t.Errorf("%s (-before +after):\n%s", what, d)
		}
	}
}

func TestAReaderChangesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrNoRuns) {
		t.Errorf("a folder that is not there: got error %v, want ErrNoRuns", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder was made")
	}

	dir = t.TempDir()
	if err := createPrivate(filepath.Join(dir, "pawl.db")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrNoRuns) {
		t.Errorf("a database that is just being made: got error %v, want ErrNoRuns", err)
	}

	dir = t.TempDir()
	s := openTest(t, dir, Options{})
	family(t, s, run.Created{Run: "r"}, testTime, "")
	family(t, s, run.Created{Run: "c", Parent: "r"}, testTime, "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "write.lock")); err != nil {
		t.Fatal(err)
	}
	r := openTest(t, dir, Options{ReadOnly: true})
	if kids, err := r.Children(t.Context(), "r"); err != nil || len(kids) != 1 || kids[0].Root != "r" || kids[0].Damage != "" {
		t.Errorf("the children of a run: %+v, %v", kids, err)
	}
	if last, err := r.Runs(t.Context(), 1); err != nil || len(last) != 1 || last[0].ID != "c" && last[0].ID != "r" {
		t.Errorf("its last run: %+v, %v", last, err)
	}
	ctx := context.Background()
	_, own := r.Own(ctx, "r", "")
	for what, err := range map[string]error{
		"Own": own, "Append": r.Append(ctx, "r", 2, []run.Event{{Payload: run.Synthesized{}}}), "Put": r.Put(ctx, "r", Row{Key: "a", Kind: "say"}),
	} {
		if !errors.Is(err, ErrForReading) {
			t.Errorf("%s: got error %v, want %v", what, err, ErrForReading)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var version int
	db, err := openDB(filepath.Join(dir, "pawl.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil || version != formatVersion {
		t.Errorf("the database has version %d now, error %v; want %d", version, err, formatVersion)
	}
	if _, err := os.Stat(filepath.Join(dir, "write.lock")); err == nil {
		t.Error("the lock file was made")
	}

	s = withRun(t, Options{})
	tamper(t, s, `PRAGMA user_version = 999`)
	_, err = Open(s.dir, Options{ReadOnly: true})
	wantFault(t, err, ErrNewer, s.path)
}

// appendToABrokenDisk appends when every write to the -wal file fails.
func appendToABrokenDisk(dir string) error {
	s, err := openFile(dir, Options{})
	if err != nil {
		return err
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	wal := s.path + "-wal"
	for _, fd := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); to != wal {
			continue
		}
		number, err := strconv.Atoi(fd.Name())
		if err != nil {
			return err
		}
		unwritable, err := os.Open(wal)
		if err != nil {
			return err
		}
		if err := unix.Dup3(int(unwritable.Fd()), number, 0); err != nil {
			return err
		}
	}
	return s.Append(background, "new", 0, newRun("new"))
}

func TestAnErrorOfTheDiskIsSaid(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	out := startChild(t, "broken", s.dir).wait(t)
	for _, want := range []string{"append new #1", s.path, ErrIO.Error(), "(writing: disk I/O error (778))", advice[ErrIO]} {
		if !strings.Contains(out, want) {
			t.Errorf("it said %q, want %q in it", out, want)
		}
	}
	if seen, err := reading(s, "r", 0); len(seen) != 5 || err != nil {
		t.Errorf("the events %v were read, error %v; want the 5 there were", seen, err)
	}
}
