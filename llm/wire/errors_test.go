package wire

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestTheWaitIsWhatTheProviderAsksFor(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		headers []string
		want    time.Duration
	}{
		{"nothing", nil, 0},
		{"milliseconds before seconds", []string{"retry-after-ms", "250", "retry-after", "9"}, 250 * time.Millisecond},
		{"seconds", []string{"retry-after", "1.5"}, 1500 * time.Millisecond},
		{"a date by the server's clock", []string{"retry-after", "Fri, 20 Nov 2026 10:00:07 GMT", "Date", "Fri, 20 Nov 2026 10:00:00 GMT"}, 7 * time.Second},
		{"a date that is over", []string{"retry-after", "Fri, 20 Nov 2026 10:00:00 GMT"}, 0},
		{"nonsense", []string{"retry-after", "soon"}, 0},
		{"not a number", []string{"retry-after", "NaN"}, 0},
		{"for ever", []string{"retry-after", "1e300"}, maxWait},
	} {
		h := http.Header{}
		for i := 0; i < len(c.headers); i += 2 {
			h.Set(c.headers[i], c.headers[i+1])
		}
		if got := waitInHeader(h, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTheWaitIsUntilTheLatestOfTheLimitsThatAreSpent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		headers map[string]string
		want    time.Duration
	}{
		{"times: there are input tokens left", map[string]string{
			"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2026-11-20T12:00:05Z",
			"anthropic-ratelimit-tokens-reset":           "2026-11-20T12:00:08Z",
			"anthropic-ratelimit-input-tokens-remaining": "5000", "anthropic-ratelimit-input-tokens-reset": "2026-11-20T12:01:00Z"}, 8 * time.Second},
		{"the latest of what is spent", map[string]string{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2m59.5s",
			"x-ratelimit-remaining-tokens": "100", "x-ratelimit-reset-tokens": "6m0s"}, 179500 * time.Millisecond},
		{"a time in milliseconds", map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": strconv.FormatInt(now.Add(9*time.Second).UnixMilli(), 10)}, 9 * time.Second},
		{"a figure without a unit is none", map[string]string{"x-ratelimit-reset-requests": "60"}, 0},
	} {
		h := http.Header{}
		for name, value := range c.headers {
			h.Set(name, value)
		}
		if got := waitInHeader(h, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTheWaitInAMessageIsUnderstood(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]time.Duration{
		"Limit 6000. Please try again in 7.66s. Visit …": 7660 * time.Millisecond,
		"Please try again in 1m2.5s":                     62500 * time.Millisecond,
		"Please retry in 350ms.":                         350 * time.Millisecond,
		"try again in 99999999999h":                      0,
		"try again in 99999h":                            99999 * time.Hour,
		"try again in 999999h":                           maxWait,
		"try again later":                                0,
		"Rate limit reached for gpt-5 … Please try again in 1.898s. Visit …": 1898 * time.Millisecond,
		"Please try again in 20ms.":           20 * time.Millisecond,
		"Please try again in 6m0s":            6 * time.Minute,
		"Try again in 35 seconds.":            35 * time.Second,
		"Please retry after 20 seconds.":      20 * time.Second,
		"Please try again in 9999h":           9999 * time.Hour,
		"Please try again in a while":         0,
		"Please try again in":                 0,
		"The server is overloaded":            0,
		"Please try again in -5s, or call us": 0,
	} {
		if got := waitInMessage(message); got != want {
			t.Errorf("%q: %s, want %s", message, got, want)
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
		`{"error":{"details":[{"retryDelay":"2000h"}]}}`:        2000 * time.Hour,
		`{"error":{"message":"You exceeded your quota"}}`:       0,
		`<html>Too many requests</html>`:                        0,
		`{"error":{"details":"of another form"},"message":"x"}`: 0,
	} {
		if got := retryDelay([]byte(body)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestAKeyIsTakenOutOfMessagesAsAWholeWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, message, want string }{
		{"sk-12345678", "bad key sk-12345678.", "bad key [key]."},
		{"sk-12345678", "sk-12345678,sk-12345678", "[key],[key]"},
		{"sk-12345678", "key=\"sk-12345678\" of sk-123456789 and xsk-12345678sk-12345678", "key=\"[key]\" of sk-123456789 and xsk-12345678sk-12345678"},
		{"sk-1234567890abcdefghij", `authorization:\nsk-1234567890abcdefghij`, `authorization:\n[key]`},
		{"sk-1234567890/abc+defghij", `sk-1234567890%2Fabc%2Bdefghij, sk-1234567890\/abc+defghij`, `[key], [key]`},
		{"sk-12/34+56", "key=sk-12%2F34%2B56", "key=[key]"},
		{"x", "the stream broke: max 5x", "the stream broke: max 5x"},
		{"", "nothing", "nothing"},
	} {
		if got := (&Client{key: c.key}).clean(c.message); got != c.want {
			t.Errorf("%q without %q: %q, want %q", c.message, c.key, got, c.want)
		}
	}
}

func TestAnErrorNamesTheParametersThatItIsAbout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body, param string
		rejects           bool
	}{
		{"OpenAI", `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`, "max_tokens", true},
		{"the other name in the same sentence", `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`, "max_completion_tokens", false},
		{"a part of it", `{"error":{"message":"not for you","param":"reasoning.summary","code":"unsupported_value"}}`, "reasoning", true},
		{"another that begins so", `{"error":{"message":"Unknown parameter","param":"reasoning_effort","code":"unknown_parameter"}}`, "reasoning", false},
		{"a value", `{"error":{"message":"max_completion_tokens is too large: 99999. This model supports at most 16384 completion tokens.","param":"max_completion_tokens","code":"invalid_value"}}`, "max_completion_tokens", false},
		{"words alone", `{"message":"unknown field stream_options"}`, "stream_options", true},
		{"FastAPI", `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{}}]}`, "stream_options", true},
		{"Mistral", `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}}`, "stream_options", true},
		{"FastAPI, of another field, with the request in it", `{"detail":[{"type":"string_type","loc":["body","messages",0,"content"],"msg":"Input should be a valid string; extra input is not permitted","input":{"stream_options":{}}}]}`, "stream_options", false},
		{"a sentence that quotes the request", `{"error":"unsupported request: {` + strings.Repeat("x", 300) + ` stream_options"}`, "stream_options", false},
		{"Google", `{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name","status":"INVALID_ARGUMENT","details":[{"fieldViolations":[{"field":"generation_config","description":"Unknown name"}]}]}}`, "generation_config", true},
	} {
		if e := ParseError([]byte(c.body)); e.Rejects(c.param) != c.rejects || e.Message == "" {
			t.Errorf("%s: %+v; want %s rejected: %v", c.name, e, c.param, c.rejects)
		}
	}
}
