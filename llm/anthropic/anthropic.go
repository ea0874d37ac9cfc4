// Package anthropic speaks the Anthropic Messages API, streaming.
//
// The transport is the official SDK's (headers, addresses, its error type), with
// its retries and its reading of the environment off: a worker decides about
// retries, and the configuration about keys. Requests and streams are ours:
//
//   - The SDK encodes the whole conversation anew for each request (46 ms and
//     22 MB of garbage at 5,000 turns); here a message is encoded once and a body
//     is spliced from the bytes.
//   - The SDK's stream decoder passes over events without an "event:" line, loses
//     the last event when no blank line follows it, takes an HTML page for an
//     empty answer, and knows no idle time.
//
// Wire format: platform.claude.com/docs/en/api/messages and …/build-with-claude/streaming
// as the SDK v1.84.0 has it, and the recorded streams of the test data; read 2026-11-20.
//
// Cost of the SDK, measured 2026-11-20 on 2 cores: 0.3 ms of package
// initialization, 2.3 MB of memory, 8 MB of program.
package anthropic

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

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

// defaultVersion of the API; it has been the newest since 2023.
const defaultVersion = "2023-06-01"

// Options say where and how to reach the API. The zero value is Anthropic's own
// address, without a key.
type Options struct {
	BaseURL string // with or without a final /v1; empty: DefaultBaseURL
	Key     string // sent as x-api-key; never part of an error or a log
	// HTTPClient is used as it is but for redirects, which are never followed:
	// they would carry the key to another host. Nil: one shared by all providers.
	HTTPClient  *http.Client
	IdleTimeout time.Duration // 0: wire.DefaultIdleTimeout; the API pings every few seconds while a model thinks
	Version     string        // the anthropic-version header; empty: 2023-06-01
}

// A Provider answers requests over the Anthropic wire. It is safe for concurrent use.
type Provider struct {
	sdk  sdk.Client
	wire *wire.Client
}

// New returns a provider. It does not touch the network; options that cannot
// work are told by the first request.
func New(o Options) *Provider {
	base := strings.TrimSpace(o.BaseURL)
	if base == "" {
		base = DefaultBaseURL
	}
	p := &Provider{wire: wire.New(wire.Options{
		BaseURL: strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1"), Example: DefaultBaseURL,
		Key: o.Key, HTTPClient: o.HTTPClient, IdleTimeout: o.IdleTimeout, Kind: kind, Resets: resets,
	})}
	version := o.Version
	if version == "" {
		version = defaultVersion
	}
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(p.wire.Base() + "/"),
		option.WithMaxRetries(0),
		option.WithHTTPClient(p.wire.HTTP()),
		option.WithHeader("anthropic-version", version),
		option.WithHeader("Accept", "text/event-stream"),
	}
	if key := p.wire.Key(); key != "" {
		opts = append(opts, option.WithAPIKey(key))
	}
	p.sdk = sdk.NewClient(opts...)
	return p
}

// Wire names the wire format.
func (p *Provider) Wire() string { return Wire }

// Stream sends r and yields the answer as it arrives; see [llm.Provider].
func (p *Provider) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	return p.wire.Stream(ctx, func(ctx context.Context) (*http.Response, error) {
		body, err := requestBody(r)
		if err != nil {
			return nil, err
		}
		var res *http.Response
		err = p.sdk.Post(ctx, "v1/messages", nil, &res, option.WithRequestBody("application/json", body))
		var status *sdk.Error
		if errors.As(err, &status) {
			var header http.Header
			if status.Response != nil {
				header = status.Response.Header
			}
			return nil, p.wire.Refusal(status.StatusCode, header, []byte(status.RawJSON()))
		}
		return res, err
	}, assemble)
}

// Understand tells what a recorded stream is understood as.
func Understand(r io.Reader) wire.Understood { return wire.Understand(r, assemble, kind) }
