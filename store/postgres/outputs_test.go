//go:build unix

package postgres_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl/output"
	"pawl/output/outputtest"
	"pawl/policy"
	"pawl/store"
	"pawl/store/postgres"
	"pawl/store/postgres/pgtest"
	"pawl/tasklog"
)

var (
	_ output.Shared       = (*postgres.Store)(nil)
	_ tasklog.SharedFiles = (*postgres.Store)(nil)
	_ policy.Shared       = (*postgres.Store)(nil)
)

// The rules of a run are read on other machines, and go with the run.
func TestTheRulesOfARunAreShared(t *testing.T) {
	t.Parallel()
	address := pgtest.Shared(t).Address(t)
	one, other := open(t, address, postgres.Options{}), open(t, address, postgres.Options{})
	begin(t, one, "r")
	for _, rules := range []string{"before", "after"} {
		if err := one.PutRunRules(t.Context(), "r", []byte(rules)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := other.RunRules(t.Context(), "r"); string(got) != "after" || err != nil {
		t.Errorf("they are %q, %v", got, err)
	}
	if _, err := other.Remove(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if got, err := other.RunRules(t.Context(), "r"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the run they are %q, %v", got, err)
	}
}

// What is attached to a task on one machine is read on the others, and goes with the task.
func TestTheFilesOfATaskAreShared(t *testing.T) {
	t.Parallel()
	address := pgtest.Shared(t).Address(t)
	one, other := open(t, address, postgres.Options{}), open(t, address, postgres.Options{})
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	large := bytes.Repeat([]byte("0123456789"), tasklog.MaxAttachment/10)
	ok(one.PutTaskFile(t.Context(), "t-1", "f-1", []byte("before")))
	ok(one.PutTaskFile(t.Context(), "t-1", "f-1", []byte("\x00after\xff")))
	ok(one.PutTaskFile(t.Context(), "t-1", "f-2", nil))
	ok(one.PutTaskFile(t.Context(), "t-1", "f-3", large))
	ok(one.PutTaskFile(t.Context(), "t-2", "f-1", []byte("of another")))
	for file, want := range map[string]string{"f-1": "\x00after\xff", "f-2": "", "f-3": string(large)} {
		if got, err := other.TaskFile(t.Context(), "t-1", file); err != nil || string(got) != want {
			t.Errorf("%s has %d bytes, %v", file, len(got), err)
		}
	}
	ok(other.RemoveTaskFile(t.Context(), "t-1", "f-2"))
	if _, err := one.TaskFile(t.Context(), "t-1", "f-2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed file: %v", err)
	}
	ok(other.AppendTask(t.Context(), store.TaskAppend{Task: "t-1", Events: []store.TaskEvent{{At: time.Now(), Type: "x", Version: 1, Data: "{}"}}}))
	ok(other.RemoveTask(t.Context(), "t-1"))
	if n := count(t, address, `SELECT count(*) FROM task_files`); n != 1 {
		t.Errorf("%d files are left, want that of the other task", n)
	}
}

// A machine has the state folder of its own, and nothing else.
func TestOutputsInPostgreSQLPassTheSuite(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	outputtest.Run(t, func(t *testing.T) (*output.Store, func() *output.Store) {
		address := server.Address(t)
		machine := func() *output.Store {
			dir := filepath.Join(t.TempDir(), "outputs")
			t.Cleanup(func() {
				filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
					if err == nil && d.Type().IsRegular() && d.Name() != ".reserve" {
						t.Errorf("%s is left in the state folder", path)
					}
					return nil
				})
			})
			return output.NewStore(dir).In(open(t, address, postgres.Options{}))
		}
		return machine(), machine
	})
}

