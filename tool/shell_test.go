package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

// needsShell skips a test where commands cannot be run.
func needsShell(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs bash and a system that pawl runs commands on")
	}
}

// shellEnv returns a workspace whose jobs end with the test.
func shellEnv(t *testing.T) tool.Env {
	t.Helper()
	needsShell(t)
	return tooltest.NewEnv(t, nil)
}

func invoke(t *testing.T, ctx context.Context, env tool.Env, tl tool.Tool, args map[string]any) (string, tool.Result) {
	t.Helper()
	r, err := tl.Run(ctx, env, tool.Call{Run: env.Run, ID: "c_1", Args: tooltest.Args(args)})
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return run.PlainText(r.Content), r
}

// sh runs a command and returns what the model is told.
func sh(t *testing.T, env tool.Env, command string) string {
	t.Helper()
	text, _ := invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": command})
	return text
}

func TestShell(t *testing.T) {
	t.Parallel()
	needsShell(t)
	tooltest.Run(t, tool.Shell(),
		tooltest.Case{Name: "prints", Args: `{"command":"touch x; echo out; echo err >&2; echo more"}`, Want: []string{"out\nerr\nmore"}},
		tooltest.Case{Name: "reads", Files: map[string]string{"a": "text"}, Args: `{"command":"cat a"}`, Want: []string{"text"}},
		tooltest.Case{Name: "an exit code is no error", Args: `{"command":"touch x; echo no; exit 3"}`, Want: []string{"no\n[exit code 3]"}},
		tooltest.Case{Name: "a signal is named", Args: `{"command":"touch x; kill -9 $$"}`, Want: []string{"[exit code 137 (signal 9)]"}},
		tooltest.Case{Name: "silence is said", Args: `{"command":"true"}`, Want: []string{"(no output)"}},
		tooltest.Case{Name: "a syntax error is bash's to tell", Args: `{"command":"echo 'x"}`, Want: []string{"unexpected EOF", "[exit code"}},
		tooltest.Case{Name: "input is empty", Args: `{"command":"cat; echo $#"}`, Want: []string{"0"}},
		tooltest.Case{Name: "bounded", Args: `{"command":"seq 1 100000"}`, Want: []string{"1\n2\n", "characters left out", "\n100000"}},
		tooltest.Case{Name: "an empty command", Args: `{"command":" "}`, Wrong: true, Want: []string{"command is empty"}},
		tooltest.Case{Name: "too long a command", Args: fmt.Sprintf(`{"command":"echo %s"}`, strings.Repeat("x", 100_000)), Wrong: true, Want: []string{"write a file first"}},
		tooltest.Case{Name: "too long a time", Args: `{"command":"ls","timeout_seconds":601}`, Wrong: true, Want: []string{"from 1 to 600"}},
	)
	tooltest.Run(t, tool.ShellOutput(),
		tooltest.Case{Name: "no such job", Args: `{"id":"job_1"}`, Wrong: true, Want: []string{"no job"}})
	tooltest.Run(t, tool.ShellStop(),
		tooltest.Case{Name: "no such job", Args: `{"id":"job_1"}`, Wrong: true, Want: []string{"no job"}})
}

func TestTheTextsForTheModelStayShort(t *testing.T) {
	t.Parallel()
	total := 0
	for _, tl := range []tool.Tool{tool.Shell(), tool.ShellOutput(), tool.ShellStop()} {
		s := tl.Spec()
		total += len(s.Name) + len(s.Description) + len(s.Schema)
	}
	if total > 2500 {
		t.Errorf("%d bytes, want at most 2,500", total)
	}
}

