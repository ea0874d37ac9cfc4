package view

import (
	"math"

	"pawl/run"
)

// Usage is what requests cost, in the form in which it is part of JSON.
type Usage struct {
	Input      int64    `json:"input_tokens"`
	CacheRead  int64    `json:"cache_read_tokens"`
	CacheWrite int64    `json:"cache_write_tokens"`
	Output     int64    `json:"output_tokens"`
	Cost       *float64 `json:"cost"` // US dollars, rounded to a millionth; null: not known
}

// UsageOf returns u in that form.
func UsageOf(u run.Usage) Usage {
	f := Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
	if u.Priced {
		cost := Dollars(u.Cost)
		f.Cost = &cost
	}
	return f
}

// Dollars rounds an amount to a millionth of a dollar, so that sums of prices have no digits
// that only binary fractions make.
func Dollars(amount float64) float64 { return math.Round(amount*1e6) / 1e6 }
