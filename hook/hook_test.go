package hook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/run"
	"pawl/sandbox"
	"pawl/tool"
)

// A file is read as Claude Code reads it, and what does not run here is said; one mistake loses nothing else.
func TestAFileOfHooksIsReadAndWhatDoesNotRunIsSaid(t *testing.T) {
	t.Parallel()
	hooks, problems, err := Parse([]byte("\ufeff"+`{"model":"opus","hooks":{
		"PreToolUse":[
			{"matcher":"Edit|Write","hooks":[{"type":"command","command":"a","timeout":5},{"type":"prompt","prompt":"x"}]},
			{"matcher":"(","hooks":[{"type":"command","command":"b"}]},
			{"hooks":[{"type":"http","url":"http://localhost:1/x","headers":{"A":"$B"},"allowedEnvVars":["B"]},{"type":"command"},{"type":"command","command":7}]}],
		"UserPromptSubmit":[{"hooks":[{"type":"command","command":"c","args":[],"onFailure":"block"}]}],
		"Stop":{"hooks":[]},
		"TeammateIdle":[{"hooks":[{"type":"command","command":"d"}]}],
		"SessionStart":[{"hooks":[{"type":"command","command":"e","sandbox":"none"},{"type":"command","command":"f","shell":"powershell"}]}]}}`), "F", false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range hooks {
		got = append(got, string(h.Point)+" "+h.Name()+" "+h.Timeout.String())
	}
	want := []string{"PreToolUse F: a 5s", "PreToolUse F: http://localhost:1/x 10m0s", "UserPromptSubmit F: c 30s"}
	if !slices.Equal(got, want) {
		t.Errorf("read %q", got)
	}
	for _, part := range []string{`type "prompt" does not run`, `"(" is no regular expression`, "has no command", "a hook cannot be read: command has a value of the wrong type (number)", "Stop: it is not a list of matchers with hooks: there is a value of the wrong type (object)", "TeammateIdle: pawl has no such event",
		"only hooks of your own hooks.json can leave the sandbox", `the shell "powershell"`} {
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, part) }) {
			t.Errorf("no problem says %q: %q", part, problems)
		}
	}
	for _, rubbish := range []string{"", "[]", `"x"`, "{", `{"hooks":7}`} {
		if hooks, _, err := Parse([]byte(rubbish), "F", true); err == nil || len(hooks) > 0 {
			t.Errorf("%q: %v, %v", rubbish, hooks, err)
		}
	}
	own, problems, err := Parse([]byte(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","sandbox":"network"}]}]}}`), "F", true)
	if err != nil || len(problems) > 0 || own[0].Sandbox != run.WithNetwork {
		t.Errorf("own: %+v, %q, %v", own, problems, err)
	}
}

func TestAMatcherMatchesTheNamesOfClaudeCodeAndPawls(t *testing.T) {
	t.Parallel()
	for matcher, tools := range map[string]string{
		"": "shell read write edit agent mcp__a__b", "*": "shell read write edit agent mcp__a__b",
		"Bash": "shell", "bash": "", "shell": "shell", "Edit|Write": "write edit", "Edit, Write": "write edit", "MultiEdit": "edit", "Task": "agent",
		"mcp__a__b": "mcp__a__b", "mcp__.*": "mcp__a__b", "^(Read|Bash)$": "shell read", "mcp__a": "",
	} {
		s := parsed(t, `{"hooks":{"PreToolUse":[{"matcher":`+quoted(matcher)+`,"hooks":[{"type":"command","command":"x"}]}]}}`)
		var got []string
		for _, name := range []string{"shell", "read", "write", "edit", "agent", "mcp__a__b"} {
			if len(s.For(Moment{Hook: run.Hook{Point: run.PreToolUse}, Call: run.Call{Tool: name}}, "/w")) > 0 {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != tools {
			t.Errorf("%q matches %q, want %q", matcher, got, tools)
		}
	}
}

func TestARuleSavesTheStartOfAHook(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]bool{"": true, "Bash": true, "Bash(git *)": true, "Bash(git:*)": true, "Bash(npm *)": false, "Edit": false, "Bash(git status)": true, "Bash(git pull)": false} {
		s := parsed(t, `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x","if":`+quoted(rule)+`}]}]}}`)
		got := len(s.For(Moment{Hook: run.Hook{Point: run.PreToolUse}, Call: run.Call{Tool: "shell", Arguments: `{"command":"git status"}`}}, "/w")) > 0
		if got != want {
			t.Errorf("%q runs: %t", rule, got)
		}
	}
	// What it might speak of is not passed over.
	for call, want := range map[[3]string]bool{
		{"Bash(git push *)", "shell", `{"command":"git push origin"}`}: true, {"Bash(git push:*)", "shell", `{"command":"cd x && git push"}`}: true,
		{"Bash(git push *)", "shell", `{"command":"git  push"}`}: true, {"Bash(git push *)", "shell", `{"command":"env A=1 git push"}`}: true,
		{"Bash(git push *)", "shell", `{"command":"sh -c 'git push'"}`}: true,
		{"Bash(git push *)", "shell", `{"command":"git -C a push"}`}:    true, {"Bash(git push *)", "shell", `{"command":"git status && ls -la"}`}: false,
		{"Bash(rm *)", "shell", `{"command":"git commit -m 'rm x'"}`}: false, {"Bash(rm *)", "shell", `{"command":"ls | xargs rm"}`}: true,
		{"Edit(*.ts)", "edit", `{"path":"src/a.ts"}`}: true, {"Edit(*.ts)", "edit", `{"path":"src/a.go"}`}: false, {"Edit(src/*)", "edit", `{"path":"src/a.go"}`}: true,
		{"Edit(./src/*)", "edit", `{"path":"src/a.go"}`}: true, {"Edit(src/**)", "edit", `{"path":"src/x/a.go"}`}: true, {"Edit(src/*)", "edit", `{"path":"lib/a.go"}`}: false,
	} {
		s := parsed(t, `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x","if":`+quoted(call[0])+`}]}]}}`)
		if got := len(s.For(Moment{Hook: run.Hook{Point: run.PreToolUse}, Call: run.Call{Tool: call[1], Arguments: call[2]}}, "/w")) > 0; got != want {
			t.Errorf("%q runs: %t", call, got)
		}
	}
}

// The input of a call is what hooks made for Claude Code expect, and what they change comes back as pawl's.
func TestTheInputOfACallHasTheNamesOfClaudeCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, args, input, back string }{
		{"shell", `{"command":"ls","timeout_seconds":5,"background":true}`, `{"command":"ls","timeout":5000,"run_in_background":true}`, ""},
		{"read", `{"path":"a/b.txt","offset":3}`, `{"file_path":"/w/a/b.txt","offset":3}`, `{"path":"/w/a/b.txt","offset":3}`},
		{"write", `{"path":"/x","content":"c"}`, `{"file_path":"/x","content":"c"}`, ""},
		{"edit", `{"path":"/x","edits":[{"old":"a","new":"b","all":true}]}`, `{"file_path":"/x","old_string":"a","new_string":"b","replace_all":true}`, ""},
		{"edit", `{"path":"/x","edits":[{"old":"a","new":"b"},{"old":"c","new":"d"}]}`, `{"file_path":"/x","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":"d"}]}`, ""},
		{"agent", `{"agent":"r","prompt":"p"}`, `{"subagent_type":"r","prompt":"p"}`, ""},
		{"search", `{"pattern":"x","ignore_case":true}`, `{"pattern":"x","-i":true}`, ""},
		{"mcp__a__b", `{"path":"x"}`, `{"path":"x"}`, ""},
	} {
		in := input(c.tool, c.args, "/w")
		if got := encoded(in); !sameJSON(got, c.input) {
			t.Errorf("%s %s: %s", c.tool, c.args, got)
		}
		want := c.back
		if want == "" {
			want = c.args
		}
		if got := arguments(c.tool, decoded(t, c.input)); !sameJSON(got, want) {
			t.Errorf("%s: %s comes back as %s, want %s", c.tool, c.input, got, want)
		}
	}
	if got := input("shell", "no JSON", "/w"); len(got) > 0 {
		t.Errorf("what is no JSON has become %v", got)
	}
}

