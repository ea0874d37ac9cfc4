package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"pawl/cli/command"
	"pawl/run"
	"pawl/tool"
)

// readOutputSchema reads the JSON Schema that the result of a run has to fit: given is the
// schema itself, which begins with a brace, or a file.
func readOutputSchema(inv *command.Invocation, given string) (run.Output, error) {
	if given == "" {
		return run.Output{}, nil
	}
	var from io.Reader = strings.NewReader(given)
	at := ""
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		f, err := os.Open(given)
		if err != nil {
			return run.Output{}, command.Usage("--output-schema: %w", err)
		}
		defer f.Close() // it was only read
		from, at = f, " "+command.ShellWord(given)
	}
	content, err := io.ReadAll(io.LimitReader(from, tool.MaxSchema+1))
	var o run.Output
	var unchecked []string
	if err == nil {
		o, unchecked, err = tool.OutputOf(content)
	}
	if err != nil {
		return run.Output{}, command.Usage("--output-schema%s: %w", at, err)
	}
	for _, pattern := range unchecked {
		inv.Notice(fmt.Sprintf("--output-schema: the pattern %s cannot be checked here and counts as fitting", command.Quoted(pattern)))
	}
	return o, nil
}
