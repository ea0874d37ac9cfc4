package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/llm/llmtest"
	"pawl/llm/wire"
	"pawl/run"
)

func TestRecordedErrorsAreInvalidRequests(t *testing.T) {
	t.Parallel()
	// Each is a 400 or 404 of something that was wrong with the request for good.
	for file, body := range llmtest.ErrorBodies(t, "api.openai.com/*.json") {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(400); w.Write(body) })
		e := ask(t, New(Options{BaseURL: url}))
		if e.Kind != run.ErrInvalid || e.Status != 400 || e.Message != wire.ParseError(body).Message || e.Message == "" {
			t.Errorf("%s: %v", file, e)
		}
	}
}

func TestTheWaitInABodyIsTold(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(429)
		io.WriteString(w, `{"error":{"message":"Please try again in 1.5s.","type":"tokens","code":"rate_limit_exceeded"}}`)
	})
	if e := ask(t, New(Options{BaseURL: url})); e.Kind != run.ErrRateLimited || e.Wait != 1500*time.Millisecond {
		t.Errorf("got %+v", e)
	}
}

// ask sends one request and returns its error.
func ask(t *testing.T, p *Provider) *llm.Error {
	t.Helper()
	r := llm.Request{Model: "m", Messages: []llm.Message{{Role: run.User, Body: []byte(`[{"type":"message","role":"user","content":"x"}]`)},
		{Role: run.Assistant, Body: []byte(`[{"type":"reasoning","id":"rs_1"},{"type":"message","role":"assistant","content":"y"}]`)}}}
	for _, err := range p.Stream(t.Context(), r) {
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

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestTheRequestCarriesWhatTheAPIWants(t *testing.T) {
	t.Parallel()
	var got *http.Request
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r; w.WriteHeader(500) })
	for _, base := range []string{"", "/", "/v1", "/v1/"} {
		ask(t, New(Options{BaseURL: url + base, Key: " sk-secret\n"}))
		if got.URL.Path != "/v1/responses" || got.Header.Get("Authorization") != "Bearer sk-secret" || got.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("%q: %s with %v", base, got.URL, got.Header)
		}
	}
	ask(t, New(Options{BaseURL: url + "/openai/v1"}))
	if _, keyed := got.Header["Authorization"]; got.URL.Path != "/openai/v1/responses" || keyed {
		t.Errorf("without a key: %s with %v", got.URL, got.Header)
	}
}

// A picky server refuses what a model does not grant, as OpenAI does.
type picky struct {
	// What it says to a request that has it; empty: it grants it.
	encrypted, summary, returned string

	asked []asked
}

// asked is what a request had beyond what every model takes.
type asked struct{ encrypted, summary, returned bool }

func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Include   []string       `json:"include"`
		Reasoning map[string]any `json:"reasoning"`
		Input     []wireItem     `json:"input"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	asks := asked{encrypted: slices.Contains(body.Include, "reasoning.encrypted_content"), summary: body.Reasoning["summary"] != nil,
		returned: slices.ContainsFunc(body.Input, func(i wireItem) bool { return i.Type == "reasoning" })}
	p.asked = append(p.asked, asks)
	for _, refusal := range []struct {
		had   bool
		words string
	}{{asks.returned, p.returned}, {asks.summary, p.summary}, {asks.encrypted, p.encrypted}} {
		if refusal.had && refusal.words != "" {
			w.WriteHeader(400)
			fmt.Fprint(w, refusal.words)
			return
		}
	}
	io.WriteString(w, stream(textDone, completed()))
}

func TestARequestIsSentAgainWithoutWhatTheServerRefuses(t *testing.T) {
	t.Parallel()
	const (
		noSummary   = `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`
		noReasoning = `{"error":{"message":"Unsupported parameter: 'reasoning.summary' is not supported with this model.","type":"invalid_request_error","param":"reasoning.summary"}}`
		noEncrypted = `{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}`
		bareWords   = `{"error":{"message":"Encrypted content is not supported with this model."}}`
		unverified  = `{"error":{"message":"The encrypted content gAAA could not be verified.","type":"invalid_request_error","code":"invalid_encrypted_content"}}`
		notIssued   = "{\"error\":{\"message\":\"reasoning `encrypted_content` was not issued to this caller\"}}"
		another     = `{"error":{"message":"Unknown parameter: 'store'.","type":"invalid_request_error","param":"store"}}`
	)
	all, unsummarized, neither := asked{true, true, true}, asked{encrypted: true, returned: true}, asked{returned: true}
	unreturned := asked{encrypted: true, summary: true}
	for _, c := range []struct {
		name   string
		server picky
		want   []asked // of two requests
		fails  bool
	}{
		{"a model that grants all", picky{}, []asked{all, all}, false},
		{"an organization without summaries", picky{summary: noSummary}, []asked{all, unsummarized, unsummarized}, false},
		{"a model that does not reason", picky{summary: noReasoning, encrypted: noEncrypted}, []asked{all, unsummarized, neither, neither}, false},
		{"a server that names no parameter", picky{encrypted: bareWords}, []asked{all, {summary: true, returned: true}, {summary: true, returned: true}}, false},
		{"reasoning that cannot be read any more", picky{returned: unverified}, []asked{all, unreturned, unreturned}, false},
		{"another's reasoning, and no summaries", picky{returned: notIssued, summary: noSummary},
			[]asked{all, unreturned, {encrypted: true}, {encrypted: true}}, false},
		{"another refusal", picky{encrypted: another}, []asked{all, all}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := New(Options{BaseURL: serve(t, c.server.ServeHTTP)})
			for range 2 {
				if e := ask(t, p); (e != nil) != c.fails {
					t.Fatalf("got %v", e)
				}
			}
			if diff := cmp.Diff(c.want, c.server.asked, cmp.AllowUnexported(asked{})); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFailedRequestIsTriedOnce(t *testing.T) {
	t.Parallel()
	tries := 0
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { tries++; w.WriteHeader(503) })
	if ask(t, New(Options{BaseURL: url})); tries != 1 {
		t.Errorf("%d tries, want 1: a worker decides about more", tries)
	}
}

func TestAnUnknownModelIsNamed(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"code":"model_not_found","message":"The requested model 'gpt-5.2-proo' does not exist.","param":"model","type":"invalid_request_error"}}`)
	})
	if e := ask(t, New(Options{BaseURL: url})); e.Kind != run.ErrInvalid || !strings.Contains(e.Message, "gpt-5.2-proo") || e.Kind.Transient() {
		t.Errorf("got %v", e)
	}
}
