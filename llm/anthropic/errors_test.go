package anthropic

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pawl/llm"
	"pawl/run"
)

// ask sends one request to a server and returns the error.
func ask(t *testing.T, o Options) *llm.Error {
	t.Helper()
	r := llm.Request{Model: "m", Messages: []llm.Message{{Role: run.User, Body: []byte(`[{"type":"text","text":"x"}]`)}}}
	for _, err := range New(o).Stream(t.Context(), r) {
		var e *llm.Error
		if !errors.As(err, &e) {
			t.Fatalf("no *llm.Error: %v", err)
		}
		return e
	}
	t.Fatal("nothing came")
	return nil
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestAServerThatCannotBeReachedIsNamed(t *testing.T) {
	t.Parallel()
	const address = "127.0.0.1:1" // no server has it; a port that was just closed may be given to another test
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the handshake
	secure.StartTLS()
	t.Cleanup(secure.Close)
	nameless := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "api.example", IsNotFound: true}
	}}}
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	notTLS := strings.Replace(plain.URL, "http://", "https://", 1)
	says := func(greeting string) string { // and hangs up
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, greeting)
				c.Close()
			}
		}()
		return "http://" + l.Addr().String()
	}
	closes, other := says(""), says("SSH-2.0-OpenSSH_9\r\n")
	for _, c := range []struct {
		name, address, cause string
		kind                 run.ErrorKind
		options              Options
	}{
		{"a refused connection", "http://" + address, "connection refused", run.ErrUnreachable, Options{BaseURL: "http://user:hunter2@" + address + "/path"}},
		{"an unknown name", "http://api.example", "no such host: api.example", run.ErrUnreachable, Options{BaseURL: "http://api.example", HTTPClient: nameless}},
		{"an untrusted certificate", secure.URL, "the certificate was not accepted: x509: ", run.ErrInvalid, Options{BaseURL: secure.URL}},
		{"a server without TLS", notTLS, "the server does not speak TLS", run.ErrInvalid, Options{BaseURL: notTLS}},
		{"a server of something else", other, "the server does not speak HTTP", run.ErrInvalid, Options{BaseURL: other}},
		{"a connection that is closed at once", closes, "the connection was closed before a response came", run.ErrUnreachable, Options{BaseURL: closes}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := ask(t, c.options)
			if want := "cannot reach " + c.address + ": " + c.cause; e.Kind != c.kind || !strings.HasPrefix(e.Message, want) {
				t.Errorf("got %v, want %s with %q", e, c.kind, want)
			}
			if strings.Contains(e.Error()+e.Err.Error(), "hunter2") {
				t.Errorf("the error tells the password: %v", e)
			}
		})
	}
}

func TestAResponseThatIsCutOffSaysSo(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Length", "5000")
		_, _ = io.WriteString(w, "event: message_start\ndata: {\"type\"")
	})
	if e := ask(t, Options{BaseURL: url}); e.Kind != run.ErrBrokenStream || e.Message != "the response ended early: the connection was closed" {
		t.Errorf("got %v", e)
	}
}

func TestARedirectIsNotFollowedWithTheKey(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the request went on, key %q", r.Header.Get("x-api-key"))
	})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	})
	if e := ask(t, Options{BaseURL: url, Key: "sk-secret"}); e.Kind != run.ErrInvalid || e.Status != 307 || !strings.Contains(e.Message, "redirects") {
		t.Errorf("got %v", e)
	}
}

func TestAnErrorWithoutEndIsReadToALimit(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		for {
			if _, err := io.WriteString(w, strings.Repeat("é<p>Bad gateway</p>", 1000)); err != nil {
				return
			}
		}
	})
	if e := ask(t, Options{BaseURL: url}); e.Kind != run.ErrOverloaded || e.Status != 502 || len(e.Message) > 500 || !strings.Contains(e.Message, "Bad gateway") {
		t.Errorf("got %v", e)
	}
}

func TestAnAnswerSaidToBeCompressedThatIsNotIsAnError(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, "this is no gzip")
	})
	if e := ask(t, Options{BaseURL: url}); e.Kind != run.ErrBrokenStream || !strings.Contains(e.Message, "gzip") {
		t.Errorf("got %v", e)
	}
}

func TestTheRequestCarriesWhatTheAPIWants(t *testing.T) {
	t.Parallel()
	var got *http.Request
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r; w.WriteHeader(500) })
	ask(t, Options{BaseURL: url + "/v1/", Key: " sk-secret\n"})
	if got.URL.Path != "/v1/messages" || got.Header.Get("x-api-key") != "sk-secret" || got.Header.Get("anthropic-version") != "2023-06-01" || got.Header.Get("Accept") != "text/event-stream" {
		t.Errorf("%s with %v", got.URL, got.Header)
	}
}

func TestARequestIsTriedOnce(t *testing.T) {
	t.Parallel()
	tries := 0
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		tries++
		w.Header().Set("x-should-retry", "true")
		w.WriteHeader(529)
	})
	if ask(t, Options{BaseURL: url}); tries != 1 {
		t.Errorf("%d tries, want 1: a worker decides about more", tries)
	}
}

func TestThinkingThatTheServerRefusesIsLeftOut(t *testing.T) {
	t.Parallel()
	var bodies []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bodies = append(bodies, string(body)); strings.Contains(string(body), `"thinking"`) {
			w.WriteHeader(400)
			io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `+"`signature` in `thinking`"+` block"}}`)
			return
		}
		io.WriteString(w, stream(textStart, textHi, textStop, endTurn, end))
	})
	p := New(Options{BaseURL: url})
	messages, err := llm.NewEncoder(p, llm.Names{}).Messages([]run.Message{
		{ID: "m_1", Role: run.User, Parts: []run.Part{run.Text("x")}},
		{ID: "m_2", Role: run.Assistant, Parts: []run.Part{{Type: run.ThinkingPart, Text: "hm", Signature: "of another account", Wire: p.origin}, run.Text("yes")}},
		{ID: "m_3", Role: run.User, Parts: []run.Part{run.Text("y")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, err := range p.Stream(t.Context(), llm.Request{Model: "m", Messages: messages}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(bodies) != 3 || !strings.Contains(bodies[0], "of another account") || bodies[1] != bodies[2] || !strings.Contains(bodies[2], `"content":[{"type":"text","text":"yes"}]`) {
		t.Errorf("requests %q", bodies)
	}
}

func TestThinkingGoesBackToTheServerThatMadeItAlone(t *testing.T) {
	t.Parallel()
	elsewhere := New(Options{BaseURL: "https://api.example/anthropic"})
	made := run.Message{Role: run.Assistant, Parts: []run.Part{{Type: run.ThinkingPart, Text: "hm", Signature: "s", Wire: elsewhere.origin}, run.Text("yes")}}
	for p, want := range map[*Provider]bool{elsewhere: true, New(Options{}): false, New(Options{BaseURL: "https://other.example"}): false} {
		body, err := p.Encode(made)
		if got := strings.Contains(string(body), "thinking"); err != nil || got != want {
			t.Errorf("%s: %s, %v; want thinking: %v", p.origin, body, err, want)
		}
	}
}
