// Package proc runs commands that die as a whole tree. Whatever a command
// starts - in the background, in a session of its own, as a daemon, deaf to TERM,
// without its environment - ends when the command is stopped, when it exits by
// itself, and when the process that started it is killed with -9.
//
// On Linux a helper stands between the owner and the command: this same
// executable, started again, which acts before the program initializes (package
// pawl/internal/helper). Where it may, it is the first process of a pid namespace,
// and the kernel ends the namespace with it. Elsewhere it adopts its orphaned
// descendants and kills them by looking for them. It holds one end of a
// socket whose other end only the owner has: the end of that is the owner's
// death. After the first command a helper for the next one is started ahead.
//
// The helper also puts the command into a sandbox ([Command.Confine]). One with a file
// tree is built once, by a [Resident] helper, for many commands ([Command.Resident]).
// What it is made of, on this machine, is said by [Probe].
//
//	owner ──control──▶ helper ──▶ command ──▶ …
//	  ◀───────────── output ──────────┴─────────┘
//
// On macOS there is a process group and nothing more: what leaves the group
// survives. Elsewhere [Start] says that it cannot.
package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"pawl/internal/helper"
)

// DefaultGrace is how long processes that handle TERM have to tidy up when a command
// is stopped - a lock of git's, a database, a container - before all of them are
// killed. Those that do not handle it end at once, and when none is left that does
// nothing is waited for.
const DefaultGrace = 500 * time.Millisecond

// killDelay is how long the owner waits for what should be dead: a process in an
// uninterruptible wait (a lost network disk) cannot be ended by anybody, and a
// call has to return.
const killDelay = time.Second

// A Command says what to run. Its standard input is /dev/null: never the
// terminal.
type Command struct {
	Argv []string // the program, looked up in PATH, and its arguments
	Dir  string   // where it runs; empty: the owner's folder
	Env  []string // all of its environment; nil: none
	// Extra are open files for the command, descriptor 3 first. The caller
	// closes its own copies after Start.
	Extra []*os.File
	// Output gets what the command prints on both its standard output and its
	// standard error, in the order it came, from one goroutine.
	Output io.Writer
	// Grace is the time between TERM and KILL, for processes that handle TERM; 0
	// means DefaultGrace.
	Grace time.Duration
	// Beat is a file whose time is set each second while the command runs, also while its owner stands still; nil: none.
	// On Linux alone. No lock may be held by it: the helper has it until it ends.
	Beat *os.File
	// Memory is how many bytes its processes together may have, and Disk how many of the disk with Dir it has to leave
	// free; 0: any number. A command that is over them is stopped within a second or two, as is one in a sandbox that has
	// 3,000 processes. On Linux alone.
	Memory, Disk int64
	// Resident is the helper in whose sandbox it runs; nil: none.
	Resident *Resident
	// Confine is the sandbox without a file tree that it runs in otherwise; nil: none. A sandbox that cannot be had
	// whole is an error, or the command exits with 126 and says so: it never runs
	// with less. Its paths must not have zero bytes in them.
	Confine *helper.Confinement
	// Isolation is how it is to be held together; empty: the best there is. One
	// that cannot be had is an error.
	Isolation string
}

// The isolations, best first.
const (
	Namespace  = "namespace" // a pid namespace per command, ended by the kernel
	Sweeping   = "sweep"     // a helper per command, which looks for descendants and kills them
	Group      = "group"     // a process group: what leaves it survives
	NoCommands = "none"      // commands cannot be run here
)

// A Status is how a command ended.
type Status struct {
	Code    int    // its exit code; 128+n when signal n ended it
	Stopped string // why it was stopped, in the words given to [Process.Stop] or of a bound; empty if it ended by itself
	// Lost says that its helper was killed, or had to give up, and the command ended with
	// it: Code is not the command's.
	Lost bool
	// NoRoute says that something of it tried to reach a network that its sandbox
	// does not have. It is a fact, counted by the kernel, where there are network
	// namespaces, and never set elsewhere.
	NoRoute bool
	// OutputCut says that something which could not be ended still held the output
	// when it was given up: its end may be missing.
	OutputCut bool
}

// A Process is a command that was started. Its methods may be called from
// several goroutines.
type Process struct {
	name      string     // of the program
	cmd       *exec.Cmd  // its helper, or where there is none the command; nil for one of a resident helper
	output    *os.File   // the reading end of what the command prints to
	copied    chan error // says that output has ended and been passed on
	control   *os.File   // the helper's control socket; nil where there is no helper
	isolation string
	platform  platform
	grace     time.Duration
	memory    int64 // see Command
	disk      int64

	mu      sync.Mutex // guards stopped, and signals against a process id that is used again
	stopped string
	over    bool // the process has been waited for

	ended  atomic.Bool   // what is in the pipe now is the last of the output
	done   chan struct{} // closed when status and err are set
	status Status
	err    error
}

