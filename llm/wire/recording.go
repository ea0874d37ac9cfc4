package wire

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"pawl/llm"
	"pawl/run"
)

// A Decoded is what a recorded stream is decoded as. It marshals to one
// JSON object; the names are part of what `pawl debug stream` prints.
type Decoded struct {
	Text       string        `json:"text"` // all text, without anything in between
	Thinking   string        `json:"thinking"`
	Calls      []DecodedCall `json:"calls"` // never null
	StopReason string        `json:"stop_reason"`
	Usage      DecodedUsage  `json:"usage"`
	ErrorKind  run.ErrorKind `json:"error_kind"` // empty: it was a whole answer
}

// A DecodedCall is a call of the answer.
type DecodedCall struct {
	ID        string          `json:"id"` // the provider's
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // {} when there is an error
	Error     run.Fault       `json:"error"`     // empty: it could run
}

// A DecodedUsage is the tokens of the answer.
type DecodedUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
}

// DecodeRecording decodes a recorded stream, the body of one response, with the code
// that decodes a live one. Of a stream that ends in an error it returns the kind and the
// text and thinking that had arrived; it returns calls only of a complete answer.
func DecodeRecording(r io.Reader, assemble func(say func(llm.Delta) error) Assembler) Decoded {
	u := Decoded{Calls: []DecodedCall{}}
	var text, thinking strings.Builder
	answer, err := Decode(r, func(d llm.Delta) bool {
		text.WriteString(d.Text)
		thinking.WriteString(d.Thinking)
		return true
	}, assemble)
	u.Text, u.Thinking = text.String(), thinking.String()
	if err != nil {
		var e *llm.Error
		errors.As(err, &e) // decode returns no other error while emit returns true
		u.ErrorKind = e.Kind
		return u
	}
	for _, part := range answer.Parts {
		if c := part.Call; c != nil {
			u.Calls = append(u.Calls, DecodedCall{c.ProviderID, c.Tool, json.RawMessage(c.Arguments), c.Fault})
		}
	}
	u.StopReason = string(answer.Stop)
	u.Usage = DecodedUsage{answer.Usage.Input, answer.Usage.Output, answer.Usage.CacheRead, answer.Usage.CacheWrite}
	return u
}
