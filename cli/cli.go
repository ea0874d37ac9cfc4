// Package cli is the command line: it reads words and flags, calls package app, and
// prints what comes of it. It decides nothing about runs. A file per command; the list
// of commands is in this file.
package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/app"
	"pawl/config"
	"pawl/run"
	"pawl/worker"
)

// An invocation is one invocation of pawl.
type invocation struct {
	Process
	args []string // the command line, see [commandLine]
	dir  string   // --dir as given
	// errors is where errors are written if standard error is not shown; nil: they are
	// written there.
	errors io.Writer

	// began says that the command line was understood: errors before that are of usage.
	began bool
	// driving says that a signal is to interrupt the turn, not the process.
	driving atomic.Bool
	// screenReader says that nothing is drawn again on a terminal.
	screenReader bool
	ended        atomic.Bool // and that its turn has ended
	terminated   atomic.Bool // a termination has interrupted the turn
	helpErr      error       // of writing help: cobra's function for it returns none
	// leaving is called before a signal ends the process at once.
	leaving atomic.Pointer[func()]
	done    <-chan struct{} // closed when the command line has been executed
}

// Main runs one command line and returns the exit code. It may be called several
// times in a process.
func Main(args []string, p Process) int {
	inv := &invocation{Process: p}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	inv.done = done
	go inv.listen(done, cancel)
	return inv.execute(ctx, args)
}

// turnEnded says that what a signal interrupts has ended: from now on a signal ends the process
// at once. After a termination, what is left to print has flushTime: its reader may be stuck.
func (inv *invocation) turnEnded() {
	inv.ended.Store(true)
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
func (inv *invocation) leaveAfter(d time.Duration) {
	time.AfterFunc(d, func() {
		select {
		case <-inv.done:
		default:
			inv.leave(exitTerminated)
		}
	})
}

// leave ends the process at once, with the terminal as it was before.
func (inv *invocation) leave(code int) {
	if leaving := inv.leaving.Load(); leaving != nil {
		(*leaving)()
	}
	inv.Exit(code)
}

// execute runs a command line and returns the exit code.
func (inv *invocation) execute(ctx context.Context, args []string) int {
	root := inv.root(args)
	args, err := commandLine(root, args)
	if err != nil {
		return inv.report(err)
	}
	inv.args = args
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) { // with or without descriptions
		inv.completes(root)
		plainUsages(root)
	}
	root.SetArgs(args)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		plainUsage(root)
	}
	root.SetIn(inv.Stdin)
	root.SetOut(inv.Stdout)
	root.SetErr(inv.Stderr)
	err = root.ExecuteContext(ctx)
	if err == nil {
		err = inv.helpErr
	}
	return inv.report(inv.unread(err))
}

// unread ignores that standard output is not read to its end, as in `pawl … | head`: what was
// to be looked at was seen. The result of a run is another matter: it is lost, and
// that is said. So is a pipe to somebody else, as to the process that drives a run.
func (inv *invocation) unread(err error) error {
	out, named := inv.Stdout.(*os.File)
	var write *fs.PathError
	if named && errors.As(err, &write) && write.Path == out.Name() && errors.Is(write, syscall.EPIPE) && !inv.driving.Load() {
		return nil
	}
	return err
}

// A topCommand is a command below pawl itself.
type topCommand struct {
	group, name string
	build       func(*invocation) *cobra.Command
	needs       string // the command that it looks at besides itself; "*": all
}

// topCommands returns the commands in the order of the groups.
func topCommands() []topCommand {
	return []topCommand{
		{"work", "run", runCommand, "runs"}, {"work", "runs", runsCommand, "run"}, {"work", "task", taskCommand, "run"}, {"work", "serve", serveCommand, ""},
		{"work", "outputs", outputsCommand, ""}, {"work", "tool", toolCommand, ""}, {"work", "init", initCommand, ""}, {"work", "demo", demoCommand, ""},
		{"settings", "config", configCommand, ""}, {"settings", "models", modelsCommand, ""}, {"settings", "agents", agentsCommand, ""},
		{"settings", "permissions", permissionsCommand, ""}, {"settings", "trust", trustCommand, ""}, {"settings", "doctor", doctorCommand, ""},
		{"other", "stats", statsCommand, ""}, {"other", "controller", controllerCommand, ""}, {"other", "mcp", mcpCommand, ""}, {"other", "debug", debugCommand, ""},
		{"other", "completion", completionCommand, "*"}, {"other", "version", versionCommand, ""}, {"other", "man", manCommand, "*"},
	}
}

