package forms

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"pawl/internal/plainjson"
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

// ListOutputs returns the outputs of scopes that args let pass, one scope after the other, in that
// form: the page that args name; a limit of 0 is all. total is how many there are on all pages.
func ListOutputs(s *output.Store, args output.ListArgs, scopes ...output.Scope) (list List[OutputForm], total int, err error) {
	list = ListOf[OutputForm](nil)
	limit, offset := args.Limit, args.Offset
	for _, scope := range scopes {
		args.Offset = max(0, offset-total)
		if limit > 0 {
			if args.Limit = limit - len(list.Items); args.Limit == 0 {
				args.Limit, args.Offset = 1, math.MaxInt // it is only counted
			}
		}
		some, err := s.List(scope, args)
		if err != nil {
			return list, total, err
		}
		total += some.Total
		for _, o := range some.Outputs {
			list.Items = append(list.Items, OutputForm{o.ID, o.Conversation, o.ToolName, time.UnixMilli(o.Created).UTC(), o.Success, o.Size, o.Summary, o.Preview})
		}
	}
	if next := offset + len(list.Items); next < total && len(list.Items) > 0 {
		list.Next = next
	}
	return list, total, nil
}

// AnswerOf returns the answer to a question about an output of a conversation as JSON, with the
// run in front.
func AnswerOf(conversation run.ID, answer any) (json.RawMessage, error) {
	object, err := plainjson.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, `{"run":%q,`, conversation), object[1:]...), nil
}
