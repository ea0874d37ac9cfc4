package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/permission/network"
	"pawl/tool/proxy"
)

// start serves a proxy on a port of this machine, and returns its address.
func start(t testing.TB, lookup proxy.Lookup, hosts ...string) (*proxy.Proxy, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := proxy.Serve(l, proxy.Options{Hosts: hosts, Lookup: lookup})
	t.Cleanup(p.Close)
	return p, l.Addr().String()
}

// toLoopback is a resolver in which every host is this machine.
func toLoopback(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// client returns a client that uses a proxy.
func client(t testing.TB, at string, roots *tls.Config) *http.Client {
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: at}), TLSClientConfig: roots}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t testing.TB, c *http.Client, address string) (code int, body string, err error) {
	t.Helper()
	r, err := c.Get(address)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(b), nil
}

// raw sends bytes to a proxy and returns the first line and the body of what it answers.
func raw(t testing.TB, at, sent string) string {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(c, sent)
	method, _, _ := strings.Cut(sent, " ")
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%q: %v", sent, err)
	}
	defer r.Body.Close()
	if method == "CONNECT" && r.StatusCode == 200 {
		c.(*net.TCPConn).CloseWrite()
	}
	body, _ := io.ReadAll(r.Body)
	return fmt.Sprintf("HTTP/1.1 %d %s", r.StatusCode, body)
}

func portOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

func TestAHostOfTheListIsReachedAndNoOther(t *testing.T) {
	t.Parallel()
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello %s", r.Host) })
	plain, encrypted := httptest.NewServer(hello), httptest.NewTLSServer(hello)
	defer plain.Close()
	defer encrypted.Close()
	port, tlsPort := portOf(t, plain.URL), portOf(t, encrypted.URL)
	p, at := start(t, toLoopback, "example.com:"+port, "example.com:"+tlsPort)
	c := client(t, at, encrypted.Client().Transport.(*http.Transport).TLSClientConfig)
	for _, address := range []string{"http://example.com:" + port + "/x", "http://EXAMPLE.com.:" + port + "/x", "https://example.com:" + tlsPort + "/"} {
		if code, body, err := get(t, c, address); err != nil || code != 200 || !strings.HasPrefix(strings.ToLower(body), "hello example.com") {
			t.Errorf("%s: %d %q %v", address, code, body, err)
		}
	}
	if code, body, err := get(t, c, "http://evil.example:"+port+"/"); err != nil || code != 403 || !strings.Contains(body, "does not have evil.example:"+port) {
		t.Errorf("another host: %d %q %v", code, body, err)
	}
	for _, address := range []string{"https://evil.example/", "https://example.com/", "https://127.0.0.1:" + tlsPort, "https://sub.example.com:" + tlsPort} {
		if _, _, err := get(t, c, address); err == nil || !strings.Contains(err.Error(), "Forbidden") {
			t.Errorf("%s: %v", address, err)
		}
	}
	var words []string
	for _, a := range p.Asked() {
		words = append(words, fmt.Sprint(a.Host, " ", a.Problem == "", a.Missing != ""))
	}
	want := []string{"example.com:" + port + " true false", "example.com:" + tlsPort + " true false", "evil.example:" + port + " false true", "evil.example false true",
		"example.com false true", "127.0.0.1:" + tlsPort + " false true", "sub.example.com:" + tlsPort + " false true"}
	if !slices.Equal(words, want) {
		t.Errorf("asked:\n%s\nwant:\n%s", strings.Join(words, "\n"), strings.Join(want, "\n"))
	}
}

