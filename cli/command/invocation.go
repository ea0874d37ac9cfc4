package command

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"pawl/run"
	"pawl/worker"
)

// An Invocation is one invocation of pawl.
type Invocation struct {
	Process
	Args []string // the command line, see [commandline.Read]
	Dir  string   // --dir as given
	// Errors is where errors are written if standard error is not shown; nil: they are
	// written there.
	Errors io.Writer

	// Began says that the command line was understood: errors before that are of usage.
	Began bool
	// Driving says that a signal is to interrupt the turn, not the process.
	Driving atomic.Bool
	// ScreenReader says that nothing is drawn again on a terminal.
	ScreenReader bool
	Ended        atomic.Bool // and that its turn has ended
	terminated   atomic.Bool // a termination has interrupted the turn
	HelpErr      error       // of writing help: cobra's function for it returns none
	// Leaving is called before a signal ends the process at once.
	Leaving atomic.Pointer[func()]
	Done    <-chan struct{} // closed when the command line has been executed
}

// TurnEnded says that what a signal interrupts has ended: from now on a signal ends the process
// at once. After a termination, what is left to print has flushTime: its reader may be stuck.
func (inv *Invocation) TurnEnded() {
	inv.Ended.Store(true)
	if inv.terminated.Load() {
		inv.leaveAfter(flushTime)
	}
}

const (
	// flushTime is how long a terminated process prints what has happened, before it exits. It
	// is shorter than what service managers wait before they kill.
	flushTime = 2 * time.Second
	// terminateTime is how long it waits for all that it does to end. What has happened is in
	// the log, and what has not is resumed.
	terminateTime = 30 * time.Second
)

// leaveAfter ends the terminated process after d, unless its command line has been executed.
func (inv *Invocation) leaveAfter(d time.Duration) {
	time.AfterFunc(d, func() {
		select {
		case <-inv.Done:
		default:
			inv.leave(ExitTerminated)
		}
	})
}

// leave ends the process at once, with the terminal as it was before.
func (inv *Invocation) leave(code int) {
	if leaving := inv.Leaving.Load(); leaving != nil {
		(*leaving)()
	}
	inv.Exit(code)
}

// Unread ignores that standard output is not read to its end, as in `pawl … | head`: what was
// to be looked at was seen. The result of a run is another matter: it is lost, and
// that is said. So is a pipe to somebody else, as to the process that drives a run.
func (inv *Invocation) Unread(err error) error {
	out, named := inv.Stdout.(*os.File)
	var write *fs.PathError
	if named && errors.As(err, &write) && write.Path == out.Name() && errors.Is(write, syscall.EPIPE) && !inv.Driving.Load() {
		return nil
	}
	return err
}

// Listen turns signals into an interrupt of the turn, or, with nothing under way or
// at the second one, into the end of the process. A termination after another one is no second
// one: timeout(1) sends it to its command and to the process group, a terminal that is closed
// and its shell do too, and the end that is under way would be cut off.
func (inv *Invocation) Listen(done <-chan struct{}, cancel context.CancelCauseFunc) {
	for first := true; ; first = false {
		var sig os.Signal
		select {
		case <-done:
			return
		case sig = <-inv.Signals:
		}
		if n, ok := sig.(syscall.Signal); ok && (n == syscall.SIGQUIT || n == syscall.SIGABRT) {
			inv.leave(128 + int(n)) // what is under way can be continued, as after a kill
			return
		}
		if inv.terminated.Load() && sig != os.Interrupt {
			continue
		}
		cause, code := run.ByPerson, ExitInterrupted
		if sig != os.Interrupt {
			cause, code = run.ByShutdown, ExitTerminated
		}
		if !first || !inv.Driving.Load() || inv.Ended.Load() {
			inv.leave(code)
			return
		}
		if cause == run.ByShutdown {
			inv.terminated.Store(true)
			inv.leaveAfter(terminateTime)
		}
		if inv.Ended.Load() { // meanwhile
			inv.TurnEnded()
		}
		cancel(worker.Stop{Interrupted: run.Interrupted{Cause: cause}})
	}
}

// Hint prints what is worth knowing to standard error.
func (inv *Invocation) Hint(hints ...string) {
	for _, h := range hints {
		if h != "" {
			inv.Notice(h)
		}
	}
}
