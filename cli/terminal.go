package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/config"
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
	addSettings(cmd.Flags())
}

// pickRun is the value of --resume without one.
const pickRun = "?"

// terminal shows the terminal agent until the person leaves.
func (inv *invocation) terminal(cmd *cobra.Command, r terminalRequest, prompt string) error {
	env := config.Env(inv.Env)
	in, isIn := terminalFile(inv.Stdin)
	out, isOut := terminalFile(inv.Stdout)
	switch {
	case !isIn || !isOut:
		return exit{exitUsage, tui.ErrNoTerminal}
	case render.Dumb(env.Get):
		return exit{exitUsage, fmt.Errorf("%w (TERM is %s, a terminal that can only print)", tui.ErrNoTerminal, quoted(env.Get("TERM")))}
	}
	if r.last {
		if r.resume != "" {
			return usage("--continue and --resume cannot be used together")
		}
		r.resume = "last"
	}
	notices := make(chan string, 64)
	opt := inv.options(cmd.Flags())
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
		Version: app.Version(), Dir: ws.Dir, Home: env.Get("HOME"), Mode: c.Get("mode"), Agent: r.agent, Style: style,
		Prompt: prompt, History: filepath.Join(env.StateDir(), "prompts"), Getenv: env.Get, CommandLine: inv.commandLine(ws.Dir),
		AsPerson: inv.asPerson,
		Restores: func(restore func()) { inv.leaving.Store(&restore) },
	}
	if c.Has("mode", true) {
		o.Chosen = o.Mode
	}
	if r.resume == pickRun {
		o.Pick = true
	} else {
		o.Resume = r.resume
	}
	inv.driving.Store(true) // signals are the terminal's
	last, err := tui.Run(cmd.Context(), ws, o, in, out, notices)
	terminated := errors.Is(err, tui.ErrTerminated)
	if last != "" && (err == nil || terminated) {
		inv.hint("resume with `pawl --resume " + last + "`")
	}
	if errors.Is(err, tui.ErrNoTerminal) {
		return exit{exitUsage, err}
	}
	inv.tidy(ws)
	if terminated {
		return exit{exitTerminated, nil}
	}
	return err
}

// commandLine returns a function that runs a command line of pawl in this process, in a folder. What it
// prints is shown in so many columns; 0: as it is.
func (inv *invocation) commandLine(dir string) func(context.Context, int, ...string) (string, int) {
	return func(_ context.Context, columns int, args ...string) (string, int) {
		var out bytes.Buffer
		code := Main(append([]string{"-C", dir}, args...), Process{Env: inv.Env, Stdin: bytes.NewReader(nil), Stdout: &out, Stderr: &out, Columns: columns,
			Signals: make(chan os.Signal), Exit: func(int) {}})
		return out.String(), code
	}
}
