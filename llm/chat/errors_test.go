package chat

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/run"
)

// ask sends one request and returns the error, nil for an answer.
func ask(t *testing.T, p *Provider) *llm.Error {
	t.Helper()
	r := llm.Request{Model: "m", MaxTokens: 5, Messages: []llm.Message{{Role: run.User, Body: []byte(`[{"role":"user","content":"x"}]`)}}}
	for d, err := range p.Stream(t.Context(), r) {
		var e *llm.Error
		switch {
		case errors.As(err, &e):
			return e
		case err != nil:
			t.Fatalf("no *llm.Error: %v", err)
		case d.Answer != nil:
			return nil
		}
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

func TestAServerThatRefusesAFieldIsNotSentItAgain(t *testing.T) {
	t.Parallel()
	var bodies []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		switch {
		case strings.Contains(string(body), "stream_options"):
			w.WriteHeader(422)
			io.WriteString(w, `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`)
		case strings.Contains(string(body), `"max_tokens"`):
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`)
		default:
			io.WriteString(w, chunks(hi, stop))
		}
	})
	p := New(Options{BaseURL: url})
	for range 2 {
		if e := ask(t, p); e != nil {
			t.Fatal(e)
		}
	}
	const begin, end = `{"model":"m","stream":true,`, `"messages":[{"role":"user","content":"x"}]}`
	if diff := cmp.Diff([]string{begin + `"stream_options":{"include_usage":true},"max_tokens":5,` + end, begin + `"max_tokens":5,` + end,
		begin + `"max_completion_tokens":5,` + end, begin + `"max_completion_tokens":5,` + end}, bodies); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAnErrorAboutAValueTeachesNothing(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]string{
		"too many tokens":                `{"error":{"message":"max_completion_tokens is too large: 5. This model supports at most 3 completion tokens, whereas you provided 5.","type":"invalid_request_error","param":"max_completion_tokens","code":"invalid_value"}}`,
		"a message, with the request in": `{"detail":[{"type":"string_type","loc":["body","messages",0,"content"],"msg":"Input should be a valid string","input":{"stream_options":{"include_usage":true},"max_completion_tokens":5}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bodies []string
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if bodies = append(bodies, string(body)); len(bodies) == 1 {
					w.WriteHeader(400)
					io.WriteString(w, refusal)
					return
				}
				io.WriteString(w, chunks(hi, stop))
			})
			openAI := Find("openai", "")
			p := New(Options{BaseURL: url, Dialect: &openAI})
			if e := ask(t, p); e == nil || e.Kind != run.ErrInvalid || strings.Contains(e.Message, "before that") {
				t.Errorf("the first request: %v", e)
			}
			if e := ask(t, p); e != nil {
				t.Error(e)
			}
			if len(bodies) != 2 || bodies[0] != bodies[1] || !strings.Contains(bodies[1], `"stream_options"`) || !strings.Contains(bodies[1], `"max_completion_tokens":5`) {
				t.Errorf("requests %q", bodies)
			}
		})
	}
}

func TestReasoningThatTheServerRefusesIsLeftOut(t *testing.T) {
	t.Parallel()
	var bodies []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bodies = append(bodies, string(body)); strings.Contains(string(body), "reasoning_details") {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"messages.1.content.0: Invalid signature in thinking block"}}`)
			return
		}
		io.WriteString(w, chunks(hi, stop))
	})
	openRouter := Find("openrouter", "")
	p := New(Options{BaseURL: url, Dialect: &openRouter})
	answer := encoded(t, p, run.Assistant, run.Part{Type: run.ThinkingPart, Text: "hm", Wire: p.origin,
		Signature: `{"type":"reasoning.text","index":0,"signature":"of another model"}`}, run.Text("yes"))
	r := llm.Request{Model: "m", Messages: []llm.Message{encoded(t, p, run.User, run.Text("x")), answer, encoded(t, p, run.User, run.Text("y"))}}
	for range 2 {
		for _, err := range p.Stream(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(bodies) != 3 || !strings.Contains(bodies[0], "of another model") || !strings.Contains(bodies[2], `{"role":"assistant","content":"yes"}`) || bodies[1] != bodies[2] {
		t.Errorf("requests %q", bodies)
	}
}

func TestAServerThatRefusesEverythingIsAskedAFewTimes(t *testing.T) {
	t.Parallel()
	tries := 0
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		tries++
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"message":"no stream_options, max_tokens, max_completion_tokens, user after role tool"}}`)
	})
	if e := ask(t, New(Options{BaseURL: url})); e == nil || e.Kind != run.ErrInvalid || tries > 5 {
		t.Errorf("%d tries, %v", tries, e)
	}
}

