package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"pawl/internal/proc"
	"pawl/sandbox"
)

// A process is the program of a turn with all processes that it starts.
type process struct {
	cmd      *exec.Cmd
	mark     string
	patience time.Duration
	stdout   *pipe
	lines    chan []byte   // of stdout
	unread   chan struct{} // closed when they are not taken any more
	retries  chan retry    // that stderr has
	stderr   *tail

	confined *proc.Process    // the program in a sandbox, which ends with its tree; nil: cmd is the program
	session  *sandbox.Session // nil: there is no sandbox

	exited chan struct{} // closed when the program has ended, and its tree

	killing  sync.Mutex // held while the tree is killed: the program may end before the rest has
	seen     members    // of the tree, when it was last looked at; guarded by killing
	stopping sync.Once
}

// start starts the program in a session of its own, with the prompt on standard input.
func (t Turn) start(inv invocation, prompt string) (*process, error) {
	stdin, err := promptFile(prompt)
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	p := &process{mark: t.mark(), patience: t.Patience, exited: make(chan struct{}), lines: make(chan []byte), unread: make(chan struct{}), retries: make(chan retry, 8)}
	p.stderr = &tail{watched: t.Kind.unreached, retry: t.Kind.retry, retries: p.retries}
	cmd := exec.Command(t.Program, inv.args...)
	cmd.Dir, cmd.Stdin = t.Workspace, stdin
	// OpenCode takes its folder from PWD.
	cmd.Env = append(append(t.Kind.environment(t.Env, t.Keys...), inv.env...), "PWD="+t.Workspace, p.mark)
	cmd.SysProcAttr = ownSession()
	// Pipes of our own: a process that outlives the program must not keep Wait waiting.
	out, stdout, err := newPipe()
	defer stdout.Close()
	errs, stderr, errsErr := newPipe()
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	switch err = errors.Join(err, errsErr); {
	case err == nil && t.Confine != nil:
		p.session, err = t.confine(p, cmd)
	case err == nil:
		err = cmd.Start()
	}
	if err != nil {
		out.Close()
		errs.Close()
		return nil, fmt.Errorf("%s cannot be started: %w", t.Kind.Title, err)
	}
	p.cmd, p.stdout = cmd, out
	go func() {
		defer close(p.lines)
		for line := range lines(out) {
			select {
			case p.lines <- bytes.Clone(line):
			case <-p.unread: // the program must not block on a full pipe
			}
		}
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(p.stderr, errs)
		errs.Close()
	}()
	go func() {
		debug.FreeOSMemory() // of what led here little is needed while pawl waits
		if p.confined != nil {
			<-p.confined.Done()
			for _, undone := range p.session.End() {
				t.Notice(undone)
			}
		} else {
			_ = cmd.Wait() // how it ended is in its state
			p.kill()
		}
		out.finish()
		errs.finish()
		<-read
		close(p.exited)
	}()
	return p, nil
}

// attach is a script that makes descriptors 3 to 5 the standard input and outputs of a program.
const attach = `exec "$@" <&3 >&4 2>&5 3<&- 4>&- 5>&-`

// confine starts the program of cmd in a sandbox.
func (t Turn) confine(p *process, cmd *exec.Cmd) (session *sandbox.Session, err error) {
	var files []*os.File
	for _, f := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		files = append(files, f.(*os.File)) // as start has set them
	}
	command, session, err := t.Confine(proc.Command{Argv: append([]string{"sh", "-c", attach, "sh"}, cmd.Args...), Dir: cmd.Dir, Env: cmd.Env, Extra: files, Grace: p.patience})
	if err != nil {
		return nil, err
	}
	if p.confined, err = proc.Start(context.Background(), command); err != nil {
		session.End()
		return nil, err
	}
	session.StopOn(p.confined.Stop)
	return session, nil
}

// A pipe is the end from which the output of a program is read.
type pipe struct {
	file      *os.File // not embedded: its WriteTo would bypass Read
	finishing bool
	left      int // bytes to be read when finishing
}

// finishPatience is how long a pipe may be empty after finish, and maxFinish how much is read then,
// which is as much as a pipe can hold.
const (
	finishPatience = 250 * time.Millisecond
	maxFinish      = 1 << 20
)

func newPipe() (read *pipe, write *os.File, err error) {
	r, w, err := os.Pipe()
	return &pipe{file: r, left: maxFinish}, w, err
}

// finish makes reads end when what was written so far has been read. A process that has left the
// tree of the program without its environment is not found; it may hold the pipe for as long as it
// likes.
func (p *pipe) finish() { _ = p.file.SetReadDeadline(time.Unix(1, 0)) } // a read that waits returns

func (p *pipe) Close() error { return p.file.Close() }

// Read reads; one goroutine may.
func (p *pipe) Read(b []byte) (int, error) {
	for {
		if p.finishing {
			if p.left <= 0 {
				return 0, io.EOF
			}
			_ = p.file.SetReadDeadline(time.Now().Add(finishPatience))
		}
		n, err := p.file.Read(b)
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			if p.finishing {
				p.left -= n
			}
			return n, err
		case p.finishing:
			return n, io.EOF
		}
		p.finishing = true
	}
}

// promptFile returns a file with the prompt that has no name, so that neither its length nor
// its first character matters, and no one sees it in a list of processes.
func promptFile(prompt string) (*os.File, error) {
	f, err := os.CreateTemp("", "pawl-prompt-")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(prompt)
	_, seekErr := f.Seek(0, io.SeekStart)
	if err = errors.Join(err, seekErr, os.Remove(f.Name())); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// stop begins to stop the tree: SIGINT, then SIGTERM, then SIGKILL. It does not wait.
func (p *process) stop() {
	p.stopping.Do(func() {
		if p.confined != nil {
			p.confined.Stop("stopped")
			return
		}
		go func() {
			p.look() // what the program has started is not found any more when it ends first
			for _, send := range []func(){func() { interrupt(p.cmd.Process.Pid) }, func() { terminateTree(p.mark, p.cmd.Process.Pid) }} {
				send()
				timer := time.NewTimer(p.patience)
				select {
				case <-p.exited:
					timer.Stop()
					return
				case <-timer.C:
				}
			}
			p.kill()
		}()
	})
}

// look notes what belongs to the tree now.
func (p *process) look() {
	p.killing.Lock()
	defer p.killing.Unlock()
	p.seen = tree(p.mark, p.cmd.Process.Pid)
}

// kill kills the tree, and what was noted of it.
func (p *process) kill() {
	p.killing.Lock()
	defer p.killing.Unlock()
	killTree(p.mark, p.cmd.Process.Pid, p.seen)
}

// wait waits for the program to end, and returns how it ended in words.
func (p *process) wait() string {
	<-p.exited
	if p.confined != nil {
		status, _ := p.confined.Wait()
		return fmt.Sprintf("exit code %d", status.Code)
	}
	return strings.ReplaceAll(p.cmd.ProcessState.String(), "exit status", "exit code")
}

// end stops the tree if it has not ended, and waits until it has.
func (p *process) end() {
	defer p.stdout.Close()
	close(p.unread)
	select {
	case <-p.exited:
		return
	default:
	}
	p.stop()
	<-p.exited
}
