package gitcopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl/internal/owngit"
	"pawl/internal/proc"
	"pawl/internal/text"
)

// A git calls git in a folder.
type git struct {
	dir string
	// own: the repository is pawl's. The configuration of the user and of the system, which may
	// name filters and other programs, is not read.
	own     bool
	network bool     // of a call to another machine
	alone   bool     // dir is a repository that only pawl writes to
	env     []string // further variables
	not     []string // folders in which agents write: a git there is not run
}

// An Error says that git has failed.
type Error struct {
	Command string // of git
	Said    string // on standard error
	Err     error
}

func (e *Error) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("git %s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("git %s: %s", e.Command, e.Said)
}

func (e *Error) Unwrap() error { return e.Err }

// A StateError says what about the copy, the person's repository or the machine keeps
// something from being done, and what to do about it.
type StateError struct {
	What string
	Err  error // the cause, which What has; nil: none
}

func (e *StateError) Error() string { return e.What }

func (e *StateError) Unwrap() error { return e.Err }

// stateError returns a [*StateError]; its cause is the argument for %w, if there is one.
func stateError(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &StateError{err.Error(), errors.Unwrap(err)}
}

// run returns what git prints, without the last line break.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	return g.input(ctx, "", args...)
}

func (g git) input(ctx context.Context, input string, args ...string) (string, error) {
	program, err := proc.Find("git", os.Getenv("PATH"), g.not...)
	if err != nil {
		return "", stateError("a copy of the repository needs git, which is not installed")
	}
	var said bytes.Buffer
	var out text.Head
	call := func(ctx context.Context) error {
		cmd := owngit.Call{Program: program, Dir: g.dir, Own: g.own, Network: g.network, Env: g.env}.Command(ctx, args...)
		cmd.Stdin, cmd.WaitDelay = strings.NewReader(input), 5*time.Second
		cmd.Cancel = func() error { // git removes its lock files then, which after a kill nothing removes
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				return cmd.Process.Kill()
			}
			return nil
		}
		cmd.Stdout, cmd.Stderr = &out, &said
		return cmd.Run()
	}
	try := func() error {
		said.Reset()
		out = text.Head{Room: maxOutput}
		if g.network { // it reads no files of a work tree
			return call(ctx)
		}
		return owngit.Bounded(ctx, g.dir, call)
	}
	if err = try(); err != nil && g.alone && removeLocks(g.dir) {
		err = try()
	}
	if pipe, ok := errors.AsType[*owngit.PipeError](err); ok {
		return "", stateError("%w", pipe)
	}
	if err == nil && out.Cut {
		err = errTooMuch
	}
	if err != nil {
		for args[0] == "-c" {
			args = args[2:]
		}
		return out.String(), &Error{args[0], firstLine(said.String()), err}
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// lockLife is the age after which a lock is stale: git holds one for milliseconds.
const lockLife = 10 * time.Second

// removeLocks removes the stale locks from a repository, which git leaves behind when the machine or the container stops. They
// make every later call fail. It reports whether it removed any.
func removeLocks(dir string) (some bool) {
	remove := func(path string) {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > lockLife && os.Remove(path) == nil {
			some = true
		}
	}
	for _, name := range []string{"config", "HEAD", "index", "packed-refs", "shallow"} {
		remove(filepath.Join(dir, name+".lock"))
	}
	_ = filepath.WalkDir(filepath.Join(dir, "refs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") { // no ref has such a name
			remove(path)
		}
		return nil
	})
	return some
}

// maxOutput bounds what is kept of what git prints, in bytes. The lists of files of very large
// repositories are below it.
const maxOutput = 32 << 20

// errTooMuch says that git has printed more than maxOutput; what is returned with it is the
// beginning.
var errTooMuch = fmt.Errorf("it printed more than %d MB", maxOutput>>20)

// withoutFilters returns g with every filter that the configuration names switched off.
func (g git) withoutFilters(ctx context.Context) (git, error) {
	list, err := g.run(ctx, owngit.ListFilters...)
	if exited(err, 1) {
		return g, nil // there are none
	} else if err != nil {
		return g, err
	}
	g.env = append(slices.Clip(g.env), owngit.WithoutFilters(list)...)
	return g, nil
}

// firstLine returns the first line of what git said, without its prefix, and without what it says
// of core.alternateRefsCommand, which names no program.
func firstLine(said string) string {
	said = strings.ReplaceAll(said, "error: cannot run :: No such file or directory\n", "")
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	for _, prefix := range []string{"fatal: ", "error: "} {
		line = strings.TrimPrefix(line, prefix)
	}
	return line
}

// exited reports whether git ran and ended with a code.
func exited(err error, code int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == code
}

// lines returns what git printed with -z.
func lines(out string) []string {
	var all []string
	for name := range strings.SplitSeq(out, "\x00") {
		if name != "" {
			all = append(all, name)
		}
	}
	return all
}