// The address that is dialled is the one that was looked at, and what a name leads to does not widen the list.
func TestANameLeadsToNoPrivateAddress(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "inner") }))
	defer server.Close()
	port := portOf(t, server.URL)
	within := []string{"10.1.2.3", "192.168.0.1"} // where a company may have its registry
	for _, address := range []string{"127.0.0.1", "::ffff:127.0.0.1", "::1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "fe80::1", "fd00:ec2::254", "0.0.0.0", "::", "224.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "100.100.100.200"} {
		asked := 0
		rebinding := func(context.Context, string) ([]netip.Addr, error) {
			if asked++; asked > 1 {
				t.Errorf("%s: it was looked up again", address)
			}
			return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr(address)}, nil // one good address helps nothing
		}
		p, at := start(t, rebinding, "*.example.com", "example.com")
		answer := raw(t, at, "CONNECT a.example.com:443 HTTP/1.1\r\nHost: a.example.com:443\r\n\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 403 ") || !strings.Contains(answer, "a.example.com leads to ") {
			t.Errorf("%s: %q", address, answer)
		}
		if a := p.Asked(); len(a) != 1 || !a[0].Refused || (a[0].Missing != "") != slices.Contains(within, address) || a[0].Missing != "" && a[0].Missing != "a.example.com:443" {
			t.Errorf("%s: asked %+v", address, a)
		}
	}
	for _, c := range []struct {
		hosts, host, leads string
		ok                 bool
	}{
		{"127.0.0.1:" + port, "127.0.0.1", "", true},
		{"localhost:" + port, "localhost", "127.0.0.1", true},
		{"db.corp.example:" + port, "db.corp.example", "127.0.0.1", true},
		{"*.corp.example:" + port, "db.corp.example", "127.0.0.1", false}, // not spelled out
		{"db.corp.example", "db.corp.example", "127.0.0.1", false},
		{"db.corp.example:" + port, "db.corp.example", "169.254.169.254", false}, // only by its address
		{"127.0.0.1", "127.0.0.1", "", false},                                    // another port
	} {
		_, at := start(t, func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(c.leads)}, nil
		}, c.hosts)
		code, body, err := get(t, client(t, at, nil), "http://"+c.host+":"+port)
		if (code == 200 && body == "inner") != c.ok {
			t.Errorf("%s with %s at %q: %d %q %v", c.host, c.hosts, c.leads, code, body, err)
		}
	}
}

// However this machine or a cloud's metadata service is spelled, a network of all hosts does not have it: also with a
// resolver that reads numbers as addresses.
func TestNoSpellingLeadsToThisMachine(t *testing.T) {
	t.Parallel()
	reached := func(where string) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error(where + " was reached") })
	}
	server := httptest.NewServer(reached("127.0.0.1"))
	defer server.Close()
	port := portOf(t, server.URL)
	if l, err := net.Listen("tcp", "[::1]:"+port); err == nil {
		six := &httptest.Server{Listener: l, Config: &http.Server{Handler: reached("::1")}}
		six.Start()
		defer six.Close()
	}
	numbers := func(ctx context.Context, host string) ([]netip.Addr, error) {
		if strings.HasSuffix(strings.TrimSuffix(host, "."), "localhost") {
			return toLoopback(ctx, host)
		}
		if a, _ := network.LooseAddr(host); a.IsValid() {
			return []netip.Addr{a}, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	_, at := start(t, numbers, "*", "*.localhost:"+port, "*.1:"+port)
	for _, host := range []string{
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0", "0.0.0.0", "127.0.0.1.", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]", "[::127.0.0.1]",
		"[::1%25lo]", "[::1%lo]", "[fe80::1%25lo]", "[::ffff:127.0.0.1%25lo]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "localhost", "LOCALHOST", "localhost.", "a.localhost", "ip6-localhost", "127.0.0.1%00.example.com", "127。0。0。1",
		"169.254.169.254", "2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[fd00:ec2::254]", "metadata.google.internal",
	} {
		for _, p := range []string{port, "80", "443"} {
			for _, request := range []string{"CONNECT %[1]s:%[2]s HTTP/1.1\r\nHost: example.com\r\n\r\nGET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "GET http://%[1]s:%[2]s/ HTTP/1.1\r\nHost: example.com\r\n\r\n"} {
				if answer := raw(t, at, fmt.Sprintf(request, host, p)); !strings.HasPrefix(answer, "HTTP/1.1 4") && !strings.HasPrefix(answer, "HTTP/1.1 502") {
					t.Errorf("%s at %s: %.100q", host, p, answer)
				}
			}
		}
	}
}

// Without TLS no other protocol is begun in which requests name hosts of their own.
func TestNoOtherProtocolIsBegunInARequest(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Header.Get("Upgrade")+r.Header.Get("HTTP2-Settings"))
		mu.Unlock()
		if r.Header.Get("Upgrade") == "" {
			return
		}
		c, _, _ := w.(http.Hijacker).Hijack()
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		c.Close()
	}))
	defer server.Close()
	port := portOf(t, server.URL)
	_, at := start(t, toLoopback, "example.com:"+port)
	for upgrade, want := range map[string]string{"h2c": "200", "TLS/1.0": "200", "h2c, websocket": "200", "websocket": "101", "WebSocket": "101"} {
		answer := raw(t, at, "GET http://example.com:"+port+"/ HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "+upgrade+"\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 "+want) {
			t.Errorf("%s: %q", upgrade, answer)
		}
	}
	if answer := raw(t, at, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); strings.HasPrefix(answer, "HTTP/1.1 2") {
		t.Errorf("HTTP/2 with the proxy: %q", answer)
	}
	mu.Lock()
	defer mu.Unlock()
	if slices.ContainsFunc(asked, func(a string) bool { return a != "" && !strings.EqualFold(a, "websocket") }) {
		t.Errorf("the server was asked for %q", asked)
	}
}

