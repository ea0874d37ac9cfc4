// Package proxy is the only way out for a command that has a network by host alone.
//
// The command is in a network of its own, of which a [Proxy] has one listening socket; all else is closed, names
// cannot be looked up in it, and nothing of the proxy runs there. Clients ask it over HTTP: CONNECT for what is
// encrypted, which is not opened, and requests with a whole address for the rest. It looks up names itself, and checks the
// host that is asked for, each address that it leads to, and the name in the greeting of TLS. A [Secret] is put into requests
// that the command makes without TLS; the proxy then makes them with it.
package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"pawl/internal/visible"
	"pawl/permission/network"
)

// Bounds of what a command can make the proxy hold.
const (
	maxConnections = 1024
	maxHeader      = 64 << 10
	maxKnown       = 100 // hosts that are remembered
	headerTime     = 30 * time.Second
	idleTime       = 2 * time.Minute // of a connection between requests
	lookupTime     = 10 * time.Second
	dialTime       = 10 * time.Second // to each address
)

// A Lookup returns the addresses of a host.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// A Proxy serves one command.
type Proxy struct {
	Options
	server    *http.Server
	transport *http.Transport
	forward   *httputil.ReverseProxy
	ended     context.Context // done when the proxy is closed
	end       context.CancelFunc

	mu    sync.Mutex
	asked []Asked
	put   []string // names of secrets
}

// An Asked is a host that the command has asked for.
type Asked struct {
	Host    string // with its port, if that is not one of the web's
	Problem string // why it was not connected; empty: it was
	Refused bool   // by the proxy
	Missing string // what the command's hosts would have to have for it, with the port of a private address; empty: nothing helps
}

// Options say what a command reaches.
type Options struct {
	Hosts   []string       // as of [network.Hosts]
	Secrets []Secret       // put into its requests
	Lookup  Lookup         // nil: the resolver of the system
	Roots   *x509.CertPool // whose certificates hosts of secrets have; nil: the system's
}

// Serve serves a command that connects to l, until [Proxy.Close].
func Serve(l net.Listener, o Options) *Proxy {
	if o.Lookup == nil {
		o.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	p := &Proxy{Options: o}
	p.ended, p.end = context.WithCancel(context.Background())
	quiet := log.New(io.Discard, "", 0) // what clients do wrong is theirs
	p.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return p.dial(ctx, host, port)
		},
		TLSClientConfig:    &tls.Config{RootCAs: o.Roots},
		DisableCompression: true, MaxResponseHeaderBytes: maxHeader, IdleConnTimeout: idleTime,
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.Out.Host = r.Out.URL.Host },
		ErrorLog: quiet, Transport: p.transport, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { say(w, err) },
	}
	p.server = p.serving(p)
	go p.server.Serve(netutil.LimitListener(l, maxConnections))
	return p
}

func (p *Proxy) serving(h http.Handler) *http.Server {
	return &http.Server{Handler: h, BaseContext: func(net.Listener) context.Context { return p.ended },
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, ErrorLog: p.forward.ErrorLog}
}

// Close ends the proxy with all of its connections.
func (p *Proxy) Close() {
	p.end()
	p.server.Close()
	p.transport.CloseIdleConnections()
}

// Asked returns the hosts that were asked for, each once, in the order in which they first were.
func (p *Proxy) Asked() []Asked {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// note remembers a host.
func (p *Proxy) note(a Asked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) < maxKnown && !slices.Contains(p.asked, a) {
		p.asked = append(p.asked, a)
	}
}

// A refusal is why a host is not connected.
type refusal struct {
	reason  string
	missing string // as of [Asked]
}

func (r *refusal) Error() string { return r.reason }

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect && r.URL.Path == "" && r.URL.User == nil:
		p.connect(w, r)
	case r.Method != http.MethodConnect && r.URL.Scheme == "http" && r.URL.Host != "":
		p.pass(w, r)
	default:
		http.Error(w, "pawl: this is a proxy: it takes CONNECT, and requests with a whole http: address", http.StatusBadRequest)
	}
}

// pass passes a request on to the host of its address. Of other protocols that it may ask for WebSocket alone is begun: in
// HTTP/2 each request would name a host of its own.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request) {
	if secrets := p.secretsFor(r.URL); len(secrets) > 0 {
		p.passWithSecrets(w, r, secrets)
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		r.Header.Del("Upgrade")
	}
	p.forward.ServeHTTP(w, r)
}

// say answers a request that is not served.
func say(w http.ResponseWriter, err error) {
	code := http.StatusBadGateway
	if _, refused := errors.AsType[*refusal](err); refused {
		code = http.StatusForbidden
	}
	http.Error(w, "pawl: "+err.Error(), code)
}

// dial connects to a host, if the command may reach it, by an address that was looked at.
func (p *Proxy) dial(ctx context.Context, host, port string) (net.Conn, error) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	c, err := p.reach(ctx, host, port)
	asked := Asked{Host: shown(hostAt(host, port))}
	if err != nil {
		asked.Problem = shown(err.Error())
		refused, ok := errors.AsType[*refusal](err)
		if asked.Refused = ok; ok {
			asked.Missing = refused.missing
		}
	}
	if ctx.Err() == nil {
		p.note(asked)
	}
	return c, err
}