// What hooks answer, each alone and together.
func TestTheStrictestAnswerCounts(t *testing.T) {
	t.Parallel()
	answers := func(point run.HookPoint, commands ...string) run.HookSettled {
		t.Helper()
		var list []string
		for _, c := range commands {
			list = append(list, `{"type":"command","command":`+quoted(c)+`}`)
		}
		return ran(t, point, `{"hooks":{"`+string(point)+`":[{"hooks":[`+strings.Join(list, ",")+`]}]}}`)
	}
	says := func(decision, more string) string {
		return `echo '{"hookSpecificOutput":{"permissionDecision":"` + decision + `","permissionDecisionReason":"because"` + more + `}}'`
	}
	for name, c := range map[string]struct {
		got  run.HookSettled
		want string
	}{
		"nothing":                   {answers(run.PreToolUse, "true"), ""},
		"allow":                     {answers(run.PreToolUse, says("allow", "")), "allow because"},
		"ask over allow":            {answers(run.PreToolUse, says("allow", ""), says("ask", "")), "ask because"},
		"deny over all":             {answers(run.PreToolUse, says("ask", ""), "echo no >&2; exit 2", says("allow", "")), "deny no"},
		"defer is a question":       {answers(run.PreToolUse, says("defer", "")), "ask because"},
		"the old words":             {answers(run.PreToolUse, `echo '{"decision":"block","reason":"old"}'`), "deny old"},
		"a message is the reason":   {answers(run.PreToolUse, `echo '{"hookSpecificOutput":{"permissionDecision":"deny"},"systemMessage":"words"}'`), "deny words"},
		"approve":                   {answers(run.PreToolUse, `echo '{"decision":"approve"}'`), "allow"},
		"the reason is on stdout":   {answers(run.PreToolUse, "echo out; exit 2"), "deny out"},
		"failed":                    {answers(run.PreToolUse, "echo broken >&2; exit 1"), " | it exited with 1: broken"},
		"a request, decided":        {answers(run.PermissionRequest, `echo '{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"never"}}}'`), "deny never"},
		"it stops the turn":         {answers(run.PermissionRequest, `echo '{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"never","interrupt":true}}}'`), "deny never halt never"},
		"continue":                  {answers(run.PreToolUse, `echo '{"continue":false,"stopReason":"enough"}'`), " halt enough"},
		"allow after it is ignored": {answers(run.PostToolUse, says("allow", "")), ""},
		"after it, a word":          {answers(run.PostToolUse, `echo '{"decision":"block","reason":"format it"}'`), "deny format it"},
		"text is for the model":     {answers(run.SessionStart, "echo one", "echo two"), " context one\n\ntwo"},
		"text is ignored":           {answers(run.Stop, "echo one"), ""},
		"JSON that is none":         {answers(run.Stop, "echo '{x'"), " | what it printed begins like a JSON object and is none: invalid character 'x' looking for beginning of object key string"},
		"it would go on by itself":  {answers(run.Stop, `echo '{"async":true,"asyncTimeout":60000}'`), ""},
		"and then it answers":       {answers(run.Stop, `echo '{"async":true}'`+"; "+`echo '{"decision":"block","reason":"late"}'`), "deny late"},
		"a changed call":            {answers(run.PreToolUse, says("allow", `,"updatedInput":{"command":"two"}`)), `allow because args {"command":"two"}`},
		"changed, and refused":      {answers(run.PreToolUse, says("allow", `,"updatedInput":{"command":"two"}`), "exit 2"), "deny F: exit 2 gives no reason"},
		"changed when it is over":   {answers(run.PostToolUse, says("allow", `,"updatedInput":{"command":"two"}`)), ""},
		"more than fits a context":  {answers(run.SessionStart, "head -c 20000 /dev/zero | tr '\\0' x"), " context " + strings.Repeat("x", maxSaid) + "… [4000 bytes more]"},
	} {
		got := strings.TrimRight(string(c.got.Says)+" "+c.got.Reason, " ")
		for _, more := range [][2]string{{" args ", c.got.Arguments}, {" context ", c.got.Context}, {" halt ", c.got.Halt}} {
			if more[1] != "" {
				got += more[0] + more[1]
			}
		}
		for _, r := range c.got.Runs {
			if r.Problem != "" {
				got += " | " + r.Problem
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A hook that hangs, forks, floods or reads nothing is held, and the others are not kept from their answer.
func TestAHookThatMisbehavesIsHeld(t *testing.T) {
	t.Parallel()
	p := ran(t, run.PreToolUse, `{"hooks":{"PreToolUse":[{"hooks":[
		{"type":"command","command":"sleep 600 & sleep 600","timeout":0.3},
		{"type":"command","command":"yes | head -c 5000000; exec 0<&-"},
		{"type":"command","command":"sleep 600","timeout":0.3,"onFailure":"block"},
		{"type":"command","command":"printf '\\033[31m\\377'; exit 7"},
		{"type":"command","command":"echo no >&2; exit 2"}]}]}}`)
	if p.Says != run.HookDenies || len(p.Runs) != 5 {
		t.Fatalf("%+v", p)
	}
	if !strings.Contains(p.Runs[0].Problem, "time limit") || len(p.Runs[1].Output) > maxKept+40 || p.Runs[1].Problem != "" || !strings.HasPrefix(p.Reason, "it was stopped") || p.Runs[3].Problem != "it exited with 7" {
		t.Errorf("%+v", p)
	}
}

func TestAHookCanBeARequest(t *testing.T) {
	t.Setenv("HOOK_WORD", "w")
	t.Setenv("HOOK_OTHER", "o")
	t.Setenv("HOOK_TOKEN", "secret")
	var body map[string]any
	var header http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/":
			b, _ := io.ReadAll(r.Body)
			json.Unmarshal(b, &body)
			io.WriteString(w, `{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"by the server"}}`)
		}
	}))
	defer srv.Close()
	p := ran(t, run.PreToolUse, `{"hooks":{"PreToolUse":[{"hooks":[{"type":"http","url":"`+srv.URL+`/","headers":{"X-A":"$HOOK_WORD-$HOOK_OTHER"},"allowedEnvVars":["HOOK_WORD"]}]}]}}`)
	if p.Says != run.HookDenies || p.Reason != "by the server" || body["tool_name"] != "Bash" || header.Get("X-A") != "w-" {
		t.Errorf("%+v, given %v with %v", p, body, header)
	}
	// A person's own may send a secret on purpose, and one of a repository may not.
	for own, want := range map[bool]string{true: "secret", false: ""} {
		s := parsed(t, `{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"`+srv.URL+`/","headers":{"X-A":"$HOOK_TOKEN"},"allowedEnvVars":["HOOK_TOKEN"]}]}]}}`)
		s.Hooks[0].Own = own
		m := Moment{Hook: run.Hook{Point: run.Stop}}
		s.Run(t.Context(), tool.Env{Workspace: "/w", Session: &tool.Session{}}, m, s.For(m, "/w"))
		if got := header.Get("X-A"); got != want {
			t.Errorf("own %t: it sends %q", own, got)
		}
	}
	p = ran(t, run.PreToolUse, `{"hooks":{"PreToolUse":[{"hooks":[{"type":"http","url":"`+srv.URL+`/moved"},{"type":"http","url":"http://127.0.0.1:1/"}]}]}}`)
	if p.Says != run.HookPasses || !strings.Contains(p.Runs[0].Problem, "302") || !strings.Contains(p.Runs[1].Problem, "refused") {
		t.Errorf("%+v", p)
	}
}

