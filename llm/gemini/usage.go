package gemini

import "pawl/run"

// A usage is what a request has cost so far; the figures of an event are totals. A
// field that is not there is zero, or was told before.
type usage struct {
	Prompt   *int64 `json:"promptTokenCount"` // with what was cached
	Cached   *int64 `json:"cachedContentTokenCount"`
	Tools    *int64 `json:"toolUsePromptTokenCount"` // read by the provider's own tools
	Answer   *int64 `json:"candidatesTokenCount"`
	Thoughts *int64 `json:"thoughtsTokenCount"`
}

// merge takes the figures of a later event.
func (u *usage) merge(later usage) {
	for _, f := range []struct{ have, said **int64 }{
		{&u.Prompt, &later.Prompt}, {&u.Cached, &later.Cached}, {&u.Tools, &later.Tools},
		{&u.Answer, &later.Answer}, {&u.Thoughts, &later.Thoughts},
	} {
		if *f.said != nil && **f.said >= 0 {
			*f.have = *f.said
		}
	}
}

// total returns the usage in pawl's words: what was read from the cache is not in
// the input, thinking is output. What the provider writes into its cache it does
// not say, and does not ask to be paid for.
func (u *usage) total() run.Usage {
	n := func(p *int64) int64 {
		if p == nil {
			return 0
		}
		return *p
	}
	return run.Usage{
		Input:     max(n(u.Prompt)-n(u.Cached), 0) + n(u.Tools),
		CacheRead: n(u.Cached),
		Output:    n(u.Answer) + n(u.Thoughts),
	}
}
