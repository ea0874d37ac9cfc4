package chat

import (
	"encoding/json"

	"pawl/run"
)

// A wireUsage is the usage in a chunk. Beside OpenAI's names: DeepSeek's
// prompt_cache_hit_tokens, Moonshot's and Hugging Face's cached_tokens, OpenRouter's
// cache_write_tokens, and Anthropic's names where a gateway keeps them.
type wireUsage struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	Total         int64 `json:"total_tokens"`
	PromptDetails struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit int64 `json:"prompt_cache_hit_tokens"`
	Cached   int64 `json:"cached_tokens"`
	Read     int64 `json:"cache_read_input_tokens"`
	Written  int64 `json:"cache_creation_input_tokens"`
}

// parseUsage returns the usage in a field that may be missing; false when it says
// nothing. Figures that cannot be read are left out: an answer is worth more than
// its bill.
func parseUsage(raw json.RawMessage) (run.Usage, bool) {
	var w wireUsage
	if len(raw) == 0 {
		return run.Usage{}, false
	}
	_ = json.Unmarshal(raw, &w)
	if w.Prompt <= 0 && w.Completion <= 0 {
		return run.Usage{}, false
	}
	u := run.Usage{
		CacheRead:  max(w.PromptDetails.Cached, w.CacheHit, w.Cached, w.Read, 0),
		CacheWrite: max(w.PromptDetails.Written, w.Written, 0),
		Output:     max(w.Completion, 0),
	}
	u.Input = max(w.Prompt-u.CacheRead-u.CacheWrite, 0) // the prompt's tokens include both
	// x.ai counts reasoning in the total alone, Vercel for Gemini in neither (both
	// as recorded in March 2026).
	switch reasoning := w.CompletionDetails.Reasoning; {
	case w.Total-w.Prompt > u.Output:
		u.Output = w.Total - w.Prompt
	case reasoning > u.Output:
		u.Output += reasoning
	}
	return u, true
}
