package tool

import (
	"encoding/json"
	"errors"
	"fmt"

	"pawl/run"
)

// MaxSchema bounds the schema of a result, in bytes: it goes into every request.
const MaxSchema = 64 << 10

// OutputOf returns the result that a run has to submit: JSON that fits a JSON Schema. unchecked
// are the patterns in it that cannot be checked here and count as fitting.
func OutputOf(schema []byte) (o run.Output, unchecked []string, err error) {
	if len(schema) > MaxSchema {
		return o, nil, fmt.Errorf("it has more than %d KB: it goes into every request", MaxSchema>>10)
	}
	var raw json.RawMessage
	if err := json.Unmarshal(schema, &raw); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return o, nil, fmt.Errorf("it is not JSON: %w, at byte %d", err, syntax.Offset)
		}
		return o, nil, err
	}
	s, err := NewSubmission(SubmitName, raw)
	if err != nil {
		return o, nil, err
	}
	return run.Output{Tool: SubmitName, Schema: string(schema)}, s.Unchecked(), nil
}
