// Package responses speaks the OpenAI Responses API, streaming: OpenAI itself, Azure
// OpenAI, and the servers that offer the same path (OpenRouter, vLLM, LM Studio,
// DeepSeek, Bedrock's OpenAI endpoint). There is no SDK in it: OpenAI's own adds
// 19 MB to the program, and the streams have to be read tolerantly anyway.
//
// It is used without state on the server: store is false, the whole conversation goes
// along with each request, and reasoning comes encrypted and goes back as it came.
//
// Wire format: github.com/openai/openai-python, src/openai/types/responses (generated
// from OpenAI's own description of the API), and the recorded streams of the test
// data; read 2026-11-20.
package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/llm"
	"pawl/llm/wire"
)

// Wire is the name of this wire format.
const Wire = "responses"

// DefaultBaseURL is the address of OpenAI itself.
const DefaultBaseURL = "https://api.openai.com"

// Options say where and how to reach the API. The zero value is OpenAI's own address,
// without a key.
type Options struct {
	BaseURL string // with or without a final /v1; empty: DefaultBaseURL
	Key     string // sent as a bearer token; never part of an error or a log
	// HTTPClient is used as it is but for redirects, which are never followed:
	// they would carry the key to another host. Nil: one shared by all providers.
	HTTPClient  *http.Client
	IdleTimeout time.Duration // 0: wire.DefaultIdleTimeout
}

// A Provider answers requests over the Responses wire. It is safe for concurrent use.
type Provider struct {
	wire   *wire.Client
	maker  string   // what parts that go back to this server alone are marked with
	wishes sync.Map // model -> wishes that it grants, where it refused some
}

// New returns a provider. It does not touch the network; options that cannot work
// are told by the first request.
func New(o Options) *Provider {
	base := strings.TrimSpace(o.BaseURL)
	if base == "" {
		base = DefaultBaseURL
	}
	p := &Provider{maker: Wire, wire: wire.New(wire.Options{
		BaseURL: strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1"), Example: DefaultBaseURL,
		Key: o.Key, HTTPClient: o.HTTPClient, IdleTimeout: o.IdleTimeout, Kind: kind, Resets: resets,
	})}
	// What one server encrypted no other can read, and a request with it is refused
	// ("The encrypted content … could not be verified"): the format's name is not enough.
	if u, err := url.Parse(p.wire.Base()); err == nil && p.wire.Base() != DefaultBaseURL {
		p.maker = Wire + "@" + u.Host
	}
	return p
}

// Wire names the wire format.
func (p *Provider) Wire() string { return Wire }

// Stream sends r and yields the answer as it arrives; see [llm.Provider].
func (p *Provider) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	return p.wire.Stream(ctx, func(ctx context.Context) (*http.Response, error) { return p.send(ctx, r) }, assembler(p.maker))
}

// Understand tells what a recorded stream is understood as.
func Understand(r io.Reader) wire.Understood { return wire.Understand(r, assembler(Wire), kind) }

// wishes are what a request has beyond what every model takes.
type wishes struct {
	encrypted bool // reasoning is to come encrypted, so that it can go back
	summary   bool // and summarized, to be shown
	returned  bool // earlier reasoning goes back
}

var everything = wishes{true, true, true}

// send sends a request, and sends it again without what the server will not have.
//
// Which models reason cannot be told from their names: on Azure they are the
// deployment's, elsewhere anybody's. So the server is asked. A model that does not
// reason refuses `include` ("Encrypted content is not supported with this model."), and
// an organization that is not verified may not have summaries ("Your organization must
// be verified to generate reasoning summaries."). That is remembered: it costs one
// round trip in the life of a provider.
//
// Reasoning that a server will not have back (it was made for another account, or by
// another machine behind a gateway) would end a run for good: every later request has
// it too. Without it the run goes on. This is not remembered, because the next
// reasoning may be welcome.
//
// The sentences are as clients' issues quote them, read 2026-11-20 (openai/codex #8128,
// NousResearch/hermes-agent #24234, OpenHands/software-agent-sdk #987).
func (p *Provider) send(ctx context.Context, r llm.Request) (*http.Response, error) {
	header := http.Header{}
	if key := p.wire.Key(); key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	wish := everything
	if granted, ok := p.wishes.Load(r.Model); ok {
		wish = granted.(wishes)
	}
	asked := wish
	for {
		body, err := requestBody(r, wish)
		if err != nil {
			return nil, err
		}
		res, err := p.wire.Post(ctx, "/v1/responses", header, body)
		if err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusOK {
			if wish.returned = true; wish != asked {
				p.wishes.Store(r.Model, wish)
			}
			return res, nil
		}
		said, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if less := wish.without(res.StatusCode, said); less != wish {
			wish = less
			continue
		}
		e := p.wire.Refusal(res.StatusCode, res.Header, said)
		if e.Wait == 0 {
			e.Wait = waitInWords(e.Message)
		}
		return nil, e
	}
}

// without returns the wishes less the one that a server refused.
func (w wishes) without(status int, body []byte) wishes {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
	default:
		return w
	}
	var refused struct {
		Error struct {
			Param string `json:"param"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &refused) // what is no such body names no parameter
	param, body := refused.Error.Param, bytes.ToLower(body)
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(s string) bool { return bytes.Contains(body, []byte(s)) })
	}
	switch {
	case says("invalid_encrypted_content", "was not issued to this caller", "without its required following item", "items are not persisted"):
		w.returned = false
	case strings.HasPrefix(param, "reasoning"), says("reasoning summar"):
		w.summary = false
	case strings.HasPrefix(param, "include"), says("encrypted content is not supported"):
		w.encrypted = false
	}
	return w
}
