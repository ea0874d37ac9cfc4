package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pawl/external"
	"pawl/external/externaltest"
	"pawl/forms"
	"pawl/internal/proc/proctest"
	"pawl/internal/screen/screentest"
	"pawl/render"
)

// onTerminal runs pawl in a wide terminal and returns what it has drawn there, without colours.
func (s *agentSite) onTerminal(t *testing.T, args ...string) string {
	t.Helper()
	pty := screentest.NewPty(t, 400, 50)
	cmd := exec.CommandContext(t.Context(), s.bin, args...)
	cmd.Dir, cmd.Env = s.dir, append(s.env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pty.Tty, pty.Tty, pty.Tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pty.Tty.Close()
	var drawn bytes.Buffer
	_, _ = io.Copy(&drawn, pty.Master) // an error: all have closed it
	_ = cmd.Wait()
	return ansi.Strip(drawn.String())
}

// otherVersion puts a program in front of the real one that npm seems to have installed, in a version which pawl was not tested with.
func (s *agentSite) otherVersion(t *testing.T, kind string) {
	t.Helper()
	top := filepath.Dir(s.dir)
	module := filepath.Join(top, "lib", "node_modules", strings.TrimPrefix(s.kind.Install, "npm install -g "))
	program, bin := filepath.Join(module, "start"), filepath.Join(top, "bin")
	s.write(t, filepath.Join(module, "package.json"), fmt.Sprintf(`{"name":%q,"version":"9.8.7"}`, strings.TrimPrefix(s.kind.Install, "npm install -g ")))
	proctest.Program(t, program, "#!/bin/sh\ncase $* in --version) echo 9.8.7; exit ;; esac\nexec '"+externaltest.Program(t, kind)+"' \"$@\"\n")
	for _, err := range []error{os.Mkdir(bin, 0o700), os.Symlink(program, filepath.Join(bin, s.kind.Program))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.env = append(s.env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// agentEdit is a call of a program's own tool that makes y of the x in a file, and with Codex another file.
func agentEdit(kind, file string) externaltest.Reply {
	return map[string]externaltest.Reply{
		"claude-code": {Tool: "Edit", Args: fmt.Sprintf(`{"file_path":%q,"old_string":"x","new_string":"y"}`, file)},
		"gemini-cli":  {Tool: "replace", Args: fmt.Sprintf(`{"file_path":%q,"old_string":"x","new_string":"y","instruction":"Make y of it."}`, file)},
		"opencode":    {Tool: "edit", Args: fmt.Sprintf(`{"filePath":%q,"oldString":"x","newString":"y"}`, file)},
		"codex":       {Tool: "apply_patch", Args: "*** Begin Patch\n*** Update File: " + file + "\n@@\n-x\n+y\n*** Add File: other.txt\n+o\n*** End Patch\n"},
	}[kind]
}

// An agent works on a task once, and is stopped by a limit of its provider. What the terminal, the API that the board is made of, the
// stream of JSON and `pawl runs show` say of it is the same: what bounds the program and that its version was not tested, once;
// the calls with what they have printed and changed; the usage and the cost; and when the limit ends.
func TestRealAgentsSayTheSameOnEveryFace(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, kind string) {
		ends := time.Now().Add(2 * time.Hour)
		limit := map[string]externaltest.Reply{
			"claude-code": {Text: "Too many.", Header: fmt.Sprintf("anthropic-ratelimit-unified-status: rejected\nanthropic-ratelimit-unified-representative-claim: five_hour\n"+
				"anthropic-ratelimit-unified-reset: %d", ends.Unix())},
			"codex": {Error: fmt.Sprintf(`{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_at":%d}}`, ends.Unix())},
			"gemini-cli": {Error: `{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 7200.5s.","status":"RESOURCE_EXHAUSTED","details":[
				{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
				{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7200s"}]}}`},
			"opencode": {Text: "Too many.", Header: "retry-after: 7200"},
		}[kind]
		limit.Status = http.StatusTooManyRequests
		var s *agentSite
		s = newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
			if strings.Contains(r.Words, "GO ON") {
				return limit
			}
			return plays(agentShell(kind, "echo first; echo second"), agentWrite(kind, filepath.Join(s.dir, "made.txt")), agentEdit(kind, filepath.Join(s.dir, "made.txt")),
				reports(kind, "blocked", "There is no paint."))(r)
		})
		if kind == "claude-code" { // only a subscription has such a limit
			s.env = append(s.env, "ANTHROPIC_API_KEY=", "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy")
		}
		s.agent(t, "builder", agentModels[kind], "permissions: {mode: accept-edits, allow: [shell(echo *)]}")
		s.otherVersion(t, kind)
		s.planned(t, "builder")
		faces := map[string]string{"terminal, task": s.onTerminal(t, "task", "start", "last") + s.onTerminal(t, "task", "resume", "last", "-p", "GO ON")}
		var shown forms.ShownRun
		if err := json.Unmarshal([]byte(s.pawl(t, "runs", "show", "last", "--json")), &shown); err != nil {
			t.Fatal(err)
		}
		text := func(v any) string {
			var b strings.Builder
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(v); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		served := &servedFolder{t: t, bin: s.bin, dir: s.dir, env: s.env}
		served.start()
		all := served.do(http.StatusOK, http.MethodGet, "/tasks", "")
		id := all["items"].([]any)[0].(map[string]any)["id"].(string)
		faces["API, run"] = text(served.do(http.StatusOK, http.MethodGet, "/runs/"+string(shown.Run)+"/items?results=true", ""))
		faces["API, task"] = text(served.do(http.StatusOK, http.MethodGet, "/tasks/"+id, "")) + text(served.do(http.StatusOK, http.MethodGet, "/tasks/"+id+"/history", ""))
		faces["stream"] = s.pawl(t, "runs", "log", "last", "--json")
		faces["show"] = s.pawl(t, "runs", "show", "last")
		faces["show, JSON"] = s.pawl(t, "runs", "show", "last", "--json", "--results")

		var ended *forms.EndForm
		for _, i := range shown.Items {
			if i.End != nil && ended == nil {
				ended = i.End
			}
		}
		if ended == nil || ended.Usage.Output == 0 {
			t.Fatalf("there is no usage in %s", faces["show, JSON"])
		}
		u := ended.Usage
		tokens, counted, cost, dollars := render.ShortCount(u.Input+u.CacheRead+u.CacheWrite+u.Output)+" tokens", fmt.Sprintf(`"output_tokens":%d`, u.Output), `"cost":null`, "cost unknown"
		if u.Cost != nil {
			cost, dollars = fmt.Sprint(`"cost":`, *u.Cost), fmt.Sprintf("$%.4f", *u.Cost)
		}
		until := regexp.MustCompile(`continue after [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]+ UTC`).FindString(faces["show"])
		if at, err := time.Parse("continue after 2006-01-02 15:04:05 UTC", until); err != nil || at.Sub(ends).Abs() > 30*time.Minute {
			t.Errorf("the limit ends %v, and it is said: %q, %v", ends, until, err)
		}
		bounds, untested := s.kind.Bounds("accept-edits"), s.kind.Untested("9.8.7")
		inJSON := slices.Clip([]string{"first\\nsecond", `+x"`, `-x\n+y`, `"path":"made.txt"`})
		wants := map[string][]string{
			"terminal, task": {"first", "second", "+1 -0", "+1 -1"},
			"show":           {"first", "second", "+1 -0", "+1 -1", tokens, dollars},
			"stream":         inJSON,
			"API, run":       append(inJSON, counted, cost), "show, JSON": append(inJSON, counted, cost),
			"API, task": {counted, cost},
		}
		for face, want := range wants {
			words := faces[face]
			for _, w := range append(want, until) {
				if !strings.Contains(words, w) {
					t.Errorf("%s has no %q:\n%s", face, w, words)
				}
			}
			for _, w := range []string{bounds, untested} {
				if n := strings.Count(words, w); n != 1 && face != "API, task" {
					t.Errorf("%s says %d times %q", face, n, w)
				}
			}
		}
		output := int64(0) // which it has as it was reported
		for _, m := range regexp.MustCompile(`"output_tokens":([0-9]+)`).FindAllStringSubmatch(faces["stream"], -1) {
			n, err := strconv.ParseInt(m[1], 10, 64)
			if output += n; err != nil {
				t.Error(err)
			}
		}
		if output != u.Output || u.Cost != nil && !strings.Contains(faces["stream"], cost) {
			t.Errorf("the stream has %d tokens of output, want %d", output, u.Output)
		}
		// A person opens a copy of it in the terminal: the run is its task's.
		fork := strings.TrimSpace(s.pawl(t, "runs", "fork", string(shown.Run)))
		sat := &sitting{t: t, dir: s.dir, env: append(s.env, "TERM=xterm", "NO_COLOR=1"), more: make(chan struct{}, 1)}
		sat.starts("--resume", fork)
		wants["terminal"] = []string{"works outside of pawl's sandbox", "pawl was tested with", "second", "+1 ", "+x", "-x", "+y", tokens}
		if u.Cost != nil {
			wants["terminal"] = append(wants["terminal"], "$0.00") // it rounds
		}
		for _, w := range wants["terminal"] {
			sat.see(w)
		}
		s.must(t, []string{"runs", "show", string(shown.Run), "--diff"}, "+++ b/made.txt", "\n+y\n")
		s.must(t, []string{"runs", "undo", string(shown.Run)}, "made.txt: removed")
		var list forms.AgentListForm
		if err := json.Unmarshal([]byte(s.pawl(t, "agents", "list", "--json")), &list); err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Programs {
			if p.Name == kind && (p.Version != "9.8.7" || p.Tested != s.kind.Tested() || p.Permissions != s.kind.Permissions() || p.LoggedIn == external.LoggedInNo) {
				t.Errorf("it is listed as %+v", p)
			}
		}
	})
}
