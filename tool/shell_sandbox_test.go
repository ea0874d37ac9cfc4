package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pawl/permission/filenames"
	"pawl/run"
	"pawl/sandbox"
	"pawl/tool"
	"pawl/tool/tooltest"
)

// confinedEnv returns a workspace whose commands are confined.
func confinedEnv(t *testing.T) tool.Env {
	t.Helper()
	env := shellEnv(t)
	if a := sandbox.Probe().Abilities; !a.Tree || !a.Network {
		t.Skip("needs namespaces: root, or unprivileged user namespaces")
	}
	var err error
	if env.Sandbox, err = sandbox.For(env.Workspace, sandbox.Options{StateDir: env.StateDir, Getenv: os.Getenv, IsSecret: isSecret,
		IsObeyed: func(path string) bool { return filenames.Obeyed(path) != "" }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(env.Sandbox.Close)
	return env
}

func isSecret(path string) bool { return filenames.Secret(path) != "" }

// at runs a command at a level of the sandbox, as it was decided.
func at(t *testing.T, env tool.Env, level run.Confinement, command string) string {
	t.Helper()
	r, err := tool.Shell().Run(t.Context(), env, tool.Call{Run: env.Run, ID: "c_1", Sandbox: level, Args: tooltest.Args(map[string]any{"command": command})})
	if err != nil {
		t.Fatal(err)
	}
	return run.PlainText(r.Content)
}

// What a tool writes that programs obey is not taken for the work of a command that runs unasked, nor put where that one
// could change it.
func TestAFileThatProgramsObeyIsWrittenWhenNoCommandRunsUnasked(t *testing.T) {
	t.Parallel()
	env := confinedEnv(t)
	unasked, err := env.Sandbox.Turn(t.Context(), run.Inside, false)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string) string {
		r, err := tool.Write().Run(t.Context(), env, tool.Call{Run: env.Run, ID: "c_1", Args: tooltest.Args(map[string]any{"path": path, "content": "{}"})})
		if err != nil {
			t.Error(err)
		}
		return run.PlainText(r.Content)
	}
	if got := write("a.json"); !strings.Contains(got, "a.json") {
		t.Errorf("another file: %q", got)
	}
	written := make(chan string, 1)
	go func() { written <- write(".vscode/tasks.json") }()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for {
		turn, err := env.Sandbox.Turn(over, run.Inside, false)
		if turn.Leave(); err != nil {
			break // the other one waits, and is the next
		}
		select {
		case got := <-written:
			t.Fatalf("it was written beside the command: %q", got)
		default:
		}
	}
	unasked.Leave()
	if got := <-written; !strings.Contains(got, "tasks.json") {
		t.Errorf("it was not written: %q", got)
	}
}

// What a command names leads where it led when it was allowed, if it can change the repository and nobody was asked.
func TestALinkThatIsMadeMeanwhileLeadsGitsWorkNowhere(t *testing.T) {
	t.Parallel()
	env := confinedEnv(t)
	if !env.Sandbox.Contains() {
		t.Skip("nothing is contained here")
	}
	at(t, env, run.Confined, "git init -q && git config user.name a && git config user.email a@b && echo x > a && git add a && git commit -qm message")
	env.Leads = []string{"a", "g", "."}
	const command = "cp a g && git add a"
	if got := at(t, env, run.Inside, command); strings.Contains(got, "exit code") || strings.Contains(got, "not started") {
		t.Errorf("as it was: %q", got)
	}
	if err := errors.Join(os.Remove(filepath.Join(env.Workspace, "g")), os.Symlink(".git/COMMIT_EDITMSG", filepath.Join(env.Workspace, "g"))); err != nil {
		t.Fatal(err)
	}
	got := at(t, env, run.Inside, command)
	if is, err := os.ReadFile(filepath.Join(env.Workspace, ".git/COMMIT_EDITMSG")); err != nil || string(is) != "message\n" || !strings.Contains(got, "leads elsewhere than when it was allowed") {
		t.Errorf("it led into the repository: %q", got)
	}
}

func TestTheSandboxHoldsAtTheLevelThatWasDecided(t *testing.T) {
	t.Parallel()
	env := confinedEnv(t)
	outside := filepath.Join(filepath.Dir(env.Workspace), "outside")
	if err := os.WriteFile(outside, []byte("theirs"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := at(t, env, run.Confined, "cat "+outside+"; echo ours > inside; cat inside"); strings.Contains(got, "theirs") || !strings.Contains(got, "ours") {
		t.Errorf("confined: %q", got)
	}
	if got := at(t, env, run.WithNetwork, "cat "+outside); strings.Contains(got, "theirs") {
		t.Errorf("with the network: %q", got)
	}
	if got := at(t, env, run.Unconfined, "cat "+outside); got != "theirs" {
		t.Errorf("unconfined: %q", got)
	}
	// What the call asks for is not what it gets.
	if got, _ := invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": "cat " + outside, "sandbox": "none"}); strings.Contains(got, "theirs") {
		t.Errorf("asked for and not decided: %q", got)
	}
}

func TestACommandThatWasAllowedToReadOnlyReads(t *testing.T) {
	t.Parallel()
	env := confinedEnv(t)
	if !env.Sandbox.EnforcesReadOnly() {
		t.Skip("needs a filter of system calls")
	}
	tooltest.WriteFile(t, env, "file", "text\n")
	tooltest.WriteFile(t, env, "deploy/.env", "the canary\n")
	got := at(t, env, run.ReadOnly, "cat file deploy/.env; cd deploy; LC_ALL=C; touch "+env.Workspace+"/made")
	if _, err := os.Lstat(filepath.Join(env.Workspace, "made")); err == nil || strings.Contains(got, "canary") || !strings.HasPrefix(got, "text\n") || !strings.Contains(got, "allowed as one that only reads") {
		t.Errorf("%v: %q", err, got)
	}
	if got := at(t, env, run.Confined, "cat .env"); !strings.Contains(got, "canary") {
		t.Errorf("the next command starts in another folder, or without what the project needs: %q", got)
	}
}

func TestARefusalSaysHowToAskAgainAndAFailureDoesNot(t *testing.T) {
	t.Parallel()
	env := confinedEnv(t)
	for command, want := range map[string]string{
		"exec 3<>/dev/tcp/192.0.2.1/80": "[The sandbox refused the network: something of the command tried to reach it. If it is needed, repeat the call with \"sandbox\": \"network\"; a person decides that anew.]\n[exit code 1]",
		"touch /usr/x":                  "[The sandbox probably refused this (\"touch: cannot touch '/usr/x': Read-only file system\"): /usr may be read and not changed. If it is needed, repeat the call with \"sandbox\": \"none\"; a person decides that anew.]\n[exit code 1]",
		"cat nothing":                   "cat: nothing: No such file or directory\n[exit code 1]",
	} {
		if got := at(t, env, run.Confined, "LC_ALL=C; export LC_ALL; "+command); !strings.HasSuffix(got, want) || strings.Contains(want, "cat:") && got != want {
			t.Errorf("%s: got %q, want at its end %q", command, got, want)
		}
	}
}

func TestACallAsksForALevel(t *testing.T) {
	t.Parallel()
	env := shellEnv(t)
	for args, want := range map[string]run.Confinement{
		`{"command":"ls"}`: run.Confined, `{"command":"ls","sandbox":"network"}`: run.WithNetwork, `{"command":"ls","sandbox":"none"}`: run.Unconfined,
	} {
		in, err := tool.Shell().Inspect(env, json.RawMessage(args))
		if err != nil || in.Sandbox != want {
			t.Errorf("%s: %q, %v, want %q", args, in.Sandbox, err, want)
		}
	}
	if _, err := tool.Shell().Inspect(env, json.RawMessage(`{"command":"ls","sandbox":"open"}`)); err == nil || !strings.Contains(err.Error(), `give "write", "network" or "none"`) {
		t.Errorf("got %v", err)
	}
}

func TestWhatAJobMustNotHaveMadeIsUndoneAndTold(t *testing.T) {
	t.Parallel()
	env := confinedEnv(t)
	tooltest.WriteFile(t, env, ".git/HEAD", "ref: refs/heads/main\n")
	tooltest.WriteFile(t, env, ".git/config", "[core]\n")
	invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": "echo ../evil > .git/commondir; mkdir .pawl; until [ -e go ]; do sleep 0.01; done", "background": true})
	tooltest.WriteFile(t, env, "go", "")
	text, _ := invoke(t, t.Context(), env, tool.ShellOutput(), map[string]any{"id": "job_1", "wait_seconds": 60})
	if !strings.Contains(text, "[The command made .git/commondir, which it must not: that was undone") {
		t.Errorf("told %q", text)
	}
	for _, name := range []string{".git/commondir", ".pawl", ".mcp.json"} {
		if _, err := os.Lstat(filepath.Join(env.Workspace, name)); err == nil {
			t.Errorf("there is %s", name)
		}
	}
}

func TestClosingTheSessionUndoesWhatAJobMustNotHaveMade(t *testing.T) {
	t.Parallel()
	env := confinedEnv(t)
	if text, _ := invoke(t, t.Context(), env, tool.Shell(), map[string]any{"command": "mkdir .pawl; sleep 300", "background": true}); !strings.Contains(text, "job_1") {
		t.Fatal(text)
	}
	env.Session.Close()
	if _, err := os.Lstat(filepath.Join(env.Workspace, ".pawl")); err == nil {
		t.Error("there is .pawl")
	}
}

func TestInTheSandboxWhatIsStoppedEndsAsEverywhere(t *testing.T) {
	t.Parallel()
	env := confinedEnv(t)
	text, r, _ := limited(t, env, run.Confined,
		"trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do : >> beat; sleep 0.001; done' &); until [ -e beat ]; do sleep 0.01; done; echo begun; : > told; exec sleep 300", "told")
	if !r.IsError || !strings.HasPrefix(text, "begun\n[stopped: its time limit") {
		t.Errorf("got %q", text)
	}
	if err := os.Remove(filepath.Join(env.Workspace, "beat")); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		sh(t, env, "ls")
	}
	if _, err := os.Lstat(filepath.Join(env.Workspace, "beat")); err == nil {
		t.Error("it runs on")
	}
}

// A command whose helper is killed did not end by itself: its result is no exit code of its own.
func TestACommandThatIsLostWithItsHelperIsToldSo(t *testing.T) {
	t.Parallel()
	env := confinedEnv(t)
	r, err := tool.Shell().Run(t.Context(), env, tool.Call{Run: env.Run, ID: "c_1", Sandbox: run.Confined,
		Args: tooltest.Args(map[string]any{"command": "echo began; exec sleep 76543.21"}),
		Progress: func(string) {
			if helper := childAbove("sleep\x0076543.21\x00"); helper != 0 {
				syscall.Kill(helper, syscall.SIGKILL)
			}
		}})
	if text := run.PlainText(r.Content); err != nil || !r.IsError || !strings.HasPrefix(text, "began\n") || !strings.Contains(text, "helper process for the command was killed") || strings.Contains(text, "exit code") {
		t.Errorf("got %q, an error %v, %v", text, r.IsError, err)
	}
}

// childAbove returns the child of this process above the process with a command line; 0: there
// is none.
func childAbove(commandLine string) int {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		if text, _ := os.ReadFile(line); string(text) != commandLine {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		for pid > 1 {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
			if len(fields) < 2 {
				break
			}
			parent, _ := strconv.Atoi(fields[1])
			if parent == os.Getpid() {
				return pid
			}
			pid = parent
		}
	}
	return 0
}
