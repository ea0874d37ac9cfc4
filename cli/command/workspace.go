package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/app"
	"pawl/metrics"
)

// Open opens the workspace. Its settings are those of flags, if the command has them.
func (inv *Invocation) Open(flags *pflag.FlagSet) (*app.Workspace, error) {
	return app.Open(inv.Options(flags))
}

// InWorkspace gives cmd the form of a command that works in a workspace: it opens that with open and
// calls do.
func InWorkspace(cmd *cobra.Command, open func(*pflag.FlagSet) (*app.Workspace, error), do func(ctx context.Context, ws *app.Workspace, args []string) error) *cobra.Command {
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

// OpenPlain is open for a command whose flags are no settings, although some have their names.
func (inv *Invocation) OpenPlain(*pflag.FlagSet) (*app.Workspace, error) { return inv.Open(nil) }

// OpenRunsPlain is openRuns for such a command.
func (inv *Invocation) OpenRunsPlain(*pflag.FlagSet) (*app.Workspace, error) {
	return inv.OpenRuns(nil)
}

// OpenRuns is open for a command about runs that are there already: in a folder without runs
// it opens the nearest folder above it in the same repository that has some.
func (inv *Invocation) OpenRuns(flags *pflag.FlagSet) (*app.Workspace, error) {
	opt := inv.Options(flags)
	opt.Nearest = true
	return app.Open(opt)
}

// Options are what the command line says of the workspace.
func (inv *Invocation) Options(flags *pflag.FlagSet) app.Options {
	return app.Options{Dir: inv.Dir, Env: inv.Env, Given: settingsOf(flags), Notice: inv.Notice}
}

// ServeOptions are the Options of a process that works for all tasks, and asks a person about calls that need approval.
func (inv *Invocation) ServeOptions(flags *pflag.FlagSet) app.Options {
	opt := inv.Options(flags)
	opt.Drives, opt.Serves, opt.Asks, opt.Metrics = true, true, true, metrics.New()
	return opt
}

// Notice says on standard error what the person should know. Errors alone begin with pawl.
func (inv *Invocation) Notice(text string) { fmt.Fprintf(inv.Stderr, "note: %s\n", Visible(text)) }

// Group makes cmd one that only has subcommands: without one it shows its help. A wrong one is an
// error of [commandline.CheckArguments].
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// Tidy applies the limits of what is stored after a run. What goes wrong is no failure of
// the run.
func (inv *Invocation) Tidy(ws *app.Workspace) {
	for _, note := range ws.Tidy(context.Background()) {
		inv.Hint(note)
	}
}

// Grouped adds subcommands to cmd under the group with that id.
func Grouped(cmd *cobra.Command, inv *Invocation, group string, commands ...func(*Invocation) *cobra.Command) {
	for _, command := range commands {
		c := command(inv)
		c.GroupID = group
		cmd.AddCommand(c)
	}
}
