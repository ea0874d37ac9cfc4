package models

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"

	"pawl/internal/atomicfile"
	"pawl/internal/visible"
)

//go:embed table.toml
var builtIn []byte

// parsed is the built-in table. It is parsed on first use: most commands need no model.
var parsed = sync.OnceValue(func() *Table {
	t := &Table{providers: map[string]Provider{}, models: map[string]Model{}}
	if err := t.read(builtIn, ""); err != nil {
		panic(fmt.Sprintf("the built-in table of models is invalid: %v", err)) // a test reads it
	}
	return t
})

// Load returns the table, in which each key of a file of the user's replaces the built-in
// one. A missing file is empty. An error names the file, usually the line, and what is
// wrong.
//
// The file decides where keys are sent: never pass a file of a workspace.
func Load(file string) (*Table, error) {
	if file == "" {
		return parsed(), nil
	}
	content, err := atomicfile.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return parsed(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("the models cannot be read: %w", err)
	}
	t := &Table{providers: maps.Clone(parsed().providers), models: maps.Clone(parsed().models)}
	return t, t.read(content, file)
}

// The form of a file. A missing value leaves the built-in one.
type (
	fileForm struct {
		Providers map[string]providerForm `toml:"providers"`
		Models    map[string]modelForm    `toml:"models"`
	}
	providerForm struct {
		Wire        *string  `toml:"wire"`
		BaseURL     *string  `toml:"base_url"`
		BaseURLEnv  []string `toml:"base_url_env"`
		KeyEnv      []string `toml:"key_env"`
		KeyOptional *bool    `toml:"key_optional"`
		KeysAt      *string  `toml:"keys_at"`
		Dialect     *string  `toml:"dialect"`
		Local       *bool    `toml:"local"`
		Default     *string  `toml:"default"`
		Window      *int64   `toml:"window"`
		Structured  *bool    `toml:"structured"`
		AtOnce      *int     `toml:"at_once"`
	}
	modelForm struct {
		Window     *int64     `toml:"window"`
		MaxOutput  *int64     `toml:"max_output"`
		Price      *priceForm `toml:"price"`
		Long       *longForm  `toml:"long"`
		Later      *laterForm `toml:"later"`
		Control    *string    `toml:"control"`
		Structured *bool      `toml:"structured"`
		Images     *bool      `toml:"images"`
		Reasoning  *bool      `toml:"reasoning"`
		Effort     []string   `toml:"effort"`
		Adaptive   *bool      `toml:"adaptive"`
		Budget     *struct {
			Min int  `toml:"min"`
			Max int  `toml:"max"`
			Off bool `toml:"off"`
		} `toml:"thinking_budget"`
	}
	priceForm struct {
		Input      *float64 `toml:"input"`
		CacheRead  *float64 `toml:"cache_read"`
		CacheWrite *float64 `toml:"cache_write"`
		Output     *float64 `toml:"output"`
	}
	longForm struct {
		Above int64 `toml:"above"`
		priceForm
	}
	laterForm struct {
		From toml.LocalDate `toml:"from"`
		priceForm
	}
)

// read adds a file to t.
func (t *Table) read(content []byte, file string) error {
	dec := toml.NewDecoder(bytes.NewReader(content))
	dec.DisallowUnknownFields()
	var f fileForm
	if err := dec.Decode(&f); err != nil {
		return syntax(err, file)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Providers)) {
		p, err := f.Providers[name].over(t.providers[name])
		if err != nil {
			return wrong(file, content, "providers", name, err)
		}
		p.Name, p.Source = name, file
		t.providers[name] = p
	}
	for _, name := range slices.Sorted(maps.Keys(f.Models)) {
		m, err := f.Models[name].over(t.models[name])
		provider, model, _ := strings.Cut(name, "/")
		if _, ok := t.providers[provider]; err == nil && (!ok || model == "") {
			err = errors.New("the name must be provider/name with a known provider")
		}
		if err != nil {
			return wrong(file, content, "models", name, err)
		}
		m.Name, m.Source = name, file
		t.models[name] = m
	}
	return nil
}

// over returns p with the values of the file.
func (f providerForm) over(p Provider) (Provider, error) {
	set(&p.Wire, f.Wire)
	set(&p.BaseURL, f.BaseURL)
	set(&p.KeyOptional, f.KeyOptional)
	set(&p.KeysAt, f.KeysAt)
	set(&p.Dialect, f.Dialect)
	set(&p.Local, f.Local)
	set(&p.Default, f.Default)
	set(&p.Window, f.Window)
	set(&p.Structured, f.Structured)
	set(&p.AtOnce, f.AtOnce)
	if f.BaseURLEnv != nil {
		p.BaseURLEnv = f.BaseURLEnv
	}
	if f.KeyEnv != nil {
		p.KeyEnv = f.KeyEnv
	}
	if !slices.Contains(wires, p.Wire) {
		return p, fmt.Errorf("wire must be one of %s", strings.Join(wires, ", "))
	}
	if p.Wire != "script" && p.BaseURL == "" && len(p.BaseURLEnv) == 0 {
		return p, errors.New("base_url is missing: the address of the provider's API")
	}
	if p.Window < 0 {
		return p, errors.New("window cannot be below 0")
	}
	if f.AtOnce != nil && p.AtOnce < 1 {
		return p, errors.New("at_once must be 1 or more; without it any number of requests is sent at once")
	}
	return p, nil
}

