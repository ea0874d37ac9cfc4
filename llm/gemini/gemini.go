// Package gemini speaks Google's generateContent, streaming: the Gemini API itself,
// and the gateways that are compatible with it, such as Vertex AI.
//
// Two things of this wire shape the package:
//
//   - A result names its function and has the provider's id of the call, if there is
//     one. A [run.Result] has neither, so a message is encoded together with what the
//     next one needs, and the body joins the two.
//   - A part may have a signature over the model's thinking. It is sent back unchanged on
//     that part; newer models refuse a conversation in which it is missing from a call.
//
// Wire format: ai.google.dev's generate-content, thought-signatures, function-calling
// and troubleshooting as search excerpts and public code quote them, the source of
// pydantic-ai's Google model, and the recorded streams of the test data; read
// 2026-11-20. It has no SDK: google.golang.org/genai is 8 MB of program, loses
// fields it does not know, and writes to the standard logger (measured 2026-11-20).
package gemini

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

// Wire is the name of this wire format.
const Wire = "gemini"

// DefaultBaseURL is the address of the Gemini API.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// defaultVersion of the API: the one with thinking, signatures and JSON Schema.
const defaultVersion = "/v1beta"

// Options say where and how to reach the API. The zero value is Google's own address,
// without a key, which is never sent in the address. BaseURL is what /models/… is added to.
// Without a version in its path (/v1beta, or /v1/projects/…/publishers/google of Vertex AI),
// /v1beta is added first.
type Options = wire.Options

// A Provider answers requests over the Gemini wire. It is safe for concurrent use.
type Provider struct {
	wire *wire.Client
	asks wire.Negotiation[struct{}]
}

// New returns a provider. It does not use the network; invalid options are reported by
// the first request.
func New(o Options) *Provider {
	o.BaseURL = cmp.Or(strings.TrimRight(strings.TrimSpace(o.BaseURL), "/"), DefaultBaseURL)
	if u, err := url.Parse(o.BaseURL); err == nil && !wire.HasVersion(u.Path) { // else it is invalid in any case
		o.BaseURL += defaultVersion
	}
	p := &Provider{wire: wire.NewAt(DefaultBaseURL, "", o)}
	p.asks.RejectsReasoning, p.asks.Strip = rejectsSignature, unsigned
	return p
}

// Wire names the wire format.
func (p *Provider) Wire() string { return Wire }

// Stream sends r and yields the answer as it arrives; see [llm.Provider].
func (p *Provider) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	return p.wire.Stream(ctx, func(ctx context.Context) (*http.Response, error) { return p.send(ctx, r) }, assemble)
}

// DecodeRecording returns what a recorded stream is decoded as.
func DecodeRecording(r io.Reader) wire.Decoded { return wire.DecodeRecording(r, assemble) }

func (p *Provider) send(ctx context.Context, r llm.Request) (*http.Response, error) {
	if r.Model == "" {
		return nil, &llm.Error{Kind: run.ErrInvalid, Message: "the request names no model"}
	}
	header := http.Header{}
	if key := p.wire.Key(); key != "" {
		header.Set("x-goog-api-key", key)
	}
	return p.asks.Send(ctx, p.wire, r, path(r.Model), header, requestBody)
}

// path returns the path of a model. Without alt=sse the answer would be one JSON list.
func path(model string) string {
	kind := "/models/"
	if name, ok := strings.CutPrefix(model, "tunedModels/"); ok {
		kind, model = "/tunedModels/", name
	}
	return kind + url.PathEscape(strings.TrimPrefix(model, "models/")) + ":streamGenerateContent?alt=sse"
}

// rejectsSignature reports whether a request was refused for the signatures in it: the
// conversation was begun with another model or at another address of this wire, whose
// signatures differ. "Corrupted thought signature.", "Invalid thought signature.",
// "Thought signature is not valid" (google-gemini/gemini-cli issue 13467 and others,
// read 2026-11-20).
func rejectsSignature(e wire.APIError) bool {
	return strings.Contains(strings.ToLower(e.Message), "thought signature")
}

// unsigned returns an encoded answer in which no signature is checked. In a text the
// quotes would be escaped, so it is not changed.
func unsigned(body json.RawMessage) json.RawMessage {
	const field = `"thoughtSignature":`
	var out []byte
	for rest := []byte(body); ; {
		before, after, found := bytes.Cut(rest, []byte(field))
		out = append(out, before...)
		if !found {
			return out
		}
		out = append(out, field...)
		value := bytes.TrimLeft(after, " \t\r\n")
		if end := bytes.IndexByte(value[min(1, len(value)):], '"'); end >= 0 && value[0] == '"' {
			out = append(out, `"`+unchecked+`"`...)
			value = value[end+2:]
		}
		rest = value
	}
}
