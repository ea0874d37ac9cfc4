package cli

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/internal/text"
	"pawl/llm/models"
	"pawl/llm/script"
	"pawl/run"
)

// The order of choosing a model when nothing names one: the first of these with a
// key, its default model; else the first model of the first of these servers that
// answers on this machine.
var (
	keyed  = []string{"anthropic", "openai", "gemini"}
	nearby = []string{"ollama", "lmstudio", "llamacpp"}
)

// modelsFile is the user's file of providers and models.
func (inv *invocation) modelsFile() string {
	return filepath.Join(filepath.Dir(inv.userFile()), "models.toml")
}

// models returns what is known of providers and models.
func (inv *invocation) models() (*models.Table, error) {
	t, err := models.Load(inv.modelsFile())
	if err != nil {
		return nil, usage("%w", err)
	}
	return t, nil
}

// changeTo returns the change of a run to another model; nil if model is empty.
func (inv *invocation) changeTo(model string) (*run.ConfigChange, error) {
	if model == "" {
		return nil, nil
	}
	table, err := inv.models()
	if err != nil {
		return nil, err
	}
	c := modelChange(model, run.Auto, table)
	return &c, nil
}

// A site is a provider as it is configured here.
type site struct {
	models.Provider
	address     string // of the API; empty: nothing names one
	addressFrom string
	key         string
	keyFrom     string // the variable that holds it
}

// site returns how a provider is configured here.
func (inv *invocation) site(p models.Provider) site {
	s := site{Provider: p, address: p.BaseURL, addressFrom: fromDefault}
	if p.Source != "" {
		s.addressFrom = fromUser + " " + p.Source
	}
	for _, name := range slices.Backward(p.BaseURLEnv) {
		if v, _ := inv.Env(name); v != "" {
			s.address, s.addressFrom = v, fromEnv+" "+name
		}
	}
	for _, name := range slices.Backward(p.KeyEnv) {
		if v, _ := inv.Env(name); v != "" {
			s.key, s.keyFrom = v, name
		}
	}
	if p.Local {
		s.address = localAddress(s.address, p.BaseURL)
	}
	return s
}

// localAddress completes the address of a server on this machine: OLLAMA_HOST may be
// a host alone, or the address that the server listens on, which is not always one
// that can be asked (docs.ollama.com/faq, read 2026-11-20).
func localAddress(address, usual string) string {
	full, err := url.Parse(usual)
	if address == "" || err != nil {
		return address
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return address // told by the first request
	}
	host, port := u.Hostname(), u.Port()
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = full.Hostname()
	}
	if port == "" && u.Scheme == "http" {
		port = full.Port()
	}
	if port != "" {
		u.Host = net.JoinHostPort(host, port)
	}
	return u.String()
}

// missing says what has to be there before a request can be sent; empty: nothing.
func (s site) missing() string {
	switch {
	case s.Wire == script.Wire:
		return ""
	case s.address == "":
		return s.BaseURLEnv[0] + " is not set"
	case !s.NeedsKey() || s.key != "":
		return ""
	case len(s.KeyEnv) > 1:
		return "neither " + strings.Join(s.KeyEnv, " nor ") + " is set"
	}
	return s.KeyEnv[0] + " is not set"
}

// usable returns an error, with what to do, when no request can be sent.
func (s site) usable() error {
	switch missing := s.missing(); {
	case missing == "":
		return nil
	case s.address == "":
		return fmt.Errorf("%s has no address and %s: `export %s=…`, the address of its API", s.Name, missing, s.BaseURLEnv[0])
	default:
		where := ""
		if s.KeysAt != "" {
			where = "get one at " + s.KeysAt + " and "
		}
		return fmt.Errorf("%s needs a key and %s: %s`export %s=…`", s.Name, missing, where, s.KeyEnv[0])
	}
}

// preferred returns the model that a key in the environment stands for, and which.
func (inv *invocation) preferred(t *models.Table) (model, variable string) {
	for _, name := range keyed {
		if p, ok := t.Provider(name); ok && p.Default != "" {
			if s := inv.site(p); s.key != "" {
				return name + "/" + p.Default, s.keyFrom
			}
		}
	}
	return "", ""
}

