package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	// The heaviest of what the program links, for the test that the helper
	// initializes none of it.
	_ "github.com/spf13/cobra"
	_ "modernc.org/sqlite"

	"pawl/internal/helper"
)

// The test binary is also every process the tests need, so that they need no
// program but it: argv[1] says which part it plays, argv[2] is a mark by which
// the test finds it in /proc.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "run": // as pawl itself is started
			sayAhead(os.Args[2])
			return
		case "tree":
			growTree(os.Args[2])
			time.Sleep(patience)
			return
		case "leave": // exits by itself and leaves its children behind
			growTree(os.Args[2])
			awaitMarked(os.Args[2], leaves+1)
			return
		case "confined-tree":
			growConfinedTree(os.Args[2])
			time.Sleep(patience)
			return
		case "confined-leave":
			growConfinedTree(os.Args[2])
			awaitMarked(os.Args[2], confinedLeaves+1)
			return
		case "resident-owner":
			ownResident(os.Args[2], os.Args[3])
			return
		case "leaf":
			time.Sleep(patience)
			return
		case "deaf":
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			time.Sleep(patience)
			return
		case "daemon": // starts a child in a session of its own and is gone
			spawn(nil, &syscall.SysProcAttr{Setsid: true}, "deaf", os.Args[2])
			return
		case "stopped": // and never continued
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			time.Sleep(patience)
			return
		case "mute": // lets go of all it was given, its output too
			for fd := range 64 {
				syscall.Close(fd)
			}
			time.Sleep(patience)
			return
		case "tracer": // holds a child in the middle of its exec
			runtime.LockOSThread() // it is the thread that traces
			spawn(os.Environ(), &syscall.SysProcAttr{Ptrace: true}, "deaf", os.Args[2])
			time.Sleep(patience)
			return
		case "jailer": // stops its helper, then lives on
			syscall.Kill(os.Getppid(), syscall.SIGSTOP)
			spawn(os.Environ(), nil, "leaf", os.Args[2]) // a sign that it is done
			time.Sleep(patience)
			return
		case "warden": // stops its helper as a tracer can, then lives on
			runtime.LockOSThread()
			helper := os.Getppid()
			if err := syscall.PtraceAttach(helper); err != nil {
				fmt.Println(err)
			}
			syscall.Wait4(helper, nil, syscall.WALL, nil)
			syscall.RawSyscall6(syscall.SYS_PTRACE, syscall.PTRACE_DETACH, uintptr(helper), 0, uintptr(syscall.SIGSTOP), 0, 0)
			spawn(os.Environ(), nil, "leaf", os.Args[2])
			time.Sleep(patience)
			return
		case "parricide": // kills its helper, then lives on
			syscall.Kill(os.Getppid(), syscall.SIGKILL)
			time.Sleep(patience)
			return
		case "owner":
			own(os.Args[2], os.Args[3], os.Args[4])
			return
		}
	}
	os.Exit(m.Run())
}

// patience is how long a process of the tests lives if nobody ends it; nothing
// waits for it.
const patience = time.Minute

// leaves is how many processes growTree leaves running.
const leaves = confinedLeaves + 2

// confinedLeaves is the same where processes cannot be traced.
const confinedLeaves = 7

// growTree starts one child of each kind that is hard to end.
func growTree(mark string) {
	growConfinedTree(mark)
	spawn(os.Environ(), nil, "tracer", mark) // two: it has a child
}

func growConfinedTree(mark string) {
	spawn(os.Environ(), nil, "leaf", mark)
	spawn(os.Environ(), nil, "deaf", mark)
	spawn(os.Environ(), &syscall.SysProcAttr{Setsid: true}, "deaf", mark)
	spawn([]string{}, &syscall.SysProcAttr{Setpgid: true}, "deaf", mark) // without its environment
	spawn(os.Environ(), nil, "daemon", mark)
	spawn(os.Environ(), nil, "stopped", mark)
	spawn(os.Environ(), nil, "mute", mark)
}