var wires = []string{"anthropic", "responses", "chat", "gemini", "script"}

// over returns m with the values of the file.
func (f modelForm) over(m Model) (Model, error) {
	set(&m.Window, f.Window)
	set(&m.MaxOutput, f.MaxOutput)
	set(&m.Control, f.Control)
	if f.Structured != nil {
		m.Structured = f.Structured
	}
	if f.Images != nil {
		m.Images = f.Images
	}
	if f.Reasoning != nil {
		m.Reasoning = f.Reasoning
	}
	set(&m.Adaptive, f.Adaptive)
	if f.Effort != nil {
		m.Effort, m.Budget = f.Effort, nil
	}
	if f.Budget != nil {
		m.Budget, m.Effort = (*ThinkingBudget)(f.Budget), nil
	}
	if f.Price != nil {
		p, err := f.Price.price("price")
		if err != nil {
			return m, err
		}
		m.Price, m.Long, m.Later = &p, nil, nil // they were of the price that is replaced
	}
	if f.Long != nil {
		p, err := f.Long.price("long")
		if err != nil {
			return m, err
		}
		m.Long = &Long{f.Long.Above, p}
	}
	if f.Later != nil {
		p, err := f.Later.price("later")
		if err != nil {
			return m, err
		}
		m.Later = &Later{f.Later.From.AsTime(time.UTC), p}
	}
	switch {
	case m.Window < 0 || m.MaxOutput < 0:
		return m, errors.New("window and max_output cannot be below 0")
	case m.Control != "" && m.Control != "native" && m.Control != "controller":
		return m, errors.New("control must be native or controller")
	case f.Effort != nil && f.Budget != nil:
		return m, errors.New("effort and thinking_budget exclude each other")
	case !slices.IsSortedFunc(m.Effort, func(x, y string) int { return rank(x) - rank(y) }) || slices.ContainsFunc(m.Effort, func(l string) bool { return rank(l) < 0 }):
		return m, fmt.Errorf("effort must be a list of %s, the least first", strings.Join(levels, ", "))
	case m.Budget != nil && (m.Budget.Min < 1 || m.Budget.Max < m.Budget.Min):
		return m, errors.New("thinking_budget requires min and max, in tokens")
	case m.Price == nil && (m.Long != nil || m.Later != nil):
		return m, errors.New("long and later require a price")
	case f.Long != nil && f.Long.Above <= 0:
		return m, errors.New("long requires above: the prompt tokens up to which the usual price applies")
	case f.Later != nil && f.Later.From == toml.LocalDate{}:
		return m, errors.New("later requires from: a day such as 2027-01-31")
	}
	return m, nil
}

// price returns the price in f; without prices for the cache, cached tokens cost as much
// as others.
func (f priceForm) price(key string) (Price, error) {
	if f.Input == nil || f.Output == nil {
		return Price{}, fmt.Errorf("%s requires input and output, in US dollars per million tokens", key)
	}
	p := Price{Input: *f.Input, CacheRead: *f.Input, CacheWrite: *f.Input, Output: *f.Output}
	set(&p.CacheRead, f.CacheRead)
	set(&p.CacheWrite, f.CacheWrite)
	for _, dollars := range []float64{p.Input, p.CacheRead, p.CacheWrite, p.Output} {
		if !(dollars >= 0) || dollars > 1e6 {
			return Price{}, fmt.Errorf("%s: %v is not a price in US dollars per million tokens", key, dollars)
		}
	}
	return p, nil
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// syntax returns what is wrong with a file that cannot be decoded.
func syntax(err error, file string) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		line, _ := unknown.Errors[0].Position()
		return fmt.Errorf("%s, line %d: there is no key %s", file, line, visible.Quote(strings.Join(unknown.Errors[0].Key(), ".")))
	}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, _ := at.Position()
		what := strings.TrimPrefix(err.Error(), "toml: ")
		if _, _, ok := strings.Cut(what, " into struct field "); ok { // the names of Go are not those of the file
			what = strings.Join(at.Key(), ".") + " has a value of the wrong type"
		}
		return fmt.Errorf("%s, line %d: %s", file, line, what)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// wrong returns what is wrong with one entry, with the line of its heading if it has one.
func wrong(file string, content []byte, kind, name string, err error) error {
	n := 0
	for line := range bytes.Lines(content) {
		n++
		heading := string(bytes.TrimSpace(line))
		if strings.HasPrefix(heading, "["+kind+".") && strings.Trim(heading[len(kind)+2:], `]"' `) == name {
			return fmt.Errorf("%s, line %d: %s %s: %w", file, n, kind, visible.Quote(name), err)
		}
	}
	return fmt.Errorf("%s: %s %s: %w", file, kind, visible.Quote(name), err)
}