// hostAt returns a host as rules name it, with its port if that is not one of the web's.
func hostAt(host, port string) string {
	if port == "80" || port == "443" {
		return host
	}
	return net.JoinHostPort(host, port)
}

func (p *Proxy) reach(ctx context.Context, host, port string) (net.Conn, error) {
	ok, named := network.Reaches(p.Hosts, host, port)
	if !ok {
		return nil, &refusal{"the network of this command does not have " + shown(net.JoinHostPort(host, port)), shown(hostAt(host, port))}
	}
	var addresses []netip.Addr
	if literal, err := netip.ParseAddr(host); err == nil {
		addresses = []netip.Addr{literal}
	} else {
		limited, cancel := context.WithTimeout(ctx, lookupTime)
		defer cancel()
		if addresses, err = p.Lookup(limited, host); err != nil {
			if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
				return nil, fmt.Errorf("there is no host %s", shown(host))
			}
			return nil, err
		}
	}
	for _, a := range addresses { // a name with one address that is refused is not trusted with its others
		if err := network.MayDial(host, a, named); err != nil {
			missing := ""
			if network.IsWithin(host, a) {
				missing = shown(net.JoinHostPort(host, port))
			}
			return nil, &refusal{err.Error(), missing}
		}
	}
	err := fmt.Errorf("%s has no address", shown(host))
	dialer := net.Dialer{Timeout: dialTime}
	for _, a := range addresses {
		var c net.Conn
		if c, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), port)); err == nil || ctx.Err() != nil {
			return c, err
		}
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Err != nil {
		err = e.Err // without the address
	}
	return nil, err
}

// connect serves a CONNECT.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.URL.Host)
	if err != nil || host == "" {
		http.Error(w, "pawl: CONNECT takes a host with its port", http.StatusBadRequest)
		return
	}
	server, err := p.dial(r.Context(), host, port)
	if err != nil {
		say(w, err)
		return
	}
	defer server.Close()
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		say(w, err)
		return
	}
	defer client.Close()
	defer context.AfterFunc(p.ended, func() { client.Close(); server.Close() })()
	client.SetDeadline(time.Time{})
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	answered := make(chan struct{})
	answer := func() {
		defer close(answered)
		io.Copy(client, server)
		closeWrite(client)
	}
	web := port == "80" // where the client speaks first
	if !web {
		go answer()
	}
	client.SetReadDeadline(time.Now().Add(headerTime))
	greeting, name, err := greeting(buffered.Reader, port == "443")
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	_, literal := netip.ParseAddr(host)
	if err == nil && greeting != nil && !strings.EqualFold(strings.TrimSuffix(name, "."), host) && !(name == "" && literal == nil) {
		err = fmt.Errorf("in the greeting of TLS it names %s", cmp.Or(shown(name), "no host"))
	}
	if err != nil {
		p.note(Asked{Host: shown(host), Problem: err.Error(), Refused: true})
		return
	}
	client.SetReadDeadline(time.Time{})
	if web {
		if greeting == nil {
			server.Close() // each request gets one
			p.serveRequests(client, buffered.Reader, host)
			return
		}
		go answer()
	}
	if _, err := server.Write(greeting); err != nil {
		return
	}
	io.Copy(server, buffered.Reader)
	closeWrite(server)
	<-answered
}

// serveRequests serves the requests in a connection that was asked for to a host at the port of the web without TLS. As
// those with a whole address they go to that host, whatever host they name: many share an address.
func (p *Proxy) serveRequests(client net.Conn, r io.Reader, host string) {
	l := &single{conn: client, from: r, closed: make(chan struct{})}
	p.serving(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			http.Error(w, "pawl: the connection is to "+shown(host)+" already", http.StatusBadRequest)
			return
		}
		r.URL.Scheme, r.URL.Host = "http", host
		if strings.Contains(host, ":") {
			r.URL.Host = "[" + host + "]"
		}
		p.pass(w, r)
	})).Serve(l)
}

// A single is a listener with one connection, of which something was read before.
type single struct {
	conn   net.Conn
	from   io.Reader
	given  bool
	once   sync.Once
	closed chan struct{}
}

func (l *single) Accept() (net.Conn, error) {
	if l.given {
		<-l.closed
		return nil, net.ErrClosed
	}
	l.given = true
	return &singleConn{l.conn, l}, nil
}

func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }
func (l *single) Close() error   { return nil } // the connection is closed by who serves it

type singleConn struct {
	net.Conn
	l *single
}

func (c *singleConn) Read(b []byte) (int, error) { return c.l.from.Read(b) }

func (c *singleConn) Close() error {
	c.l.once.Do(func() { close(c.l.closed) })
	return c.Conn.Close()
}

// closeWrite says that nothing more is sent.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
		return
	}
	c.Close()
}

// shown returns what a command or a server has said in a form to be shown: at most so much, and no control characters.
func shown(s string) string {
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(visible.Escape(s))
}