func spawn(env []string, attr *syscall.SysProcAttr, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env, cmd.SysProcAttr = env, attr
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // they keep the output open
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if attr == nil || !attr.Ptrace { // its tracer alone may wait for it
		go cmd.Wait()
	}
	return cmd
}

// own is an owner that is going to be killed: it runs a part and waits.
func own(mark, isolation, part string) {
	// The tree is to run under a helper that was started ahead, as all commands
	// but the first do.
	if warm, err := Start(context.Background(), Command{Argv: []string{"true"}}); err == nil {
		warm.Wait()
		prepareSpare(warm.platform.kind)
	}
	p, err := Start(context.Background(), Command{Argv: []string{"/proc/self/exe", part, mark}, Isolation: isolation})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	p.Wait()
}

// running counts the processes that carry mark, the helpers excepted: they
// carry it among their arguments and are no survivors.
func running(mark string) (n int, helpers int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		b, err := os.ReadFile(f)
		switch {
		case err != nil || !bytes.Contains(b, []byte("\x00"+mark+"\x00")):
		case bytes.Contains(b, []byte("owner\x00")), bytes.Contains(b, []byte("\x00daemon\x00")):
			// not of the tree, or about to be gone
		case bytes.Contains(b, []byte("\x00"+helper.Proc+"\x00")):
			helpers++
		default:
			n++
		}
	}
	return n, helpers
}

// awaitMarked waits until want processes carry mark.
func awaitMarked(mark string, want int) bool {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if n, helpers := running(mark); n == want && (want > 0 || helpers == 0) {
			return true
		}
	}
	return false
}

// everywhere runs a test in both isolations.
func everywhere(t *testing.T, test func(t *testing.T, isolation string)) {
	t.Parallel()
	for _, isolation := range []string{Namespace, Sweeping} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			if isolation == Namespace && Probe().Isolation != Namespace {
				t.Skip("pid namespaces with a fresh /proc are not to be had here; needs root or unprivileged user namespaces")
			}
			test(t, isolation)
		})
	}
}

// mark returns a word no other process has among its arguments.
func mark(t *testing.T) string {
	return fmt.Sprintf("mark-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
}

func startTree(t *testing.T, ctx context.Context, isolation, part string) (*Process, string) {
	t.Helper()
	mark := mark(t)
	p, err := Start(ctx, Command{Argv: []string{"/proc/self/exe", part, mark}, Env: os.Environ(), Isolation: isolation})
	if err != nil {
		t.Fatal(err)
	}
	if p.isolation != isolation {
		t.Fatalf("isolation %q, want %q", p.isolation, isolation)
	}
	return p, mark
}

func wantNoSurvivor(t *testing.T, mark string) {
	t.Helper()
	if !awaitMarked(mark, 0) {
		n, helpers := running(mark)
		t.Errorf("%d processes and %d helpers survive", n, helpers)
	}
}

func TestStopEndsEveryKindOfChild(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		p, mark := startTree(t, t.Context(), isolation, "tree")
		if !awaitMarked(mark, leaves+1) {
			t.Fatal("the tree did not grow")
		}
		p.Stop("enough")
		p.Stop("again")
		status, err := p.Wait()
		if err != nil || status.Stopped != "enough" {
			t.Errorf("got %+v, %v", status, err)
		}
		if n, _ := running(mark); n != 0 {
			t.Errorf("%d processes run when Wait returns", n)
		}
	})
}

// B15: who handles TERM has time to tidy up, with what it starts to do so, though its
// parent is gone at once.
func TestWhatHandlesTermTidiesUp(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		for name, script := range map[string]string{
			"the command itself":              "%s",
			"below a shell that ends at once": "sh -c '%s' & wait",
			"below a shell with a trap":       "trap : EXIT; sh -c '%s'; true",
		} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				there := func(name string) func() bool {
					return func() bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
				}
				script := fmt.Sprintf(script, `trap "touch tidying; until [ -e go ]; do sleep 0.01; done; touch done; exit" TERM; touch up; while :; do sleep 0.01; done`)
				p, err := Start(t.Context(), Command{Argv: []string{"sh", "-c", script}, Dir: dir, Env: os.Environ(), Isolation: isolation, Grace: patience})
				if err != nil {
					t.Fatal(err)
				}
				await(t, "the command", there("up"))
				p.Stop("enough")
				await(t, "the handler", there("tidying"))
				if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if s, err := p.Wait(); err != nil || s.Stopped != "enough" || !there("done")() {
					t.Errorf("%+v, %v; it has tidied up: %v", s, err, there("done")())
				}
			})
		}
	})
}