// commandsFor returns the commands that a command line needs: the one that it names, or all.
// To build all with their flags takes a tenth of the start of a small command.
func commandsFor(args []string) []topCommand {
	all := topCommands()
	if len(args) == 0 {
		return all
	}
	i := slices.IndexFunc(all, func(c topCommand) bool { return c.name == args[0] })
	if i < 0 || all[i].needs == "*" {
		return all
	}
	named := all[i]
	return slices.DeleteFunc(all, func(c topCommand) bool { return c.name != named.name && c.name != named.needs })
}

// root returns pawl's command with those below it that args need.
func (inv *invocation) root(args []string) *cobra.Command {
	root := group(&cobra.Command{
		Use:   "pawl",
		Short: "An agent that does software work in a folder",
		Long: `pawl works on a task in a folder with a model and tools. Every step is recorded before
and after it happens: a run that was killed continues with pawl run --continue.

Without a command pawl is the terminal agent, and the flags below are for it. Words
without a command are a task for pawl run.`,
		Example: `  pawl
  pawl "make the failing test pass"
  git diff | pawl run "review this change" --mode plan
  pawl run --continue
  pawl runs show last`,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.PersistentFlags().StringVarP(&inv.dir, "dir", "C", "", "work in this folder instead of the current one; for all commands")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		inv.began = true
		return inv.foreignValues(cmd)
	}
	root.SetFlagErrorFunc(inv.flagError)
	version := root.Flags().BoolP("version", "v", false, "print the version, as pawl version does")
	var terminal terminalRequest
	terminal.flags(root)
	noCommand := root.Args
	root.Args = func(cmd *cobra.Command, args []string) error {
		if terminal.resume == pickRun && len(args) == 1 { // --resume ID
			terminal.resume = args[0]
			return nil
		}
		return noCommand(cmd, args)
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			return inv.printVersion(false)
		}
		return inv.terminal(cmd, terminal, "")
	}
	root.AddGroup(commandGroups...)
	for _, c := range commandsFor(args) {
		grouped(root, inv, c.group, c.build)
	}
	root.CompletionOptions.DisableDefaultCmd = true
	help := helpCommand(inv)
	help.GroupID = "other"
	root.SetHelpCommand(help)
	root.AddCommand(help)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		var help bytes.Buffer
		writeHelp(&help, cmd)
		inv.began = true
		_, inv.helpErr = help.WriteTo(inv.Stdout)
	})
	checkArguments(root)
	return root
}

// group makes cmd one that only has subcommands: without one it shows its help, and
// a wrong one is an error.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// The exit codes; scripts switch on them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitPerson      = 3 // a question or a permission waits for a person
	exitLimit       = 4
	exitLoop        = 5
	exitInterrupted = 130 // 128 + SIGINT
	exitUnread      = 141 // 128 + SIGPIPE
	exitTerminated  = 143 // 128 + SIGTERM
)

// An exit is an error that says which code pawl ends with. Without words of its own
// nothing more is printed: the command has said it.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

// usage returns an error of usage: what is wrong with the command line, the environment or
// the configuration, and what would be right.
func usage(format string, args ...any) error { return config.Errorf(format, args...) }

// report prints what is left to say of err and returns the exit code.
func (inv *invocation) report(err error) int {
	if err == nil {
		return exitDone
	}
	var e exit
	switch {
	case errors.As(err, &e):
	case errors.As(err, new(*config.Error)):
		e = exit{exitUsage, err}
	case errors.As(err, new(*app.QuestionError)), errors.As(err, new(*app.QuestionsError)):
		e = exit{exitPerson, err}
	case !inv.began:
		e = exit{exitUsage, fmt.Errorf("%w; see --help", err)}
	default:
		e = exit{exitFailed, err}
	}
	if text := e.Error(); text != "" {
		fmt.Fprintf(inv.errorWriter(), "pawl: %s\n", visible(strings.TrimSpace(text)))
	}
	return e.code
}

// errorWriter is where errors are written: standard error, also with --quiet.
func (inv *invocation) errorWriter() io.Writer {
	if inv.errors != nil {
		return inv.errors
	}
	return inv.Stderr
}

