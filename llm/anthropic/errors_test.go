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
	"time"

	"pawl/llm"
	"pawl/run"
)

func TestTheWaitIsUntilTheLatestOfTheLimitsThatAreSpent(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	for name, value := range map[string]string{
		"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2026-11-20T12:00:05Z",
		"anthropic-ratelimit-tokens-reset":           "2026-11-20T12:00:08Z",
		"anthropic-ratelimit-input-tokens-remaining": "5000", "anthropic-ratelimit-input-tokens-reset": "2026-11-20T12:01:00Z",
	} {
		h.Set(name, value)
	}
	if got := resets(h, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)); got != 8*time.Second {
		t.Errorf("%s, want 8s: there are input tokens left", got)
	}
}

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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // nobody listens there now
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
	hangsUp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hangsUp.Close() })
	go func() {
		for {
			c, err := hangsUp.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	closes := "http://" + hangsUp.Addr().String()
	for _, c := range []struct {
		name, address, cause string
		kind                 run.ErrorKind
		options              Options
	}{
		{"a refused connection", "http://" + address, "connection refused", run.ErrUnreachable, Options{BaseURL: "http://user:hunter2@" + address + "/path"}},
		{"an unknown name", "http://api.example", "no such host: api.example", run.ErrUnreachable, Options{BaseURL: "http://api.example", HTTPClient: nameless}},
		{"an untrusted certificate", secure.URL, "the certificate was not accepted: x509: ", run.ErrInvalid, Options{BaseURL: secure.URL}},
		{"a server without TLS", notTLS, "the server does not speak TLS", run.ErrInvalid, Options{BaseURL: notTLS}},
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