// What handles no TERM is not given the time to.
func TestNothingIsWaitedForThatDoesNotTidyUp(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		mark := mark(t)
		p, err := Start(t.Context(), Command{Argv: []string{"/proc/self/exe", "tree", mark}, Env: os.Environ(), Isolation: isolation, Grace: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		if !awaitMarked(mark, leaves+1) {
			t.Fatal("the tree did not grow")
		}
		p.Stop("enough")
		if _, err := p.Wait(); err != nil {
			t.Error(err)
		}
		if n, _ := running(mark); n != 0 {
			t.Errorf("%d processes run when Wait returns", n)
		}
	})
}

// A process that handles TERM and continues is killed when its time is up.
func TestWhatHandlesTermAndStaysIsKilled(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		dir := t.TempDir()
		p, err := Start(t.Context(), Command{Argv: []string{"sh", "-c", "trap : TERM; touch up; while :; do sleep 0.01; done"}, Dir: dir, Env: os.Environ(), Isolation: isolation, Grace: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		await(t, "the command", func() bool { _, err := os.Stat(filepath.Join(dir, "up")); return err == nil })
		p.Stop("enough")
		if s, err := p.Wait(); err != nil || s.Stopped != "enough" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// B7: the end of the output is not lost because its reader is slow.
func TestNothingOfTheOutputIsLostToASlowReader(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		out := &stalled{begun: make(chan struct{}), goOn: make(chan struct{})}
		p, err := Start(t.Context(), Command{Argv: []string{"sh", "-c", "i=0; while [ $i -lt 6000 ]; do echo 123456789; i=$((i+1)); done"}, Output: out, Isolation: isolation})
		if err != nil {
			t.Fatal(err)
		}
		<-out.begun
		await(t, "its end", p.ended.Load)
		// As if the reader had come back only when the time was long over.
		if err := p.output.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		close(out.goOn)
		if s, err := p.Wait(); err != nil || s != (Status{}) || out.n != 60_000 {
			t.Errorf("%+v, %v, %d bytes", s, err, out.n)
		}
	})
}

// stalled is a writer whose first write lasts until goOn is closed.
type stalled struct {
	begun, goOn chan struct{}
	n           int
}

func (s *stalled) Write(b []byte) (int, error) {
	if s.n == 0 {
		close(s.begun)
		<-s.goOn
	}
	s.n += len(b)
	return len(b), nil
}

// What escapes with the output in its hands is said.
func TestAnOutputThatIsHeldOpenIsSaidToBeCut(t *testing.T) {
	t.Parallel()
	hold, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), Command{Argv: []string{"sh", "-c", "echo begun; cat <&3"}, Extra: []*os.File{hold}})
	if err != nil {
		t.Fatal(err)
	}
	// This process holds it, in the place of one that could not be ended.
	raw, err := p.output.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		held, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { held.Close() })
	})
	release.Close()
	hold.Close()
	if s, err := p.Wait(); err != nil || !s.OutputCut {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestCancellingTheContextEndsEveryKindOfChild(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		ctx, cancel := context.WithCancelCause(t.Context())
		p, mark := startTree(t, ctx, isolation, "tree")
		if !awaitMarked(mark, leaves+1) {
			t.Fatal("the tree did not grow")
		}
		cancel(errors.New("the person pressed Esc"))
		status, err := p.Wait()
		if err != nil || status.Stopped != "the person pressed Esc" {
			t.Errorf("got %+v, %v", status, err)
		}
		if n, _ := running(mark); n != 0 {
			t.Errorf("%d processes run when Wait returns", n)
		}
	})
}

