package chat

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

func TestRecordedErrorsAreOfAKnownKind(t *testing.T) {
	t.Parallel()
	const folder = "../../../shared/cases/streams/errors"
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		t.Skip("needs the recorded errors in ../shared/cases/streams/errors, beside the repository")
	}
	seen := 0
	for _, c := range []struct {
		files  string
		status int
		kind   run.ErrorKind
		words  string
	}{
		{"api.openai.com/*model_name_suggestion*", 404, run.ErrInvalid, "does not exist"},
		{"api.openai.com/*o1_mini_system_role*", 400, run.ErrInvalid, "does not support 'system'"},
		{"api.openai.com/*openai_chat*", 400, run.ErrInvalid, "either text or image_url"},
		{"api.openai.com/*web_search*", 400, run.ErrInvalid, "Web search"},
		{"api.groq.com/*", 400, run.ErrBrokenStream, "did not call a tool"},
		{"openrouter.ai/*", 429, run.ErrRateLimited, "Provider returned error: google/gemini-2.0-flash-exp:free is temporarily rate-limited"},
		{"generativelanguage.googleapis.com/*", 404, run.ErrInvalid, "is not found"},
		{"aiplatform.googleapis.com/*", 400, run.ErrInvalid, "Cannot fetch"},
	} {
		files, err := filepath.Glob(filepath.Join(folder, c.files))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no file, %v", c.files, err)
		}
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			said := wire.ParseError(body)
			if got := kind(c.status, said); got != c.kind || !strings.Contains(said.Message, c.words) {
				t.Errorf("%s: %s %+v, want %s with %q", file, got, said, c.kind, c.words)
			}
		}
	}
	if seen < 15 {
		t.Errorf("%d errors seen", seen)
	}
}

func TestTheKindOfAnErrorIsInItsWordsOrItsStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider string
		status   int
		said     wire.Said
		want     run.ErrorKind
	}{
		{"OpenAI", 400, wire.Said{Code: "context_length_exceeded", Message: "This model's maximum context length is 128000 tokens."}, run.ErrTooLong},
		{"OpenAI", 429, wire.Said{Code: "rate_limit_exceeded", Message: "Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 40000."}, run.ErrTooLong},
		{"OpenAI", 429, wire.Said{Code: "rate_limit_exceeded", Message: "Rate limit reached for gpt-x"}, run.ErrRateLimited},
		{"OpenAI", 429, wire.Said{Code: "insufficient_quota", Message: "You exceeded your current quota"}, run.ErrInvalid},
		{"OpenAI", 400, wire.Said{Code: "invalid_prompt", Message: "Invalid prompt"}, run.ErrRefused},
		{"Azure", 400, wire.Said{Code: "content_filter", Message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."}, run.ErrRefused},
		{"OpenRouter", 403, wire.Said{Code: "403", Message: "This model requires moderation on OpenRouter. Your input was flagged"}, run.ErrRefused},
		{"OpenRouter", 402, wire.Said{Code: "402", Message: "Insufficient credits"}, run.ErrInvalid},
		{"Groq", 413, wire.Said{Code: "rate_limit_exceeded", Message: "Request too large for model"}, run.ErrTooLong},
		{"Groq", 400, wire.Said{Message: "Please reduce the length of the messages or completion."}, run.ErrTooLong},
		{"Mistral", 400, wire.Said{Message: "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}, run.ErrTooLong},
		{"Mistral", 401, wire.Said{Message: "Unauthorized"}, run.ErrAuth},
		{"DeepSeek", 402, wire.Said{Message: "Insufficient Balance"}, run.ErrInvalid},
		{"x.ai", 400, wire.Said{Message: "Incorrect API key provided: xa***"}, run.ErrAuth},
		{"x.ai", 403, wire.Said{Message: "Content violates usage guidelines."}, run.ErrRefused},
		{"llama.cpp", 500, wire.Said{Message: "the request exceeds the available context size. try increasing the context size"}, run.ErrTooLong},
		{"llama.cpp", 503, wire.Said{Message: "Loading model"}, run.ErrOverloaded},
		{"Ollama", 404, wire.Said{Message: `model "x" not found, try pulling it first`}, run.ErrInvalid},
		{"anybody", 422, wire.Said{}, run.ErrInvalid},
		{"anybody, in a stream", 0, wire.Said{Type: "authentication_error"}, run.ErrAuth},
		{"anybody, in a stream", 0, wire.Said{Code: "503"}, run.ErrOverloaded},
		{"anybody, in a stream", 0, wire.Said{Type: "novelty"}, run.ErrOverloaded},
	} {
		if got := kind(c.status, c.said); got != c.want {
			t.Errorf("%s, %d %+v: %s, want %s", c.provider, c.status, c.said, got, c.want)
		}
	}
}

func TestTheWaitIsInTheHeadersOrTheWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		headers map[string]string
		want    time.Duration
	}{
		{"the latest of what is spent", map[string]string{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2m59.5s",
			"x-ratelimit-remaining-tokens": "100", "x-ratelimit-reset-tokens": "6m0s"}, 179500 * time.Millisecond},
		{"a time in milliseconds", map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": strconv.FormatInt(now.Add(9*time.Second).UnixMilli(), 10)}, 9 * time.Second},
		{"a figure without a unit is none", map[string]string{"x-ratelimit-reset-requests": "60"}, 0},
	} {
		h := http.Header{}
		for name, value := range c.headers {
			h.Set(name, value)
		}
		if got := resets(h, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	for words, want := range map[string]time.Duration{
		"Limit 6000. Please try again in 7.66s. Visit …": 7660 * time.Millisecond,
		"Please try again in 1m2.5s":                     62500 * time.Millisecond,
		"Please retry in 350ms.":                         350 * time.Millisecond,
		"try again in 99999999999h":                      0,
		"try again in 99999h":                            24 * time.Hour,
		"try again later":                                0,
	} {
		if got := waitInWords(words); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}

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
