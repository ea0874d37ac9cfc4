//go:build unix

package postgres_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/run"
	"pawl/store"
	"pawl/store/postgres"
	"pawl/store/postgres/pgtest"
)

func TestMain(m *testing.M) {
	if address := os.Getenv("PAWL_TEST_OWNER_OF"); address != "" {
		if err := ownAndAppend(address); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const shortLease = 4 * time.Second

// ownAndAppend is a worker: it owns the run r, appends to it, and appends again for each line that it is told.
func ownAndAppend(address string) error {
	ctx, lines := context.Background(), bufio.NewScanner(os.Stdin)
	st, err := postgres.Open(ctx, address, postgres.Options{Lease: shortLease})
	if err != nil {
		return err
	}
	if _, err := st.Own(ctx, "r", ""); err != nil {
		return err
	}
	seq := int64(1)
	for {
		err := st.Append(ctx, "r", seq, note(fmt.Sprint("worker ", seq)))
		switch {
		case errors.Is(err, store.ErrConflict):
			fmt.Println("conflict")
		case err != nil:
			return err
		default:
			seq++
			fmt.Println("written")
		}
		if !lines.Scan() {
			return lines.Err()
		}
	}
}

// A worker that is stopped for longer than its lease, and then continues, is told that it may not write: whether
// another has taken over meanwhile or not.
func TestAWorkerThatWasStoppedForLongerThanItsLeaseWritesNothing(t *testing.T) {
	t.Parallel()
	for _, takenOver := range []bool{true, false} {
		t.Run(fmt.Sprintf("taken over %t", takenOver), func(t *testing.T) {
			t.Parallel()
			address := pgtest.Shared(t).Address(t)
			st := open(t, address, postgres.Options{Lease: shortLease})
			begin(t, st, "r")
			worker := exec.Command(os.Args[0])
			worker.Env = append(os.Environ(), "PAWL_TEST_OWNER_OF="+address)
			in, err := worker.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := worker.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := worker.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { worker.Process.Kill(); worker.Wait() })
			said := bufio.NewScanner(out)
			hear := func(want string) {
				t.Helper()
				if said.Scan(); said.Text() != want {
					t.Fatalf("the worker says %q, want %q", said.Text(), want)
				}
			}
			hear("written")
			io.WriteString(in, "again\n")
			hear("written")
			if _, err := st.Own(t.Context(), "r", ""); err == nil {
				t.Fatal("the lease of a worker that is alive was taken")
			}

			worker.Process.Signal(syscall.SIGSTOP)
			for owned := true; owned; {
				if _, owned, err = st.Owner(t.Context(), "r"); err != nil {
					t.Fatal(err)
				}
			}
			want := []string{"worker 1", "worker 2"}
			if takenOver {
				lease, err := st.Own(t.Context(), "r", "")
				if err != nil {
					t.Fatal(err)
				}
				defer lease.Release()
				if err := st.Append(t.Context(), "r", 3, note("the next worker")); err != nil {
					t.Fatal(err)
				}
				want = append(want, "the next worker")
			}
			io.WriteString(in, "again\n")
			worker.Process.Signal(syscall.SIGCONT)
			hear("conflict")
			if got := texts(t, st, "r"); !slices.Equal(got, want) {
				t.Errorf("the log has %q, want %q", got, want)
			}
		})
	}
}

func TestAKilledServerKeepsWhatWasAcknowledgedAndHasNothingTwice(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	st := open(t, server.Address(t), postgres.Options{Lease: 5 * time.Minute})
	const runs, kills, between = 4, 3, 60 // appends of all runs between two kills
	written := make(chan struct{})
	stop := make(chan struct{})
	acknowledged := make([][]string, runs)
	var wait sync.WaitGroup
	for i := range runs {
		id := run.ID(fmt.Sprint("r", i))
		begin(t, st, id)
		wait.Go(func() {
			seq := int64(1)
			for n := 0; ; n++ {
				text := fmt.Sprint("note ", n)
				if err := st.Append(t.Context(), id, seq, note(text)); err == nil {
					seq++
					acknowledged[i] = append(acknowledged[i], text)
				} else if sum, rerr := st.Run(t.Context(), id); rerr == nil {
					seq = sum.Seq // it may have been written: what is there counts, and the next is another
				}
				select {
				case written <- struct{}{}:
				case <-stop:
					return
				}
			}
		})
	}
	for range kills {
		for range between {
			<-written
		}
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := server.Up(); err != nil {
			t.Fatal(err)
		}
	}
	for range between {
		<-written
	}
	close(stop)
	wait.Wait()
	for i := range runs {
		there := map[string]bool{}
		for _, text := range texts(t, st, run.ID(fmt.Sprint("r", i))) {
			if there[text] {
				t.Errorf("run %d has %q twice", i, text)
			}
			there[text] = true
		}
		for _, text := range acknowledged[i] {
			if !there[text] {
				t.Errorf("run %d has lost %q, which was acknowledged", i, text)
			}
		}
		if len(acknowledged[i]) == 0 {
			t.Errorf("run %d was never appended to", i)
		}
	}
}

func TestAServerThatRestartsIsWaitedForAndOneThatIsAwayIsSaid(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Address(t)
	patient := open(t, address, postgres.Options{Lease: 10 * time.Minute})
	hasty := open(t, address, postgres.Options{Patience: 1})
	begin(t, patient, "r")
	if err := server.Down(); err != nil {
		t.Fatal(err)
	}
	if err := hasty.Append(t.Context(), "r", 1, note("hasty")); !errors.Is(err, store.ErrAway) {
		t.Errorf("an append without a server: %v", err)
	}
	if _, err := hasty.Run(t.Context(), "r"); !errors.Is(err, store.ErrAway) {
		t.Errorf("reading without a server: %v", err)
	}
	appended := make(chan error)
	go func() { appended <- patient.Append(t.Context(), "r", 1, note("patient")) }()
	if err := server.Up(); err != nil {
		t.Fatal(err)
	}
	if err := <-appended; err != nil {
		t.Errorf("an append while the server was restarted: %v", err)
	}
	if got := strings.Join(texts(t, hasty, "r"), " "); got != "patient" {
		t.Errorf("the log has %q", got)
	}
}

// A machine that is cut off knows when it has lost its leases, without a server to ask, and waits for none to say that it
// may not write.
func TestALeaseThatIsNotRenewedIsLost(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	st := open(t, server.Address(t), postgres.Options{Lease: 2 * time.Second})
	begin(t, st, "r")
	l, err := st.Own(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.Lost():
		t.Fatal("a lease that is renewed is lost")
	case <-time.After(3 * time.Second): // longer than a lease
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.Lost():
	case <-time.After(time.Minute):
		t.Fatal("it has the lease for ever")
	}
	if err := st.Append(t.Context(), "r", 1, note("too late")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an append of who has lost the lease: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Errorf("its release waits for the server: %v", err)
	}
}

func TestAFullDiskIsSaidAndWhatWasRecordedIsKept(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t) // whose pages of that disk no other test has to write when it is gone
	small := t.TempDir()
	mount := func(options string) error {
		out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "pawl-test", small).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	data, err := os.Stat(server.Data())
	if err != nil {
		t.Fatal(err)
	}
	uid := data.Sys().(*syscall.Stat_t).Uid
	if err := mount(fmt.Sprintf("size=4m,mode=700,uid=%d", uid)); err != nil {
		t.Skip("a small disk needs root, and leave to mount one: ", err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", small).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	for dir := small; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) { // of TempDir, so that the server comes there
		if dir != small {
			os.Chmod(dir, 0o755)
		}
	}
	address := server.Address(t)
	execute(t, address, `CREATE TABLESPACE small LOCATION '`+small+`'`)
	st := open(t, address+"&default_tablespace=small", postgres.Options{})
	begin(t, st, "r")
	seq := int64(1)
	random := rand.NewChaCha8([32]byte{}) // the server compresses
	for err == nil {
		big := make([]byte, 64<<10)
		random.Read(big)
		if err = st.Append(t.Context(), "r", seq, note(base64.StdEncoding.EncodeToString(big))); err == nil {
			seq++
		}
	}
	if !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("a full disk is %v", err)
	}
	if n := len(texts(t, st, "r")); int64(n) != seq-1 || n == 0 {
		t.Errorf("the log has %d notes, and %d were acknowledged", n, seq-1)
	}
	if err := mount("remount,size=64m"); err != nil {
		t.Fatal(err)
	}
	if err := st.Append(t.Context(), "r", seq, note("there is room")); err != nil {
		t.Error(err)
	}
}
