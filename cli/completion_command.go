package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/app"
	"pawl/config"
	"pawl/permission"
	"pawl/policy"
	"pawl/run"
	"pawl/view"
)

func completionCommand(inv *invocation) *cobra.Command {
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
				return usage("give one shell: %s", strings.Join(shells, ", "))
			}
			if err := config.OneOf(shells...)(args[0]); err != nil {
				return usage("%w", err)
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

// flagValues are the values of flags that are not settings, by name, or by command and name
// where the name alone has others, unless [complete] gave them. The help of each flag lists
// them too.
var flagValues = map[string][]string{
	"demo control": {"native", "controller"},
	"list status":  {"pending", "planning", "awaiting_input", "planned", "active", "waiting", "completed", "failed"},

	"effect":   {"allow", "ask", "deny"},
	"kind":     {"worker", "planner"},
	"format":   {"json", "markdown", "html", "script"},
	"output":   {"text", "json", "stream-json"},
	"provider": strings.Split(adapted, ", "),
	"sandbox":  {"network", "none"},
	"scope":    app.StoredScopes,
	"wire":     streamed,
}

// valuesOf returns the values that a flag can have; nil: they are no list.
func valuesOf(cmd *cobra.Command, f *pflag.Flag) []string {
	if own := flagValues[cmd.Name()+" "+f.Name]; own != nil {
		return own
	}
	for _, k := range config.Keys() {
		if k.Flag() == f.Name && k.Values != nil {
			return k.Values
		}
	}
	return flagValues[f.Name]
}

// plainUsages makes the usages of flags what help says of them: cobra prints them as they are
// where it completes.
func plainUsages(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		plainUsages(c)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { _, f.Usage = flagWords(f) })
}

// completes tells the completion of every command what flags and arguments can be.
func (inv *invocation) completes(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		inv.completes(c)
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		complete := cobra.NoFileCompletions
		own := valuesOf(cmd, f)
		_, done := cmd.GetFlagCompletionFunc(f.Name)
		switch {
		case done || f.Value.Type() == "bool":
			return
		case f.Name == "model" || f.Name == "fallback-model":
			complete = inv.completeModels
		case f.Name == "allow" || f.Name == "ask" || f.Name == "deny" || f.Name == "rule":
			complete = completeRuleText
		case f.Name == "tool":
			complete = cobra.FixedCompletions(app.ToolNames(), cobra.ShellCompDirectiveNoFileComp)
		case f.Name == "agent":
			complete = inv.completeAgents
		case f.Name == "run" || f.Name == "resume":
			complete = inv.completeRuns
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
			return inv.completeRuns(cmd, args, typed)
		}
	case argument == "[RUN…]":
		cmd.ValidArgsFunction = inv.completeRuns
	case argument == "RULE":
		cmd.ValidArgsFunction = completeRuleText
	case argument != "FILE" && argument != "DIR":
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// completeRuns completes the id of a run, with its first words.
func (inv *invocation) completeRuns(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return inv.fromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
		const most = 100
		runs, err := ws.Runs(cmdContext(cmd), most)
		if err != nil || len(runs) == 0 {
			return nil, err
		}
		all := []cobra.Completion{"last\tthe run used last"}
		for _, r := range runs {
			all = append(all, cobra.CompletionWithDesc(string(r.ID), stamp(r.Updated)+"  "+runState(r)+"  "+oneLine(r.Title, 60)))
		}
		return startingWith(all, typed), nil
	})
}

// completeModels completes the name of a model of the table.
func (inv *invocation) completeModels(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return inv.fromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
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
		return startingWith(all, typed), nil
	})
}

// completeRuleText completes the tool of a rule, and its opening parenthesis where rules for it
// have patterns.
func completeRuleText(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, tool := range app.ToolNames() {
		all = append(all, tool)
		if permission.HasPattern(tool) {
			all = append(all, tool+"(")
		}
	}
	return startingWith(all, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeRules completes the number of a rule, with the rule.
func (inv *invocation) completeRules(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return inv.fromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
		p, err := ws.Policy()
		if err != nil || len(args) > 0 {
			return nil, err
		}
		var all []cobra.Completion
		for i, l := range p.List() {
			all = append(all, cobra.CompletionWithDesc(fmt.Sprint(i+1), oneLine(policy.Visible(ruleWords(l)), maxTitle)))
		}
		return startingWith(all, typed), nil
	})
}

// completeDecision completes a run, a call of it that needs approval, and an answer.
func (inv *invocation) completeDecision(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return inv.completeRuns(cmd, args, typed)
	}
	return inv.fromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
		var all []cobra.Completion
		if len(args) == 1 {
			sum, err := ws.Find(cmdContext(cmd), args[0])
			if err != nil {
				return nil, err
			}
			_, state, err := ws.Load(cmdContext(cmd), sum.ID)
			if err != nil {
				return nil, err
			}
			for _, c := range state.Turn.Calls {
				if c.Status == run.CallIsInspected && !c.Question {
					all = append(all, cobra.CompletionWithDesc(string(c.ID), view.Title(c.Tool, c.Arguments)))
				}
			}
		}
		if len(args) == 1 || len(args) == 2 && !slices.Contains(answers, args[1]) {
			all = append(all, answers...)
		}
		return startingWith(all, typed), nil
	})
}

// fromWorkspace returns what find finds in the workspace of the command line. What cannot be
// found is not completed: the command itself will say why.
func (inv *invocation) fromWorkspace(find func(*app.Workspace) ([]cobra.Completion, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	ws, err := app.Open(app.Options{Dir: inv.dir, Env: inv.Env, Nearest: true})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer ws.Close() // only read
	found, err := find(ws)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func startingWith(all []cobra.Completion, typed string) []cobra.Completion {
	var found []cobra.Completion
	for _, c := range all {
		if strings.HasPrefix(c, typed) {
			found = append(found, c)
		}
	}
	return found
}

func cmdContext(cmd *cobra.Command) context.Context {
	if ctx := cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

// plainUsage takes the quotes off the names of values in the descriptions of flags: shells show them as they
// are.
func plainUsage(cmd *cobra.Command) {
	plain := func(f *pflag.Flag) { _, f.Usage = flagWords(f) }
	cmd.PersistentFlags().VisitAll(plain)
	cmd.Flags().VisitAll(plain)
	for _, c := range cmd.Commands() {
		plainUsage(c)
	}
}
