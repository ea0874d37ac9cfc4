package external

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
)

// described returns the program of a description.
func describedKind(t *testing.T, content string) Kind {
	t.Helper()
	k, err := describe("prober", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestMistakesInADescriptionAreSaid(t *testing.T) {
	t.Parallel()
	const head = "program = \"p\"\nstart = []\n"
	for content, want := range map[string]string{
		"":                              "program is missing",
		"program = \"p\"":               "start is missing",
		"program = \"./p\"\nstart = []": "an absolute path, not",
		head + "strat = []":             "line 3: there is no key \"strat\"; did you mean \"start\"?",
		head + "title = 3":              "line 3: title has a value of the wrong type",
		head + "title = x":              "line 3: ",
		"program = \"p\"\nstart = [1]":  "start must be a list of strings",
		"program = \"p\"\nstart = [[\"{modl}\"]]":                            "start: there is no placeholder {modl}; did you mean \"model\"?; there are {prompt}, ",
		head + "env = {A = \"{b}\"}":                                         "env.A: there is no placeholder {b}",
		head + "resume = [\"{session}\"]":                                    "nothing says which conversation",
		head + "resume = [\"-r\"]\n[[event]]\nsession = \"$.s\"":             "resume has no {session}",
		"program = \"p\"\nstart = [\"{session}\"]":                           "resume is missing",
		head + "[mcp]\nprefix = \"x\"":                                       "neither {mcp}",
		head + "env = {A = \"{folder}\"}\n[mcp]\nfile = \"../x.json\"":       "mcp.file must be a path in {folder}",
		"program = \"p\"\nstart = [\"{mcp}\"]\n[mcp]\ntext = \"{command}{\"": "mcp.text is not JSON",
		head + "writes = [\"x\"]":                                            "writes: \"x\" must be absolute, or begin with ~/",
		head + "[[event]]\ntxt = \"$.a\"":                                    "event 1: there is no key \"txt\"; did you mean \"text\"?",
		head + "[[event]]\ntext = \"a.b\"":                                   "event 1: text: ",
		head + "[[event]]\ntext = \"$.a[\"":                                  "event 1: text: ",
		head + "[[event]]\ntext = 3":                                         "event 1: text must be a JSONPath",
		head + "[[event]]\neach = \"$.a\"":                                   "event 1: it tells nothing",
		head + "[[event]]\nwhen = 3\nend = true":                             "event 1: when must be a table",
		head + "[[event]]\ncall = \"$.id\"":                                  "event 1: call needs tool",
	} {
		if _, err := describe("prober", []byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", content, err, want)
		}
	}
	for name, want := range map[string]string{"codex": "pawl has a program codex of its own", "No": "lower-case letters"} {
		if _, err := describe(name, []byte(head)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.toml"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := (&ending{report: &report{fail: &run.RequestFailed{Kind: run.ErrAuth, Reason: "no key"}}}).final(t.Context(), describedKind(t, head)); got.(run.RequestFailed).Reason != "prober: no key; log in, or set a valid key" {
		t.Error(got)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "bad.toml")+": line 1: ") {
		t.Error(err)
	}
	if p, err := Load(filepath.Join(dir, "none")); len(p) != 0 || err != nil {
		t.Error(p, err)
	}
}

// What stands for nothing is left out, with the list that it is in, and files are written without following links.
func TestADescribedProgramIsStartedAsItsFileSays(t *testing.T) {
	t.Parallel()
	k := describedKind(t, `program = "p"
start = ["new", "--id={session}", ["-m", "{model}"], ["-s", "{system}"], "--mcp", "{mcp}", "-f", "{prompt_file}"]
resume = ["go", "{session}", ["-m", "{model}"], "{prompt}"]
env = {DATA = "{folder}/data", MODEL = "{model}"}
[mcp]
file = "conf/x.json"
text = '{"servers": [{"run": {command}, "with": {args}, "vars": {env}}]}'
prefix = "pawl."
`)
	turn := Turn{Kind: k, State: t.TempDir(), Run: "r", Workspace: "/w", Model: DefaultModel, System: "S", Message: []run.Part{run.Text("Do it.")},
		Server: Server{Command: []string{"/bin/pawl", "mcp"}, Env: map[string]string{"PAWL_A": "b"}}}
	own := turn.Own()
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	for _, name := range []string{"prompt.txt", "conf"} {
		if err := os.Symlink(outside, filepath.Join(own, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.adapter.invoke(turn, "c", false); err == nil {
		t.Error("a link to elsewhere was followed")
	}
	if err := os.Remove(filepath.Join(own, "conf")); err != nil {
		t.Fatal(err)
	}
	inv, err := k.adapter.invoke(turn, "c", false)
	if err != nil {
		t.Fatal(err)
	}
	want := invocation{args: []string{"new", "--id=c", "-s", "S", "--mcp", own + "/conf/x.json", "-f", own + "/prompt.txt"},
		env: []string{"PAWL_A=b", "PAWL=/bin/pawl", "DATA=" + own + "/data"}, prompted: true}
	if diff := cmp.Diff(want, inv, cmp.AllowUnexported(invocation{})); diff != "" {
		t.Error(diff)
	}
	for file, want := range map[string]string{"prompt.txt": "Do it.", "conf/x.json": `{"servers": [{"run": "/bin/pawl", "with": ["mcp"], "vars": {"PAWL_A":"b"}}]}`} {
		if got, err := os.ReadFile(filepath.Join(own, file)); string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("what a link led to was written")
	}
	turn.Model = "big"
	if inv, err = k.adapter.invoke(turn, "c", true); err != nil || cmp.Diff([]string{"go", "c", "-m", "big", "Do it."}, inv.args) != "" {
		t.Error(inv.args, err)
	}
	if k.ToolName("ask") != "pawl.ask" || !k.chooses || k.Calls {
		t.Errorf("%+v", k)
	}
}

func TestEventsOfADescriptionTellWhatLinesSay(t *testing.T) {
	t.Parallel()
	k := describedKind(t, `program = "p"
start = ["{mcp}"]
resume = ["{session}"]
[mcp]
prefix = "pawl."
[[event]]
when = {"$.kind" = ["begin", "again"], "$.n" = 1}
session = "$.id"
model = "$.with"
[[event]]
each = "$.parts[?@.say]"
text = "$.say"
[[event]]
each = "$.parts[*].use"
call = "$.id"
tool = "$.name"
arguments = "$.args"
[[event]]
result = "$.of"
output = "$.out"
failed = "$.bad"
[[event]]
input_tokens = "$.use.in"
cached_tokens = "$.use.hit"
output_tokens = "$.use.out"
cost = "$.use.usd"
[[event]]
when = {"$.kind" = "error"}
error = "$.why"
status = "$.code"
[[event]]
when = {"$.kind" = "end"}
end = true
`)
	read := func(lines ...string) *report {
		r, s := newReport(), k.adapter.stream()
		for _, line := range lines {
			s.line([]byte(line+"\n"), r)
		}
		r.clean = true
		s.end(r)
		return r
	}
	r := read(`not JSON`, `{"kind":"begin","n":2,"id":"no"}`, `{"kind":"again","n":1,"id":"c1","with":"m"}`,
		`{"parts":[{"say":"Hello."},{"use":{"id":"1","name":"sh","args":{"command":"ls"}}},{"use":{"id":"2","name":"pawl.ask","args":{}}},{"use":{"id":"3","name":"sh","args":{}}},{"use":{"id":"4","name":"sh","args":{}}}]}`,
		`{"of":"1","out":"a\nb","bad":true}`, `{"of":"2","out":"no"}`, `{"of":"3","out":[{"exit":1}],"bad":"why"}`, `{"of":"4","bad":false}`,
		`{"use":{"in":10,"hit":4,"out":2,"usd":0.5}}`, `{"parts":[{"say":"Bye."}]}`)
	if r.done || r.conversation != "c1" || r.model != "m" || r.said.String() != "Bye." || r.usage != (run.Usage{Input: 6, CacheRead: 4, Output: 2, Cost: 0.5, Priced: true}) {
		t.Errorf("%+v", r)
	}
	got, _ := json.Marshal(r.take()) // of strings
	for _, want := range []string{"Hello.", `"tool":"sh"`, `{\"command\":\"ls\"}`, `a\nb`, `[{\"exit\":1}]`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("there is no %s in %s", want, got)
		}
	}
	if n := strings.Count(string(got), `"is_error":true`); n != 2 {
		t.Errorf("%d results are errors in %s", n, got)
	}
	if strings.Contains(string(got), "pawl.ask") {
		t.Errorf("a call of pawl's own tool is in %s", got)
	}
	if r = read(`{"kind":"error","why":"slow down","code":429}`); r.done || r.fail == nil || r.fail.Kind != run.ErrRateLimited || r.fail.Reason != "slow down" {
		t.Errorf("%+v", r.fail)
	}
	if r = read(`{"kind":"error","why":"once"}`, `{"kind":"end"}`); !r.done || r.fail == nil {
		t.Errorf("%+v", r)
	}
}