// count returns how many rows a query counts.
func count(t testing.TB, address, query string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func putOutput(t testing.TB, st *postgres.Store, content []byte) error {
	return st.PutOutput(t.Context(), "r", "r", "c_1", time.Now(), []byte("{}"), bytes.NewReader(content), int64(len(content)))
}

func TestTheOutputsOfARunAreRemovedInItsTransaction(t *testing.T) {
	t.Parallel()
	address := pgtest.Shared(t).Address(t)
	st := open(t, address, postgres.Options{})
	begin(t, st, "r")
	for range 2 { // the first is replaced
		if err := putOutput(t, st, make([]byte, 600<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, address, `SELECT count(*) FROM output_parts`); n != 3 {
		t.Errorf("there are %d parts, want 3", n)
	}
	if _, err := st.Remove(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, address, `SELECT (SELECT count(*) FROM outputs) + (SELECT count(*) FROM output_parts)`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

func TestWhoHasLostTheLeaseReplacesNoOutput(t *testing.T) {
	t.Parallel()
	address := pgtest.Shared(t).Address(t)
	st, other := open(t, address, postgres.Options{}), open(t, address, postgres.Options{})
	begin(t, st, "r")
	lease, err := st.Own(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	if err := putOutput(t, st, []byte("mine")); err != nil {
		t.Fatal(err)
	}
	execute(t, address, `DELETE FROM leases`) // it ended while the machine was stopped, and another took the run over
	next, err := other.Own(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	defer next.Release()
	if err := putOutput(t, other, []byte("theirs")); err != nil {
		t.Fatal(err)
	}
	if err := putOutput(t, st, []byte("late")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("who had the lease stores an output: %v", err)
	}
	if got := content(t, st); string(got) != "theirs" {
		t.Errorf("the output is %q", got)
	}
	if n := count(t, address, `SELECT count(*) FROM output_parts`); n != 1 {
		t.Errorf("there are %d parts", n)
	}
}

func content(t testing.TB, st *postgres.Store) []byte {
	t.Helper()
	r, size, err := st.OpenOutput(t.Context(), "r", "r", "c_1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A reader that calls at when a place of its content is read for the first time.
type breaking struct {
	*bytes.Reader
	at   func()
	done bool
}

func (b *breaking) ReadAt(p []byte, off int64) (int, error) {
	if off > b.Size()/2 && !b.done {
		b.done = true
		b.at()
	}
	return b.Reader.ReadAt(p, off)
}

func TestAServerThatIsKilledWhileAnOutputIsStoredHasAllOfItOrNone(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Address(t)
	patient, hasty := open(t, address, postgres.Options{Lease: 10 * time.Minute}), open(t, address, postgres.Options{Patience: 1})
	begin(t, patient, "r")
	big := make([]byte, 5<<20+1)
	rand.NewChaCha8([32]byte{}).Read(big)
	kill := func() {
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
	}
	up := func() {
		if err := server.Up(); err != nil {
			t.Error(err)
		}
	}
	err := hasty.PutOutput(t.Context(), "r", "r", "c_1", start, []byte("{}"), &breaking{Reader: bytes.NewReader(big), at: kill}, int64(len(big)))
	if !errors.Is(err, store.ErrAway) {
		t.Errorf("the server was killed: %v", err)
	}
	up()
	if _, _, err := patient.OpenOutput(t.Context(), "r", "r", "c_1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half of an output is found: %v", err)
	}
	// One that restarts is waited for.
	err = patient.PutOutput(t.Context(), "r", "r", "c_1", start, []byte("{}"), &breaking{Reader: bytes.NewReader(big), at: func() { kill(); up() }}, int64(len(big)))
	if err != nil || !bytes.Equal(content(t, patient), big) {
		t.Errorf("the server was restarted: %v", err)
	}
	if n := count(t, address, `SELECT count(*) FROM output_parts`); n != 21 {
		t.Errorf("there are %d parts, want 21", n)
	}
}

func TestAnOutputIsNeverInMemoryAsAWhole(t *testing.T) {
	before, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("needs Linux: the peak of a process is read from /proc")
	}
	st := open(t, pgtest.Shared(t).Address(t), postgres.Options{})
	s := output.NewStore(t.TempDir()).In(st)
	w, err := s.Create(output.Key{Conversation: "r", Run: "r", Call: "c_1"}, "shell", "")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{})
	block := make([]byte, 1<<20)
	const size = 240 // MB
	for range size {
		random.Read(block)
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	o, err := w.Commit(true)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if n, err := io.Copy(io.Discard, o.Reader()); n != size<<20 || err != nil {
		t.Errorf("%d bytes come back, %v", n, err)
	}
	after, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	peak := func(status []byte) int {
		_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
		n, _ := strconv.Atoi(string(bytes.Fields(rest)[0]))
		return n
	}
	grown := peak(after) - peak(before)
	t.Logf("%d MB took %d MB of memory", size, grown>>10)
	if grown > 160<<10 { // the race detector alone takes some 60
		t.Error("that is more than a part of it")
	}
}

// What a killed import has left goes when the lease that it had has ended.
func TestTheFilesOfATaskThatIsNotThereAreRemovedUnlessItIsImported(t *testing.T) {
	t.Parallel()
	address := pgtest.Shared(t).Address(t)
	st := open(t, address, postgres.Options{})
	lease, err := st.Own(t.Context(), store.TaskLease("t-1"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.PutTaskFile(t.Context(), "t-1", "f-1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if _, err := st.Tidy(t.Context(), time.Hour, time.Now()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, address, `SELECT count(*) FROM task_files`); n != want {
			t.Errorf("there are %d files, want %d", n, want)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