// Whoever is let through to one host does not name another one behind it.
func TestTheGreetingOfTLSNamesTheHostThatWasAskedFor(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "behind TLS") }))
	defer server.Close()
	port := portOf(t, server.URL)
	p, at := start(t, toLoopback, "example.com:"+port, "127.0.0.1:"+port)
	through := func(host, name string) (string, error) {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "CONNECT %s:%s HTTP/1.1\r\n\r\n", host, port)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || r.StatusCode != 200 {
			return "", fmt.Errorf("%v %v", r, err)
		}
		roots := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		roots.ServerName, roots.InsecureSkipVerify = name, true
		secure := tls.Client(c, roots)
		fmt.Fprintf(secure, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
		answer, err := io.ReadAll(secure)
		return string(answer), err
	}
	for _, ok := range []struct{ host, name string }{{"example.com", "example.com"}, {"example.com", "EXAMPLE.COM"}, {"127.0.0.1", ""}} {
		if answer, err := through(ok.host, ok.name); err != nil || !strings.Contains(answer, "behind TLS") {
			t.Errorf("%s with %s: %q %v", ok.host, ok.name, answer, err)
		}
	}
	for _, bad := range []struct{ host, name string }{{"example.com", "evil.example"}, {"example.com", ""}, {"127.0.0.1", "evil.example"}, {"example.com", "example.com.evil.example"}} {
		if answer, err := through(bad.host, bad.name); err == nil && answer != "" {
			t.Errorf("%s with %q: %q", bad.host, bad.name, answer)
		}
	}
	if !slices.ContainsFunc(p.Asked(), func(a proxy.Asked) bool {
		return strings.Contains(a.Problem, "in the greeting of TLS it names evil.example")
	}) {
		t.Errorf("asked: %+v", p.Asked())
	}
}

// On the port of TLS nothing but TLS is spoken.
func TestWhatIsNoTLSIsNotPassedOnAtItsPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:443")
	if err != nil {
		t.Skip("port 443 cannot be had: ", err)
	}
	defer l.Close()
	got := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		b, _ := io.ReadAll(c)
		c.Close()
		got <- string(b)
	}()
	_, at := start(t, toLoopback, "example.com:443")
	if answer := raw(t, at, "CONNECT example.com:443 HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nHost: evil.example\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Errorf("answered %q", answer)
	}
	if sent := <-got; sent != "" {
		t.Errorf("the server was sent %q", sent)
	}
}

