package wire

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxWait bounds the wait that a provider can ask for, so that sums of times do not
// overflow. How long a run waits at most is its own setting.
const maxWait = 100 * 365 * 24 * time.Hour

// waitInHeader returns how long a provider asks to wait: retry-after-ms, retry-after in
// seconds or as a date, or else until the latest of the exhausted limits is reset. Dates
// are compared with the server's own clock if the response has a Date.
func waitInHeader(h http.Header, now time.Time) time.Duration {
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
	return clamp(resets(h, now))
}

// limits are the headers for what is left of a limit and when it is reset: Anthropic
// sends times, OpenAI and Groq durations as Go writes them (6m0s, 7.66s),
// OpenRouter the time in milliseconds (platform.claude.com/docs/en/api/rate-limits,
// platform.openai.com/docs/guides/rate-limits, console.groq.com/docs/rate-limits,
// openrouter.ai/docs/api/reference/limits; read 2026-11-20).
var limits = [][2]string{
	{"anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"},
	{"anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"},
	{"anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"},
	{"anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"},
	{"x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"},
	{"x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"},
	{"x-ratelimit-remaining", "x-ratelimit-reset"},
}

// resets returns the time until the latest of the exhausted limits is reset.
func resets(h http.Header, now time.Time) time.Duration {
	var longest time.Duration
	for _, names := range limits {
		if left := h.Get(names[0]); left != "" && left != "0" {
			continue
		}
		reset := h.Get(names[1])
		if d, err := time.ParseDuration(reset); err == nil {
			longest = max(longest, d)
		} else if at, err := time.Parse(time.RFC3339, reset); err == nil {
			longest = max(longest, at.Sub(now))
		} else if ms, err := strconv.ParseInt(reset, 10, 64); err == nil && ms > 1e12 {
			longest = max(longest, time.UnixMilli(ms).Sub(now))
		}
	}
	return longest
}

// waitInBody returns the wait that an error's body asks for: Google's details, or the
// message.
func waitInBody(body []byte, message string) time.Duration {
	if d := retryDelay(body); d > 0 {
		return d
	}
	return waitInMessage(message)
}

// retryDelay returns the wait in the details of an error of Google:
// {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}.
func retryDelay(body []byte) time.Duration {
	type envelope struct {
		Error struct {
			Details []struct {
				RetryDelay string `json:"retryDelay"`
			} `json:"details"`
		} `json:"error"`
	}
	var e envelope
	var list []envelope
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		e = list[0]
	} else if json.Unmarshal(body, &e) != nil {
		return 0
	}
	var longest time.Duration
	for _, detail := range e.Error.Details {
		if d, err := time.ParseDuration(detail.RetryDelay); err == nil {
			longest = max(longest, d)
		}
	}
	return clamp(longest)
}

// waitInMessage returns the wait that a message asks for: "Please try again in 7.66s."
// (OpenAI, Groq), "Please retry in 46.2s." (Gemini), "retry after 20 seconds" (Azure).
func waitInMessage(message string) time.Duration {
	message = strings.ToLower(message)
	for _, before := range []string{"try again in ", "retry in ", "retry after "} {
		_, after, found := strings.Cut(message, before)
		words := strings.Fields(after)
		if !found || len(words) == 0 {
			continue
		}
		d, err := time.ParseDuration(strings.TrimRight(words[0], ".,"))
		if err != nil && len(words) > 1 && strings.HasPrefix(words[1], "second") {
			d, err = time.ParseDuration(words[0] + "s")
		}
		if err == nil {
			return clamp(d)
		}
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
