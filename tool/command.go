package tool

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"pawl/internal/proc"
	"pawl/internal/text"
	"pawl/permission"
	"pawl/run"
	"pawl/sandbox"
)

// A Command is a command of a person's that pawl runs beside the calls of a run, as a hook, confined as calls are.
type Command struct {
	Line    string   // for bash
	Argv    []string // instead of a line: a program and its arguments
	Env     []string // beside what commands get
	Stdin   []byte
	Extra   []*os.File // open files for it, descriptor 5 first
	Limit   time.Duration
	Most    int // bytes of each of its outputs that are kept
	Sandbox run.Confinement
	Owns    []string // folders that it may change, see [sandbox.Fence]
	Options ShellOptions
	Check   func() error // what stands against it, when nothing that runs unasked can change it any more; nil: nothing
}

// A Ran is how it ended.
type Ran struct {
	Started        bool
	Stdout, Stderr string
	ExitCode       *int     // nil: it did not end by itself
	Notes          []string // what the sandbox says of it
}

// lineWrapper runs a line with the input and the errors that the shell gets as 3 and 4.
const lineWrapper = `exec 0<&3 2>&4 3<&- 4>&-; eval "set --; $1"`

// argvWrapper does the same for a program and its arguments.
const argvWrapper = `exec 0<&3 2>&4 3<&- 4>&-; exec "$@"`

// RunCommand runs a command in the workspace of env, and returns when it has ended with all that it had started. An
// error says why it was not started, or did not come to its end.
func RunCommand(ctx context.Context, env Env, c Command) (Ran, error) {
	program, err := bash(env)
	if err != nil {
		return Ran{}, errors.New("there is no bash on this machine")
	}
	argv := []string{program, "-c", lineWrapper, "bash", c.Line}
	line := c.Line
	if len(c.Argv) > 0 {
		argv, line = append([]string{program, "-c", argvWrapper, "bash"}, c.Argv...), ""
	}
	command := proc.Command{Argv: argv, Dir: env.Workspace, Memory: c.Options.Memory, Disk: c.Options.Disk,
		Env: append(append(c.Options.childEnv(os.Environ(), env.Workspace), c.Env...), "PAWL_RUN="+string(env.Run))}
	is := permission.Classify(line)
	turn, err := env.Sandbox.Turn(ctx, c.Sandbox, is.Repository)
	if err != nil {
		return Ran{}, err
	}
	defer turn.Leave()
	if c.Check != nil {
		if err := c.Check(); err != nil {
			return Ran{}, err
		}
	}
	fence := c.Options.fence(env, is)
	fence.Owns = c.Owns
	command, session, err := env.Sandbox.Start(command, c.Sandbox, fence)
	if err != nil {
		return Ran{}, err
	}
	defer session.End()
	r, err := runCommand(ctx, command, session, c)
	r.Notes = append(turn.Notes(), r.Notes...)
	return r, err
}

func runCommand(ctx context.Context, command proc.Command, session *sandbox.Session, c Command) (Ran, error) {
	in, feed, err := os.Pipe()
	if err != nil {
		return Ran{}, err
	}
	defer in.Close()
	defer feed.Close()
	told, errs, err := os.Pipe()
	if err != nil {
		return Ran{}, err
	}
	defer told.Close()
	defer errs.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, timeLimit(c.Limit))
	defer cancel()
	stdout, stderr := &text.Head{Room: c.Most}, &text.Head{Room: c.Most}
	command.Extra, command.Output = append([]*os.File{in, errs}, c.Extra...), stdout
	p, err := proc.Start(ctx, command)
	if err != nil {
		return Ran{}, err
	}
	in.Close() // these are the command's now
	errs.Close()
	session.StopOn(p.Stop)
	go func() { // one that does not read it leaves it
		feed.Write(c.Stdin)
		feed.Close()
	}()
	copied := make(chan struct{})
	go func() { defer close(copied); io.Copy(stderr, told) }()
	status, err := p.Wait()
	told.SetReadDeadline(time.Now().Add(progressEvery)) // what could not be ended may hold it
	<-copied
	r := Ran{Started: true, Stdout: c.Options.Hide(stdout.String()), Stderr: c.Options.Hide(stderr.String()), Notes: session.End()}
	switch {
	case err != nil:
		return r, err
	case status.Stopped != "":
		return r, errors.New("it was stopped: " + status.Stopped)
	case status.Lost:
		return r, errors.New(lostWords)
	}
	if refusal := session.Refusal(status, r.Stdout+"\n"+r.Stderr); refusal != "" && status.Code != 0 {
		r.Notes = append(r.Notes, refusal)
	}
	r.ExitCode = &status.Code
	return r, nil
}
