package store

import (
	"time"

	"pawl/run"
)

// The forms of model requests and their answers.

// empty is a fact without fields.
type empty struct{}

type requestStarted struct {
	Purpose run.Purpose `json:"purpose"`
	Attempt int         `json:"attempt,omitempty"`
	Model   string      `json:"model,omitempty"`
	End     turnEnded   `json:"end,omitzero"`
}

func (d requestStarted) fact() run.RequestStarted {
	return run.RequestStarted{Purpose: d.Purpose, Attempt: d.Attempt, Model: d.Model, End: run.Ended(d.End)}
}

type requestFailed struct {
	Kind      run.ErrorKind `json:"kind"`
	Reason    string        `json:"reason,omitempty"`
	Delivered bool          `json:"delivered,omitempty"`
	RetryAt   time.Time     `json:"retry_at,omitzero"`
}

func requestFailedForm(f run.RequestFailed) requestFailed {
	d := requestFailed(f)
	d.RetryAt = d.RetryAt.UTC()
	return d
}

type replied struct {
	Parts  []part         `json:"parts,omitempty"`
	Stop   run.StopReason `json:"stop,omitempty"`
	Model  string         `json:"model,omitempty"`
	Usage  usage          `json:"usage,omitzero"`
	Cached bool           `json:"cached,omitempty"`
}

func repliedForm(f run.Replied) replied {
	return replied{partForms(f.Parts), f.Stop, f.Model, usage(f.Usage), f.Cached}
}

func (d replied) fact() run.Replied {
	return run.Replied{
		Parts: runParts(d.Parts), Stop: d.Stop, Model: d.Model, Usage: run.Usage(d.Usage), Cached: d.Cached,
	}
}

type usage struct {
	Input      int64   `json:"input,omitempty"`
	CacheRead  int64   `json:"cache_read,omitempty"`
	CacheWrite int64   `json:"cache_write,omitempty"`
	Output     int64   `json:"output,omitempty"`
	Cost       float64 `json:"cost,omitempty"`
	Priced     bool    `json:"priced,omitempty"`
}
