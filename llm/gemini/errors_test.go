package gemini

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pawl/llm"
	"pawl/llm/llmtest"
	"pawl/run"
)

func TestRecordedErrorBodiesAreUnderstood(t *testing.T) {
	t.Parallel()
	for file, body := range llmtest.ErrorBodies(t, "*googleapis.com/*.json") {
		status := http.StatusBadRequest
		if bytes.Contains(body, []byte(`"code": 404`)) {
			status = http.StatusNotFound
		}
		e := ask(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write(body)
		}))
		if e.Kind != run.ErrInvalid || e.Status != status || !strings.Contains(string(body), e.Message) {
			t.Errorf("%s: %v", file, e)
		}
	}
}

// ask sends one request to a server and returns the error.
func ask(t *testing.T, o Options) *llm.Error {
	t.Helper()
	return askProvider(t, New(o))
}

func askProvider(t *testing.T, p *Provider) *llm.Error {
	t.Helper()
	for _, err := range p.Stream(t.Context(), llm.Request{Model: "m", Messages: signedTalk(t)}) {
		if err == nil {
			continue
		}
		var e *llm.Error
		if !errors.As(err, &e) {
			t.Fatalf("no *llm.Error: %v", err)
		}
		return e
	}
	return nil
}

// signedTalk is a conversation with signatures in it.
func signedTalk(t *testing.T) []llm.Message {
	t.Helper()
	messages, err := llm.NewEncoder(New(Options{}), llm.Names{}).Messages([]run.Message{
		user("m_1", run.Text(`Say "thoughtSignature":"x".`)),
		answer("m_2", run.Part{Type: run.TextPart, Text: "So.", Signature: "U2ln", Wire: Wire}, called(Wire, "c_1", "", "read", `{}`, "U2ln")),
		user("m_3", result("c_1", false, run.Text("ok"))),
	})
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

func serve(t *testing.T, h http.HandlerFunc) Options {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return Options{BaseURL: s.URL}
}

func TestTheRequestGoesWhereTheAPIWantsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, model, want string }{
		{"", "gemini-3-pro", "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"},
		{"/", "models/gemini-3-pro", "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"},
		{"/v1beta/", "tunedModels/mine", "/v1beta/tunedModels/mine:streamGenerateContent?alt=sse"},
		{"/v1/projects/p/locations/l/publishers/google", "gemini-3-pro", "/v1/projects/p/locations/l/publishers/google/models/gemini-3-pro:streamGenerateContent?alt=sse"},
		{"/video/google", "a/b?c", "/video/google/v1beta/models/a%2Fb%3Fc:streamGenerateContent?alt=sse"},
	} {
		var got *http.Request
		o := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r; w.WriteHeader(500) })
		o.BaseURL += c.base
		o.Key = " AIza-secret\n"
		for range New(o).Stream(t.Context(), llm.Request{Model: c.model, Messages: signedTalk(t)}) {
		}
		if got.RequestURI != c.want || got.Header.Get("x-goog-api-key") != "AIza-secret" || got.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("%s of %s: %s with %v", c.model, c.base, got.RequestURI, got.Header)
		}
	}
}

func TestARefusedRequestIsNotSentAgain(t *testing.T) {
	t.Parallel()
	tries := 0
	e := ask(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		tries++
		w.Header().Set("Retry-After", "9")
		w.WriteHeader(503)
		_, _ = io.WriteString(w, `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE","details":[{"retryDelay":"3s"}]}}]`)
	}))
	if tries != 1 || e.Kind != run.ErrOverloaded || e.Message != "The model is overloaded." || e.Wait != 9*time.Second {
		t.Errorf("%d tries, %+v; want 1: a worker decides about more", tries, e)
	}
}

func TestAConversationSignedElsewhereGoesOnWithoutItsSignatures(t *testing.T) {
	t.Parallel()
	var bodies []string
	answered := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if bytes.Contains(body, []byte(`"U2ln"`)) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}`)
			return
		}
		_, _ = io.WriteString(w, stream("STOP", hi))
	})
	p := New(answered)
	for range 3 {
		if e := askProvider(t, p); e != nil {
			t.Fatal(e)
		}
	}
	if len(bodies) != 4 || strings.Count(bodies[0], `"thoughtSignature":"U2ln"`) != 2 || bodies[1] != bodies[2] || bodies[1] != bodies[3] {
		t.Fatalf("%d requests: %q", len(bodies), bodies)
	}
	if want := strings.ReplaceAll(bodies[0], "U2ln", unchecked); bodies[1] != want {
		t.Errorf("got %s\nwant %s", bodies[1], want)
	}
	tries := 0
	refused := serve(t, func(w http.ResponseWriter, r *http.Request) {
		tries++
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"error":{"code":400,"message":"Invalid thought signature.","status":"INVALID_ARGUMENT"}}`)
	})
	if e := ask(t, refused); e == nil || e.Kind != run.ErrInvalid || tries != 2 {
		t.Errorf("%d tries, %v; want two and the refusal", tries, e)
	}
}
