package anthropic

import (
	"pawl/llm/wire"
	"pawl/run"
)

// A wireUsage is the usage in an event.
type wireUsage struct {
	Input      wire.Tokens `json:"input_tokens"`
	Output     wire.Tokens `json:"output_tokens"`
	CacheRead  wire.Tokens `json:"cache_read_input_tokens"`
	CacheWrite wire.Tokens `json:"cache_creation_input_tokens"`
}

// merge adds the figures of a later event to u: they are totals, not additions
// (…/build-with-claude/streaming, "message_delta", read 2026-11-20). A zero does not
// replace what was read before: some servers send zeros where Anthropic sends no
// field.
func (w wireUsage) merge(u *run.Usage) {
	for _, f := range []struct {
		have *int64
		said wire.Tokens
	}{{&u.Input, w.Input}, {&u.CacheRead, w.CacheRead}, {&u.CacheWrite, w.CacheWrite}, {&u.Output, w.Output}} {
		if f.said > 0 {
			*f.have = int64(f.said)
		}
	}
}