// listen turns signals into an interrupt of the turn, or, with nothing under way or
// at the second one, into the end of the process. A termination after another one is no second
// one: timeout(1) sends it to its command and to the process group, a terminal that is closed
// and its shell do too, and the end that is under way would be cut off.
func (inv *invocation) listen(done <-chan struct{}, cancel context.CancelCauseFunc) {
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
		cause, code := run.ByPerson, exitInterrupted
		if sig != os.Interrupt {
			cause, code = run.ByShutdown, exitTerminated
		}
		if !first || !inv.driving.Load() || inv.ended.Load() {
			inv.leave(code)
			return
		}
		if cause == run.ByShutdown {
			inv.terminated.Store(true)
			inv.leaveAfter(terminateTime)
		}
		if inv.ended.Load() { // meanwhile
			inv.turnEnded()
		}
		cancel(worker.Stop{Interrupted: run.Interrupted{Cause: cause}})
	}
}

// open opens the workspace. Its settings are those of flags, if the command has them.
func (inv *invocation) open(flags *pflag.FlagSet) (*app.Workspace, error) {
	return app.Open(inv.options(flags))
}

// inWorkspace gives cmd the form of a command that works in a workspace: it opens that with open and
// calls do.
func inWorkspace(cmd *cobra.Command, open func(*pflag.FlagSet) (*app.Workspace, error), do func(ctx context.Context, ws *app.Workspace, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ws, err := open(cmd.Flags())
		if err != nil {
			return err
		}
		err = do(cmd.Context(), ws, args)
		return errors.Join(err, ws.Close())
	}
	return cmd
}

// openPlain is open for a command whose flags are no settings, although some have their names.
func (inv *invocation) openPlain(*pflag.FlagSet) (*app.Workspace, error) { return inv.open(nil) }

// openRunsPlain is openRuns for such a command.
func (inv *invocation) openRunsPlain(*pflag.FlagSet) (*app.Workspace, error) {
	return inv.openRuns(nil)
}

// openRuns is open for a command about runs that are there already: in a folder without runs
// it opens the nearest folder above it in the same repository that has some.
func (inv *invocation) openRuns(flags *pflag.FlagSet) (*app.Workspace, error) {
	opt := inv.options(flags)
	opt.Nearest = true
	return app.Open(opt)
}

// options are what the command line says of the workspace.
func (inv *invocation) options(flags *pflag.FlagSet) app.Options {
	return app.Options{Dir: inv.dir, Env: inv.Env, Given: settingsOf(flags), Notice: inv.notice}
}

// notice says on standard error what the person should know. Errors alone begin with pawl.
func (inv *invocation) notice(text string) { fmt.Fprintf(inv.Stderr, "note: %s\n", visible(text)) }

// settingsOf returns the settings that flags give, by their keys.
func settingsOf(flags *pflag.FlagSet) map[string][]string {
	values := map[string][]string{}
	if flags == nil {
		return values
	}
	for _, k := range config.Keys() {
		f := flags.Lookup(k.Flag())
		switch {
		case f == nil || !f.Changed:
		case k.List:
			values[k.Name] = f.Value.(pflag.SliceValue).GetSlice()
		default:
			values[k.Name] = []string{f.Value.String()}
		}
	}
	return values
}

// addSettings gives a command the flags of settings: of those named, or else of all.
func addSettings(flags *pflag.FlagSet, names ...string) {
	for _, k := range config.Keys() {
		if len(names) > 0 && !slices.Contains(names, k.Name) {
			continue
		}
		help := k.Help
		if k.Default != "" {
			help += " (default " + k.Default + ")"
		}
		help = "`" + k.Arg + "`: " + help
		if k.List {
			flags.StringArray(k.Flag(), nil, help)
		} else {
			flags.StringP(k.Flag(), k.Short, "", help)
		}
	}
}

// addWaitingSettings is addSettings for a command whose runs wait for a person who decides in
// another process, unless --on-ask says otherwise.
func addWaitingSettings(flags *pflag.FlagSet) {
	addSettings(flags)
	f := flags.Lookup("on-ask")
	f.Usage = strings.Replace(f.Usage, "(default deny)", "(default wait)", 1)
}

// oneOf returns a check that a value is one of names.
func oneOf(names string) func(string) error { return config.OneOf(strings.Split(names, ", ")...) }
