package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

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

// remoteTransport returns the transport to a server elsewhere.
func (r *Remote) remoteTransport(d Definition) sdk.Transport {
	client := &http.Client{Transport: &headers{r.all.base(), d.Headers, d.URL}}
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
	url  string // of the server; empty: it may be any place
}

func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	if own, err := url.Parse(h.url); h.url != "" && (err != nil || own.Host != req.URL.Host || own.Scheme != req.URL.Scheme) {
		return nil, fmt.Errorf("it leads to another place, %s://%s: name that in its url if you want it", req.URL.Scheme, req.URL.Host)
	}
	req = req.Clone(req.Context())
	for name, value := range h.add {
		req.Header.Set(name, value)
	}
	res, err := h.base.RoundTrip(req)
	if err == nil && res.Header.Get("Content-Type") != "text/event-stream" {
		res.Body = &bounded{res.Body, maxIncoming}
	}
	return res, err
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
