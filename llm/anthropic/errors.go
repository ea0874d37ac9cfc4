package anthropic

import (
	"net/http"
	"strings"
	"time"

	"pawl/llm/wire"
	"pawl/run"
)

// kind decides what a refusal means: by status; among the 400s by the words,
// because one type, invalid_request_error, stands for too much; inside a stream, by
// type. platform.claude.com/docs/en/api/errors, read 2026-11-20.
func kind(status int, said wire.Said) run.ErrorKind {
	if k, ok := wire.KindOfStatus(status); ok {
		return k
	}
	if status != 0 {
		return kindOfWords(said.Message)
	}
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

// resets returns when the latest of the limits that are spent is filled up again.
func resets(h http.Header, now time.Time) time.Duration {
	var longest time.Duration
	for _, limit := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		name := "anthropic-ratelimit-" + limit
		if left := h.Get(name + "-remaining"); left != "" && left != "0" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, h.Get(name+"-reset")); err == nil {
			longest = max(longest, at.Sub(now))
		}
	}
	return longest
}
