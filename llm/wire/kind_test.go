package wire_test

import (
	"strings"
	"testing"

	"pawl/llm/llmtest"
	"pawl/llm/wire"
	"pawl/run"
)

func TestRecordedErrorsAreOfAKnownKind(t *testing.T) {
	t.Parallel()
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
		for file, body := range llmtest.ErrorBodies(t, c.files) {
			seen++
			said := wire.ParseError(body)
			if got := wire.Kind(c.status, said); got != c.kind || !strings.Contains(said.Message, c.words) {
				t.Errorf("%s: %s %+v, want %s with %q", file, got, said, c.kind, c.words)
			}
		}
	}
	if seen < 8 || llmtest.Real(t) && seen < 23 {
		t.Errorf("%d errors seen", seen)
	}
}

func TestEveryErrorBodyHasAMessage(t *testing.T) {
	t.Parallel()
	for file, body := range llmtest.ErrorBodies(t, "*/*.json") {
		if e := wire.ParseError(body); e.Message == "" {
			t.Errorf("%s: nothing is read of %.200s", file, body)
		}
	}
}

func TestTheKindOfAnErrorIsInItsWordsOrItsStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider string
		status   int
		said     wire.APIError
		want     run.ErrorKind
	}{
		{"OpenAI", 400, wire.APIError{Code: "context_length_exceeded", Message: "This model's maximum context length is 128000 tokens."}, run.ErrTooLong},
		{"OpenAI", 429, wire.APIError{Code: "rate_limit_exceeded", Message: "Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 40000."}, run.ErrTooLong},
		{"OpenAI", 429, wire.APIError{Code: "rate_limit_exceeded", Message: "Rate limit reached for gpt-x"}, run.ErrRateLimited},
		{"OpenAI", 429, wire.APIError{Code: "insufficient_quota", Message: "You exceeded your current quota"}, run.ErrInvalid},
		{"OpenAI", 400, wire.APIError{Code: "invalid_prompt", Message: "Invalid prompt"}, run.ErrRefused},
		{"Azure", 400, wire.APIError{Code: "content_filter", Message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."}, run.ErrRefused},
		{"OpenRouter", 403, wire.APIError{Code: "403", Message: "This model requires moderation on OpenRouter. Your input was flagged"}, run.ErrRefused},
		{"OpenRouter", 402, wire.APIError{Code: "402", Message: "Insufficient credits"}, run.ErrInvalid},
		{"Groq", 413, wire.APIError{Code: "rate_limit_exceeded", Message: "Request too large for model"}, run.ErrTooLong},
		{"Groq", 400, wire.APIError{Message: "Please reduce the length of the messages or completion."}, run.ErrTooLong},
		{"Mistral", 400, wire.APIError{Message: "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}, run.ErrTooLong},
		{"Mistral", 401, wire.APIError{Message: "Unauthorized"}, run.ErrAuth},
		{"DeepSeek", 402, wire.APIError{Message: "Insufficient Balance"}, run.ErrInvalid},
		{"x.ai", 400, wire.APIError{Message: "Incorrect API key provided: xa***"}, run.ErrAuth},
		{"x.ai", 403, wire.APIError{Message: "Content violates usage guidelines."}, run.ErrRefused},
		{"llama.cpp", 500, wire.APIError{Message: "the request exceeds the available context size. try increasing the context size"}, run.ErrTooLong},
		{"llama.cpp", 503, wire.APIError{Message: "Loading model"}, run.ErrOverloaded},
		{"Ollama", 404, wire.APIError{Message: `model "x" not found, try pulling it first`}, run.ErrInvalid},
		{"anybody", 422, wire.APIError{}, run.ErrInvalid},
		{"anybody, in a stream", 0, wire.APIError{Type: "authentication_error"}, run.ErrAuth},
		{"anybody, in a stream", 0, wire.APIError{Code: "503"}, run.ErrOverloaded},
		{"anybody, in a stream", 0, wire.APIError{Type: "novelty"}, run.ErrOverloaded},
		{"OpenAI, too long by its code", 400, wire.APIError{Type: "invalid_request_error", Code: "context_length_exceeded", Message: "Your input exceeds the context window of this model."}, run.ErrTooLong},
		{"OpenAI, too long by its words", 400, wire.APIError{Message: "This model's maximum context length is 32768 tokens. However, you requested 40000"}, run.ErrTooLong},
		{"OpenAI, too large for its limit, which no wait changes", 429, wire.APIError{Type: "tokens", Code: "rate_limit_exceeded", Message: "Request too large for gpt-5.1 on tokens per min (TPM): Limit 30000, Requested 41520."}, run.ErrTooLong},
		{"OpenAI, a limit", 429, wire.APIError{Type: "tokens", Code: "rate_limit_exceeded", Message: "Rate limit reached"}, run.ErrRateLimited},
		{"OpenAI, a limit without words", 429, wire.APIError{}, run.ErrRateLimited},
		{"OpenAI, money that is spent", 429, wire.APIError{Type: "insufficient_quota", Code: "insufficient_quota", Message: "You exceeded your current quota"}, run.ErrInvalid},
		{"OpenAI, a wrong key", 401, wire.APIError{Code: "invalid_api_key"}, run.ErrAuth},
		{"OpenAI, a country", 403, wire.APIError{Code: "unsupported_country_region_territory"}, run.ErrAuth},
		{"OpenAI, an unknown model", 404, wire.APIError{Code: "model_not_found"}, run.ErrInvalid},
		{"OpenAI, an unknown path", 404, wire.APIError{}, run.ErrInvalid},
		{"OpenAI, a prompt that Azure filters", 400, wire.APIError{Code: "content_filter", Message: "The response was filtered"}, run.ErrRefused},
		{"OpenAI, a parameter", 400, wire.APIError{Type: "invalid_request_error", Code: "unsupported_value"}, run.ErrInvalid},
		{"OpenAI, a server that is down", 503, wire.APIError{}, run.ErrOverloaded},
		{"OpenAI, slow down", 503, wire.APIError{Code: "slow_down"}, run.ErrOverloaded},
		{"OpenAI, a request in a stream", 0, wire.APIError{Type: "invalid_request_error", Message: "no"}, run.ErrInvalid},
		{"OpenAI, a number in a stream", 0, wire.APIError{Code: "401"}, run.ErrAuth},
		{"OpenAI, anything else in a stream", 0, wire.APIError{Code: "gremlins"}, run.ErrOverloaded},
		{"Gemini", 400, wire.APIError{Type: "INVALID_ARGUMENT", Message: "API key not valid. Please pass a valid API key."}, run.ErrAuth},
		{"Gemini", 400, wire.APIError{Type: "INVALID_ARGUMENT", Message: "API key expired. Please renew the API key."}, run.ErrAuth},
		{"Gemini", 403, wire.APIError{Type: "INVALID_ARGUMENT", Message: "Method doesn't allow unregistered callers"}, run.ErrAuth},
		{"Gemini", 401, wire.APIError{Type: "INVALID_ARGUMENT", Message: "Request had invalid authentication credentials."}, run.ErrAuth},
		{"Gemini", 400, wire.APIError{Type: "INVALID_ARGUMENT", Message: "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."}, run.ErrTooLong},
		{"Gemini", 400, wire.APIError{Type: "INVALID_ARGUMENT", Message: "Unable to submit request because the input token count is 1066000 but the model only supports up to 1048576."}, run.ErrTooLong},
		{"Gemini", 400, wire.APIError{Type: "INVALID_ARGUMENT", Message: "Request payload size exceeds the limit: 20971520 bytes."}, run.ErrTooLong},
		{"Gemini", 400, wire.APIError{Type: "INVALID_ARGUMENT", Message: "User location is not supported for the API use."}, run.ErrInvalid},
		{"Gemini", 400, wire.APIError{Type: "INVALID_ARGUMENT", Message: "Function calling with a response mime type: 'application/json' is unsupported"}, run.ErrInvalid},
		{"Gemini", 404, wire.APIError{Type: "INVALID_ARGUMENT", Message: "models/x is not found for API version v1beta"}, run.ErrInvalid},
		{"Gemini", 429, wire.APIError{Type: "INVALID_ARGUMENT", Message: "You exceeded your current quota"}, run.ErrRateLimited},
		{"Gemini", 500, wire.APIError{Type: "INVALID_ARGUMENT", Message: "Internal error encountered."}, run.ErrOverloaded},
		{"Gemini", 503, wire.APIError{Type: "INVALID_ARGUMENT", Message: "The model is overloaded. Please try again later."}, run.ErrOverloaded},
		{"Gemini", 504, wire.APIError{Type: "INVALID_ARGUMENT", Message: "Deadline expired"}, run.ErrOverloaded},
		{"Gemini, in a stream", 0, wire.APIError{Type: "PERMISSION_DENIED", Code: "403"}, run.ErrAuth},
		{"Gemini, in a stream", 0, wire.APIError{Type: "FAILED_PRECONDITION"}, run.ErrInvalid},
		{"Anthropic", 400, wire.APIError{Type: "invalid_request_error", Message: "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000"}, run.ErrTooLong},
		{"Anthropic", 400, wire.APIError{Type: "invalid_request_error", Message: "Output blocked by content filtering policy"}, run.ErrRefused},
		{"Anthropic", 529, wire.APIError{Type: "overloaded_error"}, run.ErrOverloaded},
		{"Anthropic, in a stream", 0, wire.APIError{Type: "timeout_error"}, run.ErrTimeout},
		{"Anthropic, in a stream", 0, wire.APIError{Type: "billing_error"}, run.ErrInvalid},
	} {
		if got := wire.Kind(c.status, c.said); got != c.want {
			t.Errorf("%s, %d %+v: %s, want %s", c.provider, c.status, c.said, got, c.want)
		}
	}
}
