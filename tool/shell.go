package tool

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"pawl/internal/proc"
	"pawl/permission"
	"pawl/run"
)

//go:embed shell.md
var shellText string

const shellSchema = `{"type":"object","properties":{` +
	`"command":{"type":"string","description":"The command, for bash"},` +
	`"timeout_seconds":{"type":"integer","description":"Stop it after this long; 120 if left out, at most 600"},` +
	`"background":{"type":"boolean","description":"Start it as a job and return at once"}},` +
	`"required":["command"],"additionalProperties":false}`

const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 600 * time.Second
)

// Shell returns the tools that run commands: shell, shell_output, shell_stop.
func Shell() []Tool { return []Tool{shellTool{}, shellOutput{}, shellStop{}} }

type shellTool struct{}

type shellArgs struct {
	Command    string `json:"command"`
	Timeout    int    `json:"timeout_seconds"`
	Background bool   `json:"background"`
}

func (shellTool) Spec() Spec {
	return Spec{Name: "shell", Description: strings.TrimSpace(shellText), Schema: json.RawMessage(shellSchema)}
}

func (shellTool) parse(args json.RawMessage) (shellArgs, error) {
	a, err := decode[shellArgs](args)
	switch {
	case err != nil:
		return a, err
	case strings.TrimSpace(a.Command) == "":
		return a, tell("command is empty: say what to run")
	case strings.ContainsRune(a.Command, 0):
		return a, tell("command has a NUL byte")
	case a.Timeout < 0 || a.Timeout > int(maxTimeout/time.Second):
		return a, tell("timeout_seconds is %d, and may be 1 to %d; what takes longer is a job: background", a.Timeout, int(maxTimeout/time.Second))
	}
	return a, nil
}

// Look tells the class from the command's syntax tree.
func (t shellTool) Look(_ Env, args json.RawMessage) (Intent, error) {
	a, err := t.parse(args)
	if err != nil {
		return Intent{}, err
	}
	c := permission.Classify(a.Command)
	in := Intent{Class: c.Class, Waits: c.Waits, Command: a.Command, Title: a.Command}
	if a.Background {
		in.Class = run.Writes // a job outlives its call: it is not run twice
	}
	return in, nil
}

// bash is looked up once: bash, or sh where there is none.
var bash = sync.OnceValues(func() (string, error) {
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", tell("there is neither bash nor sh here: commands cannot be run")
})

// folderFD is the descriptor that the command's shell writes its last folder to.
const folderFD = "3"

func (t shellTool) Run(ctx context.Context, env Env, c Call) (Result, error) {
	a, err := t.parse(c.Args)
	if err != nil {
		return Result{}, err
	}
	if a.Background {
		return startJob(env, a.Command)
	}
	limit := cmp.Or(time.Duration(a.Timeout)*time.Second, defaultTimeout)
	out := &output{show: c.Progress}
	read, write, err := os.Pipe()
	if err != nil {
		return Result{}, fmt.Errorf("start the command: %w", err)
	}
	defer read.Close()
	// The trap tells the folder whatever way the shell ends by itself; the
	// command keeps its own exit code.
	script := "trap 'pwd -P >&" + folderFD + "' EXIT\n" + a.Command
	p, err := startCommand(ctx, env, script, out, write)
	write.Close() // the command has its own
	if err != nil {
		return Result{}, err
	}
	timer := time.AfterFunc(limit, func() { p.Stop(timedOut) })
	defer timer.Stop()
	status, err := p.Wait()
	if err != nil {
		return Result{}, fmt.Errorf("run the command: %w", err)
	}
	folder, _ := io.ReadAll(io.LimitReader(read, 8192)) // what is not told is not kept
	text := strings.TrimRight(out.text(), "\n")
	if text == "" {
		text = "(no output)"
	}
	switch {
	case status.Stopped == timedOut:
		text += fmt.Sprintf("\n(stopped after %v, its time limit; what takes longer is a job: background)", limit)
	case status.Stopped != "":
		text += "\n(stopped)"
	case status.Code != 0:
		text += fmt.Sprintf("\n(exit code %d)", status.Code)
	}
	if status.Stopped == "" {
		if note := env.Session.shell.moved(env.Workspace, string(folder)); note != "" {
			text += "\n" + note
		}
	}
	res := TextResult(text)
	if permission.Classify(a.Command).Class == run.Writes {
		res.Change = run.MayChange
	}
	return res, nil
}

const timedOut = "its time limit"

// startCommand starts a shell in the run's folder. folder, if not nil, becomes
// descriptor 3.
func startCommand(ctx context.Context, env Env, script string, out io.Writer, folder *os.File) (*proc.Process, error) {
	shell, err := bash()
	if err != nil {
		return nil, err
	}
	c := proc.Command{Argv: []string{shell, "-c", script}, Dir: env.Session.shell.folder(env.Workspace), Env: shellEnv(), Output: out}
	if folder != nil {
		c.Extra = []*os.File{folder}
	}
	p, err := proc.Start(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("start the command: %w", err)
	}
	return p, nil
}
