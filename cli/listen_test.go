package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pawl/cli/command"
	"pawl/run"
	"pawl/worker"
)

// A second SIGTERM or SIGHUP, as timeout(1) and a closed terminal send, does not cut an orderly
// exit short. Ctrl-C does, also after an earlier one.
func TestATerminationThatIsSentTwiceIsOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		signals []os.Signal // the last one ends the process
		cause   run.Cause
		code    int
	}{
		{"terminations and Ctrl-C", []os.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGHUP, os.Interrupt}, run.ByShutdown, command.ExitInterrupted},
		{"Ctrl-C twice", []os.Signal{os.Interrupt, os.Interrupt}, run.ByPerson, command.ExitInterrupted},
		{"Ctrl-C and a termination", []os.Signal{os.Interrupt, syscall.SIGTERM}, run.ByPerson, command.ExitTerminated},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			signals, codes := make(chan os.Signal), make(chan int, len(c.signals))
			inv := &command.Invocation{Process: command.Process{Signals: signals, Exit: func(code int) { codes <- code }}}
			inv.Driving.Store(true)
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				inv.Listen(t.Context().Done(), cancel)
			}()
			for _, s := range c.signals {
				select {
				case signals <- s:
				case <-ended:
					t.Fatalf("the process ended before %s", s)
				}
			}
			<-ended
			if code := <-codes; code != c.code || len(codes) != 0 {
				t.Errorf("it ended with %d, and %d times more; want %d, once", code, len(codes), c.code)
			}
			if stop, ok := errors.AsType[worker.Stop](context.Cause(ctx)); !ok || stop.Interrupted.Cause != c.cause {
				t.Errorf("the turn was ended by %v, want %s", context.Cause(ctx), c.cause)
			}
		})
	}
}

// A reader that does not read, as a stopped one, does not keep a terminated run from its exit.
func TestATerminationEndsARunWhoseOutputIsNotRead(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"stream-json", "json", "text"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			script := filepath.Join(folder, "model.jsonl")
			reply, err := json.Marshal(map[string]any{"text": strings.Repeat("word ", 1<<16)}) // more than a pipe holds
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(script, reply, 0o600); err != nil {
				t.Fatal(err)
			}
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			signals, codes, over := make(chan os.Signal), make(chan int, 2), make(chan struct{})
			env := map[string]string{"HOME": t.TempDir(), "PAWL_STATE_DIR": t.TempDir()}
			var stderr bytes.Buffer
			go func() {
				defer close(over)
				defer write.Close()
				codes <- Main([]string{"-C", folder, "run", "-m", "script/" + script, "--output", format, "-p", "write"}, command.Process{
					Stdin: strings.NewReader(""), Stdout: write, Stderr: &stderr, Signals: signals, Exit: func(code int) { codes <- code },
					Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
				})
			}()
			// The answer is being printed: the run has ended, or ends while the pipe is full.
			for got := ""; !strings.Contains(got, strings.Repeat("word ", 100)); {
				var b [4096]byte
				n, err := read.Read(b[:])
				if err != nil {
					t.Fatalf("%v after %.300q; %s", err, got, &stderr)
				}
				got += string(b[:n])
			}
			signals <- syscall.SIGTERM
			if code := <-codes; code != command.ExitTerminated {
				t.Errorf("it exited with %d, want %d", code, command.ExitTerminated)
			}
			read.Close()
			<-over
		})
	}
}

// The first line of a stream has a reader that is stuck, too: the turn ends, and the process does not wait.
func TestATerminationEndsARunWhoseFirstLineIsNotRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	script := filepath.Join(folder, "model.jsonl")
	if err := os.WriteFile(script, []byte(`{"text":"Done."}`), 0o600); err != nil {
		t.Fatal(err)
	}
	stuck := &blockedWriter{began: make(chan struct{}), free: make(chan struct{})}
	signals, over := make(chan os.Signal), make(chan struct{})
	env := map[string]string{"HOME": t.TempDir(), "PAWL_STATE_DIR": t.TempDir()}
	inv := &command.Invocation{Process: command.Process{
		Stdin: strings.NewReader(""), Stdout: stuck, Stderr: io.Discard, Signals: signals,
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}}
	ended := make(chan bool, 1)
	inv.Exit = func(int) { ended <- inv.Ended.Load() }
	done := make(chan struct{})
	inv.Done = done
	ctx, cancel := context.WithCancelCause(t.Context())
	go inv.Listen(done, cancel)
	go func() {
		defer close(over)
		execute(ctx, inv, []string{"-C", folder, "run", "-m", "script/" + script, "--output", "stream-json", "-p", "write"})
	}()
	<-stuck.began
	signals <- syscall.SIGTERM
	if !<-ended {
		t.Error("the turn was not ended before the exit")
	}
	close(stuck.free)
	<-over
	close(done)
}

// What ends a process at once gives the terminal back first, whatever is under way.
func TestASignalThatEndsAtOnceGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	for sig, want := range map[os.Signal]int{syscall.SIGQUIT: 131, syscall.SIGABRT: 134} {
		signals, order := make(chan os.Signal, 1), make(chan int, 2)
		inv := &command.Invocation{Process: command.Process{Signals: signals, Exit: func(code int) { order <- code }}}
		restore := func() { order <- 0 }
		inv.Leaving.Store(&restore)
		inv.Driving.Store(true)
		signals <- sig
		inv.Listen(t.Context().Done(), func(error) { t.Error("the turn is interrupted") })
		if first, code := <-order, <-order; first != 0 || code != want {
			t.Errorf("%s: %d, then %d; want the terminal given back, then the code %d", sig, first, code, want)
		}
	}
}

// A blockedWriter blocks until it is freed.
type blockedWriter struct {
	once        sync.Once
	began, free chan struct{}
}

func (s *blockedWriter) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.began) })
	<-s.free
	return len(p), nil
}
