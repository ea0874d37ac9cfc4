// Package wire has what the wire formats over HTTP and server-sent events share: it sends
// a request, watches its progress, assembles the answer from events, and returns every
// failure as an [llm.Error].
//
// It knows no format: the events and the form of a request belong to each format.
package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"pawl/llm"
	"pawl/run"
)

// DefaultIdleTimeout is how long an answer may make no progress. Keep-alives are not
// progress, and some reasoning models send nothing else for minutes.
const DefaultIdleTimeout = 5 * time.Minute

// Options say where and how to reach a provider.
type Options struct {
	// BaseURL is the address that paths are added to; with or without a slash at
	// its end. What else may be left out or added, and the address if it is empty, is each
	// format's.
	BaseURL string
	Example string // a valid address, for the error about an invalid one; set by each format
	Key     string // sent by each format in its way; never part of an error or a log
	// HTTPClient is used as it is, except that redirects are never followed: they would
	// carry the key to another host. nil: one shared by all providers.
	HTTPClient  *http.Client
	IdleTimeout time.Duration // 0: DefaultIdleTimeout
}

// A Client reaches one provider. It is safe for concurrent use.
type Client struct {
	base    string
	address string // of the provider, as told to people: no path, no credentials
	key     string
	http    *http.Client
	idle    time.Duration
	example string
	wrong   error // in the options; returned by the first request

	streamed atomic.Bool // it has sent a part of an answer
}

// New returns a client. It does not use the network; invalid options are reported by the
// first request.
func New(o Options) *Client {
	c := &Client{key: strings.TrimSpace(o.Key), idle: o.IdleTimeout, example: o.Example}
	if c.idle <= 0 {
		c.idle = DefaultIdleTimeout
	}
	c.base = strings.TrimRight(strings.TrimSpace(o.BaseURL), "/")
	u, err := url.Parse(c.base)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		c.wrong = &llm.Error{Kind: run.ErrInvalid, Message: "the provider's base URL is not an address like " + o.Example}
		return c
	case strings.ContainsFunc(c.key, unicode.IsControl):
		c.wrong = &llm.Error{Kind: run.ErrAuth, Message: "the key contains a line break or another control character"}
		return c
	}
	c.address = u.Scheme + "://" + u.Host
	client := o.HTTPClient
	if client == nil {
		client = sharedClient()
	}
	c.http = noRedirects(client)
	return c
}

// NewAt is New for a format whose usual address is usual, and in which end may be left out
// at the end of an address.
func NewAt(usual, end string, o Options) *Client {
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(cmp.Or(strings.TrimSpace(o.BaseURL), usual), "/"), end)
	o.Example = usual
	return New(o)
}

// HasVersion reports whether a path has a version in it: v1, v1beta.
func HasVersion(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if len(segment) > 1 && segment[0] == 'v' && '0' <= segment[1] && segment[1] <= '9' {
			return true
		}
	}
	return false
}

// Base returns the address that paths are added to, without a slash at its end.
func (c *Client) Base() string { return c.base }

// Key returns the key without white space around it.
func (c *Client) Key() string { return c.key }

// Post sends a JSON body to a path below the base address.
func (c *Client) Post(ctx context.Context, path string, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	return c.do(req)
}

// Get requests a path below the base address and returns the body of the response, or an
// *llm.Error. It takes at most limit.
func (c *Client) Get(parent context.Context, limit time.Duration, path string, header http.Header) ([]byte, error) {
	if c.wrong != nil {
		return nil, c.wrong
	}
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	late := func(err error) error {
		if parent.Err() == nil && ctx.Err() != nil {
			return &llm.Error{Kind: run.ErrTimeout, Message: fmt.Sprintf("%s did not answer within %s", c.address, limit)}
		}
		return c.explain(parent, ctx, err, &llm.Error{})
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, c.explain(parent, ctx, err, &llm.Error{})
	}
	for name, values := range header {
		req.Header[name] = values
	}
	res, err := c.do(req)
	if err != nil {
		return nil, late(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxGot))
	if err != nil {
		return nil, late(err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, c.Error(res, body)
	}
	return body, nil
}

// maxGot bounds the body that Get reads: far more than a list of models needs.
const maxGot = 16 << 20

// Stream sends a request and yields its answer as it arrives, as
// [llm.Provider.Stream] requires. send sends it; assemble returns the Assembler of the
// answer, which passes deltas to say and stops when that fails.
func (c *Client) Stream(parent context.Context, send func(context.Context) (*http.Response, error), assemble func(say func(llm.Delta) error) Assembler) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		broken := false
		emit := func(d llm.Delta) bool {
			broken = !yield(d, nil)
			return !broken
		}
		answer, err := c.stream(parent, send, assemble, emit)
		switch {
		case broken: // the caller stopped the iteration
		case err != nil:
			yield(llm.Delta{}, err)
		default:
			yield(llm.Delta{Answer: answer}, nil)
		}
	}
}

