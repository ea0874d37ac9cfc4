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
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"pawl/llm"
	"pawl/run"
)

// Wire is the name of this wire format.
const Wire = "anthropic"

// DefaultBaseURL is the address of Anthropic itself.
const DefaultBaseURL = "https://api.anthropic.com"

// DefaultIdleTimeout is how long a stream may be without a byte. The API sends
// a ping every few seconds while a model thinks.
const DefaultIdleTimeout = 90 * time.Second

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
	IdleTimeout time.Duration // 0: DefaultIdleTimeout
	Version     string        // the anthropic-version header; empty: 2023-06-01
}

// A Provider answers requests over the Anthropic wire. It is safe for concurrent use.
type Provider struct {
	client  sdk.Client
	address string // of the API, as told to people: no path, no credentials
	key     string // to keep it out of messages
	idle    time.Duration
	wrong   error // with the options; told on the first request
}

// New returns a provider. It does not touch the network; options that cannot
// work are told by the first request.
func New(o Options) *Provider {
	p := &Provider{key: strings.TrimSpace(o.Key), idle: o.IdleTimeout}
	if p.idle <= 0 {
		p.idle = DefaultIdleTimeout
	}
	base := strings.TrimSpace(o.BaseURL)
	if base == "" {
		base = DefaultBaseURL
	}
	base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1")
	u, err := url.Parse(base)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		p.wrong = &llm.Error{Kind: run.ErrInvalid, Message: "the provider's base URL is not an address like " + DefaultBaseURL}
		return p
	case strings.ContainsFunc(p.key, unicode.IsControl):
		p.wrong = &llm.Error{Kind: run.ErrAuth, Message: "the key contains a line break or another control character; store it again"}
		return p
	}
	p.address = u.Scheme + "://" + u.Host

	client := o.HTTPClient
	if client == nil {
		client = sharedClient()
	}
	version := o.Version
	if version == "" {
		version = defaultVersion
	}
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(base + "/"),
		option.WithMaxRetries(0),
		option.WithHTTPClient(doer{noRedirects(client)}),
		option.WithHeader("anthropic-version", version),
		option.WithHeader("Accept", "text/event-stream"),
	}
	if p.key != "" {
		opts = append(opts, option.WithAPIKey(p.key))
	}
	p.client = sdk.NewClient(opts...)
	return p
}

// Wire names the wire format.
func (p *Provider) Wire() string { return Wire }

// errIdle is the cause of a request cancelled because nothing came.
var errIdle = errors.New("idle")

// Stream sends r and yields the answer as it arrives; see [llm.Provider].
func (p *Provider) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		broken := false
		emit := func(d llm.Delta) bool {
			broken = !yield(d, nil)
			return !broken
		}
		answer, err := p.stream(ctx, r, emit)
		switch {
		case broken: // the caller has gone; it gets nothing more
		case err != nil:
			yield(llm.Delta{}, err)
		default:
			yield(llm.Delta{Answer: answer}, nil)
		}
	}
}

// stream sends r and returns the whole answer or an *llm.Error. When it returns,
// the connection is closed or free for the next request.
func (p *Provider) stream(parent context.Context, r llm.Request, emit func(llm.Delta) bool) (*llm.Answer, error) {
	if p.wrong != nil {
		return nil, p.wrong
	}
	body, err := requestBody(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	idle := time.AfterFunc(p.idle, func() { cancel(errIdle) })
	defer idle.Stop()

	var res *http.Response
	err = p.client.Post(ctx, "v1/messages", nil, &res, option.WithRequestBody("application/json", body))
	if err != nil {
		return nil, p.explain(parent, ctx, err, false)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, p.statusError(res.StatusCode, res.Header, "")
	}
	answer, err := decode(&idleReader{r: res.Body, timer: idle, idle: p.idle}, emit)
	if err != nil {
		var e *llm.Error
		if !errors.As(err, &e) {
			return nil, err // the caller broke off
		}
		if parent.Err() != nil || ctx.Err() != nil {
			return nil, p.explain(parent, ctx, err, e.Delivered)
		}
		e.Message = p.clean(e.Message)
		return nil, e
	}
	return answer, nil
}

// explain turns a failure to get an answer into an *llm.Error.
func (p *Provider) explain(parent, ctx context.Context, err error, delivered bool) *llm.Error {
	var status *sdk.Error
	switch {
	case parent.Err() != nil:
		return &llm.Error{Kind: run.ErrAborted, Delivered: delivered, Err: context.Cause(parent)}
	case context.Cause(ctx) == errIdle:
		return &llm.Error{Kind: run.ErrTimeout, Delivered: delivered,
			Message: fmt.Sprintf("%s sent nothing for %s", p.address, p.idle)}
	case errors.As(err, &status):
		var header http.Header
		if status.Response != nil {
			header = status.Response.Header
		}
		return p.statusError(status.StatusCode, header, status.RawJSON())
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the method and the address, which may carry credentials
	}
	return &llm.Error{Kind: run.ErrOverloaded, Delivered: delivered, Err: err,
		Message: p.clean(fmt.Sprintf("cannot reach %s: %v", p.address, err))}
}

// clean bounds a message and takes the key out of it.
func (p *Provider) clean(s string) string {
	if p.key != "" {
		s = strings.ReplaceAll(s, p.key, "[key]")
	}
	return bound(s, maxMessage)
}

// sharedClient is one for all providers, so that they share connections. HTTP/2
// connections are pinged: otherwise one that a firewall forgot would swallow a
// request, and each retry of it, for the whole idle time.
var sharedClient = sync.OnceValue(func() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}
	return &http.Client{Transport: t}
})

func noRedirects(c *http.Client) *http.Client {
	own := *c
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// maxErrorBody is how much of an error's body is read; Anthropic's own are
// below a kilobyte, a proxy's page can be longer.
const maxErrorBody = 256 << 10

// An idleReader restarts a timer for each read. The time its caller spends
// between reads does not count: a slow viewer is not a silent provider.
type idleReader struct {
	r     io.Reader
	timer *time.Timer
	idle  time.Duration
}

func (r *idleReader) Read(p []byte) (int, error) {
	r.timer.Reset(r.idle)
	n, err := r.r.Read(p)
	r.timer.Stop()
	return n, err
}

// A doer sends requests for the SDK, which reads the body of an error whole:
// one without an end would fill the memory.
type doer struct{ client *http.Client }

func (d doer) Do(req *http.Request) (*http.Response, error) {
	res, err := d.client.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxErrorBody), res.Body}
	}
	return res, err
}
