package main

import (
	"strings"

	"pawl/run"
)

// defaultModel is used when ANTHROPIC_API_KEY is set and nothing names a model;
// PAWL_MODEL and the key model of the configuration do.
const defaultModel = "anthropic/claude-sonnet-4-5"

// A price is in US dollars for a million tokens.
type price struct{ input, cacheWrite, cacheRead, output float64 }

// A model is what is known of one.
type model struct {
	window int64 // tokens
	price  price
	// longAbove, if not 0, is the size of a prompt in tokens above which all of the
	// request has the price long.
	longAbove int64
	long      price
}

const (
	anthropicWindow = 200_000   // of every model since Claude 3 that has not more
	largeWindow     = 1_000_000 // of those that have it without asking
)

// models are Anthropic's, by name without date. Prices with cache writes for five
// minutes: platform.claude.com/docs/en/about-claude/pricing; windows:
// platform.claude.com/docs/about-claude/models, where a page on them could be had,
// else the smaller one. Both read 2026-11-20.
var models = map[string]model{
	"claude-fable-5-1":  {window: largeWindow, price: price{10, 12.50, 0.25, 50}},
	"claude-fable-5":    {window: anthropicWindow, price: price{10, 12.50, 1, 50}},
	"claude-opus-5-5":   {window: largeWindow, price: price{4, 5, 0.20, 20}},
	"claude-opus-5":     {window: largeWindow, price: price{5, 6.25, 0.50, 25}},
	"claude-opus-4-8":   {window: anthropicWindow, price: price{5, 6.25, 0.50, 25}},
	"claude-opus-4-7":   {window: anthropicWindow, price: price{5, 6.25, 0.50, 25}},
	"claude-opus-4-6":   {window: anthropicWindow, price: price{5, 6.25, 0.50, 25}},
	"claude-opus-4-5":   {window: anthropicWindow, price: price{5, 6.25, 0.50, 25}},
	"claude-opus-4-1":   {window: anthropicWindow, price: price{15, 18.75, 1.50, 75}},
	"claude-opus-4":     {window: anthropicWindow, price: price{15, 18.75, 1.50, 75}},
	"claude-sonnet-5-5": {window: largeWindow, price: price{2, 2.50, 0.10, 10}},
	"claude-sonnet-5":   {window: anthropicWindow, price: price{2, 2.50, 0.20, 10}},
	"claude-sonnet-4-6": {window: anthropicWindow, price: price{3, 3.75, 0.30, 15}},
	"claude-sonnet-4-5": {window: anthropicWindow, price: price{3, 3.75, 0.30, 15}},
	"claude-sonnet-4":   {window: anthropicWindow, price: price{3, 3.75, 0.30, 15}},
	"claude-haiku-5-5": {window: largeWindow, price: price{0.10, 0.125, 0.01, 0.50},
		longAbove: 100_000, long: price{0.50, 0.625, 0.05, 2.50}},
	"claude-haiku-4-5": {window: anthropicWindow, price: price{1, 1.25, 0.10, 5}},
	"claude-3-5-haiku": {window: anthropicWindow, price: price{0.80, 1, 0.08, 4}},
}

// known returns what is known of a model of the form provider/name.
func known(name string) (model, bool) {
	name, ok := strings.CutPrefix(name, "anthropic/")
	if !ok {
		return model{}, false
	}
	if m, ok := models[name]; ok {
		return m, true
	}
	// claude-sonnet-4-5-20250929, claude-sonnet-4-0, …-latest
	if i := strings.LastIndexByte(name, '-'); i > 0 && (len(name)-i == len("-20250929") || name[i:] == "-0" || name[i:] == "-latest") {
		m, ok := models[name[:i]]
		return m, ok
	}
	return model{}, false
}

// windowOf returns how many tokens fit a model's context; 0 when nobody knows.
func windowOf(name string) int64 {
	if m, ok := known(name); ok {
		return m.window
	}
	if strings.HasPrefix(name, "anthropic/") {
		return anthropicWindow
	}
	return 0
}

// priced adds to one request's usage what it costs, where the price is known.
func priced(name string, u run.Usage) run.Usage {
	m, ok := known(name)
	if !ok {
		return u
	}
	p := m.price
	if m.longAbove > 0 && u.Input+u.CacheRead+u.CacheWrite > m.longAbove {
		p = m.long
	}
	u.Cost = (float64(u.Input)*p.input + float64(u.CacheWrite)*p.cacheWrite +
		float64(u.CacheRead)*p.cacheRead + float64(u.Output)*p.output) / 1e6
	u.Priced = true
	return u
}
