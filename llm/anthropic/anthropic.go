// Package anthropic speaks the Anthropic Messages API, streaming.
//
// It does not use the official SDK: pawl needs three headers of it, and it is a
// fifth of the program. The SDK also encodes the whole conversation again for each
// request, and its stream decoder skips events without an "event:" line, loses a
// last event that no blank line follows, treats an HTML page as an empty answer, and
// has no idle timeout.
//
// Wire format: platform.claude.com/docs/en/api/messages and …/build-with-claude/streaming
// as anthropic-sdk-go v1.84.0 has it, and the recorded streams of the test data; read
// 2026-11-20.
package anthropic

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"

	"pawl/llm"
	"pawl/llm/wire"
)

// Wire is the name of this wire format.
const Wire = "anthropic"

// DefaultBaseURL is the address of Anthropic itself.
const DefaultBaseURL = "https://api.anthropic.com"

// DefaultMaxTokens bounds an answer when the request does not: what every model
// since Claude Opus 4, whose limit it is, accepts. Figures: the models overview on
// platform.claude.com, as quoted by several client libraries; read 2026-11-20.
const DefaultMaxTokens = 32_000

// version of the API; it has been the newest since 2023.
const version = "2023-06-01"

// Options say where and how to reach the API. The zero value is Anthropic's own address,
// without a key. BaseURL is with or without a final /v1.
type Options = wire.Options

// A Provider answers requests over the Anthropic wire. It is safe for concurrent use.
type Provider struct {
	wire   *wire.Client
	header http.Header
	origin string // marks the thinking that is sent back to this server only
	asks   wire.Negotiation[struct{}]
}

// New returns a provider. It does not use the network; invalid options are reported by
// the first request.
func New(o Options) *Provider {
	p := &Provider{wire: wire.NewAt(DefaultBaseURL, "/v1", o)}
	p.origin = wire.Origin(Wire, p.wire.Base(), DefaultBaseURL)
	p.asks.RejectsReasoning, p.asks.Strip = rejectsThinking, withoutThinking
	p.header = http.Header{"Anthropic-Version": {version}}
	if key := p.wire.Key(); key != "" {
		p.header["X-Api-Key"] = []string{key}
	}
	return p
}

// Wire names the wire format.
func (p *Provider) Wire() string { return Wire }

// Stream sends r and yields the answer as it arrives; see [llm.Provider].
func (p *Provider) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	return p.wire.Stream(ctx, func(ctx context.Context) (*http.Response, error) {
		return p.asks.Send(ctx, p.wire, r, "/v1/messages", p.header, requestBody)
	}, assembler(p.origin))
}

// rejectsThinking reports whether a request was refused for thinking that another
// server, or another account, has signed: "messages.1.content.0: Invalid `signature` in
// `thinking` block" (as clients' issues quote it, read 2026-11-20).
func rejectsThinking(e wire.APIError) bool {
	return strings.Contains(e.Message, "signature") && strings.Contains(e.Message, "thinking")
}

func withoutThinking(body json.RawMessage) json.RawMessage {
	return wire.Without(body, "thinking", "redacted_thinking")
}

// DecodeRecording returns what a recorded stream is decoded as.
func DecodeRecording(r io.Reader) wire.Decoded { return wire.DecodeRecording(r, assembler(Wire)) }
