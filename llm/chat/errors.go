package chat

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

// kind decides what a refusal means: first by the words that say more than a
// status does, then by status; inside a stream by the code, which mostly is the
// status that could not be sent any more, and the type. Sources, read 2026-11-20:
// platform.openai.com/docs/guides/error-codes, openrouter.ai/docs/api/reference/errors-and-debugging,
// and the sentences below as clients' issues and error tables quote them.
func kind(status int, said wire.Said) run.ErrorKind {
	if k, ok := kindOfWords(status, said); ok {
		return k
	}
	if k, ok := wire.KindOfStatus(status); ok {
		return k
	}
	if status != 0 {
		return run.ErrInvalid
	}
	if code, err := strconv.Atoi(said.Code); err == nil && code >= 400 && code < 600 {
		return kind(code, said)
	}
	name := strings.ToLower(said.Type + " " + said.Code)
	for _, known := range []struct {
		kind  run.ErrorKind
		names []string
	}{
		{run.ErrRateLimited, []string{"rate_limit", "ratelimit", "too_many_requests"}},
		{run.ErrAuth, []string{"authentication", "permission", "unauthorized", "forbidden"}},
		{run.ErrTimeout, []string{"timeout"}},
		{run.ErrInvalid, []string{"invalid_request", "badrequest", "bad_request", "not_found", "notfound", "not_supported", "billing"}},
	} {
		for _, n := range known.names {
			if strings.Contains(name, n) {
				return known.kind
			}
		}
	}
	return run.ErrOverloaded // server_error, over_capacity, and what is not known yet: try again
}

// tooLong are the sentences about a request that does not fit, by their providers:
// OpenAI, vLLM, OpenRouter, DeepSeek; OpenAI and vLLM; OpenAI's limit of one
// request; Groq; Mistral; x.ai; llama.cpp; Ollama and LM Studio; Together;
// Moonshot; Anthropic's models behind a gateway; Gemini's; z.ai and MiniMax.
var tooLong = []string{
	"maximum context length", "context_length_exceeded", "request too large for",
	"reduce the length of the messages", "too large for model", "maximum prompt length",
	"exceeds the available context size", "greater than the context length", "longer than the model's context length",
	"exceeded model token limit", "prompt is too long", "exceed context limit", "exceeds the maximum number of tokens",
	"context window", "context length exceeded",
}

// refused are the words about what a provider will not answer: OpenAI and Azure;
// x.ai; OpenRouter.
var refused = []string{
	"content management policy", "violating our usage policy", "usage guidelines", "requires moderation", "content_policy_violation",
}

// kindOfWords decides by what is said, whatever the status; false when it says
// nothing special.
func kindOfWords(status int, said wire.Said) (run.ErrorKind, bool) {
	words := strings.ToLower(said.Message)
	has := func(list []string) bool {
		for _, w := range list {
			if strings.Contains(words, w) {
				return true
			}
		}
		return false
	}
	switch {
	case said.Code == "insufficient_quota" || said.Type == "insufficient_quota":
		return run.ErrInvalid, true // OpenAI's 429 for an account that is empty: waiting does not fill it
	case said.Code == "context_length_exceeded" || said.Type == "exceed_context_size_error" || status != http.StatusUnauthorized && has(tooLong):
		return run.ErrTooLong, true
	case said.Code == "content_filter" || said.Code == "content_policy_violation" || said.Code == "invalid_prompt" || has(refused):
		return run.ErrRefused, true
	case said.Code == "tool_use_failed":
		return run.ErrBrokenStream, true // Groq could not read the call that the model wrote: the next may be better
	case said.Code == "invalid_api_key" || (status == http.StatusBadRequest || status == 0) && has([]string{"api key not valid", "incorrect api key", "invalid api key"}):
		return run.ErrAuth, true // x.ai and Gemini say 400
	}
	return "", false
}

// failed returns the error for what a stream says went wrong.
func failed(said wire.Said) *llm.Error {
	if said.Message == "" {
		said.Message = strings.TrimSpace("an error without words " + said.Type + " " + said.Code)
	}
	e := &llm.Error{Kind: kind(0, said), Message: said.Message}
	if e.Kind == run.ErrRateLimited {
		e.Wait = waitInWords(said.Message)
	}
	return e
}

// "Please try again in 7.66s" (OpenAI, Groq), "Please retry in 46.2s" (Gemini).
var tryAgain = regexp.MustCompile(`(?:try again|retry) in ((?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+)`)

// waitInWords returns the wait that a message asks for.
func waitInWords(message string) time.Duration {
	m := tryAgain.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	d, err := time.ParseDuration(m[1])
	if err != nil {
		return 0
	}
	return min(d, 24*time.Hour)
}

// resets returns when the latest of the limits that are spent is filled up again:
// OpenAI and Groq tell durations as Go writes them (6m0s, 7.66s), OpenRouter the
// time in milliseconds (platform.openai.com/docs/guides/rate-limits,
// console.groq.com/docs/rate-limits, openrouter.ai/docs/api/reference/limits; read
// 2026-11-20).
func resets(h http.Header, now time.Time) time.Duration {
	var longest time.Duration
	for _, limit := range []string{"-requests", "-tokens", ""} {
		if left := h.Get("x-ratelimit-remaining" + limit); left != "" && left != "0" {
			continue
		}
		reset := h.Get("x-ratelimit-reset" + limit)
		if d, err := time.ParseDuration(reset); err == nil {
			longest = max(longest, d)
		} else if ms, err := strconv.ParseInt(reset, 10, 64); err == nil && ms > 1e12 {
			longest = max(longest, time.UnixMilli(ms).Sub(now))
		}
	}
	return longest
}
