package wire

import (
	"net/http"
	"strings"

	"pawl/run"
)

// Kind decides what an error of a provider means, from its HTTP status (0: it came
// inside a stream) and what it says. One function serves every wire: gateways pass
// the errors of one provider through the wire of another, and no name or sentence
// means two things.
//
// Names and sentences that say more than a status are checked first, then the status,
// then names that occur in streams. An unknown error in a stream is transient.
//
// Sources, read 2026-11-20: platform.claude.com/docs/en/api/errors,
// platform.openai.com/docs/guides/error-codes, response_error.py of openai-python, what
// Codex (codex-rs/codex-api) distinguishes, ai.google.dev/gemini-api/docs/troubleshooting
// with the names of google.rpc.Code, openrouter.ai/docs/api/reference/errors-and-debugging,
// and the sentences below as issues of clients and the recorded errors quote them.
func Kind(status int, e APIError) run.ErrorKind {
	inStream := status == 0
	if inStream {
		status = statusOf(e.Code)
	}
	message, code, kind := strings.ToLower(e.Message), strings.ToLower(e.Code), strings.ToLower(e.Type)
	if status != http.StatusUnauthorized && containsAny(message, tooLong...) {
		return run.ErrTooLong
	}
	if containsAny(message, refused...) {
		return run.ErrRefused
	}
	for _, name := range []string{code, kind} {
		if k, ok := kindOfName[name]; ok {
			return k
		}
	}
	if (inStream || status == http.StatusBadRequest) && containsAny(message, wrongKey...) {
		return run.ErrAuth // x.ai and Gemini say 400
	}
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
	case status != 0:
		return run.ErrInvalid
	}
	for _, known := range kindOfPart {
		if containsAny(kind+" "+code, known.parts...) {
			return known.kind
		}
	}
	return run.ErrOverloaded
}

// tooLong are the sentences about a request that does not fit, by their providers:
// OpenAI, vLLM, OpenRouter, DeepSeek; OpenAI and vLLM; OpenAI's limit of one
// request; Groq; Mistral; x.ai; llama.cpp; Ollama and LM Studio; Together; Moonshot;
// Anthropic; Gemini; z.ai and MiniMax.
var tooLong = []string{
	"maximum context length", "context_length_exceeded", "request too large for",
	"reduce the length of the messages", "too large for model", "maximum prompt length",
	"exceeds the available context size", "greater than the context length", "longer than the model's context length",
	"exceeded model token limit", "prompt is too long", "exceed context limit",
	"exceeds the maximum number of tokens", "the model only supports up to", "payload size exceeds",
	"context window", "context length exceeded",
}

// refused are the sentences of a provider that refuses to answer: OpenAI and Azure;
// x.ai; OpenRouter; Anthropic.
var refused = []string{
	"content management policy", "violating our usage policy", "usage guidelines", "requires moderation", "content_policy_violation",
	"content filtering policy",
}

// wrongKey are the sentences about a key that is not accepted.
var wrongKey = []string{
	"api key not valid", "api key not found", "api key expired", "api_key_invalid", "api_key_expired",
	"incorrect api key", "invalid api key",
}

// kindOfName are the names of errors, in the field code or type, that decide regardless
// of the status.
var kindOfName = map[string]run.ErrorKind{
	"context_length_exceeded":   run.ErrTooLong,
	"exceed_context_size_error": run.ErrTooLong,
	"request_too_large":         run.ErrTooLong,

	"invalid_prompt":                 run.ErrRefused, // "… flagged as potentially violating our usage policy"
	"content_policy_violation":       run.ErrRefused,
	"image_content_policy_violation": run.ErrRefused,
	"content_filter":                 run.ErrRefused, // Azure's, for the prompt
	"cyber_policy":                   run.ErrRefused,

	// HTTP 429, but waiting does not help.
	"insufficient_quota":         run.ErrInvalid,
	"billing_hard_limit_reached": run.ErrInvalid,
	"billing_not_active":         run.ErrInvalid,
	"model_not_found":            run.ErrInvalid,

	"rate_limit_exceeded": run.ErrRateLimited,
	"rate_limit_error":    run.ErrRateLimited,
	"too_many_requests":   run.ErrRateLimited,
	"usage_limit_reached": run.ErrRateLimited,
	"resource_exhausted":  run.ErrRateLimited,

	"invalid_api_key":      run.ErrAuth,
	"authentication_error": run.ErrAuth,
	"permission_error":     run.ErrAuth,
	"unauthenticated":      run.ErrAuth,
	"permission_denied":    run.ErrAuth,

	"server_error":         run.ErrOverloaded,
	"server_is_overloaded": run.ErrOverloaded,
	"overloaded_error":     run.ErrOverloaded,
	"slow_down":            run.ErrOverloaded,

	"timeout_error": run.ErrTimeout,

	// Groq could not parse the call that the model wrote: another attempt may succeed.
	"tool_use_failed": run.ErrBrokenStream,
}

// kindOfPart are parts of names that occur in streams without a status.
var kindOfPart = []struct {
	kind  run.ErrorKind
	parts []string
}{
	{run.ErrRateLimited, []string{"rate_limit", "ratelimit", "too_many_requests"}},
	{run.ErrAuth, []string{"authentication", "permission", "unauthorized", "forbidden"}},
	{run.ErrTimeout, []string{"timeout"}},
	{run.ErrInvalid, []string{"invalid_", "badrequest", "bad_request", "not_found", "notfound", "not_supported", "unsupported_",
		"billing", "image_", "failed_precondition", "out_of_range", "unimplemented", "already_exists"}},
}