func TestTheFolderIsKeptBetweenCalls(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	if got, want := sh(t, env, "mkdir -p a/b && cd a"), "[now in a]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := sh(t, env, "pwd; cd b; exit 4"), env.Workspace+"/a\n[now in a/b]\n[exit code 4]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := env.Session.ShellDir(), env.Workspace+"/a/b"; got != want {
		t.Errorf("ShellDir is %q, want %q", got, want)
	}
	if got, want := sh(t, env, "pwd"), env.Workspace+"/a/b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := sh(t, env, "rmdir ../b"); !strings.Contains(got, "no output") {
		t.Errorf("got %q", got)
	}
	if got, want := sh(t, env, "pwd"), env.Workspace+"\n[a/b is gone; this ran in the workspace]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := sh(t, env, "cd /"); !strings.Contains(got, "/ is outside the workspace; the next command starts in the workspace again") {
		t.Errorf("got %q", got)
	}
	if got, want := sh(t, env, "pwd"), env.Workspace; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := os.Symlink("/", filepath.Join(env.Workspace, "link")); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, env, "cd link"); !strings.Contains(got, "outside the workspace") {
		t.Errorf("through a link: got %q", got)
	}
}

func TestAResumedRunStartsInTheWorkspace(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	sh(t, env, "mkdir a; cd a")
	env.Session = &tool.Session{}
	if got, want := sh(t, env, "pwd"), env.Workspace; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestACommandMayUseTheDescriptorsItLikes(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	if got, want := sh(t, env, "exec 3>f; echo x >&3; cat f; trap 'echo own trap' EXIT; set -e; false"), "x\nown trap\n[exit code 1]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestKeysAreNotInACommandsEnvironment(t *testing.T) {
	env := shellEnv(t)
	t.Setenv("ANTHROPIC_API_KEY", "secret-a")
	t.Setenv("GITHUB_TOKEN", "secret-b")
	t.Setenv("KEPT_TOKEN", "kept")
	text, _ := invoke(t, t.Context(), env, tool.Shell(tool.ShellOptions{PassEnv: []string{"KEPT_TOKEN"}}), map[string]any{"command": "env"})
	if strings.Contains(text, "secret-") || !strings.Contains(text, "KEPT_TOKEN=kept") || !strings.Contains(text, "GIT_TERMINAL_PROMPT=0") {
		t.Errorf("the environment is\n%s", text)
	}
}

// limited runs a command with ever longer limits until it has made the file begun: a busy machine may not get to it in a second.
func limited(t *testing.T, env tool.Env, level run.Confinement, command, begun string) (text string, r tool.Result, limit int) {
	t.Helper()
	for _, limit = range []int{1, 10, 60} {
		var err error
		if r, err = tool.Shell().Run(t.Context(), env, tool.Call{Run: env.Run, ID: "c_1", Sandbox: level,
			Args: tooltest.Args(map[string]any{"command": command, "timeout_seconds": limit})}); err != nil {
			t.Fatal(err)
		}
		if _, err = os.Lstat(filepath.Join(env.Workspace, begun)); err == nil {
			break
		}
	}
	return run.PlainText(r.Content), r, limit
}

func TestATimeLimitGivesWhatWasPrinted(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	text, r, limit := limited(t, env, run.Unconfined, "echo begun; touch x; exec sleep 300", "x")
	want := fmt.Sprintf("begun\n[stopped: its time limit of %d s was over; all it had started is ended, what it had done by then is done]", limit)
	if text != want || !r.IsError || r.Change != run.MayChange {
		t.Errorf("got %q, error %v, change %q; want %q", text, r.IsError, r.Change, want)
	}
}

func TestStoppingACallGivesWhatWasPrinted(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var once sync.Once
	r, err := tool.Shell().Run(ctx, env, tool.Call{
		Args: tooltest.Args(map[string]any{"command": "trap '' TERM; echo begun; sleep 300 & exec sleep 300"}),
		Progress: func(s string) {
			if s == "begun" {
				once.Do(func() { cancel(errors.New("the person pressed Esc")) })
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := run.PlainText(r.Content)
	if !strings.HasPrefix(text, "begun\n[stopped: the person pressed Esc") || !r.IsError {
		t.Errorf("got %q, error %v", text, r.IsError)
	}
}

func TestWhatACommandLeavesInTheBackgroundEndsWithIt(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	if got, want := sh(t, env, "(while :; do date +%N > beat; done) & until [ -s beat ]; do :; done; echo done"), "done"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// What runs on would write the file anew.
	if got := sh(t, env, "rm beat; for i in 1 2 3 4 5 6 7 8 9; do ls; done"); got != "(no output)" {
		t.Errorf("it runs on: %q", got)
	}
}

func TestAJobRunsBesideTheCalls(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	// What is printed by when the call returns is the machine's affair.
	first, r := invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": "echo up; until [ -e go ]; do sleep 0.01; done; echo gone; exit 7", "background": true})
	first, runs := strings.CutSuffix(first, "[job_1 is running]")
	if !runs || r.IsError || r.Change != run.MayChange {
		t.Errorf("got %q, error %v, change %q", first, r.IsError, r.Change)
	}
	if jobs := env.Session.Jobs(); len(jobs) != 1 || jobs[0].ID != "job_1" || !strings.HasPrefix(jobs[0].Command, "echo up; until") || jobs[0].Since.IsZero() {
		t.Errorf("the jobs that run: %+v", jobs)
	}
	if !env.Session.JobsRun() {
		t.Error("no job runs")
	}
	second, _ := invoke(t, t.Context(), env, tool.ShellOutput(), map[string]any{"id": "job_1"})
	second, runs = strings.CutSuffix(second, "[job_1 is running]")
	if !runs {
		t.Errorf("got %q", second)
	}
	tooltest.WriteFile(t, env, "go", "")
	third, _ := invoke(t, t.Context(), env, tool.ShellOutput(), map[string]any{"id": "job_1", "wait_seconds": 60})
	if got, want := first+second+third, "up\ngone\n[job_1 ended: exit code 7]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if env.Session.JobsRun() || len(env.Session.Jobs()) > 0 {
		t.Error("a job runs")
	}
	if text, r := invoke(t, t.Context(), env, tool.ShellOutput(), map[string]any{"id": "job_9"}); text != `there is no job "job_9"; there are job_1` || !r.IsError {
		t.Errorf("got %q", text)
	}
}

func TestTheEndOfAJobIsToldOnce(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": "until [ -e go ]; do sleep 0.01; done; exit 3", "background": true})
	tooltest.WriteFile(t, env, "go", "")
	for deadline := time.Now().Add(2 * time.Minute); env.Session.JobsRun() && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if got, want := sh(t, env, "echo x"), "x\n[job_1 ended: exit code 3; shell_output has what it printed]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := sh(t, env, "echo x"), "x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAJobIsStoppedWithAllItStarted(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": "trap '' TERM; echo up; sleep 300 & sleep 300", "background": true})
	text, r := invoke(t, t.Context(), env, tool.ShellStop(), map[string]any{"id": "job_1"})
	if !strings.HasSuffix(text, "[job_1 was stopped: by shell_stop]") || r.IsError {
		t.Errorf("got %q", text)
	}
	if env.Session.JobsRun() {
		t.Error("it runs on")
	}
}

func TestClosingTheSessionEndsItsJobsAndStartsNoMore(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	for range 3 {
		invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": "sleep 300", "background": true})
	}
	env.Session.Close()
	if env.Session.JobsRun() {
		t.Error("a job runs on")
	}
	text, r := invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": "sleep 300", "background": true})
	if !r.IsError || r.Change != run.NoChange || !strings.Contains(text, "no job starts any more") {
		t.Errorf("got %q, change %q", text, r.Change)
	}
	env.Session.Close()
}

func TestTooManyJobsAreRefused(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	for i := range 17 {
		text, r := invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": "sleep 300", "background": true})
		if r.IsError != (i == 16) {
			t.Fatalf("job %d: %q", i+1, text)
		}
	}
}

// Where no sandbox hides what is a secret or outside, all that a command goes through is looked at: behind a link that
// it is told or that it follows, and in what packages bring along.
func TestACommandThatFollowsLinksIsSeenToReachSecrets(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	env.Sandbox = nil
	ws, outside := env.Workspace, t.TempDir()
	for _, file := range []string{"code/a.go", "other/.env", "node_modules/p/x.js", "loop/a", "names/ok"} {
		tooltest.WriteFile(t, env, file, "")
	}
	for name, to := range map[string]string{"link": "other", "code/l": "../other", "code/gone": "nowhere", "node_modules/p/l": outside, "loop/l": ".", "names/plain": "../other/.env", "names/env": "/proc/self/environ"} {
		if err := os.Symlink(to, filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]string{
		"grep -r x link":                              "other/.env",
		"grep -r x code":                              "",
		"grep -R x code":                              "other/.env",
		"rg --follow x code":                          "other/.env",
		"rg -L x code":                                "other/.env",
		"diff code other":                             "other/.env",
		"grep -r x node_modules":                      "node_modules/p/l",
		"grep -r x loop":                              "",
		"grep -R x loop":                              "",
		"grep -R x names":                             "names/env names/plain",
		"grep -R --include=*.go x code":               "",
		"grep -r x . --exclude-dir=other":             "names/env names/plain other/.env",
		"grep --dereference-recursive x node_modules": "node_modules/p/l",
		"grep -R x .":                                 "names/env names/plain node_modules/p/l other/.env",
	} {
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		in, err := tool.Shell().Inspect(env, args)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range in.Below {
			in.Below[i], _ = filepath.Rel(ws, p)
		}
		slices.Sort(in.Below)
		if got := strings.Join(slices.Compact(in.Below), " "); got != want {
			t.Errorf("%s goes through %q, not %q", command, got, want)
		}
	}
}

func TestLookTellsWhatACommandWouldDo(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	ws := env.Workspace
	tooltest.WriteFile(t, env, "sub/a.go", "")
	tooltest.WriteFile(t, env, "sub/b.go", "")
	sh(t, env, "cd sub")
	for args, want := range map[string]tool.Intent{
		`{"command":"cat x\n"}`:                                {Class: run.Reads, Command: "cat x\n", Paths: []string{ws + "/sub/x"}, Title: "cat x"},
		`{"command":"cat ../x/../y"}`:                          {Class: run.Reads, Command: "cat ../x/../y", Paths: []string{ws + "/sub/../x/../y", ws + "/sub/../y"}, Title: "cat ../x/../y"},
		`{"command":"wc -l *.go"}`:                             {Class: run.Reads, Command: "wc -l *.go", Paths: []string{ws + "/sub/a.go", ws + "/sub/b.go"}, Title: "wc -l *.go"},
		`{"command":"cp /etc/x /dev/null"}`:                    {Class: run.Writes, Command: "cp /etc/x /dev/null", Paths: []string{"/etc/x"}, Title: "cp /etc/x /dev/null"},
		`{"command":"sleep 10"}`:                               {Class: run.Reads, Polls: true, Command: "sleep 10", Title: "sleep 10"},
		`{"command":"sleep 10","background":true}`:             {Class: run.Writes, Command: "sleep 10", Writes: true, Title: "sleep 10"},
		`{"command":"git commit -m \"first\n\nsecond line\""}`: {Class: run.Writes, Command: "git commit -m \"first\n\nsecond line\"", Paths: []string{ws + "/sub/commit"}, Title: `git commit -m "first second line"`},
	} {
		got, err := tool.Shell().Inspect(env, json.RawMessage(args))
		if err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if strings.Contains(args, "git commit") { // which word is the file is git's to know
			got.Paths, want.Paths = nil, nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", args, diff)
		}
	}
	for args, want := range map[string]tool.Intent{
		`{"id":"job_1"}`:                   {Class: run.Reads, Title: "output of job_1"},
		`{"id":"job_1","wait_seconds":30}`: {Class: run.Reads, Polls: true, Title: "output of job_1"},
	} {
		got, err := tool.ShellOutput().Inspect(env, json.RawMessage(args))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", args, err, diff)
		}
	}
}
