package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pawl/llm/models"
)

func configCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show every setting and where its value came from",
		Long: `Shows every setting and where its value came from. The first that has one counts:
flags, environment (PAWL_…), the user's file, defaults. Rules of all places count together.`,
		Example: `  pawl config
  pawl config --model anthropic/claude-haiku-4-5
  PAWL_MAX_STEPS=50 pawl config`,
		Args: cobra.NoArgs,
	}
	addSettings(cmd.Flags())
	asJSON := cmd.Flags().Bool("json", false, "one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		workspace, err := inv.workspace()
		if err != nil {
			return err
		}
		s, err := inv.readSettings(cmd.Flags(), workspace)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(inv.Stdout).Encode(s.form())
		}
		out := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
		for _, k := range keys {
			if len(s.values[k.name]) == 0 {
				fmt.Fprintf(out, "%s\t-\tnot set\n", k.name)
			}
			for _, v := range s.values[k.name] {
				fmt.Fprintf(out, "%s\t%s\t%s\n", k.name, oneLine(v.value, maxTitle), v.source)
			}
		}
		fmt.Fprintf(out, "state folder\t%s\t%s\n", oneLine(inv.stateDir(), 4*maxTitle), inv.stateSource())
		for _, line := range inv.variables(s.table) {
			fmt.Fprintf(out, "%s\t%s\t%s\n", line.name, line.value, fromEnv)
		}
		if err := out.Flush(); err != nil {
			return err
		}
		for _, note := range s.notes {
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
func (inv *invocation) variables(t *models.Table) []variable {
	var all []variable
	add := func(name string, show func(string) string, always bool) {
		v, _ := inv.Env(name)
		if slices.ContainsFunc(all, func(have variable) bool { return have.name == name }) || v == "" && !always {
			return
		}
		shown := "not set"
		if v != "" {
			shown = show(v)
		}
		all = append(all, variable{name, shown})
	}
	for _, p := range t.Providers() {
		for i, name := range p.KeyEnv {
			add(name, func(string) string { return "set" }, i == 0 && slices.Contains(keyed, p.Name))
		}
		for _, name := range p.BaseURLEnv {
			add(name, withoutSecrets, false)
		}
	}
	return all
}

// form is the settings as JSON: {"values": {"model": [{"value", "source"}]}, "notes": []}.
func (s settings) form() any {
	type value struct {
		Value  string `json:"value"`
		Source string `json:"source"`
	}
	values := map[string][]value{}
	for name, all := range s.values {
		values[name] = []value{}
		for _, v := range all {
			values[name] = append(values[name], value{v.value, v.source})
		}
	}
	return map[string]any{"values": values, "notes": append([]string{}, s.notes...)}
}

// withoutSecrets returns an address without the user and password it may have.
func withoutSecrets(address string) string {
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		if _, host, has := strings.Cut(rest, "@"); has {
			return scheme + "://" + host
		}
	}
	return address
}
