package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/cli/commandline"
	"pawl/config"
	"pawl/forms"
	"pawl/instructions"
	"pawl/permission"
	"pawl/provider"
)

func configCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show every setting and where its value came from",
		Long: `Shows every setting and where its value came from, and the files with instructions that
new runs are given. Of the sources of a setting the first that has a value counts: flags,
environment (PAWL_…), the workspace's file if it is trusted, the user's file, defaults.
Rules of all sources count together.`,
		Example: `  pawl config
  pawl config set model sonnet
  pawl config --model anthropic/claude-haiku-4-5
  PAWL_MAX_STEPS=50 pawl config`,
	}
	command.Group(cmd)
	cmd.AddCommand(configGetCommand(inv), configSetCommand(inv), configUnsetCommand(inv))
	command.AddSettings(cmd.Flags())
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkVariables(inv); err != nil {
			inv.Notice(err.Error()) // the settings are shown all the same
		}
		ws, err := inv.Open(cmd.Flags())
		if err != nil {
			return err
		}
		defer ws.Close() // nothing was written
		c, err := ws.Config()
		if err != nil {
			return err
		}
		ps, err := ws.Models()
		if err != nil {
			return err
		}
		files := ws.Instructions().Files
		env := config.Env(inv.Env)
		if *asJSON {
			form, err := forms.ConfigFormOf(ws)
			if err != nil {
				return err
			}
			return inv.Encode(form)
		}
		out := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
		c.All(func(k config.Key, values []config.Value) {
			if len(values) == 0 {
				fmt.Fprintf(out, "%s\t-\tnot set\n", k.Name)
			}
			for _, v := range values {
				fmt.Fprintf(out, "%s\t%s\t%s\n", k.Name, command.OneLine(v.Text, command.MaxTitle), v.Source)
			}
		})
		fmt.Fprintf(out, "state folder\t%s\t%s\n", command.OneLine(env.StateDir(), 4*command.MaxTitle), env.StateSource())
		for _, line := range variables(env, ps) {
			fmt.Fprintf(out, "%s\t%s\t%s\n", line.name, line.value, config.FromEnv)
		}
		for _, f := range files {
			fmt.Fprintf(out, "instructions\t%s\t%s\n", command.OneLine(f.Path, 4*command.MaxTitle), command.OneLine(useOf(f), 2*command.MaxTitle))
		}
		if len(files) == 0 {
			fmt.Fprint(out, "instructions\t-\tnone; pawl init writes a first AGENTS.md\n")
		}
		if err := out.Flush(); err != nil {
			return err
		}
		for _, note := range c.Notes {
			fmt.Fprintln(inv.Stdout, command.Visible(note))
		}
		return nil
	}
	return cmd
}

func configGetCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "get KEY",
		Short:             "Print the value of a setting",
		Long:              "Prints the value of a setting as it counts here, the values of a list each on a line.",
		Example:           "  pawl config get model",
		Args:              command.Exactly("one setting", "model"),
		ValidArgsFunction: completeKeys,
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, args []string) error {
		k, err := config.LookupKey(args[0])
		if err != nil {
			return err
		}
		c, err := ws.Config()
		if err != nil {
			return err
		}
		form := forms.SettingForm{Key: k.Name, Values: append([]config.Value{}, c.Values(k.Name)...)}
		if *asJSON {
			return inv.Encode(form)
		}
		for _, v := range form.Values {
			if _, err := fmt.Fprintln(inv.Stdout, command.Visible(v.Text)); err != nil {
				return err
			}
		}
		if len(form.Values) == 0 {
			inv.Hint(k.Name + " is not set")
		}
		return nil
	})
}

func configSetCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set KEY VALUE...",
		Short: "Set a setting in your configuration file",
		Long: `Sets a setting in your configuration file, ~/.config/pawl/config.toml. A list gets all values
that are given. Comments and the other settings stay as they are.`,
		Example: `  pawl config set model sonnet
  pawl config set max_cost 5
  pawl config set allow 'shell(go test *)' 'shell(make *)'`,
		Args: func(_ *cobra.Command, args []string) error {
			if line := commandline.SettingLine(args); line != "" && (len(args) == 1 && strings.Contains(args[0], "=") || len(args) > 1 && args[1] == "=") {
				return command.Usage("a setting and its value are two words. Use:\n  pawl %s", line)
			}
			if len(args) < 2 {
				return command.Usage("pawl config set takes a setting and its value, such as pawl config set model sonnet")
			}
			return nil
		},
		ValidArgsFunction: completeKeys,
	}
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return changeSetting(inv, *asJSON, args[0], args[1:])
	}
	return cmd
}

func configUnsetCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "unset KEY",
		Short:             "Remove a setting from your configuration file",
		Example:           "  pawl config unset model",
		Args:              command.Exactly("one setting", "model"),
		ValidArgsFunction: completeKeys,
	}
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return changeSetting(inv, *asJSON, args[0], nil)
	}
	return cmd
}

// changeSetting sets a setting in the user's file, or removes it if there are no values.
func changeSetting(inv *command.Invocation, asJSON bool, name string, values []string) error {
	k, err := config.LookupKey(name)
	if err != nil {
		return err
	}
	if err := inv.AsPerson("change settings"); err != nil {
		return err
	}
	if k.Name == "allow" || k.Name == "ask" || k.Name == "deny" {
		for _, rule := range values {
			if _, err := permission.ParseTyped(rule, app.ToolNames()); err != nil {
				return command.Usage("%s: %w", k.Name, err)
			}
		}
	}
	env := config.Env(inv.Env)
	path, err := env.SetInUserFile(k, values...)
	if err != nil {
		return err
	}
	if v := env.Get(k.Env()); v != "" && !k.List {
		inv.Notice(fmt.Sprintf("%s is set to %s in the environment, which counts before the file", k.Env(), v))
	}
	form := forms.SettingForm{Key: k.Name, Values: []config.Value{}}
	for _, v := range values {
		form.Values = append(form.Values, config.Value{Text: v, Source: config.FromUser + " " + path})
	}
	if len(values) == 0 {
		return inv.Print(asJSON, form, "%s is not set in %s\n", k.Name, path)
	}
	return inv.Print(asJSON, form, "%s = %s in %s\n", k.Name, strings.Join(values, ", "), path)
}

// completeKeys completes the name of a setting, and its values where they are words.
func completeKeys(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, k := range config.Keys() {
		if len(args) == 0 {
			all = append(all, cobra.CompletionWithDesc(k.Name, k.Help))
		} else if k.Name == args[0] {
			all = append(all, k.Values...)
		}
	}
	return command.StartingWith(all, typed), cobra.ShellCompDirectiveNoFileComp
}

// A variable is one of the environment that tells of a provider.
type variable struct{ name, value string }

// variables are those of the providers that are set, and the keys that are looked for
// first also where they are not. A key is never shown.
func variables(env config.Env, ps *provider.Providers) []variable {
	var all []variable
	add := func(name string, show func(string) string, always bool) {
		v := env.Get(name)
		if slices.ContainsFunc(all, func(have variable) bool { return have.name == name }) || v == "" && !always {
			return
		}
		shown := "not set"
		if v != "" {
			shown = show(v)
		}
		all = append(all, variable{name, shown})
	}
	for _, p := range ps.Providers() {
		for i, name := range p.KeyEnv {
			add(name, func(string) string { return "set" }, i == 0 && slices.Contains(provider.Keyed, p.Name))
		}
		for _, name := range p.BaseURLEnv {
			add(name, provider.WithoutSecrets, false)
		}
	}
	return all
}

// useOf says how much of a file with instructions new runs are given, or why nothing.
func useOf(f instructions.File) string {
	switch {
	case f.Later:
		return "later: " + f.Skipped
	case f.Skipped != "":
		return "not used: " + f.Skipped
	}
	use := command.Plural(f.Bytes, "byte")
	if f.Cut {
		use += ", the rest is cut"
	}
	if f.Hidden > 0 {
		use += fmt.Sprintf(", without %s that cannot be seen", command.Plural(f.Hidden, "character"))
	}
	if f.ImportedBy != "" {
		use += ", imported by " + f.ImportedBy
	}
	return use
}
