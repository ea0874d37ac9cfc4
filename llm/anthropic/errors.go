package anthropic

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pawl/llm"
	"pawl/run"
)

// maxMessage bounds, in bytes, what is kept of a provider's words.
const maxMessage = 500

// maxWait bounds the wait that a provider can ask for: more is a mistake of units.
const maxWait = 24 * time.Hour

// An apiError is what the API says of an error, in a body or in a stream.
type apiError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// statusError returns the error for a response with a status other than 200.
func (p *Provider) statusError(status int, header http.Header, body string) *llm.Error {
	said := parseError([]byte(body))
	message := said.Message
	switch {
	case message != "":
	case status >= 300 && status < 400:
		message = fmt.Sprintf("%s redirects to another address; set that as the provider's base URL", p.address)
	case strings.TrimSpace(body) != "":
		message = fmt.Sprintf("%s answered %s: %s", p.address, statusText(status), strings.Join(strings.Fields(body), " "))
	default:
		message = fmt.Sprintf("%s answered %s", p.address, statusText(status))
	}
	return &llm.Error{Kind: kindOfStatus(status, said), Status: status, Wait: wait(header, time.Now()), Message: p.clean(message)}
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
}

// parseError reads {"type":"error","error":{"type":…,"message":…}}; some gateways
// send {"error":"…"} or {"message":"…"}.
func parseError(body []byte) apiError {
	var envelope struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(body, &envelope) != nil {
		return apiError{}
	}
	var e apiError
	if json.Unmarshal(envelope.Error, &e) != nil {
		_ = json.Unmarshal(envelope.Error, &e.Message) // neither: no message
	}
	if e.Message == "" {
		e.Message = envelope.Message
	}
	return e
}

// kindOfStatus decides by status; the words decide only among the 400s, where
// one type, invalid_request_error, stands for too much.
// platform.claude.com/docs/en/api/errors, read 2026-11-20.
func kindOfStatus(status int, said apiError) run.ErrorKind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return run.ErrAuth
	case status == http.StatusRequestEntityTooLarge:
		return run.ErrTooLong
	case status == http.StatusTooManyRequests:
		return run.ErrRateLimited
	case status == http.StatusRequestTimeout:
		return run.ErrTimeout
	case status >= 500:
		return run.ErrOverloaded // 529 is Anthropic's own for it
	}
	return kindOfWords(said.Message)
}

// kindOfType decides where there is no status: inside a stream.
func kindOfType(said apiError) run.ErrorKind {
	switch said.Type {
	case "authentication_error", "permission_error":
		return run.ErrAuth
	case "request_too_large":
		return run.ErrTooLong
	case "rate_limit_error":
		return run.ErrRateLimited
	case "timeout_error":
		return run.ErrTimeout
	case "invalid_request_error", "not_found_error", "billing_error":
		return kindOfWords(said.Message)
	}
	return run.ErrOverloaded // overloaded_error, api_error, and what is not known yet: try again
}

// kindOfWords tells apart the requests that are refused as invalid. The sentences
// are those of api.anthropic.com as clients' issues quote them, read 2026-11-20:
// "prompt is too long: 208310 tokens > 200000 maximum", "input length and
// `max_tokens` exceed context limit: …", "Output blocked by content filtering policy".
func kindOfWords(message string) run.ErrorKind {
	message = strings.ToLower(message)
	for _, words := range []string{"prompt is too long", "exceed context limit", "exceeds the context window"} {
		if strings.Contains(message, words) {
			return run.ErrTooLong
		}
	}
	if strings.Contains(message, "content filtering policy") {
		return run.ErrRefused
	}
	return run.ErrInvalid
}

// wait returns how long the provider asks us to wait: retry-after-ms, retry-after
// in seconds or as a date, or else the latest reset among the limits that are
// spent. Dates are compared with the server's own clock where it tells it.
func wait(h http.Header, now time.Time) time.Duration {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	if d, ok := number(h.Get("retry-after-ms"), time.Millisecond); ok {
		return d
	}
	if d, ok := number(h.Get("retry-after"), time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(h.Get("retry-after")); err == nil {
		return clamp(at.Sub(now))
	}
	var longest time.Duration
	for _, limit := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		name := "anthropic-ratelimit-" + limit
		if left := h.Get(name + "-remaining"); left != "" && left != "0" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, h.Get(name+"-reset")); err == nil {
			longest = max(longest, clamp(at.Sub(now)))
		}
	}
	return longest
}

func number(s string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	f = min(max(f*float64(unit), 0), float64(maxWait))
	return time.Duration(f), true
}

func clamp(d time.Duration) time.Duration { return min(max(d, 0), maxWait) }

// bound returns at most n bytes of s, marked where it was cut.
func bound(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	return prefix(s, n-len(mark)) + mark
}

// prefix returns at most n bytes of s, whole characters.
func prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
