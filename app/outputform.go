package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"pawl/output"
	"pawl/run"
)

// An OutputForm is a stored output as JSON.
type OutputForm struct {
	ID      string    `json:"id"`  // as outputs show takes it
	Run     run.ID    `json:"run"` // the root run
	Tool    string    `json:"tool"`
	Created time.Time `json:"created_at"`
	Success bool      `json:"success"` // the call has no error, and its command ended with exit code 0
	Bytes   int64     `json:"bytes"`
	Summary string    `json:"summary"`
	Preview string    `json:"preview,omitempty"`
}

// ListOutputs returns all outputs of a scope that args let pass, in that form; the page of
// args does not count.
func ListOutputs(s *output.Store, scope output.Scope, args output.ListArgs) ([]OutputForm, error) {
	args.Limit, args.Offset = 0, 0
	list, err := s.List(scope, args)
	if err != nil {
		return nil, err
	}
	return Forms(list.Outputs, func(o output.Listed) OutputForm {
		return OutputForm{o.ID, o.Conversation, o.ToolName, time.UnixMilli(o.Created).UTC(), o.Success, o.Size, o.Summary, o.Preview}
	}), nil
}

// AnswerOf returns the answer to a question about an output of a conversation as JSON, with the
// run in front.
func AnswerOf(conversation run.ID, answer any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(answer); err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, `{"run":%q,`, conversation), bytes.TrimSpace(b.Bytes())[1:]...), nil
}
