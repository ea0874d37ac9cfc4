package gemini

import (
	"pawl/llm/wire"
	"pawl/run"
)

// A usage is what a request has cost so far; the figures of an event are totals. A
// field that is not there is zero, or was reported before.
type usage struct {
	Prompt   wire.Tokens `json:"promptTokenCount"` // with what was cached
	Cached   wire.Tokens `json:"cachedContentTokenCount"`
	Tools    wire.Tokens `json:"toolUsePromptTokenCount"` // read by the provider's own tools
	Answer   wire.Tokens `json:"candidatesTokenCount"`
	Thoughts wire.Tokens `json:"thoughtsTokenCount"`
}

// merge takes the figures of a later event.
func (u *usage) merge(later usage) {
	for _, f := range []struct{ have, said *wire.Tokens }{
		{&u.Prompt, &later.Prompt}, {&u.Cached, &later.Cached}, {&u.Tools, &later.Tools},
		{&u.Answer, &later.Answer}, {&u.Thoughts, &later.Thoughts},
	} {
		if *f.said > 0 {
			*f.have = *f.said
		}
	}
}

// total returns the usage in pawl's terms: what was read from the cache is not in
// the input, thinking is output. What the provider writes into its cache it neither
// reports nor charges for.
func (u *usage) total() run.Usage {
	return run.Usage{
		Input:     int64(max(u.Prompt-u.Cached, 0) + u.Tools),
		CacheRead: int64(u.Cached),
		Output:    int64(u.Answer + u.Thoughts),
	}
}
