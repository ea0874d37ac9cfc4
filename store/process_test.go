//go:build unix

package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
)

// childEnv makes the test binary a child process: what it does, and in which folder.
const childEnv, childDirEnv = "PAWL_STORE_TEST_CHILD", "PAWL_STORE_TEST_DIR"

// children are what the test binary can be as a child, by the value of childEnv.
var children = map[string]func(dir string) error{
	"append": appendForEver, "own": ownUntilKilled, "hold": holdWriteLock, "exclusive": holdDatabase, "stranger": openAsNobody, "limited": appendUntilTheLimit,
}

func TestMain(m *testing.M) {
	if do := children[os.Getenv(childEnv)]; do != nil {
		exit(do(os.Getenv(childDirEnv)))
	}
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// appendForEver appends to run r, and prints the number of each event when it is durable.
func appendForEver(dir string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	sum, err := s.Run(background, "r")
	if err != nil {
		return err
	}
	for seq := sum.Seq; ; seq += 3 {
		events := make([]run.Event, 3)
		for i := range events {
			events[i] = run.Event{At: testTime, Payload: run.Synthesized{Text: fmt.Sprint(seq)}}
		}
		if err := s.Append(background, "r", seq, events); err != nil {
			return err
		}
		fmt.Println(seq + 3)
	}
}

func ownUntilKilled(dir string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	if _, err := s.Own(background, "r", "/run/child.sock"); err != nil {
		return err
	}
	fmt.Println("owned")
	_, err = io.Copy(io.Discard, os.Stdin) // until the parent ends
	return err
}

// holdWriteLock keeps the others from writing, as a process that is stopped at the
// wrong moment.
func holdWriteLock(dir string) error {
	s, err := openFile(dir, Options{})
	if err != nil {
		return err
	}
	if _, err := s.Own(background, "r", ""); err != nil {
		return err
	}
	return s.write(background, func(*writer) error {
		fmt.Println("held")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	})
}

// holdDatabase has the database for itself, as SQLite has for a moment when the last process
// closes it.
func holdDatabase(dir string) error {
	lock, err := openLock(filepath.Join(dir, "write.lock"))
	if err != nil {
		return err
	}
	if _, err := lock.AcquireWithin(time.Minute); err != nil {
		return err
	}
	db, err := openDB(filepath.Join(dir, "pawl.db"), nil)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`PRAGMA user_version = 3; PRAGMA locking_mode = EXCLUSIVE; PRAGMA user_version = 3`); err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// appendUntilTheLimit appends until a file may not grow any further.
func appendUntilTheLimit(dir string) error {
	limit := syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return appendForEver(dir)
}

func openAsNobody(dir string) error {
	const nobody = 65534
	if err := errors.Join(syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
		return err
	}
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	return s.Append(background, "stranger", 0, newRun("stranger"))
}

type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// startChild starts the test binary as a child, which is killed at the latest when
// the test ends.
func startChild(t *testing.T, what, dir string) *child {
	t.Helper()
	ctx, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+what, childDirEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill()
		cmd.Wait()
	})
	return &child{cmd, bufio.NewScanner(out)}
}

// line returns the next line the child prints.
func (c *child) line(t *testing.T) string {
	t.Helper()
	if !c.lines.Scan() {
		t.Fatalf("the child said no more: %v", c.lines.Err())
	}
	return c.lines.Text()
}

// wait returns everything else the child prints.
func (c *child) wait(t *testing.T) string {
	t.Helper()
	var rest []string
	for c.lines.Scan() {
		rest = append(rest, c.lines.Text())
	}
	c.cmd.Wait() // it is meant to fail
	return strings.Join(rest, "\n")
}

// killed kills the child with -9 and returns what it had printed until then.
func (c *child) killed(t *testing.T) string {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	return c.wait(t)
}