// Many hosts share an address, so that the name in a request says which is meant: in a connection to the port of the web
// it is the one that was asked for, too.
func TestWhatIsSaidInAConnectionGoesToItsHost(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:80")
	if err != nil {
		t.Skip("port 80 cannot be had: ", err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "[%s %s %s %s]", r.Method, r.Host, r.URL, b)
	})}}
	server.Start()
	defer server.Close()
	_, at := start(t, toLoopback, "example.com:80")
	within := func(requests string) string {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "CONNECT example.com:80 HTTP/1.1\r\n\r\n"+requests)
		answer, err := io.ReadAll(c)
		if err != nil {
			t.Error(err)
		}
		return string(answer)
	}
	answer := within("POST /a?b HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\nhi" +
		"GET http://evil.example/c HTTP/1.1\r\nHost: evil.example\r\n\r\nCONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example:80\r\nConnection: close\r\n\r\n")
	for _, want := range []string{"HTTP/1.1 200 Connection", "[POST example.com /a?b hi]", "[GET example.com /c ]", "HTTP/1.1 400 "} {
		if !strings.Contains(answer, want) {
			t.Errorf("%q is missing in %q", want, answer)
		}
	}
	if answer = within("GET / HTTP/1.1\r\nHost: a\r\nHost: evil.example\r\n\r\n"); strings.Contains(answer, "[GET") || !strings.Contains(answer, "HTTP/1.1 400 ") {
		t.Errorf("a request that can be read in two ways: %q", answer)
	}
}

// A request means to the proxy what it means to the server behind it.
func TestARequestIsNotReadInTwoWays(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.Host+" "+r.URL.String())
		for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "X-Hop"} {
			if r.Header.Get(name) != "" {
				t.Errorf("the header %s was passed on", name)
			}
		}
	}))
	defer server.Close()
	port := portOf(t, server.URL)
	_, at := start(t, toLoopback, "example.com:"+port)
	host := "example.com:" + port
	for sent, want := range map[string]string{
		"GET http://" + host + "/a HTTP/1.1\r\nHost: evil.example\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nProxy-Authorization: Basic x\r\nProxy-Connection: x\r\n\r\n": "200",
		"GET /a HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                                                                      "400",
		"GET https://" + host + "/a HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                                                  "400",
		"GET file:///etc/passwd HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                                                      "400",
		"GET http://evil.example/a HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                                                   "403",
		"GET http://" + host + "@evil.example/a HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                                      "403",
		"GET http://evil.example#@" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                                      "4",
		"CONNECT evil.example:443@" + host + " HTTP/1.1\r\n\r\n":                                                                                             "4",
		"CONNECT " + host + "/x HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                                                      "4",
		"CONNECT /x HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                                                                  "400",
		"CONNECT example.com HTTP/1.1\r\n\r\n":                                                                                                               "400",
		"CONNECT evil.example:" + port + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n":                                                                           "403",
		"POST http://" + host + "/s HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 44\r\n\r\nabcd":                                              "400",
		"POST http://" + host + "/s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\nGET http://evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n": "501",
		"GET http://exam\x00ple.com/ HTTP/1.1\r\nHost: x\r\n\r\n":                                                                                            "400",
	} {
		if answer := raw(t, at, sent); !strings.HasPrefix(answer, "HTTP/1.1 "+want) {
			t.Errorf("%q was answered %q, want %s", sent, answer, want)
		}
	}
	// Behind a body with two lengths the rest is data or nothing, never a request to another host.
	raw(t, at, "POST http://"+host+"/te HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n")
	mu.Lock()
	defer mu.Unlock()
	for _, s := range seen {
		if !strings.Contains(s, " "+host+" ") || strings.Contains(s, "smuggled") {
			t.Errorf("the server got %q", s)
		}
	}
}

