package responses

import (
	"encoding/json"

	"pawl/run"
)

// A wireUsage is the usage of a response. Tokens read from the cache and written to it
// are among the input, reasoning is among the output (openai-python, response_usage.py;
// cache_write_tokens since GPT-5.6; read 2026-11-20).
type wireUsage struct {
	Input        int64 `json:"input_tokens"`
	InputDetails struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output int64 `json:"output_tokens"`
}

// readUsage returns the usage that a response tells. No answer is lost because of
// figures that are none.
func readUsage(raw json.RawMessage) run.Usage {
	var w wireUsage
	if json.Unmarshal(raw, &w) != nil {
		return run.Usage{}
	}
	u := run.Usage{CacheRead: max(w.InputDetails.Cached, 0), CacheWrite: max(w.InputDetails.Written, 0), Output: max(w.Output, 0)}
	u.Input = max(w.Input-u.CacheRead-u.CacheWrite, 0)
	return u
}
