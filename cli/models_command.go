package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pawl/llm/models"
)

func modelsCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models [PROVIDER]",
		Short: "Show which models there are, what they cost, and which can be used now",
		Long: `Shows the models that pawl knows, the providers they come from and what is configured
here, and what servers on this machine have. With a provider, asks it which models it
has. A model that is not known can be used all the same; its cost is then unknown.

The user's file models.toml, beside config.toml, adds providers, models and prices.`,
		Example: `  pawl models
  pawl models ollama
  pawl models openrouter --json`,
		Args: cobra.MaximumNArgs(1),
	}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := inv.models()
		if err != nil {
			return err
		}
		if len(args) == 1 {
			return inv.listModels(cmd.Context(), t, args[0], *asJSON)
		}
		return inv.showModels(cmd.Context(), t, *asJSON)
	}
	return cmd
}

// The forms of pawl models --json.
type (
	modelsForm struct {
		Default   string         `json:"default"` // the model when nothing names one; empty: none
		Providers []providerForm `json:"providers"`
		Models    []modelForm    `json:"models"`
	}
	providerForm struct {
		Name    string   `json:"name"`
		Wire    string   `json:"wire"`
		BaseURL string   `json:"base_url"`
		KeyEnv  []string `json:"key_env"`
		KeySet  bool     `json:"key_set"`
		Usable  bool     `json:"usable"`  // a request could be sent
		Missing string   `json:"missing"` // what it needs first
		Source  string   `json:"source"`  // built in, or the file that says something of it
		// Answers is what a server on this machine said: its models. Null: it was not
		// asked, or does not answer.
		Answers []string `json:"answers"`
	}
	modelForm struct {
		Name       string     `json:"name"`
		Known      bool       `json:"known"`  // it is in the table
		Usable     bool       `json:"usable"` // its provider is
		Window     int64      `json:"window"` // tokens; 0: unknown
		MaxOutput  int64      `json:"max_output"`
		Price      *priceForm `json:"price"` // null: unknown
		Long       *longForm  `json:"long"`
		Later      *laterForm `json:"later"`
		Control    string     `json:"control"`
		Structured *bool      `json:"structured"`
		Images     *bool      `json:"images"`
		Reasoning  *bool      `json:"reasoning"`
		Source     string     `json:"source"`
	}
	priceForm struct { // US dollars for a million tokens
		Input      float64 `json:"input"`
		CacheRead  float64 `json:"cache_read"`
		CacheWrite float64 `json:"cache_write"`
		Output     float64 `json:"output"`
	}
	longForm struct {
		Above int64 `json:"above"` // tokens of the prompt
		priceForm
	}
	laterForm struct {
		From string `json:"from"` // a day
		priceForm
	}
)

func (inv *invocation) showModels(ctx context.Context, t *models.Table, asJSON bool) error {
	form := modelsForm{Providers: []providerForm{}, Models: []modelForm{}}
	form.Default, _ = inv.preferred(t)
	around := inv.lookAround(ctx, locals(t))
	for _, p := range t.Providers() {
		s := inv.site(p)
		f := providerForm{Name: p.Name, Wire: p.Wire, BaseURL: withoutSecrets(s.address), KeyEnv: append([]string{}, p.KeyEnv...),
			KeySet: s.key != "", Usable: s.usable() == nil, Source: sourceOf(p.Source)}
		if s.usable() != nil {
			f.Missing = s.missing()
		}
		if p.Local {
			i := slices.IndexFunc(around, func(o server) bool { return o.Name == p.Name })
			if f.Usable = i >= 0; f.Usable {
				f.Answers = append([]string{}, around[i].models...)
			} else {
				f.Missing = "no server answers at " + withoutSecrets(s.address)
			}
		}
		form.Providers = append(form.Providers, f)
	}
	for _, m := range t.Models() {
		i := slices.IndexFunc(form.Providers, func(p providerForm) bool { return p.Name == m.Provider() })
		form.Models = append(form.Models, modelFormOf(m, form.Providers[i].Usable))
	}
	for _, o := range around {
		for _, name := range o.models {
			if _, ok := t.Lookup(o.Name + "/" + name); !ok {
				form.Models = append(form.Models, modelForm{Name: o.Name + "/" + name, Usable: true, Window: t.Window(o.Name + "/" + name)})
			}
		}
	}
	if asJSON {
		return json.NewEncoder(inv.Stdout).Encode(form)
	}
	return inv.printModels(form)
}

func (inv *invocation) printModels(form modelsForm) error {
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
		if m.Source != "" && m.Source != builtIn {
			here += ", " + m.Source
		}
		control := m.Control
		if control == "" {
			control = "-"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", visible(m.Name), tokens(m.Window), m.Price.text(), control, here)
	}
	if form.Default != "" {
		fmt.Fprintf(out, "\nWithout --model: %s\n", form.Default)
	}
	return out.Flush()
}

// listModels asks one provider which models it has.
func (inv *invocation) listModels(ctx context.Context, t *models.Table, name string, asJSON bool) error {
	p, ok := t.Provider(name)
	if !ok {
		return usage("there is no provider %q%s; there are %s", name, didYouMean(name, providerNames(t)), strings.Join(providerNames(t), ", "))
	}
	s := inv.site(p)
	if err := s.usable(); err != nil {
		return usage("%w", err)
	}
	names, err := s.list(ctx)
	if err != nil {
		return fmt.Errorf("%s, at %s: %w", name, withoutSecrets(s.address), err)
	}
	list := []modelForm{}
	for _, model := range names {
		full := name + "/" + model
		f := modelForm{Usable: true, Window: t.Window(full)}
		if m, ok := t.Lookup(full); ok {
			f = modelFormOf(m, true)
		}
		f.Name = full
		list = append(list, f)
	}
	if asJSON {
		return json.NewEncoder(inv.Stdout).Encode(map[string]any{"models": list})
	}
	out := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
	for _, m := range list {
		fmt.Fprintf(out, "%s\t%s\t%s\n", visible(m.Name), tokens(m.Window), m.Price.text())
	}
	return out.Flush()
}

// builtIn is the source of what no file of the user's says anything of.
const builtIn = "built in"

func sourceOf(file string) string {
	if file == "" {
		return builtIn
	}
	return file
}

func modelFormOf(m models.Model, usable bool) modelForm {
	f := modelForm{Name: m.Name, Known: true, Usable: usable, Window: m.Window, MaxOutput: m.MaxOutput,
		Control: m.Control, Structured: m.Structured, Images: m.Images, Reasoning: m.Reasoning, Source: sourceOf(m.Source)}
	if m.Price != nil {
		p := priceForm(*m.Price)
		f.Price = &p
	}
	if m.Long != nil {
		f.Long = &longForm{m.Long.Above, priceForm(m.Long.Price)}
	}
	if m.Later != nil {
		f.Later = &laterForm{m.Later.From.Format("2006-01-02"), priceForm(m.Later.Price)}
	}
	return f
}

// text is a price for people: dollars for a million tokens in, cached, out.
func (p *priceForm) text() string {
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
