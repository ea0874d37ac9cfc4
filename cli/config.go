package cli

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/config"
	"pawl/instructions"
	"pawl/provider"
)

func configCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show every setting and where its value came from",
		Long: `Shows every setting and where its value came from, and the files with instructions that
new runs are given. Of the sources of a setting the first that has a value counts: flags,
environment (PAWL_…), the workspace's file if it is trusted, the user's file, defaults.
Rules of all sources count together.`,
		Example: `  pawl config
  pawl config --model anthropic/claude-haiku-4-5
  PAWL_MAX_STEPS=50 pawl config`,
		Args: cobra.NoArgs,
	}
	addSettings(cmd.Flags())
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := inv.checkVariables(); err != nil {
			inv.notice(err.Error()) // the settings are shown all the same
		}
		ws, err := inv.open(cmd.Flags())
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
			return inv.encode(app.ConfigFormOf(c, env, files))
		}
		out := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
		c.All(func(k config.Key, values []config.Value) {
			if len(values) == 0 {
				fmt.Fprintf(out, "%s\t-\tnot set\n", k.Name)
			}
			for _, v := range values {
				fmt.Fprintf(out, "%s\t%s\t%s\n", k.Name, oneLine(v.Text, maxTitle), v.Source)
			}
		})
		fmt.Fprintf(out, "state folder\t%s\t%s\n", oneLine(env.StateDir(), 4*maxTitle), env.StateSource())
		for _, line := range variables(env, ps) {
			fmt.Fprintf(out, "%s\t%s\t%s\n", line.name, line.value, config.FromEnv)
		}
		for _, f := range files {
			fmt.Fprintf(out, "instructions\t%s\t%s\n", oneLine(f.Path, 4*maxTitle), oneLine(useOf(f), 2*maxTitle))
		}
		if len(files) == 0 {
			fmt.Fprint(out, "instructions\t-\tnone; pawl init writes a first AGENTS.md\n")
		}
		if err := out.Flush(); err != nil {
			return err
		}
		for _, note := range c.Notes {
			fmt.Fprintln(inv.Stdout, visible(note))
		}
		return nil
	}
	return cmd
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
	if f.Skipped != "" {
		return "not used: " + f.Skipped
	}
	use := plural(f.Bytes, "byte")
	if f.Cut {
		use += ", the rest is cut"
	}
	if f.Hidden > 0 {
		use += fmt.Sprintf(", without %s that cannot be seen", plural(f.Hidden, "character"))
	}
	if f.ImportedBy != "" {
		use += ", imported by " + f.ImportedBy
	}
	return use
}
