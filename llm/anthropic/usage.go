package anthropic

import "pawl/run"

// A wireUsage is the usage in an event; what is not there is nil.
type wireUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
}

// usage is what a request has cost so far.
type usage struct{ run.Usage }

// merge takes figures of a later event: they are totals, not additions
// (…/build-with-claude/streaming, "message_delta", read 2026-11-20). What was read is
// not taken back to nothing: some servers send zeros where Anthropic sends no field.
func (u *usage) merge(w wireUsage) {
	for _, f := range []struct {
		have *int64
		said *int64
	}{{&u.Input, w.Input}, {&u.CacheRead, w.CacheRead}, {&u.CacheWrite, w.CacheWrite}} {
		if f.said != nil && *f.said > 0 {
			*f.have = *f.said
		}
	}
	if w.Output != nil && *w.Output >= 0 {
		u.Output = *w.Output
	}
}
