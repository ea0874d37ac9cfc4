package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/app"
	"pawl/external"
	"pawl/internal/proc/proctest"
	"pawl/mcp"
)

// An external agent waits for a person for a bounded time, and works on. What the person allows after that is not lost:
// the agent is told in its next turn, and its request is allowed then without another question, once.
func TestWhatIsAllowedAfterAnAgentHasStoppedWaitingIsTold(t *testing.T) {
	t.Parallel()
	f := newLeftAgent(t, `[{"say":"I wait."},{"until":"ENDED"},{"say":"I have waited."}]
[{"permission":{"command":"rm -rf build"}},{"permission":{"command":"rm -rf build"}},{"say":"Done."}]`)
	pawl, env, ended := f.pawl, f.env, f.ended
	first := pawl("run", "--model", "claude-code/sonnet", "--on-ask", "wait", "-p", "go")
	var said strings.Builder
	first.Stdout, first.Stderr = &said, &said
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Process.Kill() })
	log := env["AGENT"] + ".log"
	f.notes(t, "END OF TURN")

	ws := f.open(t)
	run, err := ws.Find(t.Context(), "last")
	if err != nil {
		t.Fatal(err)
	}
	server, err := ws.AgentServer(run.ID, tokenOf(t, ws.State, string(run.ID)), 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	got, err := server.Call(t.Context(), mcp.Call{ID: "1", Tool: "permission", Arguments: json.RawMessage(`{"tool_name":"Bash","input":{"command":"rm -rf build"},"tool_use_id":"u"}`)})
	if err != nil || !strings.Contains(got.Text, `"deny"`) || !strings.Contains(got.Text, "Waiting for a person") {
		t.Fatalf("the agent is told %+v, %v", got, err)
	}
	if out, err := pawl("runs", "decide", "last", "c_1", "allow").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(ended, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { b, _ := os.ReadFile(log); return strings.Contains(string(b), `"behavior":"allow"`) })
	until(t, func() bool { return pawl("runs", "decide", "last", "c_3", "no").Run() == nil })
	_ = first.Wait()
	b, err := os.ReadFile(log)
	for _, want := range []string{"resumed conversation in w: The person has answered your request for permission: yes.", `"behavior":"allow"`, `"behavior":"deny"`} {
		if strings.Count(string(b), want) != 1 {
			t.Errorf("%q is not there once, %v:\n%s\n%s", want, err, b, said.String())
		}
	}
	if out, err := pawl("runs", "log", "last").CombinedOutput(); err != nil || !strings.Contains(string(out), "c_1 permission Bash rm -rf build: the external agent does not wait for the answer any more") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A leftAgent is a folder with an external agent.
type leftAgent struct {
	dir   string
	ended string // a file that the agent can wait for
	env   map[string]string
}

// newLeftAgent makes one. turns are what the agent does; ENDED in them is the path of ended.
func newLeftAgent(t *testing.T, turns string) *leftAgent {
	t.Helper()
	top := t.TempDir()
	f := &leftAgent{dir: filepath.Join(top, "w"), ended: filepath.Join(top, "end")}
	proctest.Program(t, filepath.Join(top, "bin", "claude"), "#!/bin/sh\nexec scripted-agent \"$@\"\n")
	for name, content := range map[string]string{"w/file": "", "agent": strings.ReplaceAll(turns, "ENDED", f.ended)} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.env = map[string]string{"HOME": top, "PAWL_STATE_DIR": filepath.Join(top, "s"), "AGENT": filepath.Join(top, "agent"),
		"PATH": filepath.Join(top, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"), "XDG_RUNTIME_DIR": top}
	return f
}

func (f *leftAgent) pawl(args ...string) *exec.Cmd {
	cmd := exec.Command("pawl", args...) // testscript.Main has put it into PATH
	cmd.Dir = f.dir
	for name, value := range f.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// notes returns when the agent has noted words.
func (f *leftAgent) notes(t *testing.T, words string) {
	t.Helper()
	until(t, func() bool {
		b, _ := os.ReadFile(f.env["AGENT"] + ".log")
		return strings.Contains(string(b), words)
	})
}

// open opens the folder as another process does.
func (f *leftAgent) open(t *testing.T) *app.Workspace {
	t.Helper()
	ws, err := app.Open(app.Options{Dir: f.dir, Env: func(name string) (string, bool) { v, ok := f.env[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return ws
}

// An agent that a killed pawl has left is ended before its run goes on: it would take what a person has decided meanwhile
// for the answer to its own question.
func TestAnAgentThatIsLeftIsEndedBeforeItsRunGoesOn(t *testing.T) {
	t.Parallel()
	f := newLeftAgent(t, `[{"wait":true}]`)
	first := f.pawl("run", "--model", "claude-code/sonnet", "-p", "go")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	f.notes(t, "waits")
	_ = first.Process.Kill()
	_ = first.Wait()
	ws := f.open(t)
	state := external.State(ws.State)
	if left := external.AtWork(state); len(left) != 1 {
		t.Fatalf("the agents of %q are at work", left)
	}
	session, err := ws.Resume(t.Context(), "last", app.Task{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if left := external.AtWork(state); len(left) != 0 {
		t.Errorf("the agents of %q are still at work", left)
	}
}

// tokenOf returns the token of the turn that is at work in a run, which its agent is given in a file.
func tokenOf(t *testing.T, state, run string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(state, "external", "runs", run, "mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Servers map[string]struct{ Env map[string]string } `json:"mcpServers"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c.Servers["pawl"].Env["PAWL_RUN_TOKEN"]
}
