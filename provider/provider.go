// Package provider is where model answers come from on this machine: the providers of the
// table of models with the address and key that are configured here, which of them can be
// used now, which models they list, and which model a run has when nothing names one.
package provider

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"pawl/config"
	"pawl/internal/visible"
	"pawl/llm"
	"pawl/llm/anthropic"
	"pawl/llm/cache"
	"pawl/llm/chat"
	"pawl/llm/gemini"
	"pawl/llm/limit"
	"pawl/llm/models"
	"pawl/llm/responses"
	"pawl/llm/script"
)

// Providers are the providers of the table as they are configured here. They are safe for
// concurrent use.
type Providers struct {
	*models.Table
	env config.Env

	mu   sync.Mutex
	open map[string]llm.Provider
	keys atomic.Pointer[map[string]string] // stored ones, by the names of their variables
}

// Load reads the table of models, with the user's file.
func Load(env config.Env) (*Providers, error) {
	t, err := models.Load(env.ModelsFile())
	if err != nil {
		return nil, config.Errorf("%w", err)
	}
	keys, err := readKeys(keysFile(env))
	if err != nil {
		return nil, err
	}
	ps := &Providers{Table: t, env: env, open: map[string]llm.Provider{}}
	ps.keys.Store(&keys)
	return ps, nil
}

// Options say how providers are opened.
type Options struct {
	Workspace   string        // where the paths of scripts start
	IdleTimeout time.Duration // see [llm.Provider]; 0: the default
	Cache       bool          // answer requests that were answered before from a local file
	Own         limit.Own     // gives the places of providers that may be sent so many requests at once; nil: they are not bounded
	Log         *slog.Logger
}

// Open returns the provider of a model of the form provider/name, and the name that this
// provider knows it by. Each provider is made when it is first wanted and then kept, for
// its connections. What is missing is a [*config.Error].
func (ps *Providers) Open(model string, o Options) (llm.Provider, string, error) {
	known, name, err := ps.Find(model)
	if err != nil {
		return nil, "", err
	}
	id := known.Name
	if known.Wire == script.Wire {
		id = model // a script is a provider of its own
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p := ps.open[id]; p != nil {
		return p, name, nil
	}
	p, err := ps.make(known, name, o)
	if err != nil {
		return nil, "", err
	}
	ps.open[id] = p
	return p, name, nil
}

// Check returns what is missing before a model can be used, without using it.
func (ps *Providers) Check(model, workspace string) error {
	known, name, err := ps.Find(model)
	if err == nil {
		_, err = ps.make(known, name, Options{Workspace: workspace})
	}
	return err
}

func (ps *Providers) make(known models.Provider, name string, o Options) (llm.Provider, error) {
	if known.Wire == script.Wire {
		return scripted(name, o.Workspace)
	}
	at := ps.Site(known)
	if err := at.Usable(); err != nil {
		if at.Missing() == "" {
			return nil, config.Errorf("%w", err)
		}
		return nil, config.Errorf("%w; or see `pawl demo`, which needs no key", err)
	}
	p, err := at.connect(o.IdleTimeout)
	if err == nil && at.AtOnce > 0 && o.Own != nil {
		p = limit.New(p, at.place(), at.AtOnce, o.Own, o.Log)
	}
	if err == nil && o.Cache {
		p = cache.New(p, at.Address, filepath.Join(ps.env.StateDir(), "cache"), o.Log)
	}
	return p, err
}

// connect returns the provider at a site. It does not touch the network.
func (s Site) connect(idle time.Duration) (llm.Provider, error) {
	switch s.Wire {
	case anthropic.Wire:
		return anthropic.New(anthropic.Options{BaseURL: s.Address, Key: s.Key, IdleTimeout: idle}), nil
	case responses.Wire:
		return responses.New(responses.Options{BaseURL: s.Address, Key: s.Key, IdleTimeout: idle}), nil
	case gemini.Wire:
		return gemini.New(gemini.Options{BaseURL: s.Address, Key: s.Key, IdleTimeout: idle}), nil
	case chat.Wire:
		d := s.dialect()
		if d != nil && d.Name == "" {
			return nil, config.Errorf("%s: provider %s: unknown dialect %s; without one it is derived from the address", s.Source, s.Name, visible.Quote(s.Dialect))
		}
		return chat.New(chat.Options{BaseURL: s.Address, Key: s.Key, Dialect: d, IdleTimeout: idle}), nil
	}
	panic("unknown wire format " + s.Wire) // unreachable: package models has looked at it
}

// scripted returns the provider that plays a script of the workspace.
func scripted(name, workspace string) (llm.Provider, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(workspace, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, config.Errorf("the script cannot be read: %w", err)
	}
	defer f.Close()
	s, err := script.Parse(f)
	if err != nil {
		return nil, config.Errorf("%s: %w", name, err)
	}
	return script.New(s, 0), nil
}
