package provider

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"pawl/config"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/llm/models"
)

// An Overview is what there is to choose from.
type Overview struct {
	Default   string  `json:"default,omitempty"` // the model when nothing names one; empty: none
	Providers []Info  `json:"providers"`
	Models    []Model `json:"models"`
}

// An Info is a provider as it is configured here.
type Info struct {
	Name    string   `json:"name"`
	Wire    string   `json:"wire"`
	BaseURL string   `json:"base_url,omitempty"`
	KeyEnv  []string `json:"key_env"`
	KeySet  bool     `json:"key_set"`
	Usable  bool     `json:"usable"`            // a request could be sent
	Missing string   `json:"missing,omitempty"` // what it needs first
	Source  string   `json:"source,omitempty"`  // built in, or the file that says something of it
	// Answers is what a server on this machine said: its models. Null: it was not
	// asked, or does not answer.
	Answers []string `json:"answers,omitempty"`
}

// A Model is a model that can be chosen.
type Model struct {
	Name       string `json:"name"`
	Known      bool   `json:"known"`            // it is in the table
	Usable     bool   `json:"usable"`           // its provider is
	Window     int64  `json:"window,omitempty"` // tokens; 0: unknown
	MaxOutput  int64  `json:"max_output,omitempty"`
	Price      *Price `json:"price"` // null: unknown
	Long       *Long  `json:"long,omitempty"`
	Later      *Later `json:"later,omitempty"`
	Control    string `json:"control,omitempty"`
	Structured *bool  `json:"structured,omitempty"`
	Images     *bool  `json:"images,omitempty"`
	Reasoning  *bool  `json:"reasoning,omitempty"`
	Source     string `json:"source,omitempty"`
}

// A Price is in US dollars for a million tokens.
type Price struct {
	Input      float64 `json:"input"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
	Output     float64 `json:"output"`
}

// Long is the price of a request with a long prompt.
type Long struct {
	Above int64 `json:"above"` // tokens of the prompt
	Price
}

// Later is the price from a day on.
type Later struct {
	From string `json:"from"` // a day
	Price
}

// BuiltIn is the source of what no file of the user's says anything of.
const BuiltIn = "built in"

// Overview returns the providers and models of the table, and what servers on this machine
// have, which it asks.
func (ps *Providers) Overview(ctx context.Context) Overview {
	o := Overview{Providers: []Info{}, Models: []Model{}}
	o.Default, _ = ps.Preferred()
	around := ps.lookAround(ctx, ps.locals())
	for _, p := range ps.Providers() {
		s := ps.Site(p)
		f := Info{Name: p.Name, Wire: p.Wire, BaseURL: WithoutSecrets(s.Address), KeyEnv: append([]string{}, p.KeyEnv...),
			KeySet: s.Key != "", Usable: s.Usable() == nil, Source: cmp.Or(p.Source, BuiltIn)}
		if err := s.Usable(); err != nil {
			if f.Missing = s.Missing(); f.Missing == "" {
				f.Missing = err.Error()
			}
		}
		if p.Local {
			i := slices.IndexFunc(around, func(o Server) bool { return o.Name == p.Name })
			if f.Usable = i >= 0; f.Usable {
				f.Answers = append([]string{}, around[i].Models...)
			} else {
				f.Missing = "no server answers at " + WithoutSecrets(s.Address)
			}
		}
		o.Providers = append(o.Providers, f)
	}
	for _, m := range ps.Models() {
		i := slices.IndexFunc(o.Providers, func(p Info) bool { return p.Name == m.Provider() })
		o.Models = append(o.Models, modelOf(m, o.Providers[i].Usable))
	}
	for _, s := range around {
		for _, name := range s.Models {
			if _, ok := ps.Lookup(s.Name + "/" + name); !ok {
				o.Models = append(o.Models, Model{Name: s.Name + "/" + name, Usable: true, Window: ps.Window(s.Name + "/" + name)})
			}
		}
	}
	return o
}

// List asks one provider which models it has.
func (ps *Providers) List(ctx context.Context, name string) ([]Model, error) {
	p, ok := ps.Provider(name)
	if !ok {
		return nil, config.Errorf("unknown provider %s; providers are %s%s", visible.Quote(name), strings.Join(ps.names(), ", "), text.DidYouMean(name, ps.names()))
	}
	s := ps.Site(p)
	if err := s.Usable(); err != nil {
		return nil, config.Errorf("%w", err)
	}
	names, err := s.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s, at %s: %w", name, WithoutSecrets(s.Address), err)
	}
	list := []Model{}
	for _, model := range names {
		full := name + "/" + model
		f := Model{Usable: true, Window: ps.Window(full)}
		if m, ok := ps.Lookup(full); ok {
			f = modelOf(m, true)
		}
		f.Name = full
		list = append(list, f)
	}
	return list, nil
}

func modelOf(m models.Model, usable bool) Model {
	f := Model{Name: m.Name, Known: true, Usable: usable, Window: m.Window, MaxOutput: m.MaxOutput,
		Control: m.Control, Structured: m.Structured, Images: m.Images, Reasoning: m.Reasoning, Source: cmp.Or(m.Source, BuiltIn)}
	if m.Price != nil {
		p := Price(*m.Price)
		f.Price = &p
	}
	if m.Long != nil {
		f.Long = &Long{m.Long.Above, Price(m.Long.Price)}
	}
	if m.Later != nil {
		f.Later = &Later{m.Later.From.Format("2006-01-02"), Price(m.Later.Price)}
	}
	return f
}