// choose settles which model works in a new run, where neither a flag nor the
// environment nor a file names one, and says what is missing before anything is
// recorded.
func (inv *invocation) choose(ctx context.Context, s settings, workspace string) error {
	model := s.get("model")
	if model != "" {
		if near := similarModel(s.table, model); near != "" {
			fmt.Fprintf(inv.Stderr, "pawl: %s is not known here; did you mean %s?\n", visible(model), near)
		}
		return inv.checkModel(model, workspace)
	}
	var servers []models.Provider
	for _, name := range nearby {
		if p, ok := s.table.Provider(name); ok {
			servers = append(servers, p)
		}
	}
	for _, found := range inv.lookAround(ctx, servers) {
		if len(found.models) == 0 {
			continue
		}
		model := found.Name + "/" + found.models[0]
		s.values["model"] = []sourced{{model, "the server at " + withoutSecrets(found.address)}}
		fmt.Fprintf(inv.Stderr, "pawl: works with %s, the first model of the server at %s, because no key is set; --model names another\n",
			visible(model), withoutSecrets(found.address))
		return nil
	}
	return usage("%s", inv.noModel(s.table))
}

// noModel is what a person is told instead of an answer when there is no model. It is
// an error of usage and not a run: a run in the log that nobody has worked on would
// look like work done.
func (inv *invocation) noModel(t *models.Table) string {
	var b strings.Builder
	b.WriteString("no model is configured, so nobody has looked at the task. One of these, and then again:\n")
	line := func(do, why string) { fmt.Fprintf(&b, "  %-34s %s\n", do, why) }
	for _, p := range t.Providers() {
		if s := inv.site(p); s.key != "" && !slices.Contains(keyed, p.Name) {
			line("--model "+p.Name+"/NAME", fmt.Sprintf("%s is set; `pawl models %s` lists its models", s.keyFrom, p.Name))
		}
	}
	for _, name := range keyed {
		if p, ok := t.Provider(name); ok && p.NeedsKey() {
			line("export "+p.KeyEnv[0]+"=…", "get a key at "+p.KeysAt)
		}
	}
	line("ollama serve", "or LM Studio, or llama.cpp: a server on this machine is found by itself")
	line("pawl demo", "needs neither key nor network; `pawl doctor` tells what is there")
	return b.String()
}

// similarModel returns the model that a name of a known provider may have been meant
// to be; empty when it is known or like no other.
func similarModel(t *models.Table, model string) string {
	if _, ok := t.Lookup(model); ok {
		return ""
	}
	provider, _, _ := strings.Cut(model, "/")
	var names []string
	for _, m := range t.Models() {
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

// A server is a site with the models that it lists.
type server struct {
	site
	models []string // none: it has none that can talk
	err    error    // why it does not answer
}

// lookAround returns which of some servers on this machine answer, in their order.
func (inv *invocation) lookAround(ctx context.Context, servers []models.Provider) []server {
	ctx, cancel := context.WithTimeout(ctx, aroundPatience)
	defer cancel()
	var sites []site
	for _, p := range servers {
		sites = append(sites, inv.site(p))
	}
	return slices.DeleteFunc(ask(ctx, sites), func(s server) bool { return s.err != nil })
}

// locals returns the servers on this machine that there could be.
func locals(t *models.Table) []models.Provider {
	return slices.DeleteFunc(t.Providers(), func(p models.Provider) bool { return !p.Local })
}

// ask asks all sites at once which models they have.
func ask(ctx context.Context, sites []site) []server {
	servers := make([]server, len(sites))
	var done sync.WaitGroup
	for i, s := range sites {
		servers[i].site = s
		done.Go(func() { servers[i].models, servers[i].err = s.list(ctx) })
	}
	done.Wait()
	return servers
}

// splitModel splits a model's name, provider/name, and finds its provider.
func splitModel(t *models.Table, model string) (p models.Provider, name string, err error) {
	provider, name, ok := strings.Cut(model, "/")
	if !ok || name == "" || provider == "" {
		return p, "", usage("the model %q is not of the form provider/name, as %s%s", model, exampleModel, bareModel(t, model))
	}
	p, ok = t.Provider(provider)
	if !ok {
		return p, "", usage("there is no provider %q%s; there are %s. A file models.toml adds others: see docs/models.md",
			provider, didYouMean(provider, providerNames(t)), strings.Join(providerNames(t), ", "))
	}
	return p, name, nil
}

const exampleModel = "anthropic/claude-sonnet-5-5"

func providerNames(t *models.Table) []string {
	var names []string
	for _, p := range t.Providers() {
		names = append(names, p.Name)
	}
	return names
}

// bareModel returns a question that names the model whose name without the provider
// is nearest to what was given.
func bareModel(t *models.Table, given string) string {
	all := t.Models()
	if len(all) == 0 || given == "" {
		return ""
	}
	bare := func(m models.Model) string { return strings.TrimPrefix(m.Name, m.Provider()+"/") }
	best := slices.MinFunc(all, func(x, y models.Model) int {
		return cmp.Compare(text.Distance(given, bare(x)), text.Distance(given, bare(y)))
	})
	if text.Distance(given, bare(best)) > 3 {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best.Name)
}
