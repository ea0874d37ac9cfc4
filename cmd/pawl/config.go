package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func configCommand(a *app) *cobra.Command {
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
		workspace, err := a.workspace()
		if err != nil {
			return err
		}
		s, err := a.readSettings(cmd.Flags(), workspace)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(a.stdout).Encode(s.form())
		}
		out := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		for _, k := range keys {
			if len(s.values[k.name]) == 0 {
				fmt.Fprintf(out, "%s\t-\tnot set\n", k.name)
			}
			for _, v := range s.values[k.name] {
				fmt.Fprintf(out, "%s\t%s\t%s\n", k.name, oneLine(v.value, maxTitle), v.source)
			}
		}
		fmt.Fprintf(out, "state folder\t%s\t%s\n", a.stateDir(), a.stateSource())
		key := "not set"
		if v, _ := a.env("ANTHROPIC_API_KEY"); v != "" {
			key = "set" // never the key itself
		}
		fmt.Fprintf(out, "ANTHROPIC_API_KEY\t%s\t%s\n", key, fromEnv)
		if v, _ := a.env("ANTHROPIC_BASE_URL"); v != "" {
			fmt.Fprintf(out, "ANTHROPIC_BASE_URL\t%s\t%s\n", withoutSecrets(v), fromEnv)
		}
		if err := out.Flush(); err != nil {
			return err
		}
		for _, note := range s.notes {
			fmt.Fprintln(a.stdout, note)
		}
		return nil
	}
	return cmd
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
