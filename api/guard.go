package api

import (
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/run"
)

// A guard decides which requests are served. It looks at nothing but their headers.
type guard struct {
	hosts   []string // exact values of Host
	origins []string
	open    map[string]bool // patterns that need no token
	now     func() time.Time

	requests, failures bucket
}

func newGuard(opt Options) *guard {
	g := &guard{hosts: opt.Hosts, open: map[string]bool{}, now: time.Now}
	scheme := "http://"
	if opt.TLS {
		scheme = "https://"
	}
	for _, h := range opt.Hosts {
		if strings.HasPrefix(h, "localhost:") && len(g.origins) > 0 {
			continue // browsers look for it at ::1 first, where another program can listen: pages lead to the address
		}
		g.origins = append(g.origins, scheme+h)
	}
	g.requests = bucket{rate: float64(opt.Rate), most: float64(2 * opt.Rate)}
	g.failures = bucket{rate: failureRate, most: 2 * failureRate}
	return g
}

// failureRate is how many requests a second without a token that counts are answered by 401;
// the others are answered by 429.
const failureRate = 50

// HostsOf returns the values of Host that are accepted by a server that listens on an
// address: the address itself, and localhost if it is a loopback address. names are
// further names of the machine.
func HostsOf(listener net.Addr, names ...string) []string {
	_, port, err := net.SplitHostPort(listener.String())
	if err != nil {
		return []string{listener.String()}
	}
	hosts := []string{listener.String()}
	if a, ok := listener.(*net.TCPAddr); ok && a.IP.IsLoopback() {
		hosts = append(hosts, net.JoinHostPort("localhost", port))
	}
	for _, n := range names {
		hosts = append(hosts, net.JoinHostPort(n, port))
		if port == "443" || port == "80" { // browsers leave it out
			hosts = append(hosts, n)
		}
	}
	return hosts
}

// A caller is who sent a request: a person, or the agent of a run.
type caller struct {
	person     bool
	name       string    // of a user; empty: it is the owner of the server
	role       Role      // of a person
	until      time.Time // when the session ends that was sent; zero: it was no session's token
	run        run.ID
	assignment int
}

func forbidden(code, message string) *Problem {
	return &Problem{Status: http.StatusForbidden, Code: code, Message: message}
}

// check returns why a request is not served. It notes the caller in the request.
func (g *guard) check(s *Server, r *http.Request, pattern string) *Problem {
	switch origin := r.Header["Origin"]; {
	case !slices.Contains(g.hosts, r.Host):
		return forbidden("FORBIDDEN_HOST", "the server is not called by this name: use "+g.origins[0])
	case len(origin) > 1 || len(origin) == 1 && !slices.Contains(g.origins, origin[0]):
		return forbidden("FORBIDDEN_ORIGIN", "pages of other origins are not served")
	case !fetchedHere(r, pattern):
		return forbidden("FORBIDDEN_ORIGIN", "pages of other sites are not served")
	case r.Header.Get("Upgrade") != "":
		return forbidden("FORBIDDEN", "connections are not upgraded")
	case !g.requests.take(g.now()):
		return tooMany("there are too many requests: wait a moment")
	}
	if g.open[pattern] {
		return checkType(r, s.operations[pattern].raw)
	}
	for name := range r.URL.Query() {
		if n := strings.ToLower(name); n == "token" || n == "access_token" || n == "api_key" {
			return &Problem{Status: http.StatusBadRequest, Code: "TOKEN_IN_ADDRESS", Message: "a token does not belong into an address, which is logged: send it as Authorization: Bearer"}
		}
	}
	if p := g.authenticate(s, r); p != nil {
		return p
	}
	c := requestOf(r.Context()).caller
	if !c.person && !s.operations[pattern].runs {
		return forbidden("FORBIDDEN", "the token of a run reaches the tools of that run and nothing else")
	}
	if c.person {
		if p := needs(r.Context(), s.operations[pattern].role(pattern), "this"); p != nil {
			return p
		}
	}
	return checkType(r, s.operations[pattern].raw)
}

// fetchedHere reports whether a browser, if it is one, sends the request for a page of this
// server, or because a person has typed or opened its address.
func fetchedHere(r *http.Request, pattern string) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	// A link elsewhere to a page is followed; the page itself has nothing of the person.
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && !strings.Contains(pattern, " "+Prefix+"/")
}

func tooMany(message string) *Problem {
	return &Problem{Status: http.StatusTooManyRequests, Code: "RATE_LIMITED", Message: message, header: http.Header{"Retry-After": {"1"}}}
}

// authenticate finds the caller of a request.
func (g *guard) authenticate(s *Server, r *http.Request) *Problem {
	req := requestOf(r.Context())
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case len(r.Header["Authorization"]) > 1:
	case strings.EqualFold(scheme, "Bearer"):
		c, err := s.person(r.Context(), token, g.now())
		if err == nil {
			req.caller = c
			return nil
		}
		if err != errNobody { // a refusal would log a page out, and make a program discard its token
			return s.problem(r.Context(), err)
		}
		if c, ok := s.callerOfRun(token); ok {
			req.caller = c
			return nil
		}
	}
	if !g.failures.take(g.now()) {
		return tooMany("there are too many requests without a token that counts: wait a moment")
	}
	return &Problem{Status: http.StatusUnauthorized, Code: "UNAUTHORIZED", Message: "a token is needed, as Authorization: Bearer: `pawl serve token` prints it",
		header: http.Header{"Www-Authenticate": {`Bearer realm="pawl"`}}}
}

// checkType returns a problem unless the body is JSON.
func checkType(r *http.Request, raw bool) *Problem {
	wrong := func(what string) *Problem {
		return &Problem{Status: http.StatusUnsupportedMediaType, Code: "UNSUPPORTED_MEDIA_TYPE", Message: what}
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return wrong("a body must not be compressed")
	}
	types := r.Header["Content-Type"]
	if r.Method == http.MethodGet || len(types) == 0 && r.ContentLength == 0 || raw {
		return nil
	}
	if len(types) != 1 {
		return wrong("the body needs Content-Type: application/json")
	}
	kind, params, err := mime.ParseMediaType(types[0])
	if err != nil || kind != "application/json" || len(params) > 1 || len(params) == 1 && !strings.EqualFold(params["charset"], "utf-8") {
		return wrong("the body must be application/json")
	}
	return nil
}

// A bucket bounds how often something happens.
type bucket struct {
	mu         sync.Mutex
	rate, most float64 // a second; at once
	used       float64
	at         time.Time
}

// take reports whether it may happen once more.
func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = max(0, b.used-now.Sub(b.at).Seconds()*b.rate)
	b.at = now
	if b.used+1 > b.most {
		return false
	}
	b.used++
	return true
}