func TestAKilledProcessLosesNothingItHadAcknowledged(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	if err := s.Append(t.Context(), "r", 0, newRun("r")); err != nil {
		t.Fatal(err)
	}
	for round := range 6 {
		c := startChild(t, "append", s.dir)
		last := c.line(t)
		for range 5 * round {
			last = c.line(t)
		}
		if rest := strings.Fields(c.killed(t)); len(rest) > 0 {
			last = rest[len(rest)-1]
		}
		acknowledged, err := strconv.ParseInt(last, 10, 64)
		if err != nil {
			t.Fatalf("the child said %q", last)
		}
		sum, err := s.Run(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		// At most the one append that was under way may have come through as well.
		if sum.Seq != acknowledged && sum.Seq != acknowledged+3 {
			t.Errorf("round %d: the log ends at %d, acknowledged was %d", round, sum.Seq, acknowledged)
		}
		// The mark has what was acknowledged, and nothing that is not in the log.
		m, ok := markAt(lockPath(s.dir, "r"), s.id)
		if !ok || m.seq < acknowledged || m.seq > sum.Seq || sum.Damage != "" {
			t.Errorf("round %d: the mark is at %d (%v), acknowledged was %d, the log ends at %d: %s", round, m.seq, ok, acknowledged, sum.Seq, sum.Damage)
		}
		if err := s.Verify(t.Context(), "r"); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		var n int64
		for _, err := range s.Events(t.Context(), "r", 0) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != sum.Seq {
			t.Errorf("round %d: %d events load, want %d", round, n, sum.Seq)
		}
	}
}

func TestTheKernelFreesTheRunOfAKilledOwner(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	c := startChild(t, "own", s.dir)
	if said := c.line(t); said != "owned" {
		t.Fatalf("the child said %q", said)
	}
	_, err := s.Own(t.Context(), "r", "")
	got, ok := errors.AsType[*OwnedError](err)
	if !ok || got.PID != c.cmd.Process.Pid || got.Socket != "/run/child.sock" {
		t.Errorf("got error %v (%+v), want the child %d with its socket", err, got, c.cmd.Process.Pid)
	}
	asked := func() []any {
		owner, owned, err := s.Owner(t.Context(), "r")
		return []any{owner, owned, err}
	}
	if d := cmp.Diff([]any{Owner{PID: c.cmd.Process.Pid, Socket: "/run/child.sock"}, true, nil}, asked()); d != "" {
		t.Errorf("the owner while it lives (-want +got):\n%s", d)
	}
	c.killed(t)
	if d := cmp.Diff([]any{Owner{}, false, nil}, asked()); d != "" {
		t.Errorf("the owner after the kill (-want +got):\n%s", d)
	}
	lease, err := s.Own(t.Context(), "r", "")
	if err != nil {
		t.Fatalf("after the kill: %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

func TestAStoppedProcessThatHoldsTheLockIsNamedAndNotWaitedForInSilence(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux, to see the state of another process")
	}
	const patience = time.Millisecond
	dir := withRun(t, Options{}).dir
	c := stopped(t, "hold", dir)
	pid := c.cmd.Process.Pid

	waits := make(chan *LockedError, 10)
	s := openTest(t, dir, Options{patience: patience, Waiting: func(e *LockedError) { waits <- e }}) // it does not wait for the lock
	if _, err := s.Run(t.Context(), "r"); err != nil {
		t.Errorf("a reader: %v", err)
	}
	for range 2 { // each wait is said
		ctx, cancel := context.WithCancel(t.Context())
		appended := make(chan error)
		go func() { appended <- s.Append(ctx, "r", 5, newRun("r")) }()
		got := <-waits
		if d := cmp.Diff(&LockedError{Path: filepath.Join(dir, "write.lock"), PID: pid, State: "T"}, got); d != "" {
			t.Errorf("it says (-want +got):\n%s", d)
		}
		cancel()
		err := <-appended
		locked, ok := errors.AsType[*LockedError](err)
		if !ok || locked.PID != pid || !errors.Is(err, context.Canceled) {
			t.Errorf("the caller gives up: got error %v, want one that names process %d", err, pid)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		s = openTest(t, dir, s.opt)
	}
	if _, err := Open(filepath.Join(dir, "other"), Options{}); err != nil {
		t.Errorf("another store: %v", err)
	}

	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.killed(t)
	if err := s.Append(t.Context(), "r", 5, newRun("r")); err != nil {
		t.Errorf("after its end: %v", err)
	}
}

// stopped starts a child, which says that it holds something, and stops it.
func stopped(t *testing.T, what, dir string) *child {
	t.Helper()
	c := startChild(t, what, dir)
	if said := c.line(t); said != "held" {
		t.Fatalf("the child said %q", said)
	}
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	for !status.Stopped() {
		if _, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestLookingDoesNotWaitForAStoppedOwnerInATransaction(t *testing.T) {
	t.Parallel()
	dir := withRun(t, Options{}).dir
	c := stopped(t, "hold", dir)
	s := openTest(t, dir, Options{ReadOnly: true, patience: time.Hour, Waiting: func(e *LockedError) { t.Errorf("it waits: %v", e) }})
	if all, err := s.Runs(t.Context(), 0); err != nil || len(all) != 1 {
		t.Errorf("the list: %+v, %v", all, err)
	}
	if seen, err := reading(s, "r", 0); err != nil || len(seen) != 5 {
		t.Errorf("the events: %v, %v", seen, err)
	}
	if owner, owned, err := s.Owner(t.Context(), "r"); err != nil || !owned || owner.PID != c.cmd.Process.Pid {
		t.Errorf("the owner: %+v, %v, %v; want the child", owner, owned, err)
	}
	if err := errors.Join(s.Verify(t.Context(), "r"), s.Close()); err != nil {
		t.Error(err)
	}
}

func TestAStoppedProcessThatHasTheDatabaseForItselfIsNamed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux, to see the state of another process")
	}
	w := withRun(t, Options{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c := stopped(t, "exclusive", w.dir)
	if !hasContent(w.path+"-wal") || !hasContent(w.path+"-shm") {
		t.Fatal("the child has not written")
	}
	_, err := Open(w.dir, Options{ReadOnly: true, patience: time.Millisecond})
	if locked, ok := errors.AsType[*LockedError](err); !ok || locked.PID != c.cmd.Process.Pid || locked.State != "T" {
		t.Errorf("got error %v, want one that names process %d", err, c.cmd.Process.Pid)
	}
}

func TestADatabaseIsNotCreatedWhileAnotherProcessHoldsTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := openLock(filepath.Join(dir, "write.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if unlock, err := lock.AcquireWithin(time.Second); err != nil {
		t.Fatal(err)
	} else {
		t.Cleanup(func() { errors.Join(unlock(), lock.Close()) })
	}
	_, err = Open(dir, Options{patience: time.Microsecond})
	if locked, ok := errors.AsType[*LockedError](err); !ok || locked.PID != os.Getpid() {
		t.Errorf("got error %v, want one that names this process", err)
	}
}

func TestARefusedProcessIsNeverToldOfAnOwnerThatHasReleased(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	lease, err := s.Own(t.Context(), "r", "/run/old.sock")
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	// The next owner has the lock and has not written its name yet.
	lock, err := openLock(s.dir + "/locks/r.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if got, err := lock.TryLock(); !got || err != nil {
		t.Fatal(got, err)
	}
	_, err = s.Own(t.Context(), "r", "")
	owned, ok := errors.AsType[*OwnedError](err)
	if !ok || owned.PID != 0 || owned.Socket != "" {
		t.Errorf("got %+v, want an owner without a name", owned)
	}
}

func TestALimitOnTheSizeOfFilesIsSaid(t *testing.T) {
	t.Parallel()
	s := openTest(t, t.TempDir(), Options{})
	if err := s.Append(t.Context(), "r", 0, newRun("r")); err != nil {
		t.Fatal(err)
	}
	out := startChild(t, "limited", s.dir).wait(t)
	last := out[strings.LastIndexByte(out, '\n')+1:]
	for _, want := range []string{s.path, ErrFileLimit.Error(), "writing", advice[ErrFileLimit]} {
		if !strings.Contains(last, want) {
			t.Errorf("it said %q, want %q in it", last, want)
		}
	}
	// What was acknowledged is there, and the run continues.
	seen, err := reading(s, "r", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), "r", int64(len(seen)), newRun("r")); err != nil {
		t.Error(err)
	}
}

func TestAFolderOfAnotherUserIsSaid(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("needs root on Linux, to become another user")
	}
	dir, err := os.MkdirTemp("", "pawl-store-") // t.TempDir has parents that only root can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, made := range map[string]bool{"without a store": false, "with a store": true} {
		if made {
			s := openTest(t, dir, Options{})
			if err := s.Append(t.Context(), "r", 0, newRun("r")); err != nil {
				t.Fatal(err)
			}
		}
		out := startChild(t, "stranger", dir).wait(t)
		if !strings.Contains(out, advice[ErrReadOnly]) {
			t.Errorf("%s: it said %q, want the advice for a read-only folder", name, out)
		}
	}
}
