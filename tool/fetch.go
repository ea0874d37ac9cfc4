package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"pawl/run"
)

//go:embed fetch.md
var fetchText string

const fetchSchema = `{"type":"object","properties":{` +
	`"url":{"type":"string","description":"http or https"},` +
	`"format":{"type":"string","enum":["markdown","text","raw"],"description":"Of HTML: markdown if absent, text without links, raw source"},` +
	`"offset":{"type":"integer","description":"First character, from 1"},` +
	`"limit":{"type":"integer","description":"Number of characters, at most 30000"}},` +
	`"required":["url"],"additionalProperties":false}`

const (
	fetchTime     = 20 * time.Second // for all of it, redirects too
	dialTime      = 5 * time.Second  // for one address of a host
	maxHeader     = 64 << 10         // bytes
	maxBody       = 10_000_000       // bytes, packed and unpacked: 10 MB, as it is said
	maxRedirects  = 10
	maxFetched    = 30_000 // characters in one result
	maxFetchError = 2_000  // characters of the page that comes with an HTTP error
)

// FetchOptions are what [Fetch] may connect to. The zero value is safe.
type FetchOptions struct {
	// AllowAddress is asked about every address that is about to be dialled, after
	// the host's name was looked up and at each redirect: what a name means may
	// change from one look to the next, so nothing earlier counts. granted is what
	// Granted said, for the host and port of the call's own URL only. An error
	// refuses the address and is told to the model. Nil: [PublicAddress].
	AllowAddress func(host string, addr netip.AddrPort, granted bool) error
	// Granted reports whether somebody allowed this call to reach its URL's host at
	// an address that is not public. Nil: nobody ever does.
	Granted func(c Call) bool
	// AllowRedirect says whether a redirect is followed; the error's text is why
	// not. Nil: within a site, and never from https to http. It is not asked about
	// URLs that could not be fetched in the first place.
	AllowRedirect func(from, to *url.URL) error
	// CheckRedirect is asked too about every redirect of a call that would be
	// followed: rules hold for each of its hosts. Nil: none does.
	CheckRedirect func(c Call, to *url.URL) error
	// Lookup returns the addresses of a host. Nil: as this system does.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Timeout is for a whole call; 0: 20 s.
	Timeout time.Duration
}

// Fetch returns the tool that gets a page from the web.
//
// Proxies of the environment are not used: behind one, the address dialled is the
// proxy's, and whatever the proxy can reach could be fetched without being seen by
// AllowAddress. Where there is no other way out fetch fails and says so.
func Fetch(o FetchOptions) Tool {
	if o.AllowAddress == nil {
		o.AllowAddress = PublicAddress
	}
	if o.Granted == nil {
		o.Granted = func(Call) bool { return false }
	}
	if o.AllowRedirect == nil {
		o.AllowRedirect = sameSite
	}
	if o.CheckRedirect == nil {
		o.CheckRedirect = func(Call, *url.URL) error { return nil }
	}
	if o.Lookup == nil {
		o.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if o.Timeout == 0 {
		o.Timeout = fetchTime
	}
	return &builtin{specOf("fetch", fetchText, fetchSchema), func() arguments { return &fetching{o: o} }}
}

type fetchArgs struct {
	URL    string `json:"url"`
	Format string `json:"format"`
	Offset number `json:"offset"`
	Limit  number `json:"limit"`
}

func (f *fetching) check(Env) (err error) {
	if f.offset, err = f.Offset.bounded("offset", 1, 1, unbounded); err != nil {
		return err
	}
	if f.limit, err = f.Limit.bounded("limit", maxFetched, 1, unbounded); err != nil {
		return err
	}
	f.limit = min(f.limit, maxFetched)
	f.url, err = parseWebAddress(f.URL)
	return err
}

func (f *fetching) inspect(Env) (Intent, error) {
	// It waits for the network: where only some calls of a message may run at once, it
	// starts before those that keep this machine busy.
	return Intent{Class: run.Reads, Priority: 1, URL: f.url.String(), Title: clip("fetch "+f.url.String(), 120)}, nil
}

func (f *fetching) run(ctx context.Context, _ Env, c Call) (Result, error) {
	f.call = c
	limited, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	f.granted = f.o.Granted(f.call)
	result, err := f.fetch(limited)
	switch {
	case ctx.Err() != nil:
		return ErrorResult("stopped while it fetched " + f.url.String()), nil
	case err == nil:
		return result, nil
	case limited.Err() != nil:
		return ErrorResult(fmt.Sprintf("%s could not be fetched within %v.", f.url, f.o.Timeout)), nil
	}
	return failed(err), nil
}

// A fetching is one call.
type fetching struct {
	fetchArgs
	o             FetchOptions
	call          Call
	url           *url.URL
	offset, limit int // characters
	granted       bool

	notFollowed error // why the last response, a redirect, was the last
}

func (f *fetching) fetch(ctx context.Context) (Result, error) {
	transport := &http.Transport{
		DialContext:            f.dial,
		DisableKeepAlives:      true, // every request dials, and is asked about
		DisableCompression:     true, // unpacking is bounded here
		MaxResponseHeaderBytes: maxHeader,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: f.redirect}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url.String(), nil)
	if err != nil {
		return Result{}, err
	}
	request.Header.Set("User-Agent", "Mozilla/5.0 (compatible; pawl)")
	request.Header.Set("Accept", "text/markdown, text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.8")
	request.Header.Set("Accept-Encoding", "gzip, deflate")
	response, err := client.Do(request)
	if err != nil {
		return Result{}, f.trouble(err)
	}
	defer response.Body.Close()
	if f.notFollowed != nil {
		return f.redirected(response), nil
	}
	body, err := readBody(response)
	if err != nil {
		return Result{}, tell("%s: %v.", response.Request.URL, err)
	}
	return f.show(ctx, response, body), nil
}

