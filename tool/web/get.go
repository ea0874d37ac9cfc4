// Package web gets what is at an address of the web: each address is looked at before it is
// dialled, each redirect before it is followed, and what is sent is bounded. It sends nothing
// that says who asks, and its errors are whole sentences for the model that called fetch.
//
// Proxies of the environment are not used: behind one, the address dialled is the
// proxy's, and whatever the proxy can reach could be fetched without being seen by
// AllowAddress. Where there is no other way out [Get] fails and says so.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"pawl/internal/text"
)

const (
	dialTime     = 5 * time.Second // for one address of a host
	maxHeader    = 64 << 10        // bytes
	maxRedirects = 10
)

// Options are what [Get] may connect to. The zero value is safe.
type Options struct {
	// AllowAddress is asked about every address that is about to be dialled, after
	// the host's name was looked up and at each redirect: what a name means may
	// change from one look to the next, so nothing earlier counts. granted is
	// Granted, for the host and port of the first URL only. An error refuses the
	// address and is told to the model. Nil: [PublicAddress].
	AllowAddress func(host string, addr netip.AddrPort, granted bool) error
	// Granted says that somebody allowed the URL's host to be at an address that is not public.
	Granted bool
	// AllowRedirect says whether a redirect is followed; the error's text is why
	// not. Nil: [SameSite]. It is not asked about URLs that could not be fetched in
	// the first place.
	AllowRedirect func(from, to *url.URL) error
	// CheckRedirect is asked too about every redirect that would be followed. Nil: nobody is.
	CheckRedirect func(to *url.URL) error
	// Lookup returns the addresses of a host. Nil: as this system does.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Get gets what is at u, which [Parse] returned. A redirect that is not followed is an error.
func Get(ctx context.Context, u *url.URL, o Options) (Page, error) {
	if o.AllowAddress == nil {
		o.AllowAddress = PublicAddress
	}
	if o.AllowRedirect == nil {
		o.AllowRedirect = SameSite
	}
	if o.Lookup == nil {
		o.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	g := &getting{o: o, url: u}
	transport := &http.Transport{
		DialContext:            g.dial,
		DisableKeepAlives:      true, // every request dials, and is asked about
		DisableCompression:     true, // unpacking is bounded here
		MaxResponseHeaderBytes: maxHeader,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: g.redirect}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Page{}, err
	}
	request.Header.Set("User-Agent", "Mozilla/5.0 (compatible; pawl)")
	request.Header.Set("Accept", "text/markdown, text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.8")
	request.Header.Set("Accept-Encoding", "gzip, deflate")
	response, err := client.Do(request)
	if err != nil {
		return Page{}, g.trouble(err)
	}
	defer response.Body.Close()
	if g.notFollowed != nil {
		return Page{}, g.redirected(response)
	}
	p, err := read(response)
	if err != nil {
		return Page{}, text.Tell("%s: %v.", response.Request.URL, err)
	}
	return p, nil
}

// A getting is one call of [Get].
type getting struct {
	o           Options
	url         *url.URL
	notFollowed error // why the last response, a redirect, was the last
}

// dial connects to a host, asking about each address before anything is sent to
// it. The answer holds for the very socket: nothing looks the name up again.
func (g *getting) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	granted := g.o.Granted && host == g.url.Hostname() && p == port(g.url)
	var addrs []netip.Addr
	if literal, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, literal)
	} else if addrs, err = g.o.Lookup(ctx, host); err != nil {
		return nil, err
	}
	dialer := net.Dialer{
		Timeout: dialTime,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			addr, err := netip.ParseAddrPort(address)
			if err == nil {
				err = g.o.AllowAddress(host, addr, granted)
			}
			if err != nil {
				return &refusedError{err}
			}
			return nil
		},
	}
	err = fmt.Errorf("%s has no address", host)
	for _, addr := range addrs {
		var c net.Conn
		c, err = dialer.DialContext(ctx, network, net.JoinHostPort(addr.String(), p))
		// A name with one address that is refused is not trusted with its others.
		if _, refused := errors.AsType[*refusedError](err); err == nil || refused || ctx.Err() != nil {
			return c, err
		}
	}
	return nil, err
}

// A refusedError says that an address may not be connected to.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// redirect decides about the next request.
func (g *getting) redirect(next *http.Request, via []*http.Request) error {
	next.Header.Del("Referer") // net/http tells where the link was found
	if len(via) >= maxRedirects {
		return text.Tell("it was redirected %d times.", len(via))
	}
	to, err := Parse(next.URL.String())
	if err != nil {
		return fmt.Errorf("it redirects to what is not fetched: %w", err)
	}
	next.URL, next.Host = to, ""
	if g.notFollowed = g.o.AllowRedirect(via[len(via)-1].URL, to); g.notFollowed == nil && g.o.CheckRedirect != nil {
		g.notFollowed = g.o.CheckRedirect(to)
	}
	if g.notFollowed != nil {
		return http.ErrUseLastResponse
	}
	return nil
}

// redirected says where a redirect leads that was not followed.
func (g *getting) redirected(response *http.Response) error {
	to, err := response.Location()
	if err != nil {
		return text.Tell("%s redirects, but not to a URL.", response.Request.URL)
	}
	to, err = Parse(to.String())
	if err != nil {
		return err
	}
	return text.Tell("%s redirects to %s and was not followed: %v. To go there, call fetch with that URL.", response.Request.URL, to, g.notFollowed)
}

// trouble says why there is no response.
func (g *getting) trouble(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*refusedError](err); ok {
		return text.Tell("%s was not fetched: %v", g.url, e)
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return text.Tell("%s was not fetched: there is no host %s.", g.url, e.Name)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return text.Tell("%s was not fetched: the server ended the connection without an answer.", g.url)
	}
	return text.Tell("%s was not fetched: %s", g.url, text.OneLine(err.Error(), 500))
}