// stream returns the whole answer or an *llm.Error. When it returns, the connection
// is closed or free for the next request.
func (c *Client) stream(parent context.Context, send func(context.Context) (*http.Response, error), assemble func(func(llm.Delta) error) Assembler, emit func(llm.Delta) bool) (*llm.Answer, error) {
	if c.wrong != nil {
		return nil, c.wrong
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	watch := newWatchdog(c.idle, cancel)
	defer watch.stop()

	res, err := send(ctx)
	watch.progress()
	if err != nil {
		return nil, c.explain(parent, ctx, err, &llm.Error{})
	}
	res.Body = watch.over(res.Body)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		if err != nil && (parent.Err() != nil || ctx.Err() != nil) {
			return nil, c.explain(parent, ctx, err, &llm.Error{})
		}
		return nil, c.Error(res, body)
	}
	answer, err := Decode(res.Body, func(d llm.Delta) bool {
		c.streamed.Store(true)
		if d.Usage == nil {
			watch.progress()
		}
		return d == llm.Delta{} || emit(d)
	}, assemble)
	if err != nil {
		var e *llm.Error
		if !errors.As(err, &e) {
			return nil, err // the caller stopped the iteration
		}
		if parent.Err() != nil || ctx.Err() != nil {
			return nil, c.explain(parent, ctx, err, e)
		}
		if errors.Is(err, errNoStream) && c.streamed.Load() {
			e.Kind = run.ErrOverloaded // of what is in between: the server itself streams
		}
		e.Message = c.clean(e.Message)
		return nil, e
	}
	return answer, nil
}

// explain turns a failure to get an answer into an *llm.Error; before has what had
// arrived of the answer.
func (c *Client) explain(parent, ctx context.Context, err error, before *llm.Error) *llm.Error {
	e := &llm.Error{Delivered: before.Delivered, Usage: before.Usage}
	var known *llm.Error
	switch {
	case parent.Err() != nil:
		e.Kind, e.Err = run.ErrAborted, context.Cause(parent)
	case context.Cause(ctx) == errSilent:
		e.Kind, e.Message = run.ErrTimeout, fmt.Sprintf("%s sent nothing for %s", c.address, c.idle)
	case context.Cause(ctx) == errNoProgress:
		e.Kind, e.Message = run.ErrTimeout, fmt.Sprintf("%s sent no part of an answer for %s, only keep-alives", c.address, c.idle)
	case errors.As(err, &known):
		return known
	default:
		e.Err = withoutURL(err)
		kind, cause := networkError(e.Err)
		e.Kind, e.Message = kind, c.clean(fmt.Sprintf("cannot reach %s: %s", c.address, cause))
	}
	return e
}

// minKey is the length from which a key is removed from messages. A shorter one is a
// placeholder: servers on this machine are given an "x", which occurs in many words.
const minKey = 8

// longKey is the length from which it is removed within words too: a server may quote a
// header as text of JSON, where a letter of an escape stands before the key.
const longKey = 20

// clean bounds a message and removes the key from it, as it is or as URLs and JSON escape it.
func (c *Client) clean(s string) string {
	if len(c.key) >= minKey {
		for _, form := range []string{c.key, url.QueryEscape(c.key), url.PathEscape(c.key), strings.ReplaceAll(c.key, "/", `\/`)} {
			if len(c.key) >= longKey {
				s = strings.ReplaceAll(s, form, "[key]")
			} else {
				s = replaceWord(s, form, "[key]")
			}
		}
	}
	return bound(s, maxMessage)
}

// sharedClient is one for all providers, so that they share connections. HTTP/2
// connections are pinged: otherwise a connection that a firewall dropped would block a
// request, and each retry of it, for the whole idle timeout.
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

// maxErrorBody is how much of an error's body is read; providers' own are a few
// kilobytes, a proxy's page can be longer.
const maxErrorBody = 256 << 10

// do sends a request and bounds the body of an error.
func (c *Client) do(req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxErrorBody), res.Body}
	}
	return res, err
}