// Start starts a command. When ctx is done the command is stopped, with ctx's
// cause as the reason. The caller must call [Process.Wait], or wait for
// [Process.Done], to know that everything is over.
func Start(ctx context.Context, c Command) (*Process, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("start a command: no program given")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], context.Cause(ctx))
	}
	path, err := exec.LookPath(c.Argv[0])
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.Output == nil {
		c.Output = io.Discard
	}
	output, print, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	p, err := start(path, c, print)
	print.Close()
	if err != nil {
		output.Close()
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	p.name, p.grace, p.memory, p.disk = path, c.Grace, c.Memory, c.Disk
	p.output = output
	p.copied = make(chan error, 1)
	p.done = make(chan struct{})
	go func() { p.copied <- p.passOn(c.Output) }()
	unhook := context.AfterFunc(ctx, func() { p.Stop(context.Cause(ctx).Error()) })
	go func() {
		defer unhook()
		p.wait()
		close(p.done)
		if c.Resident == nil {
			prepareSpare(p.platform.kind) // for the next one, now that this one needs the processor no more
		}
	}()
	return p, nil
}

// Wait returns when the command and all it started are over and its output has
// been written. A failing Output is an error; an exit code is not.
func (p *Process) Wait() (Status, error) {
	<-p.done
	return p.status, p.err
}

// Done is closed when [Process.Wait] would return at once.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop ends the command and all it started: what handles TERM gets it, and KILL after
// the grace; the rest ends at once. It returns at once and may be called again; the
// first reason counts.
func (p *Process) Stop(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped != "" || p.over {
		return
	}
	p.stopped = cmp.Or(reason, "stopped")
	p.terminate()
	go func() {
		select {
		case <-p.done:
			return
		case <-time.After(p.grace):
		}
		p.signal(p.kill)
	}()
}

// signal calls send unless the process is over.
func (p *Process) signal(send func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		send()
	}
}

// wait collects how the process ended.
func (p *Process) wait() {
	code := p.await()
	p.mu.Lock()
	p.over = true
	p.status = Status{Code: code, Stopped: p.stopped}
	p.mu.Unlock()
	p.after()

	p.ended.Store(true)
	p.output.SetReadDeadline(time.Now().Add(killDelay)) // passOn may be waiting
	switch err := <-p.copied; {
	case errors.Is(err, errCut):
		p.status.OutputCut = true
	case err != nil:
		p.err = fmt.Errorf("output of %s: %w", p.name, err)
	}
	p.output.Close()
}

// errCut says that the output was given up before its end.
var errCut = errors.New("something holds the output open")

// maxRest bounds what is read after everything that could be ended has ended: more
// than a pipe holds, so that nothing of the command's is lost, whatever the reader's
// pace.
const maxRest = 16 << 20

// passOn copies what the command prints to w, to its end. With everything dead the
// pipe ends at once; if something was able to escape, what was printed until then
// counts, and the wait ends when nothing comes for killDelay. A w that fails gets no
// more, and the rest is read all the same: the command must not block on printing.
func (p *Process) passOn(w io.Writer) error {
	buf := make([]byte, 32<<10)
	var failed error
	rest := 0
	for {
		n, err := p.readOutput(buf)
		if n > 0 && failed == nil {
			_, failed = w.Write(buf[:n])
		}
		if p.ended.Load() {
			if rest += n; rest > maxRest {
				err = os.ErrDeadlineExceeded
			}
		}
		switch {
		case err == nil:
		case failed != nil:
			return failed
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return errCut
		default:
			return err
		}
	}
}

// readOutput reads from the pipe. When everything has ended it waits no longer than
// killDelay from now: the time that writing took, or that this process did not run,
// does not count.
func (p *Process) readOutput(buf []byte) (int, error) {
	if p.ended.Load() {
		p.output.SetReadDeadline(time.Now().Add(killDelay))
	}
	n, err := p.output.Read(buf)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	// What is there is read however late it is.
	p.output.SetReadDeadline(time.Time{})
	raw, rawErr := p.output.SyscallConn()
	if rawErr != nil {
		return 0, err
	}
	raw.Read(func(fd uintptr) bool {
		n, rawErr = readNow(fd, buf)
		return true
	})
	switch {
	case rawErr != nil || n < 0:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// exitCode returns the code a shell would tell.
func exitCode(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
