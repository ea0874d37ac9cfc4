package tool_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

// The cases of the list of security cases that are about children and resources.

// sec087: what pawl reaches providers with, and what is called like a key, is in no
// command's environment, nor in what a command can look at of pawl's.
func TestNoKeyOfThePersonsReachesACommand(t *testing.T) {
	const canary = "canary-of-sec087"
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "openrouter_api_key", "OPENAI_API_KEY_2", "PAWL_TOKEN", "PAWL_ANYTHING",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "GH_PAT", "NPM_AUTH", "DB_PASSWORD", "PGPASSWORD", "SECRET_KEY_BASE", "VAULT_TOKEN", "TOKEN", "API_KEY", "HTTP_COOKIE",
	} {
		t.Setenv(name, canary)
	}
	env := shellEnv(t)
	for _, command := range []string{"env", "set", "export -p", "echo $ANTHROPIC_API_KEY$GITHUB_TOKEN", "bash -lc env", "cat /proc/self/environ 2>&1 | tr '\\0' '\\n'"} {
		// What a person names is passed on, but for what pawl reaches providers with.
		text, _ := invoke(t, t.Context(), env, tool.Shell(tool.ShellOptions{PassEnv: []string{"ANTHROPIC_API_KEY", "PAWL_TOKEN"}}), map[string]any{"command": command})
		if strings.Contains(text, canary) {
			t.Errorf("sec087: %s: %q", command, text)
		}
	}
	t.Run("confined", func(t *testing.T) {
		// Nor does a command see it in the processes that it can look at.
		text := at(t, confinedEnv(t), run.Confined, "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; env; echo looked")
		if strings.Contains(text, canary) || !strings.Contains(text, "looked") {
			t.Errorf("sec087: %q", text)
		}
	})
}

// A sink counts what is written to it.
type sink struct{ n int64 }

func (s *sink) Write(b []byte) (int, error) {
	s.n += int64(len(b))
	return len(b), nil
}

// sec090: a command that prints without end is stopped where what is kept of it is
// full, long before its time is over; what the model gets has a bound of its own.
func TestOutputWithoutEndIsBounded(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	const kept = 4_000_000
	var all sink
	r, err := tool.ShellKeeping(kept).Run(t.Context(), env, tool.Call{Run: env.Run, ID: "c_1", Output: &all,
		Args: tooltest.Args(map[string]any{"command": "while :; do echo 0123456789012345678901234567890123456789; done", "timeout_seconds": 600})})
	if err != nil {
		t.Fatal(err)
	}
	text := run.PlainText(r.Content)
	if !r.IsError || !r.Written || !strings.Contains(text, "[stopped: it printed more than 4.0 MB, the most that is kept of one command") {
		t.Errorf("sec090: error %v, written %v: %.300q", r.IsError, r.Written, text)
	}
	if all.n > kept || all.n < kept/2 {
		t.Errorf("sec090: %d bytes are kept, want at most %d and nearly that", all.n, kept)
	}

	// One that ends before it is stopped has lost something too, and that is said.
	all = sink{}
	r, err = tool.ShellKeeping(40_000).Run(t.Context(), env, tool.Call{Run: env.Run, ID: "c_2", Output: &all, Args: tooltest.Args(map[string]any{"command": "head -c 50000 /dev/zero | tr '\\0' x"})})
	if text := run.PlainText(r.Content); err != nil || !r.IsError || !r.Written || !strings.Contains(text, "it printed more than 40.0 kB, the most that is kept") {
		t.Errorf("sec090: %v, error %v, written %v: %q", err, r.IsError, r.Written, text)
	}

	// Where nothing is kept, the time limit is the bound.
	text, r = invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": "while :; do echo x; done", "timeout_seconds": 1})
	if n := utf8.RuneCountInString(text); !r.IsError || n > 32_768 || !strings.Contains(text, "its time limit of 1 s was over") {
		t.Errorf("sec090: %d characters, error %v, at the end %q", n, r.IsError, text[max(0, len(text)-200):])
	}
}

// escapes are children that are hard to end. Each makes a file named beat as long as
// it lives; a bomb is bounded in its own depth, so that it does no harm where it is
// not ended.
var escapes = []struct{ id, name, command string }{
	{"sec090", "sleeps for ever", `: > beat; sleep 100000`},
	{"sec090", "a fork bomb", `f() { : > beat; [ $1 -gt 4 ] || { f $(($1+1)) & f $(($1+1)) & }; sleep 100000; }; f 0`},
	{"sec091", "deaf to TERM", `trap '' TERM INT HUP QUIT; while :; do : > beat; sleep 0.01; done`},
	{"sec091", "forks twice", `( ( trap '' TERM; while :; do : > beat; sleep 0.01; done ) & ) ; sleep 100000`},
	{"sec091", "a session of its own", `setsid sh -c 'trap "" TERM HUP; while :; do : > beat; sleep 0.01; done' & sleep 100000`},
	{"sec091", "a daemon without a parent, a terminal or files", `(setsid sh -c 'cd .; exec >/dev/null 2>&1 </dev/null; (trap "" TERM HUP; while :; do : > beat; sleep 0.01; done) &' &) ; sleep 100000`},
}

