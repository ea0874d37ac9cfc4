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
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"

	"pawl/llm"
	"pawl/llm/wire"
)

// Wire is the name of this wire format.
const Wire = "responses"

// DefaultBaseURL is the address of OpenAI itself.
const DefaultBaseURL = "https://api.openai.com"

// Options say where and how to reach the API. The zero value is OpenAI's own address,
// without a key. BaseURL is with or without a final /v1.
type Options = wire.Options

// A Provider answers requests over the Responses wire. It is safe for concurrent use.
type Provider struct {
	wire   *wire.Client
	origin string // marks what goes back to this server and to no other
	asks   wire.Negotiation[features]
}

// New returns a provider. It does not use the network; invalid options are reported by
// the first request.
func New(o Options) *Provider {
	p := &Provider{wire: wire.NewAt(DefaultBaseURL, "/v1", o)}
	p.origin = wire.Origin(Wire, p.wire.Base(), DefaultBaseURL)
	p.asks.Full, p.asks.Without = features{true, true}, features.without
	p.asks.RejectsReasoning, p.asks.Strip = rejectsReasoning, withoutReasoning
	return p
}

// Wire names the wire format.
func (p *Provider) Wire() string { return Wire }

// Stream sends r and yields the answer as it arrives; see [llm.Provider].
func (p *Provider) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	return p.wire.Stream(ctx, func(ctx context.Context) (*http.Response, error) {
		header := http.Header{}
		if key := p.wire.Key(); key != "" {
			header.Set("Authorization", "Bearer "+key)
		}
		return p.asks.Send(ctx, p.wire, r, "/v1/responses", header, requestBody)
	}, assembler(p.origin))
}

// DecodeRecording returns what a recorded stream is decoded as.
func DecodeRecording(r io.Reader) wire.Decoded { return wire.DecodeRecording(r, assembler(Wire)) }

// features are what a request has beyond what every model takes.
//
// Which models reason cannot be told from their names: on Azure they are the
// deployment's, elsewhere arbitrary. So the server is asked. A model that does not
// reason refuses `include` ("Encrypted content is not supported with this model."), and
// an organization that is not verified gets no summaries ("Your organization must
// be verified to generate reasoning summaries.").
type features struct {
	encrypted bool // request reasoning in encrypted form, so that it can be sent back
	summary   bool // request a summary of it, for display
}

// without returns the features less the one that an error rejects.
func (f features) without(e wire.APIError) features {
	message := strings.ToLower(e.Message)
	switch {
	case e.Rejects("reasoning"), strings.Contains(message, "reasoning summar"):
		f.summary = false
	case e.Rejects("include"), strings.Contains(message, "encrypted content is not supported"):
		f.encrypted = false
	}
	return f
}

// rejectsReasoning reports whether an error is about reasoning that a server does not
// accept back: it was made for another account, or by another machine of a gateway.
// The sentences are quoted from issues of clients, read 2026-11-20 (openai/codex #8128,
// NousResearch/hermes-agent #24234, OpenHands/software-agent-sdk #987).
func rejectsReasoning(e wire.APIError) bool {
	message := strings.ToLower(e.Message)
	return e.Code == "invalid_encrypted_content" || slices.ContainsFunc([]string{
		"invalid_encrypted_content", "was not issued to this caller", "without its required following item", "items are not persisted",
	}, func(words string) bool { return strings.Contains(message, words) })
}

func withoutReasoning(body json.RawMessage) json.RawMessage {
	return wire.Without(body, reasoningItemType)
}