// What a command says is shown without effect on a terminal, and no more of it than fits.
func TestWhatWasAskedIsSafeToShow(t *testing.T) {
	t.Parallel()
	p, at := start(t, toLoopback, "example.com")
	raw(t, at, "CONNECT \x1b[31m"+strings.Repeat("a", 5000)+"\u202e:443 HTTP/1.1\r\n\r\n")
	for i := range 500 {
		raw(t, at, fmt.Sprintf("CONNECT h%d.example:443 HTTP/1.1\r\n\r\n", i))
	}
	if asked := p.Asked(); len(asked) > 100 || slices.ContainsFunc(asked, func(a proxy.Asked) bool {
		return len(a.Host) > 300 || strings.ContainsAny(a.Host+a.Problem, "\x1b\n\u202e")
	}) {
		t.Errorf("asked: %d, %.300v", len(asked), asked)
	}
}

// Connections end with the proxy, whatever is on its way in them.
func TestAllConnectionsEndWithTheProxy(t *testing.T) {
	t.Parallel()
	begun := make(chan bool, 2000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 4096))
		w.(http.Flusher).Flush()
		begun <- true
		for r.URL.Path == "/endless" {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	port := portOf(t, server.URL)
	p, at := start(t, toLoopback, "example.com:"+port)
	var open []net.Conn
	for i := range 1000 { // nobody reads
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		path := "/"
		if i < 10 {
			path = "/endless"
		}
		if i%2 == 0 {
			fmt.Fprintf(c, "CONNECT example.com:%s HTTP/1.1\r\n\r\nGET %s HTTP/1.1\r\nHost: x\r\n\r\n", port, path)
		} else {
			fmt.Fprintf(c, "GET http://example.com:%s%s HTTP/1.1\r\nHost: x\r\n\r\n", port, path)
		}
		open = append(open, c)
	}
	for range open {
		select {
		case <-begun:
		case <-time.After(30 * time.Second):
			t.Fatal("not all connections were made")
		}
	}
	at0 := time.Now()
	p.Close()
	took := time.Since(at0)
	for i, c := range open {
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
			t.Fatalf("connection %d is still open", i)
		}
	}
	t.Logf("closed in %v", took)
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// Of a host that does not answer, or is not there, the command is told so.
func TestAHostThatIsNotThereIsSaidToBeMissing(t *testing.T) {
	t.Parallel()
	lookup := func(ctx context.Context, host string) ([]netip.Addr, error) {
		if host == "slow.example" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	p, at := start(t, lookup, "gone.example")
	if answer := raw(t, at, "CONNECT gone.example:443 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 502 ") || !strings.Contains(answer, "there is no host gone.example") {
		t.Errorf("answered %q", answer)
	}
	if a := p.Asked(); len(a) != 1 || a[0].Problem == "" || a[0].Refused {
		t.Errorf("asked %+v", a)
	}
}

func BenchmarkRequest(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }))
	defer server.Close()
	secure := httptest.NewTLSServer(server.Config.Handler)
	defer secure.Close()
	_, at := start(b, toLoopback, "example.com:"+portOf(b, server.URL), "example.com:"+portOf(b, secure.URL))
	roots := secure.Client().Transport.(*http.Transport).TLSClientConfig
	direct := &http.Client{Transport: &http.Transport{TLSClientConfig: roots, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+port)
	}}}
	for name, c := range map[string]*http.Client{"direct": direct, "proxied": client(b, at, roots)} {
		for scheme, address := range map[string]string{"http": "http://example.com:" + portOf(b, server.URL), "https": "https://example.com:" + portOf(b, secure.URL)} {
			for _, fresh := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%s/new=%v", scheme, name, fresh), func(b *testing.B) {
					for b.Loop() {
						if _, _, err := get(b, c, address); err != nil {
							b.Fatal(err)
						}
						if fresh {
							c.CloseIdleConnections()
						}
					}
				})
			}
		}
	}
}
