package proxy

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"

	"pawl/internal/secret"
	"pawl/permission/network"
)

// A Secret is what a command uses for one host without knowing it: where one of its requests to that host has the
// placeholder as the credential of a header, the host gets the value.
//
// Such a request comes without TLS, because the proxy does not open TLS. All requests to the host go on with it, the
// certificate verified, and written anew. Nothing else of a request is searched: a value in an address, a body or
// another header might be kept and shown to others by the host.
type Secret struct {
	Name        string
	Host        string // as in rules, one: example.com, example.com:8443
	Header      string // Authorization, or the host's own
	Placeholder string
	Value       string
}

// hopHeaders are of one connection (RFC 9110, section 7.6.1), and are not passed on beside those that Connection names.
var hopHeaders = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// maskHeaders are not passed on to the host of a secret: its answer is to be neither a piece of a text nor compressed,
// in which the value could not be found.
var maskHeaders = []string{"Range", "If-Range", "Accept-Encoding", "Expect"}

// secretsFor returns the secrets for the host of a request without TLS.
func (p *Proxy) secretsFor(u *url.URL) (some []Secret) {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	for _, s := range p.Secrets {
		if ok, _ := network.Reaches([]string{s.Host}, u.Hostname(), port); ok {
			some = append(some, s)
		}
	}
	return some
}

// Put returns the names of the secrets that were sent in requests.
func (p *Proxy) Put() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.put)
}

// passWithSecrets passes a request on to the host of secrets.
func (p *Proxy) passWithSecrets(w http.ResponseWriter, r *http.Request, secrets []Secret) {
	to := &url.URL{Scheme: "https", Host: strings.TrimSuffix(strings.ToLower(r.URL.Hostname()), "."), Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	host, port := to.Host, r.URL.Port()
	if strings.Contains(host, ":") {
		to.Host = "[" + host + "]"
	}
	if port != "" && port != "80" && port != "443" {
		to.Host = net.JoinHostPort(host, port)
	}
	header := r.Header.Clone()
	drop(header, maskHeaders...)
	drop(header, hopsOf(header)...)
	header.Set("Accept-Encoding", "identity")
	if header["User-Agent"] == nil {
		header.Set("User-Agent", "") // not that of Go
	}
	hidden := map[string]string{}
	var put []string
	for _, s := range secrets {
		forms, has := s.put(header)
		if maps.Copy(hidden, forms); has {
			put = append(put, s.Name)
		}
	}
	values := secret.New(hidden)
	// The host may have a value from here on, also if it does not answer; one that is refused or has another certificate never comes here.
	sent := &httptrace.ClientTrace{WroteHeaders: func() { p.notePut(put) }}
	out := (&http.Request{Method: r.Method, URL: to, Host: to.Host, Header: header,
		Body: r.Body, ContentLength: r.ContentLength}).WithContext(httptrace.WithClientTrace(r.Context(), sent))
	if r.ContentLength == 0 {
		out.Body = nil
	}
	resp, err := p.transport.RoundTrip(out)
	if err == nil {
		defer resp.Body.Close()
		err = readable(resp)
	}
	if err != nil {
		if text := values.Hide(err.Error()); text != err.Error() {
			err = errors.New(text)
		}
		if _, refused := errors.AsType[*refusal](err); !refused && r.Context().Err() == nil {
			p.note(Asked{Host: shown(to.Host), Problem: shown(err.Error())})
		}
		say(w, err)
		return
	}
	drop(resp.Header, hopsOf(resp.Header)...)
	if r.Method != http.MethodHead {
		resp.Header.Del("Content-Length") // a value and its name are not as long
	}
	for name, texts := range resp.Header {
		for _, text := range texts {
			w.Header().Add(name, values.Hide(text))
		}
	}
	w.WriteHeader(resp.StatusCode)
	masked := values.Steady(flushing{w, http.NewResponseController(w)})
	_, err = io.Copy(masked, resp.Body)
	if err == nil {
		err = masked.Flush()
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the client must not take it for the whole
	}
}

// notePut remembers that secrets were sent.
func (p *Proxy) notePut(names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		if !slices.Contains(p.put, name) {
			p.put = append(p.put, name)
		}
	}
}

// readable returns an error if a value could not be found in what is answered.
func readable(resp *http.Response) error {
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return fmt.Errorf("the host of a secret answers with Content-Encoding %s, in which the secret could not be hidden", encoding)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return errors.New("the host of a secret begins another protocol")
	}
	return nil
}

// put puts the value into a header where its placeholder is, and returns the forms of the value in which an answer
// may have it, and whether the header has it now.
func (s Secret) put(header http.Header) (forms map[string]string, has bool) {
	asJSON, _ := json.Marshal(s.Value) // a string
	forms = map[string]string{
		s.Name: s.Value, s.Name + ", as JSON": strings.Trim(string(asJSON), `"`), s.Name + ", as HTML": html.EscapeString(s.Value),
		s.Name + ", in a path": url.PathEscape(s.Value), s.Name + ", in a query": url.QueryEscape(s.Value),
		s.Name + ", in base64": base64.StdEncoding.EncodeToString([]byte(s.Value)),
	}
	sent := header[http.CanonicalHeaderKey(s.Header)]
	for i, text := range sent {
		scheme, credential, ok := strings.Cut(text, " ")
		if !ok {
			scheme, credential = "", text
		}
		switch basic, err := base64.StdEncoding.DecodeString(credential); {
		case credential == s.Placeholder:
			sent[i] = strings.TrimPrefix(scheme+" "+s.Value, " ")
		case strings.EqualFold(scheme, "Basic") && err == nil:
			user, password, _ := strings.Cut(string(basic), ":")
			if user != s.Placeholder && password != s.Placeholder {
				continue
			}
			for _, part := range []*string{&user, &password} {
				if *part == s.Placeholder {
					*part = s.Value
				}
			}
			credential = base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
			forms[fmt.Sprintf("%s, as sent %d", s.Name, i)] = credential
			sent[i] = scheme + " " + credential
		default:
			continue
		}
		has = true
	}
	return forms, has
}

// hopsOf returns the names of the headers that are of one connection.
func hopsOf(header http.Header) []string {
	names := slices.Clone(hopHeaders)
	for _, text := range header["Connection"] {
		for name := range strings.SplitSeq(text, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

func drop(header http.Header, names ...string) {
	for _, name := range names {
		header.Del(name)
	}
}

// flushing writes what it gets at once.
type flushing struct {
	to    io.Writer
	flush *http.ResponseController
}

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.to.Write(b)
	if err == nil {
		err = f.flush.Flush()
	}
	return n, err
}
