package gemini

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

func TestWhatARefusalMeansIsDecidedByStatusAndWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  int
		message string
		want    run.ErrorKind
	}{
		{400, "API key not valid. Please pass a valid API key.", run.ErrAuth},
		{400, "API key expired. Please renew the API key.", run.ErrAuth},
		{403, "Method doesn't allow unregistered callers", run.ErrAuth},
		{401, "Request had invalid authentication credentials.", run.ErrAuth},
		{400, "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", run.ErrTooLong},
		{400, "Unable to submit request because the input token count is 1066000 but the model only supports up to 1048576.", run.ErrTooLong},
		{400, "Request payload size exceeds the limit: 20971520 bytes.", run.ErrTooLong},
		{400, "User location is not supported for the API use.", run.ErrInvalid},
		{400, "Function calling with a response mime type: 'application/json' is unsupported", run.ErrInvalid},
		{404, "models/x is not found for API version v1beta", run.ErrInvalid},
		{429, "You exceeded your current quota", run.ErrRateLimited},
		{500, "Internal error encountered.", run.ErrOverloaded},
		{503, "The model is overloaded. Please try again later.", run.ErrOverloaded},
		{504, "Deadline expired", run.ErrOverloaded},
	} {
		if got := kind(c.status, wire.Said{Type: "INVALID_ARGUMENT", Message: c.message}); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.status, c.message, got, c.want)
		}
	}
}

func TestRecordedErrorBodiesAreUnderstood(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../shared/cases/streams/errors/*googleapis.com/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("needs the recorded errors in ../shared/cases/streams/errors, beside the repository")
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
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

func TestTheWaitIsInTheDetails(t *testing.T) {
	t.Parallel()
	const info = `{"@type":"type.googleapis.com/google.rpc.Help","links":[]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}`
	for body, want := range map[string]time.Duration{
		`{"error":{"details":[` + info + `]}}`:                  34070 * time.Millisecond,
		`[{"error":{"details":[` + info + `]}}]`:                34070 * time.Millisecond,
		`{"error":{"details":[{"retryDelay":"soon"}]}}`:         0,
		`{"error":{"details":[{"retryDelay":"-5s"}]}}`:          0,
		`{"error":{"details":[{"retryDelay":"2000h"}]}}`:        24 * time.Hour,
		`{"error":{"message":"You exceeded your quota"}}`:       0,
		`<html>Too many requests</html>`:                        0,
		`{"error":{"details":"of another form"},"message":"x"}`: 0,
	} {
		if got := retryDelay([]byte(body)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// ask sends one request to a server and returns the error.
func ask(t *testing.T, o Options) *llm.Error {
	t.Helper()
	for _, err := range New(o).Stream(t.Context(), llm.Request{Model: "m", Messages: signedTalk(t)}) {
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
		if len(bodies) == 1 {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}`)
			return
		}
		_, _ = io.WriteString(w, stream("STOP", hi))
	})
	if e := ask(t, answered); e != nil {
		t.Fatal(e)
	}
	if len(bodies) != 2 || strings.Count(bodies[0], `"thoughtSignature":"U2ln"`) != 2 {
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
