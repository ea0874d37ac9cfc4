package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"pawl/config"
	"pawl/run"
	"pawl/runlog"
	"pawl/worker"
)

// The exit codes; scripts switch on them.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitPerson      = 3 // a question or a permission waits for a person
	ExitLimit       = 4
	ExitLoop        = 5
	ExitInterrupted = 130 // 128 + SIGINT
	ExitUnread      = 141 // 128 + SIGPIPE
	ExitTerminated  = 143 // 128 + SIGTERM
)

// An Exit is an error that says which code pawl ends with. Without words of its own
// nothing more is printed: the command has said it.
type Exit struct {
	Code int
	Err  error
}

func (e Exit) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e Exit) Unwrap() error { return e.Err }

// Usage returns an error of usage: what is wrong with the command line, the environment or
// the configuration, and what would be right.
func Usage(format string, args ...any) error { return config.Errorf(format, args...) }

// Report prints what is left to say of err and returns the exit code.
func (inv *Invocation) Report(err error) int {
	if err == nil {
		return ExitDone
	}
	var e Exit
	switch {
	case errors.As(err, &e):
	case errors.As(err, new(*config.Error)):
		e = Exit{Code: ExitUsage, Err: err}
	case errors.As(err, new(*runlog.QuestionError)), errors.As(err, new(*runlog.QuestionsError)):
		e = Exit{Code: ExitPerson, Err: err}
	case !inv.Began:
		e = Exit{Code: ExitUsage, Err: fmt.Errorf("%w; see --help", err)}
	default:
		e = Exit{Code: ExitFailed, Err: err}
	}
	text := e.Error()
	if p := (*fs.PathError)(nil); errors.As(err, &p) && (p.Op == "open" || p.Op == "stat" || p.Op == "lstat") {
		text = strings.ReplaceAll(text, p.Error(), ShellWord(p.Path)+": "+p.Err.Error()) // without the name of the system call
	}
	if text != "" {
		fmt.Fprintf(inv.ErrorWriter(), "pawl: %s\n", Visible(strings.TrimSpace(text)))
	}
	return e.Code
}

// ErrorWriter is where errors are written: standard error, also with --quiet.
func (inv *Invocation) ErrorWriter() io.Writer {
	if inv.Errors != nil {
		return inv.Errors
	}
	return inv.Stderr
}

// Exactly is an argument check that says what the one argument is.
func Exactly(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s takes %s, such as %s", cmd.CommandPath(), what, example)
		}
		return nil
	}
}

// InterruptCode is the exit code after an interrupt that came before the run began.
func InterruptCode(ctx context.Context) int {
	if worker.StopOf(ctx).Interrupted.Cause == run.ByShutdown {
		return ExitTerminated
	}
	return ExitInterrupted
}

// ExitCode returns the exit code for the end of the run's last turn.
func ExitCode(s run.State) int {
	if s.Turn.Open() {
		return ExitPerson // it is waiting for a decision
	}
	end := s.Turn.End
	switch end.End {
	case run.Completed:
		return ExitDone
	case run.Asked:
		return ExitPerson
	case run.LimitReached:
		return ExitLimit
	case run.LoopStopped:
		return ExitLoop
	case run.EndInterrupted:
		if end.Reason == string(run.ByShutdown) {
			return ExitTerminated
		}
		return ExitInterrupted
	case run.EndFailed:
		if end.Reason == "permission_required" {
			return ExitPerson
		}
	}
	return ExitFailed
}
