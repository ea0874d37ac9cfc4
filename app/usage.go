package app

import "pawl/run"

// Usage is what requests cost, in the form in which it is part of JSON.
type Usage struct {
	Input      int64    `json:"input_tokens"`
	CacheRead  int64    `json:"cache_read_tokens"`
	CacheWrite int64    `json:"cache_write_tokens"`
	Output     int64    `json:"output_tokens"`
	Cost       *float64 `json:"cost"` // US dollars; null: not known
}

// UsageOf returns u in that form.
func UsageOf(u run.Usage) Usage {
	f := Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
	if u.Priced {
		f.Cost = &u.Cost
	}
	return f
}
