package gemini

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pawl/llm/wire"
	"pawl/run"
)

// kind decides what a refusal means: by status; among the 400s by the words, because
// INVALID_ARGUMENT stands for too much, a wrong key included; inside a stream by
// google.rpc.Code's name, or by its number where a gateway sends another.
// ai.google.dev/gemini-api/docs/troubleshooting, read 2026-11-20.
func kind(status int, said wire.Said) run.ErrorKind {
	if k, ok := wire.KindOfStatus(status); ok {
		return k
	}
	if status != 0 {
		return kindOfWords(said.Message)
	}
	switch said.Type {
	case "UNAUTHENTICATED", "PERMISSION_DENIED":
		return run.ErrAuth
	case "RESOURCE_EXHAUSTED":
		return run.ErrRateLimited
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE", "NOT_FOUND", "UNIMPLEMENTED", "ALREADY_EXISTS":
		return kindOfWords(said.Message)
	case "UNAVAILABLE", "INTERNAL", "UNKNOWN", "DEADLINE_EXCEEDED", "ABORTED", "CANCELLED", "DATA_LOSS":
		return run.ErrOverloaded
	}
	code, _ := strconv.Atoi(said.Code)
	if k, ok := wire.KindOfStatus(code); ok {
		return k
	}
	if code >= http.StatusBadRequest {
		return kindOfWords(said.Message)
	}
	return run.ErrOverloaded // what is not known yet: try again
}

// kindOfWords tells apart the requests that are refused as invalid. The sentences
// are those of Google as clients' issues quote them, read 2026-11-20: "API key not
// valid. Please pass a valid API key.", "API key expired. Please renew the API key.",
// "The input token count (1200293) exceeds the maximum number of tokens allowed
// (1048576).", "the input token count is … but the model only supports up to …",
// "Request payload size exceeds the limit: 20971520 bytes."
func kindOfWords(message string) run.ErrorKind {
	message = strings.ToLower(message)
	for _, words := range []string{"api key not valid", "api key not found", "api key expired", "api_key_invalid", "api_key_expired"} {
		if strings.Contains(message, words) {
			return run.ErrAuth
		}
	}
	for _, words := range []string{"exceeds the maximum number of tokens", "only supports up to", "payload size exceeds", "too long"} {
		if strings.Contains(message, words) {
			return run.ErrTooLong
		}
	}
	return run.ErrInvalid
}

// maxRetryDelay bounds what is believed of a wait; a limit of a day is told so.
const maxRetryDelay = 24 * time.Hour

// retryDelay returns the wait that Google asks for in the details of an error:
// {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}. 0: none.
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
	return min(longest, maxRetryDelay)
}
