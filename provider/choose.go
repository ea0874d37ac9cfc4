package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/config"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/llm/models"
)

// The order of choosing a model when nothing names one: the first of Keyed with a key, its
// default model; else the first model of the first server of Nearby that answers on this
// machine.
var (
	Keyed  = []string{"anthropic", "openai", "gemini"}
	Nearby = []string{"ollama", "lmstudio", "llamacpp"}
)

// Preferred returns the model that a key in the environment stands for, and that variable;
// "" if there is no key.
func (ps *Providers) Preferred() (model, variable string) {
	for _, name := range Keyed {
		if p, ok := ps.Provider(name); ok && p.Default != "" {
			if s := ps.Site(p); s.Key != "" {
				return name + "/" + p.Default, s.KeyFrom
			}
		}
	}
	return "", ""
}

// Choose returns the model that works: the one named (see [Providers.Resolve]), or, if nothing names one, the first
// of a server on this machine. The error is what is missing before it can be used. note, if
// not "", is what a person should know of the choice.
func (ps *Providers) Choose(ctx context.Context, model, workspace string) (chosen, note string, err error) {
	if model != "" {
		if model, err = ps.Resolve(ctx, model); err != nil {
			return "", "", err
		}
		if near := ps.similar(model); near != "" {
			note = fmt.Sprintf("%s is not known here; did you mean %s?", model, near)
		}
		return model, note, ps.Check(model, workspace)
	}
	for _, found := range ps.Around(ctx) {
		model, at := found.Name+"/"+found.Models[0], WithoutSecrets(found.Address)
		return model, fmt.Sprintf("works with %s, the first model of the server at %s, because no key is set; --model names another", model, at), nil
	}
	return "", "", config.Errorf("%w", noModelError{ps.noModel()})
}

// ErrNoModel is the error of [Providers.Choose] when nothing names a model and there is no
// server on this machine.
var ErrNoModel = errors.New("no model")

// A noModelError is ErrNoModel with what a person is told.
type noModelError struct{ text string }

func (e noModelError) Error() string        { return e.text }
func (e noModelError) Is(target error) bool { return target == ErrNoModel }

// Around returns the servers of Nearby on this machine that answer and have models.
func (ps *Providers) Around(ctx context.Context) []Server {
	var servers []models.Provider
	for _, name := range Nearby {
		if p, ok := ps.Provider(name); ok {
			servers = append(servers, p)
		}
	}
	return slices.DeleteFunc(ps.lookAround(ctx, servers), func(s Server) bool { return len(s.Models) == 0 })
}

// noModel is what a person is told instead of an answer when there is no model. It is
// a mistake in the settings and not a run: a run in the log that no model worked on would
// look like work done.
func (ps *Providers) noModel() string {
	var b strings.Builder
	b.WriteString("no model is configured, so nothing was done. Do one of these, and try again:\n")
	line := func(do, why string) { fmt.Fprintf(&b, "  %-34s %s\n", do, why) }
	for _, p := range ps.Providers() {
		if s := ps.Site(p); s.Key != "" && !slices.Contains(Keyed, p.Name) {
			line("--model "+p.Name+"/NAME", fmt.Sprintf("%s is set; `pawl models %s` lists its models", s.KeyFrom, p.Name))
		}
	}
	for _, name := range Keyed {
		if p, ok := ps.Provider(name); ok && p.NeedsKey() {
			line("export "+p.KeyEnv[0]+"=…", "get a key at "+p.KeysAt)
		}
	}
	line("pawl, then /login", "stores a key, or finds what is on this machine")
	line("ollama serve", "or LM Studio, or llama.cpp: a server on this machine is found by itself")
	line("codex login", "or Claude Code, Gemini CLI, OpenCode: one that is installed and logged in is found too")
	line("pawl demo", "needs neither key nor network; `pawl doctor` shows what is available")
	return b.String()
}

// similar returns the model that a name of a known provider may have been meant
// to be; empty when it is known or like no other.
func (ps *Providers) similar(model string) string {
	if _, ok := ps.Lookup(model); ok {
		return ""
	}
	provider, _, _ := strings.Cut(model, "/")
	var names []string
	for _, m := range ps.Models() {
		if m.Provider() == provider {
			names = append(names, m.Name)
		}
	}
	near := text.Typo(model, names)
	if near == "" || text.Distance(model, near) > 2 || !sameNumbers(model, near) {
		return "" // names of other sizes and generations differ by no more
	}
	return near
}

// sameNumbers reports whether two names have the same digits: gpt-6 is no slip of
// gpt-5.
func sameNumbers(x, y string) bool {
	digits := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, s)
	}
	return digits(x) == digits(y)
}

// aroundPatience bounds how long servers on this machine are looked for.
const aroundPatience = 300 * time.Millisecond

// A Server is a Site with the models that it lists.
type Server struct {
	Site
	Models []string // none: it has none that can talk
	Err    error    // why it does not answer
}

// lookAround returns which of some servers on this machine answer, in their order.
func (ps *Providers) lookAround(ctx context.Context, servers []models.Provider) []Server {
	ctx, cancel := context.WithTimeout(ctx, aroundPatience)
	defer cancel()
	var sites []Site
	for _, p := range servers {
		sites = append(sites, ps.Site(p))
	}
	return slices.DeleteFunc(Ask(ctx, sites), func(s Server) bool { return s.Err != nil })
}

// locals returns the servers on this machine that there could be.
func (ps *Providers) locals() []models.Provider {
	return slices.DeleteFunc(ps.Providers(), func(p models.Provider) bool { return !p.Local })
}

// Ask asks all sites at once which models they have.
func Ask(ctx context.Context, sites []Site) []Server {
	servers := make([]Server, len(sites))
	var done sync.WaitGroup
	for i, s := range sites {
		servers[i].Site = s
		done.Go(func() { servers[i].Models, servers[i].Err = s.list(ctx) })
	}
	done.Wait()
	return servers
}

// Find splits a model's name, provider/name, and finds its provider.
func (ps *Providers) Find(model string) (p models.Provider, name string, err error) {
	provider, name, ok := strings.Cut(model, "/")
	if !ok || name == "" || provider == "" {
		return p, "", ps.unknownModel(model)
	}
	p, ok = ps.Provider(provider)
	if !ok {
		return p, "", config.Errorf("unknown provider %s; providers are %s (a file models.toml adds others, see docs/models.md)%s",
			visible.Quote(provider), strings.Join(ps.names(), ", "), text.DidYouMean(provider, ps.names()))
	}
	return p, name, nil
}

const exampleModel = "anthropic/claude-sonnet-5-5"

func (ps *Providers) names() []string {
	var names []string
	for _, p := range ps.Providers() {
		names = append(names, p.Name)
	}
	return names
}
