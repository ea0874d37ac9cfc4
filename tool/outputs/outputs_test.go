package outputs

import (
	"encoding/json"
	"strings"
	"testing"

	"pawl/output"
	"pawl/run"
	"pawl/schema"
	"pawl/tool"
)

func TestEveryProviderCanHaveTheTools(t *testing.T) {
	t.Parallel()
	for _, spec := range tool.NewRegistry(All()...).Specs() {
		for _, target := range []schema.Target{schema.AnthropicTool, schema.OpenAI, schema.Gemini} {
			if _, err := schema.Adapt(target, spec.Schema); err != nil {
				t.Errorf("%s for %v: %v", spec.Name, target, err)
			}
		}
	}
}

func TestOnePathIsTakenAsAListOfOne(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry(All()...)
	for _, args := range []string{`{"paths":"$.users"}`, `{"paths":["$.users"]}`} {
		if err := r.Validate(Prefix+"extract", json.RawMessage(args)); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		var a output.ExtractArgs
		if err := output.Decode(json.RawMessage(args), &a); err != nil || len(a.Paths) != 1 {
			t.Errorf("%s: paths %q, %v", args, a.Paths, err)
		}
	}
}

// newEnv returns where a run has the outputs c_1, of JSON and shown as an envelope, c_2,
// small, and c_3, empty.
func newEnv(t *testing.T) tool.Env {
	t.Helper()
	s := output.NewStore(t.TempDir())
	env := tool.Env{Outputs: s, Conversation: "root", Run: "root"}
	for call, text := range map[run.CallID]string{
		"c_1": `{"users": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}], "pad": "` + strings.Repeat("x", 40_000) + `"}`,
		"c_2": "small",
		"c_3": "",
	} {
		w, err := s.Create(output.Key{Conversation: "root", Run: "root", Call: call}, "shell", "m_1")
		if err != nil {
			t.Fatal(err)
		}
		w.Limits = output.DefaultLimits
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		o, err := w.Commit(true)
		if err != nil {
			t.Fatal(err)
		}
		o.Close()
	}
	return env
}

// call calls a tool as the worker does.
func call(t *testing.T, env tool.Env, name, args string) (string, error) {
	t.Helper()
	r := tool.NewRegistry(All()...)
	if err := r.Validate(Prefix+name, json.RawMessage(args)); err != nil {
		return "", err
	}
	q, _ := r.Get(Prefix + name)
	intent, err := q.Inspect(env, json.RawMessage(args))
	if err != nil {
		return "", err
	}
	if intent.Class != run.Reads || intent.Title == "" {
		t.Errorf("%s is %+v", name, intent)
	}
	res, err := q.Run(t.Context(), env, tool.Call{Run: env.Run, ID: "c_9", Args: json.RawMessage(args)})
	return run.PlainText(res.Content), err
}

func TestEveryToolAnswersOfTheNewestEnvelopeAndSaysWhich(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	const target = `"id":"c_1","conversation_id":"root"`
	for _, c := range []struct{ name, args, want string }{
		{"list", `{}`, `"total":3,"has_more":false}`},
		{"list", `{"tool_name": "fetch"}`, `"outputs":[],"total":0`},
		{"stats", `{}`, target + `,"size":{"bytes":`},
		{"stats", `{"id": "c_2"}`, `"id":"c_2"`},
		{"stats", `{"id": " ", "conversation_id": null}`, target},
		{"extract", `{"paths": "$.users[*].name"}`, target + `,"extracted":{"$.users[*].name":["Ada","Bob"]},"missing_paths":[]}`},
		{"extract", `{"paths": ["$.none"], "default_value": {"a": [1, 2.50]}}`, `"extracted":{"$.none":{"a":[1,2.50]}}`},
		{"extract", `{"paths": ["$.none"], "default_value": [], "flatten": true}`, `"extracted":[[]]`},
		{"count", `{"counts": [{"path": "$.users", "filter": "@.id > 1"}]}`, target + `,"counts":{"$.users":1},"total":1}`},
		{"sample", `{"size": 1, "strategy": "first"}`, target + `,"path":"$['users']","sample":[{"id":1,"name":"Ada"}],"total_items":2`},
		{"search", `{"pattern": "^Bob$"}`, target + `,"matches":[{"path":"$.users[1].name","value":"Bob"}],"total":1}`},
		{"aggregate", `{"path": "$.users", "value_path": "@.id", "op": "sum"}`, `"all":{"value":3,"count":2}`},
		{"read", `{"id": "c_2"}`, "small"},
		{"read", `{"limit": 5}`, "[output c_1]\n{\"use\n[characters 1 to 5 of 40,"},
		{"read", `{"id": "c_3"}`, "[output c_3 is empty]"},
	} {
		got, err := call(t, env, c.name, c.args)
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %.300s %v, want %s", c.name, c.args, got, err, c.want)
		}
	}
	if got, _ := call(t, env, "read", `{"id": "c_2"}`); got != "small" {
		t.Errorf("what was named is read as %q", got)
	}
}

