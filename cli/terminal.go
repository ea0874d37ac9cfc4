package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/config"
	"pawl/internal/build"
	"pawl/render"
	"pawl/tui"
	"pawl/worker"
)

// A terminalRequest is what the command line of the terminal agent asks for.
type terminalRequest struct {
	last   bool   // --continue
	resume string // --resume; "": a new run
	agent  string // of a new run; "": none
	trust  bool
}

// terminalFlags gives the root command the flags of the terminal agent.
func (r *terminalRequest) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&r.last, "continue", "c", false, "resume the most recent run of this folder")
	cmd.Flags().StringVarP(&r.resume, "resume", "r", "", "resume this `run`: an id, a prefix of one, or last; without a value a list to choose from")
	cmd.Flags().Lookup("resume").NoOptDefVal = pickRun
	cmd.Flags().StringVar(&r.agent, "agent", "", "start new runs as this `agent`; see pawl agents list")
	cmd.Flags().BoolVar(&r.trust, "trust", false, "trust the workspace's own configuration and rules for this run (see pawl trust)")
	command.AddSettings(cmd.Flags())
}

// pickRun is the value of --resume without one.
const pickRun = "?"

// runTerminal shows the terminal agent until the person leaves.
func runTerminal(inv *command.Invocation, cmd *cobra.Command, r terminalRequest, prompt string) error {
	env := config.Env(inv.Env)
	in, isIn := command.TerminalFile(inv.Stdin)
	out, isOut := command.TerminalFile(inv.Stdout)
	switch {
	case !isIn || !isOut:
		return command.Exit{Code: command.ExitUsage, Err: tui.ErrNoTerminal}
	case render.Dumb(env.Get):
		return command.Exit{Code: command.ExitUsage, Err: fmt.Errorf("%w (TERM is %s, a terminal that can only print)", tui.ErrNoTerminal, command.Quoted(env.Get("TERM")))}
	}
	if r.last {
		if r.resume != "" {
			return command.Usage("--continue and --resume cannot be used together")
		}
		r.resume = "last"
	}
	notices := make(chan string, 64)
	opt := inv.Options(cmd.Flags())
	opt.Drives, opt.Trust, opt.OnAsk = true, r.trust, worker.AskWait
	opt.Nearest = r.resume != ""
	opt.Notice = func(text string) {
		select {
		case notices <- text:
		default: // the terminal is slow; a notice keeps nothing from working
		}
	}
	ws, c, err := openToDrive(opt)
	if err != nil {
		return err
	}
	defer ws.Close() // what counts is durable when it was shown
	style := render.StyleOf(env.Get)
	if c.On("screen_reader") {
		style = style.Spoken()
	}
	o := tui.Options{
		Version: build.Version(), Dir: ws.Dir, Home: env.Get("HOME"), Mode: c.Get("mode"), Agent: r.agent, Style: style,
		Prompt: prompt, History: filepath.Join(env.StateDir(), "prompts"), Getenv: env.Get, CommandLine: commandLineIn(inv, ws.Dir),
		AsPerson: inv.AsPerson,
		Restores: func(restore func()) { inv.Leaving.Store(&restore) },
	}
	if c.Has("mode", true) {
		o.Chosen = o.Mode
	}
	if r.resume == pickRun {
		o.Pick = true
	} else {
		o.Resume = r.resume
	}
	inv.Driving.Store(true) // signals are the terminal's
	last, err := tui.Run(cmd.Context(), ws, o, in, out, notices)
	terminated := errors.Is(err, tui.ErrTerminated)
	if last != "" && (err == nil || terminated) {
		inv.Hint("resume with `pawl --resume " + last + "`")
	}
	if errors.Is(err, tui.ErrNoTerminal) {
		return command.Exit{Code: command.ExitUsage, Err: err}
	}
	inv.Tidy(ws)
	if terminated {
		return command.Exit{Code: command.ExitTerminated}
	}
	return err
}

// commandLineIn returns a function that runs a command line of pawl in this process, in a folder. What it
// prints is shown in so many columns; 0: as it is.
func commandLineIn(inv *command.Invocation, dir string) func(context.Context, int, ...string) (string, int) {
	return func(_ context.Context, columns int, args ...string) (string, int) {
		var out bytes.Buffer
		code := Main(append([]string{"-C", dir}, args...), command.Process{Env: inv.Env, Stdin: bytes.NewReader(nil), Stdout: &out, Stderr: &out, Columns: columns,
			Signals: make(chan os.Signal), Exit: func(int) {}})
		return out.String(), code
	}
}
