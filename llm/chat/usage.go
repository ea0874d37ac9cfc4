package chat

import (
	"encoding/json"

	"pawl/llm/wire"
	"pawl/run"
)

// A wireUsage is the usage in a chunk. Beside OpenAI's names: DeepSeek's
// prompt_cache_hit_tokens, Moonshot's and Hugging Face's cached_tokens, OpenRouter's
// cache_write_tokens, and Anthropic's names where a gateway keeps them.
type wireUsage struct {
	Prompt        wire.Tokens `json:"prompt_tokens"`
	Completion    wire.Tokens `json:"completion_tokens"`
	Total         wire.Tokens `json:"total_tokens"`
	PromptDetails struct {
		Cached  wire.Tokens `json:"cached_tokens"`
		Written wire.Tokens `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning wire.Tokens `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit wire.Tokens `json:"prompt_cache_hit_tokens"`
	Cached   wire.Tokens `json:"cached_tokens"`
	Read     wire.Tokens `json:"cache_read_input_tokens"`
	Written  wire.Tokens `json:"cache_creation_input_tokens"`
}

// parseUsage returns the usage in a field that may be missing; false if it is empty. Figures
// that cannot be read are left out, so that no answer is lost because of them.
func parseUsage(raw json.RawMessage) (run.Usage, bool) {
	var w wireUsage
	if len(raw) == 0 {
		return run.Usage{}, false
	}
	_ = json.Unmarshal(raw, &w)
	if w.Prompt <= 0 && w.Completion <= 0 {
		return run.Usage{}, false
	}
	read := max(w.PromptDetails.Cached, w.CacheHit, w.Cached, w.Read)
	written := max(w.PromptDetails.Written, w.Written)
	output := w.Completion
	// x.ai counts reasoning only in the total, Vercel for Gemini in neither (both
	// as recorded in March 2026).
	switch reasoning := w.CompletionDetails.Reasoning; {
	case w.Total-w.Prompt > output:
		output = w.Total - w.Prompt
	case reasoning > output:
		output += reasoning
	}
	return run.Usage{
		Input:      int64(max(w.Prompt-read-written, 0)), // the prompt's tokens include both
		CacheRead:  int64(read),
		CacheWrite: int64(written),
		Output:     int64(output),
	}, true
}
