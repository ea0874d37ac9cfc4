// Package cli is the command line: it reads words and flags, calls package app, and
// prints what comes of it. It decides nothing about runs. A file per command; the list
// of commands is in this file.
package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/cli/commandline"
	"pawl/cli/manual"
	"pawl/cli/outputs"
	"pawl/cli/permissions"
	"pawl/cli/plugins"
	"pawl/cli/tasks"
)

// Main runs one command line and returns the exit code. It may be called several
// times in a process.
func Main(args []string, p command.Process) int {
	inv := &command.Invocation{Process: p}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	inv.Done = done
	go inv.Listen(done, cancel)
	return execute(ctx, inv, args)
}

// execute runs a command line and returns the exit code.
func execute(ctx context.Context, inv *command.Invocation, args []string) int {
	root := root(inv, args)
	args, err := commandline.Read(root, args)
	if err != nil {
		return inv.Report(err)
	}
	inv.Args = args
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) { // with or without descriptions
		completes(inv, root)
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
		err = inv.HelpErr
	}
	return inv.Report(inv.Unread(err))
}

// A topCommand is a command below pawl itself.
type topCommand struct {
	group, name string
	build       func(*command.Invocation) *cobra.Command
	needs       string // the command that it looks at besides itself; "*": all
}

// topCommands returns the commands in the order of the groups.
func topCommands() []topCommand {
	return []topCommand{
		{"work", "run", runCommand, "runs"}, {"work", "runs", runsCommand, "run"}, {"work", "task", tasks.Command, "run"}, {"work", "serve", serveCommand, ""}, {"work", "board", boardCommand, ""},
		{"work", "outputs", outputs.Command, ""}, {"work", "tool", toolCommand, ""}, {"work", "init", initCommand, ""}, {"work", "demo", demoCommand, ""},
		{"settings", "config", configCommand, ""}, {"settings", "models", modelsCommand, ""}, {"settings", "agents", agentsCommand, ""}, {"settings", "skills", skillsCommand, ""}, {"settings", "hooks", hooksCommand, ""}, {"settings", "plugin", plugins.Command, ""},
		{"settings", "memory", memoryCommand, ""}, {"settings", "import", importCommand, ""},
		{"settings", "permissions", permissions.Command, ""}, {"settings", "trust", permissions.TrustCommand, ""}, {"settings", "doctor", doctorCommand, ""},
		{"other", "stats", statsCommand, ""}, {"other", "controller", controllerCommand, ""}, {"other", "mcp", mcpCommand, ""}, {"other", "debug", debugCommand, ""},
		{"other", "completion", completionCommand, "*"}, {"other", "version", versionCommand, ""}, {"other", "man", manual.ManCommand, "*"},
	}
}

// commandsFor returns the commands that a command line needs: the one that it names, or all.
// To build all with their flags takes a tenth of the start of a small command.
func commandsFor(inv *command.Invocation, args []string) []topCommand {
	all := topCommands()
	for _, m := range inv.More {
		all = append(all, topCommand{m.Group, m.Name, m.Build, ""})
	}
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
func root(inv *command.Invocation, args []string) *cobra.Command {
	root := command.Group(&cobra.Command{
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
	root.PersistentFlags().StringVarP(&inv.Dir, "dir", "C", "", "work in this folder instead of the current one; for all commands")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		inv.Began = true
		if inv.Dir == "" && root.PersistentFlags().Changed("dir") {
			return command.Usage("--dir is empty: name the folder to work in, . for the current one")
		}
		return commandline.ForeignValues(inv, cmd)
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return commandline.FlagError(inv, cmd, err) })
	version := root.Flags().BoolP("version", "v", false, "print the version, as pawl version does")
	var terminal terminalRequest
	terminal.flags(root)
	root.Args = func(cmd *cobra.Command, args []string) error {
		if terminal.resume == pickRun && len(args) == 1 { // --resume ID
			terminal.resume = args[0]
			return nil
		}
		return commandline.NoSubcommand(cmd, args)
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			return printVersion(inv, false)
		}
		return runTerminal(inv, cmd, terminal, "")
	}
	root.AddGroup(manual.CommandGroups...)
	for _, c := range commandsFor(inv, args) {
		command.Grouped(root, inv, c.group, c.build)
	}
	root.CompletionOptions.DisableDefaultCmd = true
	helps := manual.Command(inv)
	helps.GroupID = "other"
	root.SetHelpCommand(helps)
	root.AddCommand(helps)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		var text bytes.Buffer
		manual.Write(&text, cmd)
		inv.Began = true
		_, inv.HelpErr = text.WriteTo(inv.Stdout)
	})
	commandline.CheckArguments(root)
	return root
}
