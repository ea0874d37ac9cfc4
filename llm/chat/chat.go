// Package chat speaks OpenAI's Chat Completions, streaming, in the dialects of the
// servers that speak it too: OpenRouter, Groq, DeepSeek, Mistral, x.ai, Ollama,
// llama.cpp, vLLM and the rest.
//
// They agree on the outline and on little else. Differences in requests are data, a
// [Dialect]. Differences in answers are all accepted from every server: calls without an
// index or an id, arguments as an object, four places for the reasoning and as many forms
// of an error.
//
// Wire format: platform.openai.com/docs/api-reference/chat, the pages of the other
// providers as named where they differ, and the recorded streams of the test data;
// read 2026-11-20.
package chat

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"pawl/llm"
	"pawl/llm/wire"
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
	BaseURL     string
	Key         string        // empty for servers that need none; never part of an error or a log
	Dialect     *Dialect      // nil: what [Find] finds for the address
	HTTPClient  *http.Client  // see [wire.Options]
	IdleTimeout time.Duration // 0: wire.DefaultIdleTimeout
}

// A Provider answers requests of one server. It is safe for concurrent use.
type Provider struct {
	wire    *wire.Client
	dialect Dialect // of messages; that of a request may have less, see asks
	origin  string  // marks the reasoning that is sent back to this server only
	asks    wire.Negotiation[Dialect]
}

// New returns a provider. It does not use the network; invalid options are reported by
// the first request.
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
	p := &Provider{dialect: d, wire: wire.New(wire.Options{
		BaseURL: address(base, d), Example: DefaultBaseURL,
		Key: o.Key, HTTPClient: o.HTTPClient, IdleTimeout: o.IdleTimeout,
	})}
	p.origin = wire.Origin(Wire, p.wire.Base(), DefaultBaseURL)
	p.asks.Full, p.asks.Without = d, Dialect.without
	p.asks.RejectsReasoning, p.asks.Strip = rejectsReasoning, withoutReasoning
	return p
}

// address returns a base URL to which /chat/completions is added. Without a
// version in its path, the dialect's path is completed.
func address(base string, d Dialect) string {
	base = strings.TrimRight(base, "/")
	if whole, ok := strings.CutSuffix(base, "/chat/completions"); ok {
		return whole
	}
	u, err := url.Parse(base)
	if err != nil {
		return base // reported by the first request
	}
	want := d.Path
	if want == "" {
		want = "/v1"
	}
	if u.Path == want || wire.HasVersion(u.Path) {
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
	return p.wire.Stream(ctx, func(ctx context.Context) (*http.Response, error) {
		return p.asks.Send(ctx, p.wire, r, "/chat/completions", p.header(), requestBody)
	}, assembler(p.origin))
}

func (p *Provider) header() http.Header {
	h := http.Header{}
	switch key := p.wire.Key(); {
	case key == "":
	case p.dialect.KeyHeader != "":
		h.Set(p.dialect.KeyHeader, key)
	default:
		h.Set("Authorization", "Bearer "+key)
	}
	return h
}

// DecodeRecording returns what a recorded stream is decoded as.
func DecodeRecording(r io.Reader) wire.Decoded { return wire.DecodeRecording(r, assembler(Wire)) }