func TestWhatACommandStartsEndsWithItsTimeLimit(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: elsewhere what leaves the group of its processes survives")
	}
	for _, level := range []run.Confinement{run.Confined, run.Unconfined} {
		for _, c := range escapes {
			t.Run(fmt.Sprintf("%s %s %s", c.id, c.name, level), func(t *testing.T) {
				t.Parallel()
				env := shellEnv(t)
				if level == run.Confined {
					env = confinedEnv(t)
				}
				beat := filepath.Join(env.Workspace, "beat")
				text, r, _ := limited(t, env, level, c.command, "beat")
				if !r.IsError || !strings.Contains(text, "all it had started is ended") {
					t.Errorf("%s: %q", c.id, text)
				}
				if err := os.Remove(beat); err != nil {
					t.Fatalf("%s: it had not begun: %v", c.id, err)
				}
				// What runs on makes it anew.
				for range 5 {
					sh(t, env, "ls; sleep 0.02")
				}
				if _, err := os.Lstat(beat); err == nil {
					t.Errorf("%s: it runs on", c.id)
				}
			})
		}
	}
}

// sec092: arguments that are made to exhaust who reads them are wrong arguments: the
// model is told so, in few words, by whoever reads them first.
func TestArgumentsMadeToExhaustTheReaderAreAnError(t *testing.T) {
	t.Parallel()
	const deep = 100_000
	digits, long := strings.Repeat("9", 1_000_000), strings.Repeat("k", 1<<20)
	nest := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	tools := []tool.Tool{
		tool.Read(), tool.Edit(), tool.Search(), tool.Shell(), tool.ShellOutput(), tool.Todo(), tool.Fetch(tool.FetchOptions{}),
	}
	registry := tool.NewRegistry(tools...)
	for name, args := range map[string]string{
		"brackets":                strings.Repeat("[", deep),
		"braces":                  strings.Repeat(`{"a":`, deep),
		"brackets that are ended": nest("[", "", "]", deep),
		"objects that are ended":  nest(`{"a":`, "1", "}", deep),
		"in a field":              `{"path":` + nest("[", "", "]", deep) + `}`,
		"less deep, in a field":   `{"path":` + nest("[", "", "]", 9_000) + `}`,
		"a million digits":        `{"path":` + digits + `,"limit":` + digits + `,"timeout_seconds":` + digits + `,"command":1}`,
		"1e308 and more":          `{"path":"x","limit":1e308,"timeout_seconds":1e309,"command":"ls","pattern":1}`,
		"a huge exponent":         `{"limit":1e999999999,"timeout_seconds":1E+2147483648,"offset":1e-999999999,"path":1}`,
		"a huge name":             `{"` + long + `":1}`,
		"a huge value":            `{"` + long + `":"` + long + `","path":{"` + long + `":1}}`,
		"many names":              `{` + manyNames(5_000) + `"path":1}`,
		"not UTF-8":               "{\"path\":\"\xff\xfe\",\"\xff\":1}",
		"a half":                  `{"path":"\ud800","x":"`,
		"nothing at all":          "\x00",
	} {
		env := shellEnv(t)
		for _, tl := range tools {
			spec := tl.Spec()
			err := registry.Validate(spec.Name, json.RawMessage(args))
			if err == nil {
				t.Errorf("sec092: %s: %s takes it", name, spec.Name)
				continue
			}
			if text := err.Error(); len(text) > 4_000 || !utf8.ValidString(text) {
				t.Errorf("sec092: %s: %s: %d bytes are said: %.300q", name, spec.Name, len(text), text)
			}
			// Nobody gets here with these; who does, is told too and not broken.
			if _, err := tl.Inspect(env, json.RawMessage(args)); err != nil && len(err.Error()) > 2*len(args)+4_000 {
				t.Errorf("sec092: %s: %s: Look says %d bytes", name, spec.Name, len(err.Error()))
			}
		}
		if err := registry.Validate(long, json.RawMessage(args)); err == nil || len(err.Error()) > 1_000 {
			t.Errorf("sec092: a tool with a huge name: %.300v", err)
		}
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"n%d":%d,`, i, i)
	}
	return b.String()
}