func TestAnErrorSaysOnceOfWhichToolAndOutput(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	for _, c := range []struct{ name, args, want string }{
		{"extract", `{"paths": "$.users["}`, "tool_outputs.extract of c_1: JSONPath"},
		{"extract", `{"id": "c_2"}`, "tool_outputs.extract of c_2: c_2 is not JSON (it is text): use read or search"},
		{"count", `{"counts": [{"path": "$", "filter": "@.a ="}]}`, "tool_outputs.count of c_1: "},
		{"count", `{"counts": []}`, "tool_outputs.count: counts is empty"},
		{"search", `{"pattern": "("}`, "tool_outputs.search of c_1: pattern: "},
		{"stats", `{"id": "c_7"}`, `tool_outputs.stats: there is no stored output "c_7" in this conversation; there are c_`},
		{"read", `{"id": "c_1", "conversation_id": "other"}`, `tool_outputs.read: there is no output "c_1" in a conversation "other"; this conversation is root`},
		{"sample", `{"size": 0}`, "tool_outputs.sample: size must be from 1 to 1000, got 0"},
		{"list", `{"limit": 0}`, "tool_outputs.list: limit must be from 1 to 100"},
	} {
		_, err := call(t, env, c.name, c.args)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Count(err.Error(), "tool_outputs."+c.name) != 1 {
			t.Errorf("%s %s: %v, want %s", c.name, c.args, err, c.want)
		}
	}
	none := tool.Env{Conversation: "root", Run: "root"}
	if _, err := call(t, none, "stats", `{}`); err == nil || err.Error() != "tool_outputs.stats: no outputs are stored here" {
		t.Errorf("without a store: %v", err)
	}
	if got, err := call(t, none, "list", `{}`); err != nil || got != `{"outputs":[],"total":0,"has_more":false}` {
		t.Errorf("without a store: %s, %v", got, err)
	}
}

func TestAnAnswerIsCutWithAMark(t *testing.T) {
	t.Parallel()
	env := newEnv(t)
	env.Conversation, env.Run = "big", "big"
	w, err := env.Outputs.Create(output.Key{Conversation: "big", Run: "big", Call: "c_1"}, "shell", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(strings.Repeat("line of text\n", 20_000))); err != nil {
		t.Fatal(err)
	}
	o, err := w.Commit(true)
	if err != nil {
		t.Fatal(err)
	}
	o.Close()
	got, err := call(t, env, "read", `{}`)
	if err != nil || len(got) > maxInline || !strings.Contains(got, " left: read on with offset 5000]") {
		t.Errorf("%d characters, %v, ending %s", len(got), err, got[max(0, len(got)-100):])
	}
	if lines := Available(); len(lines) != 8 || lines[0] != "tool_outputs.read — load full output into context" {
		t.Errorf("available: %q", lines)
	}
}
