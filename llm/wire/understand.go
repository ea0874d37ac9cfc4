package wire

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"pawl/llm"
	"pawl/run"
)

// An Understood is what a recorded stream was understood as. It marshals to one
// JSON object; the names are part of what `pawl debug stream` prints.
type Understood struct {
	Text       string           `json:"text"` // all text, without anything in between
	Thinking   string           `json:"thinking"`
	Calls      []UnderstoodCall `json:"calls"` // never null
	StopReason string           `json:"stop_reason"`
	Usage      UnderstoodUsage  `json:"usage"`
	ErrorKind  run.ErrorKind    `json:"error_kind"` // empty: it was a whole answer
}

// An UnderstoodCall is a call of the answer.
type UnderstoodCall struct {
	ID        string          `json:"id"` // the provider's
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // {} when there is an error
	Error     run.Fault       `json:"error"`     // empty: it could run
}

// An UnderstoodUsage is the tokens of the answer.
type UnderstoodUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
}

// Understand decodes a recorded stream, the body of one response, with the code
// that decodes a live one. Of a stream that ends in an error it tells the kind and
// the text and thinking that had come; calls it tells only of a whole answer.
func Understand(r io.Reader, assemble func(say func(llm.Delta) error) Assembler, kind func(status int, said Said) run.ErrorKind) Understood {
	u := Understood{Calls: []UnderstoodCall{}}
	var text, thinking strings.Builder
	answer, err := Decode(r, func(d llm.Delta) bool {
		text.WriteString(d.Text)
		thinking.WriteString(d.Thinking)
		return true
	}, assemble, kind)
	u.Text, u.Thinking = text.String(), thinking.String()
	if err != nil {
		var e *llm.Error
		errors.As(err, &e) // decode has no other while everything is listened to
		u.ErrorKind = e.Kind
		return u
	}
	for _, part := range answer.Parts {
		if c := part.Call; c != nil {
			u.Calls = append(u.Calls, UnderstoodCall{c.ProviderID, c.Tool, json.RawMessage(c.Arguments), c.Fault})
		}
	}
	u.StopReason = string(answer.Stop)
	u.Usage = UnderstoodUsage{answer.Usage.Input, answer.Usage.Output, answer.Usage.CacheRead, answer.Usage.CacheWrite}
	return u
}
