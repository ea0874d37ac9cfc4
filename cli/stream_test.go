package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pawl/cli/command"
)

// Every line of real runs fits the schema, and has the form that its type has there.
func TestEveryLineOfStreamJSONFitsItsSchema(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../docs/stream-json.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("stream-json.schema.json", document); err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("json.schema.json", schemaDocument(t)); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("stream-json.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	folder := filepath.Join(home, "work")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(home, "model.jsonl")
	// What streams is followed from the first call on: who follows misses what came before they did.
	replies := `{"thinking":"I wonder.","text":"A note.","calls":[{"tool":"shell","args":{"command":"for i in 1 2 3; do echo $i; sleep 0.3; done"}}]}
{"thinking":"I wonder.","text":"half","cut":"text"}
{"calls":[{"tool":"shell","args":{"command":"touch note"}}]}
{"calls":[{"tool":"ask","args":{"question":"Which?","options":["this","that"]}}]}
`
	if err := os.WriteFile(model, []byte(replies), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "PAWL_STATE_DIR": filepath.Join(home, "state"), "PAWL_MODEL": "script/" + model}
	var lines []string
	pawl := func(args ...string) {
		var stdout, stderr bytes.Buffer
		Main(append([]string{"-C", folder}, args...), command.Process{
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Exit: func(int) {},
			Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		})
		if stdout.Len() == 0 {
			t.Fatalf("pawl %s: %s", args, &stderr)
		}
		lines = append(lines, strings.Split(strings.TrimSpace(stdout.String()), "\n")...)
	}
	pawl("run", "-p", "go", "--output", "stream-json", "--on-ask", "wait")
	pawl("runs", "log", "last", "--json", "--follow")
	pawl("run", "--continue", "--output", "stream-json", "--allow", "shell")

	var types []string
	for _, line := range lines {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%s\n%v", line, err)
		}
		for _, wrong := range notDialect("", value) {
			t.Errorf("%s\n%s", line, wrong)
		}
		var typed struct{ Type string }
		if err := json.Unmarshal([]byte(line), &typed); err != nil {
			t.Fatal(err)
		}
		types = append(types, typed.Type)
	}
	for _, want := range []string{"start", "run_created", "delta", "drop", "progress", "waiting", "call_decided", "turn_ended", "result"} {
		if !slices.Contains(types, want) {
			t.Errorf("no line is of type %s: %q", want, slices.Compact(types))
		}
	}
	if types[0] != "start" || types[len(types)-1] != "result" {
		t.Errorf("the first line is a %s, the last a %s", types[0], types[len(types)-1])
	}
}
