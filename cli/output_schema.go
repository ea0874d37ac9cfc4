package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"pawl/run"
	"pawl/tool"
)

// maxSchema bounds an output's schema: it goes into every request.
const maxSchema = 64 << 10 // bytes

// readOutputSchema reads the JSON Schema that the result of a run has to fit: given is the
// schema itself, which begins with a brace, or a file.
func (inv *invocation) readOutputSchema(given string) (run.Output, error) {
	if given == "" {
		return run.Output{}, nil
	}
	var from io.Reader = strings.NewReader(given)
	at := ""
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		f, err := os.Open(given)
		if err != nil {
			return run.Output{}, usage("--output-schema: %w", err)
		}
		defer f.Close() // it was only read
		from, at = f, " "+shellWord(given)
	}
	content, err := io.ReadAll(io.LimitReader(from, maxSchema+1))
	if err == nil && len(content) > maxSchema {
		err = fmt.Errorf("it has more than %d KB: it goes into every request", maxSchema>>10)
	}
	var syntax *json.SyntaxError
	if err == nil {
		var schema json.RawMessage
		if err = json.Unmarshal(content, &schema); errors.As(err, &syntax) {
			err = fmt.Errorf("it is not JSON: %w, at byte %d", err, syntax.Offset)
		}
		if err == nil {
			var s tool.Submission
			if s, err = tool.NewSubmission(tool.SubmitName, schema); err == nil {
				for _, pattern := range s.Unchecked() {
					fmt.Fprintf(inv.Stderr, "pawl: --output-schema: the pattern %q cannot be checked here and counts as fitting\n", pattern)
				}
			}
		}
	}
	if err != nil {
		return run.Output{}, usage("--output-schema%s: %w", at, err)
	}
	return run.Output{Tool: tool.SubmitName, Schema: string(content)}, nil
}
