package responses

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/llm/wire"
	"pawl/run"
)

// codes are the provider's words for an error, in the field code or type, that decide
// whatever the status. platform.openai.com/docs/guides/error-codes,
// openai-python's response_error.py, what Codex (codex-rs/codex-api) tells apart,
// and the recorded errors of the test data; read 2026-11-20.
var codes = map[string]run.ErrorKind{
	"context_length_exceeded": run.ErrTooLong,

	"invalid_prompt":                 run.ErrRefused, // "… flagged as potentially violating our usage policy"
	"content_policy_violation":       run.ErrRefused,
	"image_content_policy_violation": run.ErrRefused,
	"content_filter":                 run.ErrRefused, // Azure's, for the prompt
	"cyber_policy":                   run.ErrRefused,

	// HTTP 429, but no wait helps.
	"insufficient_quota":         run.ErrInvalid,
	"billing_hard_limit_reached": run.ErrInvalid,
	"billing_not_active":         run.ErrInvalid,
	"model_not_found":            run.ErrInvalid,

	"rate_limit_exceeded": run.ErrRateLimited,
	"rate_limit_error":    run.ErrRateLimited,
	"too_many_requests":   run.ErrRateLimited,
	"usage_limit_reached": run.ErrRateLimited,

	"invalid_api_key":      run.ErrAuth,
	"authentication_error": run.ErrAuth,
	"permission_error":     run.ErrAuth,

	"server_error":         run.ErrOverloaded,
	"server_is_overloaded": run.ErrOverloaded,
	"overloaded_error":     run.ErrOverloaded,
	"slow_down":            run.ErrOverloaded,
}

// kind decides what a refusal means: by the code where there is one that is known, by
// words, by status; inside a stream, what is not known may be tried again.
func kind(status int, said wire.Said) run.ErrorKind {
	if n, err := strconv.Atoi(said.Code); err == nil && status == 0 && n >= 400 {
		status = n // OpenRouter's, inside a stream
	}
	if tooLong(said.Message) {
		return run.ErrTooLong
	}
	for _, word := range []string{said.Code, said.Type} {
		if k, ok := codes[word]; ok {
			return k
		}
	}
	if k, ok := wire.KindOfStatus(status); ok {
		return k
	}
	if status != 0 || said.Type == "invalid_request_error" || said.Type == "not_found_error" || aboutTheRequest(said.Code) {
		return run.ErrInvalid
	}
	return run.ErrOverloaded
}

// tooLong reports whether words say that the request does not fit: "Your input exceeds
// the context window of this model.", "This model's maximum context length is …",
// "Request too large for gpt-4o … on tokens per min (TPM)", which is an HTTP 429 that
// comes again however long one waits, and Anthropic's own behind a gateway. As
// clients' issues quote them, read 2026-11-20.
func tooLong(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{"context window", "maximum context length", "request too large for", "prompt is too long"},
		func(words string) bool { return strings.Contains(message, words) })
}

// aboutTheRequest reports whether a code that came inside a stream says that the
// request is wrong: invalid_image, unsupported_image_media_type, image_too_large, ….
func aboutTheRequest(code string) bool {
	return slices.ContainsFunc([]string{"invalid_", "unsupported_", "image_", "empty_image", "failed_to_download_image"},
		func(prefix string) bool { return strings.HasPrefix(code, prefix) })
}

// resets returns when the latest of the limits that are spent is filled up again:
// x-ratelimit-reset-requests: 1s, x-ratelimit-reset-tokens: 6m0s.
// platform.openai.com/docs/guides/rate-limits, read 2026-11-20.
func resets(h http.Header, _ time.Time) time.Duration {
	var longest time.Duration
	for _, limit := range []string{"requests", "tokens"} {
		if left := h.Get("x-ratelimit-remaining-" + limit); left != "" && left != "0" {
			continue
		}
		if d, err := time.ParseDuration(h.Get("x-ratelimit-reset-" + limit)); err == nil {
			longest = max(longest, d)
		}
	}
	return longest
}

// waitInWords returns the wait that a message asks for: "Rate limit reached for … Please
// try again in 1.898s.", "… in 6m0s", and Azure's "retry after 20 seconds". Inside a
// stream there is no header to say it.
func waitInWords(message string) time.Duration {
	const longest = 24 * time.Hour // more is a mistake of units
	message = strings.ToLower(message)
	for _, before := range []string{"try again in ", "retry after "} {
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
			return min(max(d, 0), longest)
		}
	}
	return 0
}
