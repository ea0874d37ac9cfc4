// Package models is a table of providers and models: the address of a provider and the
// variables that hold its key, the context window of a model, its price and what it can
// do. A file of the user's overrides the built-in table.
//
// It opens no connection and reads no environment. A model that is not in the table can be
// used with safe defaults, at an unknown cost.
package models

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl/internal/stable"
	"pawl/run"
)

// A Provider serves models.
type Provider struct {
	Name       string
	Wire       string   // the wire format: anthropic, responses, chat, gemini, script
	BaseURL    string   // empty: there is no common one
	BaseURLEnv []string // variables that name another address; the first that is set counts
	KeyEnv     []string // variables with the key; the first that is set counts; none: it has no keys
	// KeyOptional: it works without a key too.
	KeyOptional bool
	KeysAt      string // where to get a key
	Dialect     string // of the wire chat; empty: the address tells
	Local       bool   // a server on this machine
	Default     string // its model when nothing names one, without the provider; may be empty
	Window      int64  // tokens that fit a model of it that is not known; 0: unknown
	Structured  bool   // models of it that are not known answer by a JSON Schema
	AtOnce      int    // requests that it may be sent at once with a key; 0: any number
	Source      string // the file of the user's that says something of it; empty: built in
}

// NeedsKey reports whether nothing can be asked without a key.
func (p Provider) NeedsKey() bool { return len(p.KeyEnv) > 0 && !p.KeyOptional }

// A Model is what the table has of a model.
type Model struct {
	Name       string // provider/name
	Window     int64  // tokens that fit its context; 0: unknown
	MaxOutput  int64  // tokens of an answer at most; 0: unknown
	Price      *Price // nil: unknown
	Long       *Long  // nil: a long prompt costs no more
	Later      *Later // nil: no other price is announced
	Control    string // native or controller; empty: unknown
	Structured *bool  // answers by a JSON Schema; nil: unknown
	Images     *bool  // sees images; nil: unknown
	Reasoning  *bool  // thinks before it answers; nil: unknown
	// Effort are the levels of its effort as its API names them, the least first; nil: it has
	// none, or they are unknown.
	Effort   []string
	Adaptive bool            // see [llm.Effort]
	Budget   *ThinkingBudget // instead of Effort; nil: none
	Source   string          // the file of the user's that says something of it; empty: built in
}

// Provider returns the first part of the model's name.
func (m Model) Provider() string {
	provider, _, _ := strings.Cut(m.Name, "/")
	return provider
}

// A Price is in US dollars for a million tokens.
type Price struct{ Input, CacheRead, CacheWrite, Output float64 }

// A Long is the price of a request with a long prompt, all of it.
type Long struct {
	Above int64 // tokens of the prompt, cached or not
	Price
}

// A Later is the price from a day on, instead of [Model.Price].
type Later struct {
	From time.Time
	Price
}

// A ThinkingBudget bounds the tokens of thinking of a model without levels.
type ThinkingBudget struct {
	Min, Max int
	Off      bool // it can be turned off
}

// A Table has providers and models. It does not change and is safe for concurrent use.
type Table struct {
	providers map[string]Provider
	models    map[string]Model // by provider/name
}

// Provider returns a provider by its name.
func (t *Table) Provider(name string) (Provider, bool) {
	p, ok := t.providers[name]
	return p, ok
}

// Providers returns all providers by name.
func (t *Table) Providers() []Provider {
	return stable.Sorted(maps.Values(t.providers), func(x, y Provider) int { return cmp.Compare(x.Name, y.Name) })
}

// Models returns all models by name.
func (t *Table) Models() []Model {
	return stable.Sorted(maps.Values(t.models), func(x, y Model) int { return cmp.Compare(x.Name, y.Name) })
}

// isEdition reports whether a suffix of a model's name leaves it the same model: a date, a number of a build, latest, preview, Anthropic's -0. Anything else
// (-mini, -pro, 4-5 after 4) is another model, with its own price or an unknown one.
func isEdition(suffix string) bool {
	suffix = suffix[1:] // without - or @
	switch suffix {
	case "latest", "0", "preview", "exp":
		return true
	}
	if date, ok := strings.CutPrefix(suffix, "preview-"); ok {
		return hasForm(date, "00-00", "00-0000")
	}
	if date, ok := strings.CutPrefix(suffix, "exp-"); ok {
		return hasForm(date, "00-00", "00-0000")
	}
	return hasForm(suffix, "000", "0000", "000000", "00000000", "2000-00-00", "00-2000") &&
		(len(suffix) != len("2000-00-00") || suffix[:2] == "20") && (len(suffix) != len("00-2000") || suffix[3:5] == "20")
}

// hasForm reports whether s is one of the forms with any digits in place of its own.
func hasForm(s string, forms ...string) bool {
	digits := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return '0'
		}
		return r
	}, s)
	return slices.ContainsFunc(forms, func(f string) bool { return digits == strings.ReplaceAll(f, "2", "0") })
}

// Lookup returns the entry of a model of the form provider/name. An edition that has no
// entry of its own has that of the model with the longest name that it is an edition of,
// with that model's Name.
func (t *Table) Lookup(name string) (Model, bool) {
	if m, ok := t.models[name]; ok {
		return m, true
	}
	for i := len(name) - 1; i > 0 && name[i] != '/'; i-- {
		if name[i] != '-' && name[i] != '@' {
			continue
		}
		if m, ok := t.models[name[:i]]; ok && isEdition(name[i:]) {
			return m, true
		}
	}
	return Model{}, false
}

// Window returns how many tokens fit a model's context; 0 if it is not known.
func (t *Table) Window(name string) int64 {
	if m, ok := t.Lookup(name); ok && m.Window > 0 {
		return m.Window
	}
	provider, _, _ := strings.Cut(name, "/")
	return t.providers[provider].Window
}

// Structured reports whether a model can be asked for an answer that fits a JSON
// Schema; false for an unknown model: a provider that does not support it may not answer
// at all.
func (t *Table) Structured(name string) bool {
	if m, ok := t.Lookup(name); ok && m.Structured != nil {
		return *m.Structured
	}
	provider, _, _ := strings.Cut(name, "/")
	return t.providers[provider].Structured
}

// Price adds to one request's usage what it cost at a point in time, where the price
// is known; otherwise it returns u unchanged.
func (t *Table) Price(name string, u run.Usage, at time.Time) run.Usage {
	m, ok := t.Lookup(name)
	if !ok || m.Price == nil {
		return u
	}
	p := *m.Price
	switch {
	case m.Long != nil && u.Input+u.CacheRead+u.CacheWrite > m.Long.Above:
		p = m.Long.Price
	case m.Later != nil && !at.Before(m.Later.From):
		p = m.Later.Price
	}
	u.Cost = (float64(u.Input)*p.Input + float64(u.CacheRead)*p.CacheRead +
		float64(u.CacheWrite)*p.CacheWrite + float64(u.Output)*p.Output) / 1e6
	u.Priced = true
	return u
}
