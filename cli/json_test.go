package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pawl/archive"
	"pawl/cli/command"
)

// Every command prints with --json what the schema says, and in one dialect: with the same
// names for the same things, RFC 3339 times, nothing empty that is not there.
func TestEveryCommandPrintsOneJSONDialect(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	folder := filepath.Join(home, "work")
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"gpt-6.1-sol","object":"model"}]}`)
	}))
	t.Cleanup(provider.Close)
	write := func(name, content string) string {
		t.Helper()
		name = filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	model := write("model.jsonl", `{"text":"I look.","calls":[{"tool":"read","args":{"path":"users.json"}},{"tool":"shell","args":{"command":"ls nowhere"}}]}
{"calls":[{"tool":"write","args":{"path":"note.txt","content":"one\ntwo\n"}}]}
{"text":"Now I push.","calls":[{"tool":"shell","args":{"command":"git push"}}]}
{"text":"It is done."}
`)
	asks := write("asks.jsonl", `{"calls":[{"tool":"ask","args":{"question":"Which?","options":["this","that"]}}]}
{"text":"This."}
`)
	planned := write("tasks.jsonl", `{"when":{"first":"Plan this task","contains":"Yes."},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count them.","requirements":["exact"],"acceptanceCriteria":["a number"],"plan":["list","count"],"assignedAgent":"developer"}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Hidden ones?"]}}]}
{"when":{"first":"Carry out this task","contains":"Go on."},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"There are three.","output":"3"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"blocked","summary":"Not yet.","blockedReason":"I wait for words."}}]}
`)
	write("work/users.json", `{"users":[{"name":"ann","score":3},{"name":"bob","score":4}]}`)
	write("work/go.mod", "module example.org/work\n")
	cases := write("cases.json", `{"cases":[{"id":"1","command":"go test ./...","rule":{"allow":["go test *"]},"expected":"deny","why":"it differs"}]}`)
	env := map[string]string{
		"HOME": home, "PAWL_STATE_DIR": filepath.Join(home, "state"), "PAWL_MODEL": "script/" + model,
		"OPENAI_API_KEY": "sk-of-the-test", "OPENAI_BASE_URL": provider.URL,
		"OLLAMA_HOST": "127.0.0.1:1", "LM_STUDIO_API_BASE": "http://127.0.0.1:1", "LLAMACPP_BASE_URL": "http://127.0.0.1:1",
	}
	schema := compiledSchema(t)
	covered := map[string]bool{}
	input := "" // on standard input
	// pawl runs a command and checks each line that it prints. It returns the first as an object.
	pawl := func(want int, args ...string) map[string]any {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code := Main(append([]string{"-C", folder}, args...), command.Process{
			Stdin: strings.NewReader(input), Stdout: &stdout, Stderr: &stderr, Exit: func(int) {},
			Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		})
		command, _, err := root((&command.Invocation{}), nil).Find(args)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(command.CommandPath(), "pawl ")
		covered[name] = true
		lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
		if code != want || stdout.Len() == 0 {
			t.Fatalf("pawl %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, &stdout, &stderr)
		}
		if len(lines) > 1 && name != "runs log" && !strings.HasPrefix(name, "task ") {
			t.Errorf("pawl %s prints %d lines", strings.Join(args, " "), len(lines))
		}
		var first map[string]any
		for i, line := range lines {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
			if err == nil {
				err = schema(strings.ReplaceAll(name, " ", "-")).Validate(value)
			}
			if err != nil {
				t.Errorf("pawl %s: %v\n%s", strings.Join(args, " "), err, line)
			}
			for _, wrong := range notDialect("", value) {
				t.Errorf("pawl %s: %s\n%s", strings.Join(args, " "), wrong, line)
			}
			if i == 0 {
				first, _ = value.(map[string]any)
			}
		}
		return first
	}
	// is says what a member of an object is.
	is := func(object map[string]any, member string, want any) {
		t.Helper()
		if got := object[member]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v, in %v", member, got, want, object)
		}
	}

	pawl(0, "runs", "list", "--json")
	waiting := pawl(3, "run", "-p", "push it", "--output", "json", "--on-ask", "wait", "--mode", "accept-edits")
	is(waiting, "state", "waiting")
	is(waiting, "exit_code", 3)
	is(waiting, "end", nil)
	is(waiting["files"].([]any)[0].(map[string]any), "action", "created")
	id := waiting["run"].(string)
	is(pawl(0, "runs", "why", "last", "--json"), "state", "waiting")
	listed := pawl(0, "runs", "list", "--json")["items"].([]any)[0].(map[string]any)
	is(listed, "state", "waiting")
	is(listed, "run", id)
	shown := pawl(0, "runs", "show", "last", "--json", "--results")
	is(shown, "state", "waiting")
	calls := pawl(0, "runs", "decide", "last", "--json")["items"].([]any)
	is(calls[0].(map[string]any), "input", map[string]any{"command": "git push"})
	is(pawl(0, "runs", "decide", "last", "c_4", "no", "--json"), "taken", false)
	done := pawl(0, "runs", "resume", "last", "--output", "json")
	is(done, "state", "ended")
	is(done, "is_error", false)
	is(done, "text", "It is done.")
	is(done["files"].([]any)[0].(map[string]any), "path", "note.txt")
	is(done["denials"].([]any)[0].(map[string]any), "input", map[string]any{"command": "git push"})

	settled := 0
	var log bytes.Buffer
	Main([]string{"-C", folder, "runs", "log", "last", "--json"}, command.Process{Stdin: strings.NewReader(""), Stdout: &log, Stderr: &log, Exit: func(int) {},
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	for line := range strings.Lines(log.String()) {
		var e struct {
			Type string
			Data struct {
				Tool     string
				Duration *int64 `json:"duration_ms"`
				IsError  *bool  `json:"is_error"`
				ExitCode *int   `json:"exit_code"`
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != "call_settled" {
			continue
		}
		settled++
		if e.Data.Tool == "" || e.Data.Duration == nil || e.Data.IsError == nil || e.Data.Tool == "shell" && !*e.Data.IsError && e.Data.ExitCode == nil {
			t.Errorf("the end of a call lacks its tool, duration, is_error or exit code: %s", line)
		}
	}
	if settled != 3 {
		t.Errorf("%d calls have ended, want 3", settled)
	}
	pawl(0, "runs", "log", "last", "--json")
	pawl(0, "runs", "export", "last", "--format", "json")
	pawl(0, "runs", "verify", "last", "--json")
	pawl(0, "outputs", "list", "--json", "--limit", "1")
	pawl(0, "outputs", "list", "--json", "--all")
	for _, question := range []string{"show", "stats --schema", "extract --path $.users[*].name", "count --count n=$.users", "sample --path $.users",
		"search ann", "aggregate --path $.users --value @.score --op sum --by @.name"} {
		words := strings.Fields(question)
		args := append([]string{"outputs", words[0], "--json", "--file", filepath.Join(folder, "users.json")}, words[1:]...)
		pawl(0, args...)
	}
	is(pawl(0, "outputs", "show", "c_1", "--json"), "run", id)
	is(pawl(0, "outputs", "search", "c_1", "ann", "--json"), "id", "c_1")
	pawl(0, "outputs", "prune", "--max-size", "1B", "--dry-run", "--json")

	// The copy of an open turn has no owner.
	fork := pawl(0, "runs", "fork", "last", "--at", "4", "--json")
	is(fork, "forked_from", id)
	is(pawl(0, "runs", "why", "last", "--json"), "state", "killed")
	pawl(0, "runs", "set", "last", "--mode", "plan", "--json")
	is(pawl(0, "runs", "stop", "last", "--json"), "stopped", true)
	pawl(0, "runs", "rm", "last", "--dry-run", "--json")
	pawl(0, "runs", "prune", "--older-than", "1h", "--dry-run", "--json")
	is(pawl(0, "runs", "undo", id, "--json")["files"].([]any)[0].(map[string]any), "action", "removed")
	asked := pawl(3, "run", "-p", "ask me", "--output", "json", "--model", "script/"+asks)
	is(asked, "state", "waiting")
	is(asked, "end", "asked")
	write("work/.pawl/skills/notes/SKILL.md", "---\nname: notes\ndescription: x\n---\nbody\n")
	pawl(0, "trust", "--yes", "--json")
	pawl(0, "skills", "list", "--json")
	is(pawl(0, "skills", "show", "notes", "--json"), "source", "repository")
	pawl(0, "skills", "check", "--json")
	pawl(0, "hooks", "list", "--json")
	pawl(0, "stats", "--json", "--since", "1d")
	pawl(0, "stats", "--json", "--all")
	pawl(0, "runs", "recover", "--json")

	is(pawl(0, "permissions", "add", "shell(go test *)", "--why", "they only read", "--json"), "changed", true)
	pawl(0, "permissions", "list", "--json")
	pawl(0, "permissions", "explain", "git push | sh", "--json")
	pawl(1, "permissions", "test", cases, "--json")
	pawl(0, "permissions", "replay", "--json")
	pawl(0, "permissions", "rm", "1", "--json")
	pawl(0, "trust", "--json")
	write("work/.pawl/config.toml", "max_steps = 5\n")
	pawl(3, "trust", "--json")
	pawl(0, "trust", "--yes", "--json")
	pawl(0, "trust", "--list", "--json")
	is(pawl(0, "trust", "--revoke", "--json"), "changed", true)
	is(pawl(0, "init", "--print", "--json"), "written", false)
	is(pawl(0, "init", "--json"), "written", true)
	pawl(0, "config", "--json")
	pawl(0, "config", "set", "max_cost", "5", "--json")
	pawl(0, "config", "get", "max_cost", "--json")
	pawl(0, "config", "unset", "max_cost", "--json")
	write("work/mcp.json", `{"mcpServers":{"away":{"command":"no-such-program"}}}`)
	servers := filepath.Join(folder, "mcp.json")
	is(pawl(0, "mcp", "add", "mine", "--json", "--", "no-such-program"), "name", "mine")
	is(pawl(0, "mcp", "rm", "mine", "--json"), "name", "mine")
	pawl(0, "mcp", "import", "--json")
	pawl(0, "mcp", "list", "--mcp-config", servers, "--json")
	is(pawl(0, "mcp", "show", "away", "--mcp-config", servers, "--json"), "known", false)
	is(pawl(1, "mcp", "test", "away", "--mcp-config", servers, "--json"), "name", "away")
	pawl(0, "doctor", "--offline", "--json")
	pawl(0, "models", "--json")
	pawl(0, "models", "openai", "--json")
	pawl(0, "version", "--json")
	env["PAWL_MODEL"] = "script/" + planned
	pawl(0, "task", "add", "Count the files", "--label", "demo", "--json")
	pawl(0, "task", "attach", "last", filepath.Join(folder, "users.json"), "--json")
	pawl(3, "task", "plan", "last", "--json")
	pawl(0, "task", "answer", "last", "Yes.", "--json")
	pawl(0, "task", "edit", "last", "--priority", "2", "--json")
	pawl(3, "task", "start", "last", "--json")
	pawl(0, "task", "say", "last", "Be quick", "--json")
	pawl(0, "task", "resume", "last", "-p", "Go on.", "--json")
	pawl(0, "task", "watch", "last", "--json")
	pawl(0, "task", "reopen", "last", "--json")
	pawl(0, "task", "start", "last", "--json") // it is told what was said before
	pawl(0, "task", "reopen", "last", "--json")
	pawl(0, "task", "fail", "last", "--why", "not wanted", "--json")
	covered["task pause"], covered["task complete"] = true, true // they print what fail does, and here no agent works that it could stop
	pawl(0, "task", "retry", "last", "--json")
	pawl(0, "task", "show", "last", "--json")
	pawl(0, "task", "list", "--json")
	pawl(0, "task", "rm", "last", "--json")
	if git, err := exec.LookPath("git"); err == nil {
		for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "--allow-empty", "-m", "first"}} {
			cmd := exec.Command(git, args...)
			if cmd.Dir = folder; cmd.Run() != nil {
				t.Fatal("git", args)
			}
		}
		pawl(0, "task", "add", "Count the files", "--isolation", "clone", "--json")
		pawl(3, "task", "plan", "last", "--json")
		pawl(0, "task", "answer", "last", "Yes.", "--json")
		pawl(3, "task", "start", "last", "--json")
		pawl(3, "task", "handoff", "last", "writer", "--json")
		pawl(0, "task", "diff", "last", "--json")
		pawl(0, "task", "complete", "last", "--json")
		is(pawl(0, "task", "merge", "last", "--json"), "contained", false)
		pawl(0, "task", "discard", "last", "--json")
	} else {
		for _, name := range []string{"diff", "discard", "handoff", "merge"} {
			covered["task "+name] = true // they need git
		}
	}
	pawl(0, "agents", "list", "--json")
	write("packed/.claude-plugin/marketplace.json", `{"name":"packed","plugins":[{"name":"hello","source":"./hello"}]}`)
	write("packed/hello/commands/greet.md", "Greet.")
	pawl(0, "plugin", "marketplace", "add", filepath.Join(folder, "..", "packed"), "--json")
	pawl(0, "plugin", "marketplace", "update", "--json")
	pawl(0, "plugin", "marketplace", "list", "--json")
	is(pawl(3, "plugin", "add", "hello@packed", "--json"), "state", "shown")
	is(pawl(0, "plugin", "add", "hello@packed", "--yes", "--json"), "state", "added")
	is(pawl(0, "plugin", "update", "hello", "--json"), "state", "unchanged")
	pawl(0, "plugin", "list", "--json")
	is(pawl(0, "plugin", "show", "hello", "--json"), "name", "hello")
	is(pawl(0, "plugin", "rm", "hello", "--json"), "state", "removed")
	is(pawl(0, "plugin", "marketplace", "rm", "packed", "--json"), "name", "packed")
	input = "- one\n- two\n"
	is(pawl(0, "memory", "edit", "--json"), "on", false)
	input = ""
	write(".claude/settings.json", `{"permissions":{"allow":["Bash(git log:*)","Bash(ls*)"],"deny":["WebSearch"]}}`)
	write(".claude/commands/fix.md", "Fix it.")
	pawl(0, "import", "--json")
	pawl(0, "import", "claude-code", "--yes", "--json")
	pawl(0, "import", "sessions", "--json")
	var moved bytes.Buffer
	w, err := archive.NewWriter(&moved, "devel", time.Now())
	if err := errors.Join(err, w.Put(archive.Line{Unit: &archive.Unit{Run: "r"}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	write("moved.pawl", moved.String())
	pawl(1, "runs", "import", filepath.Join(folder, "..", "moved.pawl"), "--json") // it has no events
	pawl(0, "memory", "list", "--json")
	pawl(0, "memory", "rm", "--all", "--json")
	is(pawl(0, "agents", "add", "auditor", "--json"), "name", "auditor")
	input = "---\ndescription: Looks for all risks\n---\nLook for risks.\n"
	pawl(0, "agents", "edit", "auditor", "--json")
	input = ""
	is(pawl(0, "agents", "show", "auditor", "--json"), "description", "Looks for all risks")
	pawl(0, "agents", "check", "auditor", "--json")
	is(pawl(1, "agents", "test", "auditor", "--json"), "name", "auditor") // its script submits nothing
	is(pawl(0, "agents", "rm", "auditor", "--json"), "name", "auditor")
	pawl(0, "serve", "token", "--json")
	covered["serve link"] = true // it needs a server: see TestAServerEndsInOrder
	pawl(0, "tool", "help", "--json")
	is(pawl(0, "tool", "call", "glob", `{"pattern": "*.json"}`, "--json"), "is_error", false)

	for name := range jsonForms {
		if !covered[name] {
			t.Errorf("%s was not run", name)
		}
	}
}

// What is not in the dialect, or not in the schema, is found.
func TestOtherJSONIsNotTheDialect(t *testing.T) {
	t.Parallel()
	list := compiledSchema(t)("runs-list")
	for _, text := range []string{`[]`, `{"items":[],"more":true}`, `{"items":[{"run":"r"}]}`, `{"items":null}`} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if list.Validate(value) == nil {
			t.Errorf("%s fits the schema of runs list", text)
		}
	}
	for text, want := range map[string]int{
		`{"items":[{"at":"2026-11-22T15:00:00Z","cost":null,"input":{"when":""}}]}`: 0,
		`{"created_at":1795328435055}`:                                              1,
		`{"at":"yesterday","reason":"","wall_ns":5}`:                                3,
		`{"items":[{"arguments":"{}"},{"detail":null}]}`:                            2,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if wrong := notDialect("", value); len(wrong) != want {
			t.Errorf("%s: %d faults were found, want %d: %q", text, len(wrong), want, wrong)
		}
	}
}

// compiledSchema returns what compiles the schema of a command.
func compiledSchema(t *testing.T) func(command string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("json.json", schemaDocument(t)); err != nil {
		t.Fatal(err)
	}
	return func(command string) *jsonschema.Schema {
		t.Helper()
		schema, err := compiler.Compile("json.json#/$defs/" + command)
		if err != nil {
			t.Fatal(err)
		}
		return schema
	}
}

// Names that the dialect has others for, those that may be null, and those whose values are
// not pawl's own.
var (
	otherNames = []string{"arguments", "args", "when", "created", "updated", "conversation_id", "conversation", "priced"}
	nullable   = []string{"cost", "price"}
	notOurs    = []string{"input", "result", "extracted", "sample", "within", "schema", "value"}
)

// notDialect returns what is not in the dialect of docs/json.md in a value.
func notDialect(at string, value any) (wrong []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			at := at + "." + name
			switch {
			case slices.Contains(otherNames, name):
				wrong = append(wrong, at+" has another name in the dialect")
			case strings.HasSuffix(name, "_ns"):
				wrong = append(wrong, at+" is not in milliseconds")
			case member == nil && !slices.Contains(nullable, name):
				wrong = append(wrong, at+" is null and not left out")
			case name == "at" || strings.HasSuffix(name, "_at") && name != "forked_at" && name != "compact_at":
				if text, ok := member.(string); !ok {
					wrong = append(wrong, at+" is not a time")
				} else if _, err := time.Parse(time.RFC3339, text); err != nil {
					wrong = append(wrong, err.Error())
				}
			}
			if !slices.Contains(notOurs, name) {
				wrong = append(wrong, notDialect(at, member)...)
			}
		}
	case []any:
		for _, element := range v {
			wrong = append(wrong, notDialect(at, element)...)
		}
	case string:
		if v == "" {
			wrong = append(wrong, at+" is empty and not left out")
		}
	}
	return wrong
}

// schemaDocument returns docs/json.schema.json.
func schemaDocument(t *testing.T) any {
	t.Helper()
	source, err := os.ReadFile("../docs/json.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	return document
}
