package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/app"
	"pawl/cli/command"
	"pawl/config"
	"pawl/permission/spelling"
)

func completionCommand(inv *command.Invocation) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script for a shell",
		Long: `Prints the completion script for a shell: bash (which needs the package bash-completion),
zsh, fish or powershell. It completes commands, flags and their values, runs and models.

To install it, write it to where the shell looks for such scripts, and open a new shell:

  pawl completion bash > ~/.local/share/bash-completion/completions/pawl
  pawl completion zsh > "${fpath[1]}/_pawl"
  pawl completion fish > ~/.config/fish/completions/pawl.fish
  pawl completion powershell >> $PROFILE

In zsh completion must be enabled: autoload -U compinit; compinit.`,
		Example:   "  pawl completion bash\n  source <(pawl completion bash)",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.Usage("give one shell: %s", strings.Join(shells, ", "))
			}
			if err := config.OneOf(shells...)(args[0]); err != nil {
				return command.Usage("%w", err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(inv.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(inv.Stdout)
			case "fish":
				return root.GenFishCompletion(inv.Stdout, true)
			}
			return root.GenPowerShellCompletionWithDesc(inv.Stdout)
		},
	}
}

// completes tells the completion of every command what flags and arguments can be.
func completes(inv *command.Invocation, cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		completes(inv, c)
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		complete := cobra.NoFileCompletions
		own := command.ValuesOf(cmd, f)
		_, done := cmd.GetFlagCompletionFunc(f.Name)
		switch {
		case done || f.Value.Type() == "bool":
			return
		case f.Name == "model" || f.Name == "fallback-model":
			complete = completeModels(inv)
		case f.Name == "allow" || f.Name == "ask" || f.Name == "deny" || f.Name == "rule":
			complete = completeRuleText
		case f.Name == "tool":
			complete = cobra.FixedCompletions(app.ToolNames(), cobra.ShellCompDirectiveNoFileComp)
		case f.Name == "agent":
			complete = completeAgents(inv)
		case f.Name == "run" || f.Name == "resume":
			complete = command.CompleteRuns(inv)
		case f.Name == "file" || f.Name == "rules" || f.Name == "output-schema" || f.Name == "image":
			return // the shell completes names of files
		case f.Name == "add-dir":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		case len(own) > 0:
			complete = cobra.FixedCompletions(own, cobra.ShellCompDirectiveNoFileComp)
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // unreachable: the flag is there, and registered once
		}
	})
	_, argument, _ := strings.Cut(cmd.Use, " ")
	argument, _, _ = strings.Cut(argument, " ")
	switch {
	case cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0 || cmd.HasSubCommands():
	case argument == "ID" || argument == "RUN":
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return command.CompleteRuns(inv)(cmd, args, typed)
		}
	case argument == "[RUN…]" || argument == "[ID...]":
		cmd.ValidArgsFunction = command.CompleteRuns(inv)
	case argument == "RULE":
		cmd.ValidArgsFunction = completeRuleText
	case argument != "FILE" && argument != "DIR":
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// completeModels completes the name of a model of the table.
func completeModels(inv *command.Invocation) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return inv.FromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
			ps, err := ws.Models()
			if err != nil {
				return nil, err
			}
			var all []cobra.Completion
			for _, m := range ps.Models() {
				all = append(all, m.Name)
			}
			for _, family := range ps.Families() {
				all = append(all, cobra.CompletionWithDesc(family, ps.Newest(family)))
			}
			return command.StartingWith(all, typed), nil
		})
	}
}

// completeRuleText completes the tool of a rule, and its opening parenthesis where rules for it
// have patterns.
func completeRuleText(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, tool := range app.ToolNames() {
		all = append(all, tool)
		if spelling.HasPattern(tool) {
			all = append(all, tool+"(")
		}
	}
	return command.StartingWith(all, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// plainUsage takes the quotes off the names of values in the descriptions of flags: shells show them as they
// are.
func plainUsage(cmd *cobra.Command) {
	plain := func(f *pflag.Flag) { _, f.Usage = command.FlagWords(f) }
	cmd.PersistentFlags().VisitAll(plain)
	cmd.Flags().VisitAll(plain)
	for _, c := range cmd.Commands() {
		plainUsage(c)
	}
}