func TestTheRequestGoesWhereTheServerListens(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.openai.com":                                 "https://api.openai.com/v1",
		"https://api.openai.com/v1":                              "https://api.openai.com/v1",
		"https://api.groq.com":                                   "https://api.groq.com/openai/v1",
		"https://api.groq.com/openai":                            "https://api.groq.com/openai/v1",
		"https://openrouter.ai/api":                              "https://openrouter.ai/api/v1",
		"https://x.openai.azure.com":                             "https://x.openai.azure.com/openai/v1",
		"https://api.z.ai":                                       "https://api.z.ai/api/paas/v4",
		"https://api.z.ai/api/coding/paas/v4":                    "https://api.z.ai/api/coding/paas/v4",
		"https://generativelanguage.googleapis.com":              "https://generativelanguage.googleapis.com/v1beta/openai",
		"http://localhost:11434":                                 "http://localhost:11434/v1",
		"http://host/proxy/":                                     "http://host/proxy/v1",
		"https://models.github.ai/inference/chat/completions":    "https://models.github.ai/inference",
		"https://acct.snowflakecomputing.com/api/v2/cortex/v1":   "https://acct.snowflakecomputing.com/api/v2/cortex/v1",
		"https://x.openai.azure.com/openai/v1/chat/completions/": "https://x.openai.azure.com/openai/v1",
		"": DefaultBaseURL,
	} {
		if got := New(Options{BaseURL: base}).wire.Base(); got != want {
			t.Errorf("%q became %q, want %q", base, got, want)
		}
	}
}

func TestTheKeyGoesInTheServersHeaderAndNoneIsNoHeader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect, key string
		want         http.Header
	}{
		{"", " sk-x\n", http.Header{"Authorization": {"Bearer sk-x"}}},
		{"azure", "k", http.Header{"Api-Key": {"k"}}},
		{"ollama", "", http.Header{}},
	} {
		dialect := Find(c.dialect, "")
		if diff := cmp.Diff(c.want, New(Options{Key: c.key, Dialect: &dialect}).header()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.dialect, diff)
		}
	}
}

func TestAnAddressWithoutTheAPIIsSaidToBeWrong(t *testing.T) {
	t.Parallel()
	url := serve(t, http.NotFound)
	if e := ask(t, New(Options{BaseURL: url})); e.Kind != run.ErrInvalid || e.Status != 404 || !strings.Contains(e.Message, "has no /v1/chat/completions") {
		t.Errorf("got %v", e)
	}
	known := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(404)
		io.WriteString(w, `{"error":{"message":"model \"m\" not found, try pulling it first"}}`)
	})
	if e := ask(t, New(Options{BaseURL: known})); e.Kind != run.ErrInvalid || !strings.HasPrefix(e.Message, `model "m" not found`) {
		t.Errorf("got %v", e)
	}
}

func TestTheWaitInTheWordsOfARefusalIsTold(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(429)
		io.WriteString(w, `{"error":{"message":"Rate limit reached. Please try again in 20s.","code":"rate_limit_exceeded"}}`)
	})
	if e := ask(t, New(Options{BaseURL: url})); e.Kind != run.ErrRateLimited || e.Wait != 20*time.Second {
		t.Errorf("got %v, wait %s", e, e.Wait)
	}
}
