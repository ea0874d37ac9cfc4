package responses

import (
	"encoding/json"

	"pawl/llm/wire"
	"pawl/run"
)

// A wireUsage is the usage of a response. Tokens read from the cache and written to it
// are among the input, reasoning is among the output (openai-python, response_usage.py;
// cache_write_tokens since GPT-5.6; read 2026-11-20).
type wireUsage struct {
	Input        wire.Tokens `json:"input_tokens"`
	InputDetails struct {
		Cached  wire.Tokens `json:"cached_tokens"`
		Written wire.Tokens `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output wire.Tokens `json:"output_tokens"`
}

// readUsage returns the usage in a response. Invalid figures do not lose the answer.
func readUsage(raw json.RawMessage) run.Usage {
	var w wireUsage
	if json.Unmarshal(raw, &w) != nil {
		return run.Usage{}
	}
	read, written := w.InputDetails.Cached, w.InputDetails.Written
	return run.Usage{Input: int64(max(w.Input-read-written, 0)), CacheRead: int64(read), CacheWrite: int64(written), Output: int64(w.Output)}
}