// What a hook is to run is looked at when no command can change it any more that nobody was asked about; and what is not
// even started guards nothing, so a person is asked, or the call refused if the hook says so.
func TestAHookIsLookedAtWhenItsTurnHasCome(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := tool.Env{Workspace: filepath.Join(home, "w"), Session: &tool.Session{}}
	state := filepath.Join(home, "state")
	for _, dir := range []string{env.Workspace, state} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string { return map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}[name] }
	if env.Sandbox, err = sandbox.For(env.Workspace, sandbox.Options{StateDir: state, Getenv: getenv}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(env.Sandbox.Close)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	m := Moment{Hook: run.Hook{Point: run.PreToolUse}, Call: run.Call{Tool: "shell", Arguments: "{}"}}
	for says, file := range map[run.HookAnswer]string{run.HookAsks: `"x"`, run.HookDenies: `"x","onFailure":"block"`} {
		s := parsed(t, `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":`+file+`}]}]}}`)
		looked := false
		s.Check = func(*Hook, string) error {
			looked = true
			if turn, err := env.Sandbox.Turn(ended, run.Inside, false); err == nil {
				turn.Leave()
				t.Error("a command that runs unasked may run")
			}
			return errors.New("changed")
		}
		if p := s.Run(t.Context(), env, m, s.For(m, env.Workspace)); p.Says != says || !looked {
			t.Errorf("%+v, looked at: %t", p, looked)
		}
	}
	if err := errors.Join(os.RemoveAll(state), os.WriteFile(state, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s := parsed(t, `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true"}]}]}}`)
	if p := s.Run(t.Context(), env, m, s.For(m, env.Workspace)); p.Says != run.HookAsks {
		t.Errorf("not started: %+v", p)
	}
}

// The last time that hooks may keep a turn from ending says so, to the model and the person.
func TestTheLastBlockOfAnEndSaysSo(t *testing.T) {
	t.Parallel()
	s := parsed(t, `{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://127.0.0.1:1/","onFailure":"block"}]}]}}`)
	for blocks, last := range map[int]bool{0: false, run.MaxStopBlocks - 2: false, run.MaxStopBlocks - 1: true} {
		m := Moment{Hook: run.Hook{Point: run.Stop}, Blocks: blocks}
		p := s.Run(t.Context(), tool.Env{Workspace: "/w", Session: &tool.Session{}}, m, s.For(m, "/w"))
		if got := strings.HasSuffix(p.Reason, "[8 times in a row: the next answer ends the turn]"); p.Says != run.HookDenies || got != last {
			t.Errorf("after %d: %s", blocks, p.Reason)
		}
	}
}

// A repository's hook does not run without a sandbox, and what it would have guarded is asked about.
func TestAHookOfTheRepositoryNeedsTheSandbox(t *testing.T) {
	t.Parallel()
	s := parsed(t, `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"touch ran"}]}]}}`)
	s.Hooks[0].Own = false
	env := tool.Env{Workspace: t.TempDir(), Session: &tool.Session{}}
	m := Moment{Hook: run.Hook{Point: run.PreToolUse}, Call: run.Call{Tool: "shell", Arguments: "{}"}}
	p := s.Run(t.Context(), env, m, s.For(m, env.Workspace))
	if _, err := os.Stat(filepath.Join(env.Workspace, "ran")); err == nil || p.Says != run.HookAsks || !strings.Contains(p.Runs[0].Problem, "no sandbox") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestTheFilesThatHooksRunAreKnown(t *testing.T) {
	t.Parallel()
	s := parsed(t, `{"hooks":{"Stop":[{"hooks":[
		{"type":"command","command":"\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/a.sh --x=1"},
		{"type":"command","command":"cd /tmp && python3 './scripts/b.py'; ../out.sh; X=sub/c.sh"},
		{"type":"command","command":"python3 x.py /w/in/w.sh /etc/passwd"},
		{"type":"command","command":"cd y && cd z && sh ./q.sh; sh \"${CLAUDE_PROJECT_DIR:-.}/f/r.sh\"; . $(pwd)/s.sh; bash g/{t,$U}.sh"},
		{"type":"command","command":"for f in h/*.sh; do sh $f; done; gofmt -w *.go"},
		{"type":"command","command":"node","args":["${CLAUDE_PROJECT_DIR}/d/e.js"]}]}]}}`)
	var got []string
	for _, h := range s.Hooks {
		got = append(got, h.Mentions("/w")...)
	}
	for _, name := range []string{".claude/hooks/a.sh", "d/e.js", "scripts/b.py", "sub/c.sh", "x.py", "in/w.sh", "y/q.sh", "z/q.sh", "y/z/q.sh", "f/r.sh", "s.sh",
		"g/*.sh", "h"} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not among %q", name, got)
		}
	}
	if slices.Contains(got, "*.go") {
		t.Error("what a program is given is not run")
	}
	if slices.ContainsFunc(got, func(name string) bool { return strings.HasPrefix(name, "/") || strings.HasPrefix(name, "..") }) {
		t.Errorf("%q leads out of the workspace", got)
	}
}

// A hook of the repository's root works there, and in a copy at the root of the copy.
func TestAHookKnowsItsProject(t *testing.T) {
	t.Parallel()
	s := &Set{Workspace: "/r/sub/x"}
	for _, c := range [][3]string{
		{"", "/r/sub/x", "/r/sub/x"}, {"/r", "/r/sub/x", "/r"}, {"/r/sub/x", "/r/sub/x", "/r/sub/x"}, {"/r", "/copy/sub/x", "/copy"},
		{"/r/sub/x", "/copy", "/copy"}, {"/r", "/copy", "/copy"}, {"/home", "/r/sub/x", "/r/sub/x"},
	} {
		if got := s.project(&Hook{Project: c[0]}, c[1]); got != c[2] {
			t.Errorf("of %q in %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestAHookRunsOnceWhereItSaysSo(t *testing.T) {
	t.Parallel()
	s := parsed(t, `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true","once":true},{"type":"command","command":"true","once":true}]}]}}`)
	m := Moment{Hook: run.Hook{Point: run.Stop}, Run: "r"}
	env := tool.Env{Workspace: t.TempDir(), Session: &tool.Session{}}
	for _, want := range []int{1, 0} {
		hooks := s.For(m, env.Workspace)
		if len(hooks) != want {
			t.Errorf("%d hooks, want %d", len(hooks), want)
		}
		s.Run(t.Context(), env, m, hooks)
	}
}

// parsed returns the hooks of a person's own file.
func parsed(t *testing.T, content string) *Set {
	t.Helper()
	hooks, problems, err := Parse([]byte(content), "F", true)
	if err != nil || len(problems) > 0 {
		t.Fatalf("%s: %q, %v", content, problems, err)
	}
	return &Set{Hooks: hooks}
}

// ran runs the hooks of a file at a point, of a call where it has one.
func ran(t *testing.T, point run.HookPoint, content string) run.HookSettled {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	s := parsed(t, content)
	env := tool.Env{Workspace: t.TempDir(), Session: &tool.Session{}}
	m := Moment{Hook: run.Hook{Point: point}, Call: run.Call{ID: "c_1", Tool: "shell", Arguments: `{"command":"one"}`}}
	began := time.Now()
	p := s.Run(t.Context(), env, m, s.For(m, env.Workspace))
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	return p
}

func quoted(s string) string { return encoded(s) }

func encoded(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func decoded(t *testing.T, s string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
