package wire

import (
	"bytes"
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

// A Said is what a provider says of an error, in a body or in a stream.
type Said struct {
	Type    string
	Code    string // where there is one beside the type: a word, or a number as text
	Message string
}

// Refusal returns the error for a response with a status other than 200.
func (c *Client) Refusal(status int, header http.Header, body []byte) *llm.Error {
	said := ParseError(body)
	message := said.Message
	switch {
	case message != "":
	case status >= 300 && status < 400:
		message = fmt.Sprintf("%s redirects to another address; set that as the provider's base URL", c.address)
	case len(bytes.TrimSpace(body)) > 0:
		message = fmt.Sprintf("%s answered %s: %s", c.address, statusText(status), strings.Join(strings.Fields(string(bytes.ToValidUTF8(body, []byte("\ufffd")))), " "))
	default:
		message = fmt.Sprintf("%s answered %s", c.address, statusText(status))
	}
	return &llm.Error{Kind: c.kind(status, said), Status: status, Wait: c.wait(header, time.Now()), Message: c.clean(message)}
}

// KindOfStatus decides by status alone, as far as it can; false where the words of
// the provider have to. Every provider means the same by these.
func KindOfStatus(status int) (run.ErrorKind, bool) {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return run.ErrAuth, true
	case status == http.StatusRequestEntityTooLarge:
		return run.ErrTooLong, true
	case status == http.StatusTooManyRequests:
		return run.ErrRateLimited, true
	case status == http.StatusRequestTimeout:
		return run.ErrTimeout, true
	case status >= 500:
		return run.ErrOverloaded, true // 529 is Anthropic's own for it
	}
	return "", false
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
}

// ParseError reads what a provider says of an error. Most say {"error":{"type":…,
// "code":…,"message":…}}, Google adds a status as a word, some gateways send
// {"error":"…"}, {"message":"…"} or {"detail":"…"}, Gemini wraps it in a list, and
// OpenRouter has the words of the provider behind it in metadata.raw.
func ParseError(body []byte) Said {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var envelope struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &envelope) != nil {
		return Said{}
	}
	var e struct {
		Type     string          `json:"type"`
		Status   string          `json:"status"`
		Code     json.RawMessage `json:"code"`
		Message  json.RawMessage `json:"message"`
		Metadata json.RawMessage `json:"metadata"`
	}
	said := Said{}
	if json.Unmarshal(envelope.Error, &e) == nil {
		said = Said{Type: e.Type, Code: text(e.Code), Message: text(e.Message)}
		if said.Type == "" {
			said.Type = e.Status
		}
		var metadata struct {
			Raw string `json:"raw"`
		}
		if json.Unmarshal(e.Metadata, &metadata) == nil && metadata.Raw != "" {
			said.Message = strings.TrimPrefix(said.Message+": "+metadata.Raw, ": ")
		}
	} else {
		said.Message = text(envelope.Error)
	}
	for _, other := range []json.RawMessage{envelope.Message, envelope.Detail} {
		if said.Message == "" {
			said.Message = text(other)
		}
	}
	return said
}

// text returns a JSON string's text, or a number as it is written.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// wait returns how long the provider asks us to wait: retry-after-ms, retry-after
// in seconds or as a date, or else what the format's own headers say. Dates are
// compared with the server's own clock where it tells it.
func (c *Client) wait(h http.Header, now time.Time) time.Duration {
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
	if c.resets != nil {
		return clamp(c.resets(h, now))
	}
	return 0
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
