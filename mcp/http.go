package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// base returns what reaches servers elsewhere.
func (s *Servers) base() http.RoundTripper {
	if s.opt.HTTP == nil {
		return http.DefaultTransport
	}
	return s.opt.HTTP
}

// staysThere lets an authorization server redirect within its own place.
func staysThere(to *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("it redirects again and again")
	}
	if from := via[0].URL; from.Host != to.URL.Host || from.Scheme != to.URL.Scheme {
		return fmt.Errorf("it redirects to another place, %s://%s: name that in its url if you want it", to.URL.Scheme, to.URL.Host)
	}
	return nil
}

// remoteTransport returns the transport to a server elsewhere; with a handle, within the session that this names.
func (r *Remote) remoteTransport(d Definition, h *handle) sdk.Transport {
	client := &http.Client{Transport: &headers{r.all.base(), d.Headers, d.URL, h}}
	if d.SSE {
		return &sdk.SSEClientTransport{Endpoint: d.URL, HTTPClient: client, MaxEventSize: maxIncoming}
	}
	t := &sdk.StreamableClientTransport{Endpoint: d.URL, HTTPClient: client, MaxEventSize: maxIncoming}
	if a := r.auth(); a != nil {
		t.OAuthHandler = a
	}
	return t
}

// headers adds the headers of a definition to requests and bounds answers. What a server names of another place, in
// a redirect or as its endpoint, is not reached.
type headers struct {
	base http.RoundTripper
	add  map[string]string
	url  string  // of the server; empty: it may be any place
	in   *handle // whose session there is already; nil: one is made
}

func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	if own, err := url.Parse(h.url); h.url != "" && (err != nil || own.Host != req.URL.Host || own.Scheme != req.URL.Scheme) {
		return nil, fmt.Errorf("it leads to another place, %s://%s: name that in its url if you want it", req.URL.Scheme, req.URL.Host)
	}
	if h.in != nil {
		if res := h.in.welcome(req); res != nil {
			return res, nil
		}
	}
	req = req.Clone(req.Context())
	if task, is := req.Context().Value(taskIDKey{}).(string); is && req.Header.Get("Mcp-Method") != "" {
		req.Header.Set("Mcp-Name", task)
	}
	for name, value := range h.add {
		req.Header.Set(name, value)
	}
	res, err := h.base.RoundTrip(req)
	if d, is := req.Context().Value(deliveryKey{}).(*delivery); is && req.Method == http.MethodPost {
		d.note(req, res, err)
	}
	if err != nil {
		return res, err
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if media != "text/event-stream" {
		res.Body = &bounded{res.Body, maxIncoming}
	}
	if h.url != "" && (media == "text/event-stream" || media == "application/json") {
		res.Body = newMended(res.Body, media == "text/event-stream")
	}
	return res, err
}

// A delivery is what became of a request of a client over HTTP.
type delivery struct{ sent, forgotten, refused atomic.Bool }

type deliveryKey struct{}

func (d *delivery) note(req *http.Request, res *http.Response, err error) {
	if unreached, is := errors.AsType[*net.OpError](err); is && unreached.Op == "dial" {
		return
	}
	d.sent.Store(true)
	if err == nil && req.Header.Get("Mcp-Session-Id") != "" {
		d.forgotten.Store(res.StatusCode == http.StatusNotFound)
		d.refused.Store(res.StatusCode == http.StatusBadRequest)
	}
}

// notInitialized is the code with which servers that are made with the protocol's TypeScript library refuse a session that
// they do not know, beside the 404 that the specification has.
const notInitialized = -32000

// lost reports whether a request on l has failed without being taken by the server, as the session with it is over: another
// session may take it. It closes l, once no call is under way.
func (l *link) lost(d *delivery, err error) bool {
	if err == nil || l.process != nil {
		return false
	}
	refused, answered := errors.AsType[*jsonrpc.Error](err)
	answered = answered && refused.Message != notSent
	if d.sent.Load() && !d.forgotten.Load() && (!d.refused.Load() || answered && refused.Code != notInitialized) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.doomed = true; len(l.calls) == 0 {
		go l.close("its session is over")
	}
	return true
}

// with calls do with a connection for a workspace, and once more with another if the session turns out to be over.
func (r *Remote) with(ctx context.Context, workspace string, do func(l *link) error) error {
	for again := false; ; again = true {
		l, err := r.connect(ctx, workspace)
		if err != nil {
			return notCalled{err}
		}
		err = do(l)
		if _, lost := errors.AsType[sessionLost](err); !lost || again {
			return err
		}
	}
}

// ask calls do, which gets what from the server.
func (r *Remote) ask(ctx context.Context, what string, do func(ctx context.Context, l *link) error) error {
	return r.with(ctx, "", func(l *link) error {
		d := &delivery{}
		err := do(context.WithValue(ctx, deliveryKey{}, d), l)
		if err == nil {
			return nil
		}
		lost := l.lost(d, err)
		if err = fmt.Errorf("the server %s does not give %s: %w", r.Name, what, inLine(err)); lost {
			return sessionLost{err}
		}
		return err
	})
}

// bounded is a body of at most left bytes more.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("it sent a message of more than %d MB", maxIncoming>>20)
	}
	return n, err
}
