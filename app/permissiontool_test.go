package app

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/tool"
)

// TestTheInputOfAToolIsJudgedAsItIsUsed: the program of an external agent gets the input back as
// it was and takes its members by their exact names.
func TestTheInputOfAToolIsJudgedAsItIsUsed(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{ // as, and what is judged, or a part of the error
		`Bash {"command":"echo hi"}`:                                           "shell echo hi",
		`Bash {"command":"rm -rf x","Command":"echo hi"}`:                      "the name is command",
		`Bash {"command":"rm -rf x","COMMAND":"echo hi"}`:                      "the name is command",
		`Bash {"command":"rm -rf x","command":"echo hi"}`:                      "duplicate",
		`Bash {"command":"rm -rf x","\u0063ommand":"echo hi"}`:                 "duplicate",
		`Bash {"command":"echo hi","description":"x","timeout":5}`:             "shell echo hi",
		`WebFetch {"url":"http://a.example","uRL":"http://b.example"}`:         "the name is url",
		"WebFetch {\"url\":\"http://a.example\",\"path\":\"x\",\"\u017fo\":1}": "fetch http://a.example",
		"Glob {\"pattern\":\"*\",\"path\":\".\",\"\u0050ath\":\"/etc\"}":       "the name is path",
		`Edit {"file_path":"a.go","File_Path":"b.go","old_string":"x"}`:        "the name is file_path",
		`Edit {"file_path":"a.go","old_string":"x","new_string":"y"}`:          "edit a.go",
		`NotebookEdit {"notebook_path":"a.ipynb"}`:                             "edit a.ipynb",
		`Edit {"file_paths":["a.go","../b"],"patch":"x"}`:                      "edit a.go ../b",
		`Edit {"file_paths":["a.go"],"File_paths":["b.go"]}`:                   "the name is file_paths",
		`Edit {"file_paths":null,"patch":"x"}`:                                 "names no file",
		`Edit {"old_string":"x"}`:                                              "names no file",
		`Read {}`:                                                              "names no file",
		`Glob {"pattern":"**/*.{ts,tsx}"}`:                                     "search .",
		`Glob {"pattern":"*.go","path":"src"}`:                                 "search src",
		`Glob {"pattern":"/etc/ssl/*/x"}`:                                      "search . /etc/ssl",
		`Glob {"pattern":"/etc/passwd"}`:                                       "search . /etc/passwd",
		`Glob {"pattern":"../*"}`:                                              "search . /",
		`Glob {"pattern":"a/*/../../../x"}`:                                    "search . /",
		`Glob {"pattern":"{/etc/*,a}"}`:                                        "search . /",
		`Grep {"pattern":"password"}`:                                          "search .",
		`mcp__other__tool {"command":"x"}`:                                     "mcp__other__tool",
	} {
		name, raw, _ := strings.Cut(input, " ")
		args := []byte(`{"tool_name":"` + name + `","input":` + raw + `}`)
		in, err := permissionTool{}.Inspect(tool.Env{Workspace: t.TempDir(), Session: &tool.Session{}}, args)
		got := strings.Join(slices.DeleteFunc(slices.Concat([]string{in.As, in.Command, in.URL}, in.Paths), func(s string) bool { return s == "" }), " ")
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %s, not %s", input, got, want)
		}
	}
}

// TestASearchOfAnAgentMayShowTheSecretsBelow: the programs search files that pawl's own search passes over.
func TestASearchOfAnAgentMayShowTheSecretsBelow(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	for _, file := range []string{"src/a.go", "src/.env", "lib/b.go"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(ws, filepath.Dir(file)), 0o700), os.WriteFile(filepath.Join(ws, file), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for input, want := range map[string]string{
		`{"pattern":"x"}`:                             ". WS/src/.env",
		`{"pattern":"x","path":"src"}`:                "src WS/src/.env",
		`{"pattern":"x","path":"lib"}`:                "lib",
		`{"pattern":"x","glob":"*.go"}`:               ".",
		`{"pattern":"x","glob":"*.env"}`:              ". WS/src/.env",
		`{"pattern":"x","glob":"*.{go,env}"}`:         ". WS/src/.env",
		`{"pattern":"x","glob":"!*.go"}`:              ". WS/src/.env",
		`{"pattern":"x","glob":"*.go","Glob":"*"}`:    "the name is glob",
		`{"pattern":"x","glob":"*.go","path":"src"}`:  "src",
		`{"pattern":"x","glob":"**/.*","path":"src"}`: "src WS/src/.env",
	} {
		in, err := permissionTool{}.Inspect(tool.Env{Workspace: ws, Session: &tool.Session{}}, []byte(`{"tool_name":"Grep","input":`+input+`}`))
		got := strings.ReplaceAll(strings.Join(in.Paths, " "), ws, "WS")
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %s, not %s", input, got, want)
		}
	}
}

// TestWhereAnAgentIsCounts: what the input of a tool names is judged from the folder that the
// agent is in, and what leaves the sandbox of the agent's own asks for as much of pawl's rules.
func TestWhereAnAgentIsCounts(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	for args, want := range map[string]string{ // the folder, the paths and the sandbox that are judged
		`{"tool_name":"Edit","input":{"file_path":"a.go"},"cwd":"WS/src"}`:                                                   " WS/src/a.go",
		`{"tool_name":"Edit","input":{"file_path":"/etc/a"},"cwd":"WS/src"}`:                                                 " /etc/a",
		`{"tool_name":"Grep","input":{"pattern":"x"},"cwd":"WS/src"}`:                                                        " WS/src",
		`{"tool_name":"Bash","input":{"command":"cat a.go"},"cwd":"WS/src"}`:                                                 "WS/src WS/src/a.go",
		`{"tool_name":"Bash","input":{"command":"cat a.go"}}`:                                                                " WS/a.go",
		`{"tool_name":"Bash","input":{"command":"pwd","dangerouslyDisableSandbox":true}}`:                                    " none",
		`{"tool_name":"Bash","input":{"command":"pwd","dangerouslyDisableSandbox":false}}`:                                   "",
		`{"tool_name":"Bash","input":{"command":"pwd"},"cwd":"src"}`:                                                         "not an absolute path",
		`{"tool_name":"Bash","input":{"command":"pwd","DangerouslyDisableSandbox":false,"dangerouslyDisableSandbox":false}}`: "the name is dangerouslyDisableSandbox",
	} {
		in, err := permissionTool{}.Inspect(tool.Env{Workspace: ws, Session: &tool.Session{}}, []byte(strings.ReplaceAll(args, "WS", ws)))
		got := strings.TrimRight(strings.Join(append([]string{in.Dir}, append(in.Paths, string(in.Sandbox))...), " "), " ")
		if err != nil {
			got = err.Error()
		}
		if want = strings.ReplaceAll(want, "WS", ws); got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %q, not %q", args, got, want)
		}
	}
}
