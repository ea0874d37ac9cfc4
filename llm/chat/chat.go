// Package chat speaks OpenAI's Chat Completions, streaming, in the dialects of the
// servers that speak it too: OpenRouter, Groq, DeepSeek, Mistral, x.ai, Ollama,
// llama.cpp, vLLM and the rest.
//
// They agree on the outline and on little else. What differs in requests is data,
// a [Dialect]; what differs in answers is all understood at once, whoever sends it:
// calls without an index or an id, arguments as an object, four places for the
// reasoning and as many shapes of an error.
//
// Wire format: platform.openai.com/docs/api-reference/chat, the pages of the other
// providers as named where they differ, and the recorded streams of the test data;
// read 2026-11-20.
package chat

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

// Wire is the name of this wire format.
const Wire = "chat"

// DefaultBaseURL is the address of OpenAI itself.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options say where and how to reach a server. The zero value is OpenAI's own
// address, without a key.
type Options struct {
	// BaseURL is with or without the version at its end, or the whole address down
	// to /chat/completions; empty: the dialect's, or else DefaultBaseURL.
	BaseURL string
	Key     string   // empty for servers that want none; never part of an error or a log
	Dialect *Dialect // nil: what [Find] finds for the address
	// HTTPClient is used as it is but for redirects, which are never followed:
	// they would carry the key to another host. Nil: one shared by all providers.
	HTTPClient  *http.Client
	IdleTimeout time.Duration // 0: wire.DefaultIdleTimeout
}

// A Provider answers requests of one server. It is safe for concurrent use.
type Provider struct {
	wire    *wire.Client
	encodes Dialect                 // how messages are encoded: never changes
	sends   atomic.Pointer[Dialect] // how requests are: it may be learned from a refusal
}

// New returns a provider. It does not touch the network; options that cannot work
// are told by the first request.
func New(o Options) *Provider {
	base := strings.TrimSpace(o.BaseURL)
	var d Dialect
	switch {
	case o.Dialect != nil:
		d = *o.Dialect
	case base == "":
		d = Find("openai", "")
	default:
		d = Find("", base)
	}
	if base == "" {
		base = d.BaseURL
	}
	if base == "" {
		base = DefaultBaseURL
	}
	p := &Provider{encodes: d, wire: wire.New(wire.Options{
		BaseURL: address(base, d), Example: DefaultBaseURL,
		Key: o.Key, HTTPClient: o.HTTPClient, IdleTimeout: o.IdleTimeout, Kind: kind, Resets: resets,
	})}
	p.sends.Store(&d)
	return p
}

var version = regexp.MustCompile(`^v\d`)

// address returns a base URL down to where /chat/completions follows. Without a
// version in its path, the dialect's path is completed.
func address(base string, d Dialect) string {
	base = strings.TrimRight(base, "/")
	if whole, ok := strings.CutSuffix(base, "/chat/completions"); ok {
		return whole
	}
	u, err := url.Parse(base)
	if err != nil {
		return base // told by the first request
	}
	want := d.Path
	if want == "" {
		want = "/v1"
	}
	if u.Path == want || slices.ContainsFunc(strings.Split(u.Path, "/"), version.MatchString) {
		return base
	}
	if rest, ok := strings.CutPrefix(want, u.Path); ok && rest[0] == '/' {
		return base + rest
	}
	return base + "/v1"
}

// Wire names the wire format.
func (p *Provider) Wire() string { return Wire }

// Stream sends r and yields the answer as it arrives; see [llm.Provider].
func (p *Provider) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	return p.wire.Stream(ctx, func(ctx context.Context) (*http.Response, error) { return p.send(ctx, r) }, assemble)
}

// send sends r. A refusal that says which field this server does not know is
// learned from, for this request and all later ones.
func (p *Provider) send(ctx context.Context, r llm.Request) (*http.Response, error) {
	d := *p.sends.Load()
	for {
		body, err := requestBody(d, r)
		if err != nil {
			return nil, err
		}
		res, err := p.wire.Post(ctx, "/chat/completions", p.header(), body)
		if err != nil || res.StatusCode == http.StatusOK {
			return res, err
		}
		refusal, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return nil, err
		}
		learned, ok := d.learn(res.StatusCode, refusal)
		if !ok {
			return nil, p.refusal(res, refusal)
		}
		p.sends.Store(&learned)
		d = learned
	}
}

// refusal returns the error for a response that is no answer.
func (p *Provider) refusal(res *http.Response, body []byte) *llm.Error {
	e := p.wire.Refusal(res.StatusCode, res.Header, body)
	if e.Wait == 0 && e.Kind == run.ErrRateLimited {
		e.Wait = waitInWords(e.Message)
	}
	if res.StatusCode == http.StatusNotFound && wire.ParseError(body).Message == "" {
		// Without words of its own it is not the model that is missing.
		e.Message = fmt.Sprintf("%s has no %s: set the provider's base URL to the address of its API, as %s",
			res.Request.URL.Host, res.Request.URL.Path, DefaultBaseURL)
	}
	return e
}

func (p *Provider) header() http.Header {
	h := http.Header{}
	switch key := p.wire.Key(); {
	case key == "":
	case p.encodes.KeyHeader != "":
		h.Set(p.encodes.KeyHeader, key)
	default:
		h.Set("Authorization", "Bearer "+key)
	}
	return h
}

// Understand tells what a recorded stream is understood as.
func Understand(r io.Reader) wire.Understood { return wire.Understand(r, assemble, kind) }
