package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/cli/commandline"
	"pawl/forms"
	"pawl/provider"
)

func modelsCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models [PROVIDER|WORD]",
		Short: "List models, what they cost, and which can be used now",
		Long: `Lists the models that pawl knows, their providers with what is configured, and the models of
servers on this machine. With a provider, asks it which models it has; with another word,
lists the models that have it in their names. Other models can be used too; their cost is
then unknown.

Where a model is named, the provider may be left out if one has it, and a family stands for
its newest model: --model opus.

The user's file models.toml, beside config.toml, adds providers, models and prices.`,
		Example: `  pawl models
  pawl models opus
  pawl models openrouter --json`,
		Args: cobra.MaximumNArgs(1),
	}
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ps, err := provider.Load(inv.Env)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			o := ps.Overview(cmd.Context())
			if *asJSON {
				return inv.Encode(o)
			}
			return printModels(inv, o)
		}
		if _, ok := ps.Provider(args[0]); ok { // it says which models it has
			list, err := ps.List(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return printModelList(inv, list, *asJSON)
		}
		if r := commandline.ReadIn(cmd.Root(), "models", args, args); r != nil {
			return r.Error(cmd, args)
		}
		return filterModels(cmd.Context(), inv, ps, args[0], *asJSON)
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ps, err := provider.Load(inv.Env)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for _, p := range ps.Providers() {
			names = append(names, p.Name)
		}
		return command.StartingWith(names, typed), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// filterModels prints the models that have a word in their names.
func filterModels(ctx context.Context, inv *command.Invocation, ps *provider.Providers, word string, asJSON bool) error {
	list := slices.DeleteFunc(ps.Overview(ctx).Models, func(m provider.Model) bool {
		return !strings.Contains(strings.ToLower(m.Name), strings.ToLower(word))
	})
	if len(list) == 0 {
		return ps.Unknown(word)
	}
	if err := printModelList(inv, list, asJSON); err != nil || asJSON {
		return err
	}
	if newest := ps.Newest(word); newest != "" {
		_, err := fmt.Fprintf(inv.Stdout, "\n--model %s: %s\n", word, newest)
		return err
	}
	return nil
}

func printModels(inv *command.Invocation, form provider.Overview) error {
	out := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "PROVIDER\tWIRE\tHERE")
	for _, p := range form.Providers {
		here := "can be used"
		switch {
		case p.Missing != "":
			here = p.Missing
		case p.Answers != nil:
			here = "answers at " + p.BaseURL
		case p.KeySet:
			here += ", at " + p.BaseURL
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", p.Name, p.Wire, here)
	}
	fmt.Fprintln(out, "\nMODEL\tWINDOW\t$ IN/CACHED/OUT\tCONTROL\tHERE")
	for _, m := range form.Models {
		here := "-"
		if m.Usable {
			here = "can be used"
		}
		if m.Source != "" && m.Source != provider.BuiltIn {
			here += ", " + m.Source
		}
		control := m.Control
		if control == "" {
			control = "-"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", command.OneLine(command.Visible(m.Name), command.MaxTitle), tokens(m.Window), priceText(m.Price), control, here)
	}
	if form.Default != "" {
		fmt.Fprintf(out, "\nWithout --model: %s\n", form.Default)
	}
	return out.Flush()
}

func printModelList(inv *command.Invocation, list []provider.Model, asJSON bool) error {
	if asJSON {
		return inv.Encode(forms.ListOf(list))
	}
	out := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
	for _, m := range list {
		fmt.Fprintf(out, "%s\t%s\t%s\n", command.OneLine(command.Visible(m.Name), command.MaxTitle), tokens(m.Window), priceText(m.Price))
	}
	return out.Flush()
}

// priceText is a price for people: dollars for a million tokens in, cached, out.
func priceText(p *provider.Price) string {
	if p == nil {
		return "unknown"
	}
	dollars := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return dollars(p.Input) + "/" + dollars(p.CacheRead) + "/" + dollars(p.Output)
}

// tokens is a number of tokens for people.
func tokens(n int64) string {
	switch {
	case n <= 0:
		return "unknown"
	case n >= 1_000_000:
		return strconv.FormatFloat(float64((n+5_000)/10_000)/100, 'f', -1, 64) + "M"
	case n >= 1_000:
		return strconv.FormatInt(n/1_000, 10) + "k"
	}
	return strconv.FormatInt(n, 10)
}