// dial connects to a host, asking about each address before anything is sent to
// it. The answer holds for the very socket: nothing looks the name up again.
func (f *fetching) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	granted := f.granted && host == f.url.Hostname() && p == port(f.url)
	var addrs []netip.Addr
	if literal, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, literal)
	} else if addrs, err = f.o.Lookup(ctx, host); err != nil {
		return nil, err
	}
	dialer := net.Dialer{
		Timeout: dialTime,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			addr, err := netip.ParseAddrPort(address)
			if err == nil {
				err = f.o.AllowAddress(host, addr, granted)
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
func (f *fetching) redirect(next *http.Request, via []*http.Request) error {
	next.Header.Del("Referer") // net/http tells where the link was found
	if len(via) >= maxRedirects {
		return tell("it was redirected %d times.", len(via))
	}
	to, err := parseWebAddress(next.URL.String())
	if err != nil {
		return fmt.Errorf("it redirects to what is not fetched: %w", err)
	}
	next.URL, next.Host = to, ""
	if f.notFollowed = f.o.AllowRedirect(via[len(via)-1].URL, to); f.notFollowed == nil {
		f.notFollowed = f.o.CheckRedirect(f.call, to)
	}
	if f.notFollowed != nil {
		return http.ErrUseLastResponse
	}
	return nil
}

// redirected says where a redirect leads that was not followed.
func (f *fetching) redirected(response *http.Response) Result {
	to, err := response.Location()
	if err != nil {
		return ErrorResult(fmt.Sprintf("%s redirects, but not to a URL.", response.Request.URL))
	}
	to, err = parseWebAddress(to.String())
	if err != nil {
		return failed(err)
	}
	return ErrorResult(fmt.Sprintf("%s redirects to %s and was not followed: %v. To go there, call fetch with that URL.", response.Request.URL, to, f.notFollowed))
}

// trouble says why there is no response.
func (f *fetching) trouble(err error) error {
	where := f.url.String()
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*refusedError](err); ok {
		return tell("%s was not fetched: %v", where, e)
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return tell("%s was not fetched: there is no host %s.", where, e.Name)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return tell("%s was not fetched: the server ended the connection without an answer.", where)
	}
	return tell("%s was not fetched: %s", where, clip(err.Error(), 500))
}