func TestWhatACommandLeavesBehindEndsWithIt(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		p, mark := startTree(t, t.Context(), isolation, "leave")
		status, err := p.Wait()
		if err != nil || status != (Status{}) {
			t.Errorf("got %+v, %v", status, err)
		}
		if n, _ := running(mark); n != 0 {
			t.Errorf("%d processes run when Wait returns", n)
		}
	})
}

func TestKillingTheOwnerEndsEveryKindOfChild(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		killOwner(t, isolation, "tree", leaves+1)
	})
}

// A command may stop the helper that would see its owner die.
func TestKillingTheOwnerEndsACommandThatStoppedItsHelper(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		killOwner(t, isolation, "jailer", 2)
	})
}

func TestKillingTheOwnerEndsACommandThatTracesItsHelper(t *testing.T) {
	t.Parallel()
	if Probe().Isolation != Namespace {
		t.Skip("needs namespaces; without, root's commands may do this and survive")
	}
	killOwner(t, Namespace, "warden", 2)
}

// killOwner kills the owner of a command that plays a part in processes many.
func killOwner(t *testing.T, isolation, part string, processes int) {
	t.Helper()
	mark := mark(t)
	owner := exec.Command("/proc/self/exe", "owner", mark, isolation, part)
	owner.Stderr = os.Stderr
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	if !awaitMarked(mark, processes) {
		t.Error("the tree did not grow")
	}
	owner.Process.Kill()
	owner.Wait()
	wantNoSurvivor(t, mark)
}

func TestACommandThatKillsItsHelperDoesNotSurviveIt(t *testing.T) {
	t.Parallel()
	// Only a sweeping helper can be killed from below.
	p, mark := startTree(t, t.Context(), Sweeping, "parricide")
	p.Wait()
	wantNoSurvivor(t, mark)
}

func TestACommandThatStopsItsHelperDoesNotSurviveIt(t *testing.T) {
	t.Parallel()
	p, mark := startTree(t, t.Context(), Sweeping, "jailer")
	if !awaitMarked(mark, 2) {
		t.Fatal("the command did not start")
	}
	p.Stop("enough")
	p.Wait()
	wantNoSurvivor(t, mark)
}

func TestATimeLimitEndsEveryKindOfChild(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		p, mark := startTree(t, ctx, isolation, "tree")
		status, err := p.Wait()
		if err != nil || status.Stopped != context.DeadlineExceeded.Error() {
			t.Errorf("got %+v, %v", status, err)
		}
		if n, _ := running(mark); n != 0 {
			t.Errorf("%d processes run when Wait returns", n)
		}
	})
}

// restless are commands whose processes are never the same for long, so that what
// looks for them finds them gone. Each link of a chain makes a file on its way.
var restless = map[string]string{
	"a chain in which each forks the next and ends":      `f() { : >> beat; f & }; f`,
	"two chains in sessions of their own":                `f() { : >> beat; f & }; setsid sh -c 'f() { : >> beat; f & }; f' & f`,
	"a flood of children that end at once":               `while :; do : >> beat & done`,
	"a chain that is deaf":                               `trap '' TERM INT HUP; f() { : >> beat; f & }; f`,
	"a chain beside a parent that waits, and is stopped": `f() { : >> beat; f & }; f; kill -STOP $$`,
}

func TestWhatForksForEverEnds(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		for name, script := range restless {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				beat := filepath.Join(dir, "beat")
				p, err := Start(t.Context(), Command{Argv: []string{"sh", "-c", script}, Dir: dir, Env: os.Environ(), Isolation: isolation})
				if err != nil {
					t.Fatal(err)
				}
				await(t, "its first link", func() bool { _, err := os.Stat(beat); return err == nil })
				p.Stop("enough")
				p.Wait()
				// What runs on makes the file anew, long before these commands are through.
				os.Remove(beat)
				for range 20 {
					exec.Command("true").Run()
				}
				if _, err := os.Stat(beat); err == nil {
					t.Error("it runs on")
				}
			})
		}
	})
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no sign of %s", what)
		}
	}
}

