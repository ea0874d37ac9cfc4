//go:build unix

package external

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/golden"
	"pawl/internal/proc/proctest"
	"pawl/run"
)

// Lines that the programs print, in testdata/lines.txt, and what is read of them.
func TestWhatEachProgramSays(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, story := range strings.Split(string(content), "== ")[1:] {
		title, stream, _ := strings.Cut(story, "\n")
		kind, _, _ := strings.Cut(title, " ")
		fmt.Fprintf(&all, "== %s\n%s", title, play(kind, []byte(stream)))
	}
	golden.Compare(t, "lines.golden", []byte(all.String()))
}

// How each program is started, with the files that are written for it: in a new conversation
// and in one that is continued, with and without pawl's tools, in each mode.
func TestHowEachProgramIsStarted(t *testing.T) {
	t.Parallel()
	server := Server{Command: []string{"/bin/pawl", "mcp"}, Env: map[string]string{"PAWL_RUN_TOKEN": "secret", "PAWL_STATE_DIR": "/s t", "HTTP_PROXY": "p"},
		Tools: []string{"ask", "approve", "planner_output"}, Permission: "approve", Hook: []string{"/bin/it's pawl", "hook"}}
	unasked := server
	unasked.Hook = nil
	var all strings.Builder
	for _, k := range Kinds {
		for _, c := range []struct {
			name   string
			turn   Turn
			resume bool
		}{
			{"anew", Turn{Model: DefaultModel}, false},
			{"with a model, continued", Turn{Model: "m-1", Mode: "default"}, true},
			{"with pawl's tools", Turn{Model: DefaultModel, System: "Be brief.", Server: server}, false},
			{"without a hook", Turn{Model: DefaultModel, Server: unasked}, false},
			{"mode plan", Turn{Model: DefaultModel, Mode: "plan"}, false},
			{"mode accept-edits", Turn{Model: DefaultModel, Mode: "accept-edits"}, false},
			{"mode bypass", Turn{Model: DefaultModel, Mode: "bypass"}, true},
		} {
			base := t.TempDir()
			for name, content := range map[string]string{
				".gemini/settings.json":                                    "{\"theme\": \"dark\", // mine\n \"mcpServers\": {\"other\": {\"command\": \"x\"}, \"pawl\": {\"command\": \"old\"}}}",
				".gemini/GEMINI.md":                                        "Mine.",
				".gemini/extensions/mine/gemini-extension.json":            `{"mcpServers":{"other":{"command":"y"},"extended":{"command":"npx"},"placed":{"command":"npx","cwd":"${extensionPath}"}}}`,
				".gemini/extensions/linked/.gemini-extension-install.json": `{"type":"link","source":"` + base + `/home/source"}`,
				"source/gemini-extension.json":                             `{"mcpServers":{"linked":{"command":"npx"}}}`,
				".claude.json": `{"mcpServers":{"own":{"command":"npx","args":["-y","own"],"env":{"KEY":"${KEY}"}},"remote":{"type":"http","url":"https://example.com"}},
					"projects":{"/w":{"mcpServers":{"here":{"command":"uvx"}}},"/other":{"mcpServers":{"there":{"command":"uvx"}}}}}`,
				".codex/config.toml": "[mcp_servers.'a.b']\ncommand = 'npx'\n[mcp_servers.placed]\ncommand = 'npx'\ncwd = '/x'\n[mcp_servers.remote]\nurl = 'https://example.com'\n",
			} {
				if err := errors.Join(os.MkdirAll(filepath.Join(base, "home", filepath.Dir(name)), 0o700), os.WriteFile(filepath.Join(base, "home", name), []byte(content), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			turn := c.turn
			turn.Kind, turn.Run, turn.Workspace, turn.State = k, "r", "/w", filepath.Join(base, "state")
			turn.Env = []string{"HOME=" + base + "/elsewhere", "HOME=" + filepath.Join(base, "home"), opencodeConfig + `={"theme":"dark","permission":{"bash":"allow","edit":"ask","webfetch":"deny"}}`}
			inv, err := k.adapter.invoke(turn, "conv-1", c.resume)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&all, "== %s, %s\n", k.Name, c.name)
			for _, a := range inv.args {
				fmt.Fprintf(&all, "%s\n", a)
			}
			for _, v := range inv.env {
				fmt.Fprintf(&all, "variable %s\n", v)
			}
			err = filepath.WalkDir(turn.State, func(path string, e fs.DirEntry, err error) error {
				if errors.Is(err, fs.ErrNotExist) || err == nil && e.IsDir() {
					return nil
				}
				content, rerr := os.ReadFile(path)
				if errors.Is(rerr, syscall.EISDIR) { // of a link to a folder
					rerr = nil
				}
				fmt.Fprintf(&all, "file %s %v %s\n", strings.TrimPrefix(path, turn.State), e.Type(), content)
				return errors.Join(err, rerr)
			})
			if err != nil {
				t.Fatal(err)
			}
			text := regexp.MustCompile("sha256:[0-9a-f]{64}").ReplaceAllString(strings.ReplaceAll(all.String(), base, "BASE"), "sha256:HASH") // of a text with base
			all.Reset()
			all.WriteString(text)
		}
	}
	golden.Compare(t, "started.golden", []byte(all.String()))
}

func TestSettingsOfThePersonThatCannotBeRead(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := errors.Join(os.Mkdir(home+"/.gemini", 0o700), os.WriteFile(home+"/.gemini/settings.json", []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	turn := Turn{Run: "r", Workspace: "/w", State: t.TempDir(), Model: DefaultModel, Env: []string{"HOME=" + home, opencodeConfig + "={"}, Server: Server{Command: []string{"/bin/pawl"}}}
	if _, err := (gemini{}).invoke(turn, "c", false); err == nil || !strings.HasPrefix(err.Error(), "the settings of Gemini CLI: ") {
		t.Errorf("Gemini CLI: %v", err)
	}
	if _, err := (opencode{}).invoke(turn, "c", false); err == nil || !strings.HasPrefix(err.Error(), "OPENCODE_CONFIG_CONTENT: ") {
		t.Errorf("OpenCode: %v", err)
	}
	turn.Env = []string{opencodeConfig + "=null"}
	if inv, err := (opencode{}).invoke(turn, "c", false); err != nil || !strings.Contains(strings.Join(inv.env, " "), `"share":"disabled"`) {
		t.Errorf("OpenCode: %q, %v", inv.env, err)
	}
	turn.Env = []string{"GEMINI_CLI_HOME=" + home + "/.gemini"}
	if err := os.WriteFile(home+"/.gemini/.gemini", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (gemini{}).invoke(turn, "c", false); err == nil {
		t.Error("the folder of Gemini CLI is a file")
	}
	turn.Env = []string{"GEMINI_CLI_HOME=" + home + "/none"}
	if inv, err := (gemini{}).invoke(turn, "c", false); err != nil || len(inv.env) != 4 {
		t.Errorf("without a home: %v, %v", inv, err)
	}
	turn.Env = []string{"GEMINI_CLI_HOME=" + home, "HOME=/gone"}
	if err := os.WriteFile(home+"/.gemini/settings.json", []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the links of the turn before are there
		if _, err := (gemini{}).invoke(turn, "c", true); err != nil {
			t.Error(err)
		}
	}
	turn.State = filepath.Join(home, ".gemini/settings.json") // a file
	if _, err := (gemini{}).invoke(turn, "c", false); err == nil {
		t.Error("Gemini CLI has a home below a file")
	}
	for what, turn := range map[string]Turn{
		"its instructions": {System: "Be brief."},
		"its server":       {Server: Server{Command: []string{"/bin/pawl"}}},
		"its settings":     {Server: Server{Hook: []string{"/bin/pawl"}}},
	} {
		turn.Run, turn.State, turn.Model = "r", filepath.Join(home, ".gemini/settings.json"), DefaultModel
		if _, err := (claude{}).invoke(turn, "c", false); err == nil {
			t.Errorf("Claude Code has %s below a file", what)
		}
	}
}

func TestModelsOfPrograms(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"claude-code/sonnet": "Claude Code sonnet", "codex/": "Codex default", "codex": "Codex default", "gemini-cli/a/b": "Gemini CLI a/b", "opencode/x": "OpenCode x",
		"anthropic/claude": "", "": "", "/x": "",
	} {
		k, name, ok := Split(model)
		if got := strings.TrimSpace(k.Title + " " + name); got != want || ok != (want != "") || Is(model) != ok {
			t.Errorf("%q is %q, %t", model, got, ok)
		}
	}
	var told strings.Builder
	prefixes := map[string]string{"claude-code": "mcp__pawl__", "codex": "mcp__pawl__", "gemini-cli": "mcp_pawl_", "opencode": "pawl_"}
	for _, k := range Kinds {
		if got := k.ToolName("ask"); got != prefixes[k.Name]+"ask" {
			t.Errorf("%s calls ask %s", k.Name, got)
		}
		fmt.Fprintf(&told, "== %s\n%v\n", k.Name, &MissingError{k})
		for _, mode := range []string{"default", "plan", "accept-edits", "bypass"} {
			fmt.Fprintf(&told, "%s: %s\n", mode, k.Bounds(mode))
		}
		fmt.Fprintf(&told, "obeys %q, login in %q or %q, held by %s\n", k.Obeys, k.keys, k.login, k.Permissions())
		if k.PermissionTool != (k.Name == "claude-code") {
			t.Errorf("%s asks a tool: %t", k.Name, k.PermissionTool)
		}
	}
	golden.Compare(t, "kinds.golden", []byte(told.String()))
	for _, name := range []string{"anthropic", "claude"} {
		if Is(name + "/x") {
			t.Errorf("%s is a program", name)
		}
	}
}

// program writes a program that does what a script says, and returns the folder that it is in.
func program(t *testing.T, name, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	proctest.Program(t, filepath.Join(dir, name), "#!/bin/sh\n"+script)
	return dir
}

func TestWhichProgramsAreThereAndLoggedIn(t *testing.T) {
	t.Parallel()
	dir := program(t, "codex", "")
	codex, _, _ := Split("codex/x")
	path, err := codex.Find(dir)
	if err != nil || path != filepath.Join(dir, "codex") {
		t.Errorf("found at %s: %v", path, err)
	}
	if _, err := codex.Find(dir, dir); err == nil {
		t.Error("a program that an agent may have written was found")
	}
	claude, _, _ := Split("claude-code")
	_, err = claude.Find(dir)
	if want := "Claude Code is not installed: the program claude is not found in PATH; install it with `npm install -g @anthropic-ai/claude-code`"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for says, want := range map[string]string{"codex-cli 1.2.3 (x)": "1.2.3", "0.169.0": "0.169.0", "v2 9.1": "9.1", " of today ": "of today"} {
		if v, err := codex.Version(program(t, "codex", `[ "$1" = --version ] && echo "`+says+`"`)+"/codex", []string{"PATH=" + os.Getenv("PATH")}); v != want || err != nil {
			t.Errorf("its version is %q: %v", v, err)
		}
	}
	broken := program(t, "codex", "exit 3")
	if _, err := codex.Version(broken+"/codex", nil); err == nil || err.Error() != broken+"/codex --version: exit status 3" {
		t.Errorf("its version: %v", err)
	}

	home := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	within, err := filepath.Rel(here, home)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		env  map[string]string
		make string // a file of the home with something in it
		want bool
	}{
		{"a key", map[string]string{"CODEX_API_KEY": "k"}, "", true},
		{"the key of another", map[string]string{"ANTHROPIC_API_KEY": "k"}, "", false},
		{"nothing", nil, "", false},
		{"an empty file", nil, ".codex/auth.json ", false},
		{"a file", nil, ".codex/auth.json", true},
		{"a folder of its own", map[string]string{"CODEX_HOME": home + "/own"}, "own/auth.json", true},
		{"a relative folder", map[string]string{"CODEX_HOME": within}, "auth.json", false},
		{"a file of another", nil, ".claude/.credentials.json", false},
		{"a folder", nil, ".codex/auth.json/x", false},
		{"no program", map[string]string{"CODEX_API_KEY": "k", "PATH": home}, "", false},
	} {
		if err := os.RemoveAll(home); err != nil {
			t.Fatal(err)
		}
		if name, empty := strings.CutSuffix(c.make, " "); name != "" {
			content := "x"
			if empty {
				content = ""
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700), os.WriteFile(filepath.Join(home, name), []byte(content), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		k, ok := LoggedIn(func(name string) string {
			if v, ok := c.env[name]; ok {
				return v
			}
			return map[string]string{"PATH": dir, "HOME": home}[name]
		})
		if ok != c.want || ok && k.Name != "codex" {
			t.Errorf("%s: logged in: %t, %s", c.name, ok, k.Name)
		}
	}
}

func TestWhoIsLoggedOut(t *testing.T) {
	t.Parallel()
	asked := program(t, "opencode", `[ "$*" = "models none" ] && echo "Error: Provider not found: none" && exit 1`)
	for _, c := range []struct {
		model, file, content, variable string
		want                           string
	}{
		{"gemini-cli/default", "", "", "", "not logged in to Gemini CLI: log in with `gemini`, or set GEMINI_API_KEY"},
		{"gemini-cli/default", ".gemini/settings.json", `{"theme":"dark"}`, "", "not logged in to Gemini CLI: log in with `gemini`, or set GEMINI_API_KEY"},
		{"gemini-cli/default", ".gemini/settings.json", `{"security":{"auth":{"selectedType":"vertex-ai"}}}`, "", ""},
		{"gemini-cli/default", ".gemini/.env", "GEMINI_API_KEY=k", "", ""},
		{"gemini-cli/default", ".gemini/oauth_creds.json", "{}", "", ""},
		{"gemini-cli/default", "", "", "GOOGLE_GENAI_USE_VERTEXAI", ""},
		{"opencode/default", "", "", "", ""},
		{"opencode/some/m", "", "", "", ""},
		{"opencode/none/m", "", "", "", "not logged in to OpenCode: log in with `opencode auth login`, or set the key of the model's provider"},
		{"opencode/none/m", ".local/share/opencode/auth.json", "{}", "", ""},
	} {
		home := t.TempDir()
		if c.file != "" {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(home, c.file)), 0o700), os.WriteFile(filepath.Join(home, c.file), []byte(c.content), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		k, model, _ := Split(c.model)
		err := k.LoggedOut(filepath.Join(asked, k.Program), model, func(name string) string {
			switch name {
			case "HOME":
				return home
			case c.variable:
				return "true"
			}
			return ""
		})
		if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestTheEnvironmentOfAProgram(t *testing.T) {
	t.Parallel()
	env := []string{"HOME=/h", "PAWL_MODE=x", "PWD=/", "OLDPWD=/", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=x", "CLAUDE_CODE_SSE_PORT=1", "CLAUDE_CODE_USE_BEDROCK=1",
		"OPENAI_API_KEY=o", "ANTHROPIC_API_KEY=a", "CODEX_API_KEY=c", "GEMINI_API_KEY=g"}
	keys := []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"}
	for name, want := range map[string]string{
		"claude-code": "HOME CLAUDE_CODE_USE_BEDROCK ANTHROPIC_API_KEY CODEX_API_KEY",
		"codex":       "HOME CLAUDE_CODE_USE_BEDROCK OPENAI_API_KEY CODEX_API_KEY",
		"gemini-cli":  "HOME CLAUDE_CODE_USE_BEDROCK CODEX_API_KEY GEMINI_API_KEY",
		"opencode":    "HOME CLAUDE_CODE_USE_BEDROCK OPENAI_API_KEY ANTHROPIC_API_KEY CODEX_API_KEY GEMINI_API_KEY",
	} {
		k, _, _ := Split(name)
		var names []string
		for _, v := range k.environment(env, keys...) {
			n, _, _ := strings.Cut(v, "=")
			names = append(names, n)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s gets %s, want %s", name, got, want)
		}
	}
}

func TestWhatIsSaidToAProgram(t *testing.T) {
	t.Parallel()
	turn := Turn{System: "Be brief.", Summary: "Half done.", Message: []run.Part{run.Text("Look."), {Type: run.ImagePart}, run.Text("Now.")}}
	const words = "Look.\n\n[image that cannot be passed on to this agent]\n\nNow."
	const all = "Be brief.\n\n---\n\nThis continues work whose conversation is lost. What is known of it:\n\nHalf done.\n\n---\n\n" + words
	for name, want := range map[string]string{
		"gemini-cli":  all,
		"opencode":    all,
		"codex":       all,
		"claude-code": "This continues work whose conversation is lost. What is known of it:\n\nHalf done.\n\n---\n\n" + words,
	} {
		turn.Kind, _, _ = Split(name)
		if got := turn.prompt(true); got != want {
			t.Errorf("anew, %s is told %q", name, got)
		}
		if got := turn.prompt(false); got != words {
			t.Errorf("%s is told %q", name, got)
		}
	}
	turn.Kind, _, _ = Split("claude-code")
	turn.Summary = ""
	if got := turn.prompt(true); got != words {
		t.Errorf("without a summary: %q", got)
	}
}

// Claude Code and Gemini CLI read what a prompt mentions, wherever the words are from, and ask nobody.
func TestAPromptMentionsNoFileToAProgram(t *testing.T) {
	t.Parallel()
	const note = "\n\n(Here `\\@` stands for an at sign.)"
	for _, c := range []struct{ kind, said, want string }{
		{"claude-code", "@.env", `\@.env` + note},
		{"claude-code", "a@b.example wrote\u00a0@~/x and \"@\"y z\"\"。@x", "a@b.example wrote\u00a0\\@~/x and \"\\@\"y z\"\"。\\@x" + note},
		{"claude-code", "mail a@b.example", "mail a@b.example"},
		{"gemini-cli", "a@b.example, @@.env", `a\@b.example, \@\@.env` + note},
		{"gemini-cli", "nothing", "nothing"},
		{"codex", "@.env", "@.env"},
		{"opencode", "@.env", "@.env"},
	} {
		k, _, _ := Split(c.kind)
		if got := (Turn{Kind: k, Message: []run.Part{run.Text(c.said)}}).prompt(true); got != c.want {
			t.Errorf("%s: %q is said as %q, not %q", c.kind, c.said, got, c.want)
		}
	}
}

func TestHowTheEndOfAProgramIsTold(t *testing.T) {
	t.Parallel()
	k, _, _ := Split("codex/x")
	stopped, stop := context.WithCancelCause(context.Background())
	stop(errors.New("a person wanted it"))
	failed := func(reason string) *report {
		r := newReport()
		r.failed(run.ErrAuth, reason)
		return r
	}
	worked, done := newReport(), newReport()
	worked.lines = 1
	done.done = true
	done.delta(" Done.\x1b[2J ")
	for _, c := range []struct {
		ctx  context.Context
		e    ending
		want string
	}{
		{stopped, ending{report: done}, "end_turn Done."},
		{stopped, ending{report: failed("x")}, "aborted Codex was stopped: a person wanted it"},
		{t.Context(), ending{report: failed("x"), silence: time.Minute}, "timeout Codex was stopped: it had printed nothing for 1m0s"},
		{t.Context(), ending{report: failed(" no\x1b[2J key ")}, "auth Codex: no key; log in with `codex login`, or set a valid key"},
		{t.Context(), ending{report: failed(""), how: "exit code 1"}, "auth Codex: it says no more (exit code 1)"},
		{t.Context(), ending{report: newReport(), how: "signal: killed"}, "broken_stream Codex ended before its turn was over (signal: killed)"},
		{t.Context(), ending{report: newReport(), how: "exit code 1", stderr: "401"}, "auth Codex ended before its turn was over (exit code 1): 401"},
		{t.Context(), ending{report: worked, how: "exit code 1", stderr: "401"}, "broken_stream Codex ended before its turn was over (exit code 1): 401"},
		{t.Context(), ending{report: newReport(), how: "exit code 1", stderr: "1\n2\n\n  at main.js\nReading additional input\n3\r4\n5\n6\n"}, "invalid Codex ended before its turn was over (exit code 1): 2 · 3 · 4 · 5 · 6"},
	} {
		var got string
		switch p := c.e.final(c.ctx, k).(type) {
		case run.Replied:
			got = string(p.Stop) + " " + run.PlainText(p.Parts)
		case run.RequestFailed:
			got = string(p.Kind) + " " + p.Reason
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if r := failed(strings.Repeat("ä", 1001)); r.fail.Reason != strings.Repeat("ä", 1000)+"…" {
		t.Errorf("a long reason has %d bytes", len(r.fail.Reason))
	}
	if r := failed(strings.Repeat("ä", 1000)); r.fail.Reason != strings.Repeat("ä", 1000) {
		t.Errorf("a reason has %d bytes", len(r.fail.Reason))
	}
}

func TestTheKindsOfFailures(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]run.ErrorKind{401: run.ErrAuth, 403: run.ErrAuth, 429: run.ErrRateLimited, 413: run.ErrTooLong,
		500: run.ErrOverloaded, 529: run.ErrOverloaded, 400: run.ErrInvalid, 499: run.ErrInvalid, 399: "none", 0: "none"} {
		if got := kindOf(status, "none"); got != want {
			t.Errorf("status %d is %s", status, got)
		}
	}
	for want, texts := range map[run.ErrorKind][]string{
		run.ErrAuth:        {"401", "status 403", "HTTP/1.1 401 x", "(error=403)", "Unauthorized", "bad API key", "api_key", "Not logged in", "Please run /login", "log in", "authentication"},
		run.ErrRateLimited: {"429", "Rate limit", "rate_limit_error", "usage limit reached", "quota"},
		run.ErrTooLong:     {"context window", "context_length_exceeded", "prompt is too long"},
		run.ErrUnreachable: {"ECONNREFUSED", "connection refused", "ConnectionRefused", "Unable to connect", "ENOTFOUND", "error sending request"},
		run.ErrOverloaded:  {"overloaded_error", "500", "502", "503", "529", "Internal Server Error", "server error", "high demand"},
		run.ErrInvalid:     {"", "no such model", "2026-11-29T02:40:11.340111Z ERROR it failed to start: No such file", "11.401Z", "after 500ms", "id 14290", "1.500 s"},
	} {
		for _, text := range texts {
			if got := kindOfText(text); got != want {
				t.Errorf("%q is %s, want %s", text, got, want)
			}
		}
	}
}

func TestWhenALimitEnds(t *testing.T) {
	t.Parallel()
	now := time.Unix(1800000000, 0).UTC() // 8:00 on 15 January 2027
	for reason, want := range map[string]time.Duration{
		"Claude AI usage limit reached|1800003600":         time.Hour,
		"Claude AI usage limit reached|1700000000":         0,
		"Please retry in 31.5s.":                           31*time.Second + 500*time.Millisecond,
		"You've hit your usage limit. Try again in 2 days": 48 * time.Hour,
		"429: retry after 5 minutes":                       5 * time.Minute,
		"Try again in 1.2.3 s":                             0,
		"Retry in 500ms":                                   500 * time.Millisecond,
		"429":                                              0,
		"Attempt 1 failed. Retry after 5s · Attempt 2 failed. Retry after 7s": 7 * time.Second,
		"You’ve hit your usage limit. Visit x or try again at 10:15 AM.":      2*time.Hour + 16*time.Minute,
		"You’ve hit your usage limit. Try again at Jan 17th, 2027 8:00 AM.":   48*time.Hour + time.Minute,
		"You’ve hit your usage limit. Try again at 7:00 AM.":                  0,
		"You’ve hit your usage limit. Try again at Foo 44th, 2027 19:00 PM.":  0,
		// Claude Code names the time of its limits to the minute; in Berlin it is 9:00.
		"You've hit your session limit · resets 12:15pm (Europe/Berlin)":                          3*time.Hour + 16*time.Minute,
		"You've hit your session limit · resets 9:00 PM (Asia/Calcutta)":                          7*time.Hour + 31*time.Minute,
		"You've hit your weekly limit · resets 8am (Europe/Berlin)":                               23*time.Hour + time.Minute,
		"You've hit your limit · resets 12am (UTC)":                                               16*time.Hour + time.Minute,
		"Session limit reached ∙ resets 9am":                                                      time.Hour + time.Minute,
		"You've hit your limit · resets 8am (UTC)":                                                time.Minute,
		"You've hit your limit · resets 7:50am (UTC)":                                             time.Minute,
		"You've hit your limit · resets 7:48am (UTC)":                                             23*time.Hour + 49*time.Minute,
		"You've hit your Opus limit · resets Jan 17, 9:30am (Europe/Berlin)":                      48*time.Hour + 31*time.Minute,
		"You're out of extra usage · resets Feb 15, 2028, 8am (UTC) · contact your admin":         396*24*time.Hour + time.Minute,
		"You've hit your limit · resets Jan 14, 8am (UTC)":                                        0,
		"You've hit your limit · resets 12pm (Mars/Olympus)":                                      0,
		"You've hit your limit · resets 12pm (../../etc/passwd)":                                  0,
		"You've hit your limit · resets 13:61pm (UTC)":                                            0,
		"Approaching session limit · resets 9am (UTC)\nYou've hit your limit · resets 10am (UTC)": 2*time.Hour + time.Minute,
	} {
		if got := asked(reason, now); got != want {
			t.Errorf("%s: %v", reason, got)
		}
	}
}

func TestWhatIsKeptOfWhatAProgramSays(t *testing.T) {
	t.Parallel()
	const mark = "\n[cut here by pawl; the agent has all of it]"
	for in, want := range map[string]string{
		"a\tb\nc":                            "a\tb\nc",
		"a\x1b[31mb\x1b[0m\x07\rc\xff":       "abc\uFFFD",
		strings.Repeat("x", maxPart):         strings.Repeat("x", maxPart),
		strings.Repeat("x", maxPart+1):       strings.Repeat("x", maxPart) + mark,
		"x" + strings.Repeat("ä", maxPart/2): "x" + strings.Repeat("ä", maxPart/2-1) + mark,
	} {
		if got := cutPart(in); got != want {
			t.Errorf("%.20q… of %d bytes is kept as %.20q… of %d", in, len(in), got, len(got))
		}
	}
	var end tail
	for _, p := range []string{strings.Repeat("a", maxStderr-1), "b", "c", "d"} {
		if n, err := end.Write([]byte(p)); n != len(p) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got := end.String(); len(got) != maxStderr || !strings.HasSuffix(got, "abcd") {
		t.Errorf("%d bytes are kept, the end is %q", len(got), got[len(got)-4:])
	}
	var all []string
	for line := range lines(strings.NewReader("a\n\n" + strings.Repeat("x", maxLine-1) + "\n" + strings.Repeat("y", maxLine) + "\nb")) {
		all = append(all, fmt.Sprint(len(line)))
	}
	if want := []string{"2", "1", fmt.Sprint(maxLine), "1"}; !slices.Equal(all, want) {
		t.Errorf("the lines have %s bytes, want %s", all, want)
	}
	for line := range lines(strings.NewReader("")) {
		t.Errorf("a stream without lines has %q", line)
	}
}

func TestTheFoldersOfRuns(t *testing.T) {
	t.Parallel()
	state := State(t.TempDir())
	if ids, err := Folders(state); ids != nil || err != nil {
		t.Errorf("at first there are %v: %v", ids, err)
	}
	if ids := AtWork(state); ids != nil {
		t.Errorf("at work are %v", ids)
	}
	if err := RemoveLocks(state); err != nil {
		t.Error(err)
	}
	for _, id := range []run.ID{"b", "a"} {
		if _, err := (Turn{State: state, Run: id}).file("x", []byte("y")); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := Folders(state); err != nil || !slices.Equal(ids, []run.ID{"a", "b"}) {
		t.Errorf("there are %v: %v", ids, err)
	}
	if b, err := os.ReadFile(Folder(state, "a") + "/x"); string(b) != "y" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if ids := AtWork(state); len(ids) != 0 {
		t.Errorf("at work are %v", ids)
	}
	if err := errors.Join(os.RemoveAll(state+"/runs"), os.WriteFile(state+"/runs", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Folders(state); err == nil {
		t.Error("a file has folders")
	}
}

// The hash is what Codex 0.169.0 computes: with another one it does not run the hook.
func TestCodexTakesTheHashAsTrust(t *testing.T) {
	t.Parallel()
	h := sha256.Sum256([]byte(`{"event_name":"pre_tool_use","hooks":[{"async":false,"command":"a && 'b' >c","timeout":600,"type":"command"}],"matcher":"*"}`))
	if got := codexHash("pre_tool_use", matcher{"*", []hook{{"command", "a && 'b' >c", 600}}}); got != fmt.Sprintf("sha256:%x", h) {
		t.Errorf("the hash is %s", got)
	}
	if got := tomlValue(map[string]any{`a:"{b`: []string{"c:d\\"}}); got != `{"a:\"{b"=["c:d\\"]}` {
		t.Errorf("in TOML: %s", got)
	}
}