func TestTheExitCodeIsTheCommands(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		for script, want := range map[string]int{
			"exit 0":        0,
			"exit 3":        3,
			"kill -KILL $$": 137,
			"kill -TERM $$": 143,
		} {
			p, err := Start(t.Context(), Command{Argv: []string{"sh", "-c", script}, Isolation: isolation})
			if err != nil {
				t.Fatal(err)
			}
			if status, err := p.Wait(); err != nil || status != (Status{Code: want}) {
				t.Errorf("%s: got %+v, %v, want code %d", script, status, err, want)
			}
		}
	})
}

func TestACommandSeesWhatItWasGiven(t *testing.T) {
	everywhere(t, func(t *testing.T, isolation string) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		script := `pwd; echo "$GREETING" >&2; cat; echo third >&3; test -e /proc/self/fd/1 && echo own proc`
		p, err := Start(t.Context(), Command{
			Argv: []string{"sh", "-c", script},
			Dir:  dir, Env: []string{"GREETING=hello", "PATH=" + os.Getenv("PATH")},
			Extra: []*os.File{w}, Output: &out, Isolation: isolation,
		})
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		status, err := p.Wait()
		if err != nil || status.Code != 0 {
			t.Errorf("got %+v, %v", status, err)
		}
		if want := dir + "\nhello\nown proc\n"; out.String() != want {
			t.Errorf("printed %q, want %q", out.String(), want)
		}
		third := make([]byte, 100)
		if n, _ := r.Read(third); string(third[:n]) != "third\n" {
			t.Errorf("descriptor 3 got %q", third[:n])
		}
	})
}

func TestAWriterThatFailsDoesNotBlockTheCommand(t *testing.T) {
	t.Parallel()
	p, err := Start(t.Context(), Command{
		Argv: []string{"sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done"}, Output: full{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if status, err := p.Wait(); status.Code != 0 || !errors.Is(err, errFull) {
		t.Errorf("got %+v, %v, want code 0 and %v", status, err, errFull)
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestAProgramThatIsNotThereIsNotStarted(t *testing.T) {
	t.Parallel()
	if _, err := Start(t.Context(), Command{Argv: []string{"no-such-program"}}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v, want %v", err, exec.ErrNotFound)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Command{Argv: []string{"sh"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context is done: got %v, want %v", err, context.Canceled)
	}
}

// The helper is started for every command: it must be quick. What makes it quick
// is that packages are not initialized before it acts.
func TestTheHelperInitializesNothingElse(t *testing.T) {
	t.Parallel()
	helper := helperCommand(helper.Probe, 0)
	helper.Env = []string{"GODEBUG=inittrace=1"}
	trace, err := helper.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	if !bytes.Contains(trace, []byte("init syscall ")) {
		t.Fatalf("no init trace:\n%s", trace)
	}
	for line := range strings.Lines(string(trace)) {
		// init NAME @1.2 ms, 0.1 ms clock, 0 bytes, 0 allocs
		fields := strings.Fields(line)
		if fields[0] != "init" {
			continue // what the helper prints
		}
		name := fields[1]
		if strings.Contains(name, ".") || name == "os" || name == "time" || name == "fmt" {
			t.Errorf("package %s initializes before the helper acts", name)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			exec.Command("/bin/true").Run()
		}
	})
	for _, isolation := range []string{Namespace, Sweeping} {
		b.Run(isolation, func(b *testing.B) {
			for b.Loop() {
				p, err := Start(b.Context(), Command{Argv: []string{"/bin/true"}, Isolation: isolation})
				if err != nil {
					b.Fatal(err)
				}
				p.Wait()
			}
		})
		b.Run("stop/"+isolation, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				mark := "bench-" + isolation + strconv.Itoa(i)
				p, err := Start(b.Context(), Command{Argv: []string{"/proc/self/exe", "tree", mark}, Isolation: isolation})
				if err != nil {
					b.Fatal(err)
				}
				awaitMarked(mark, leaves+1)
				b.StartTimer()
				p.Stop("bench")
				p.Wait()
			}
		})
	}
}
