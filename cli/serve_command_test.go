package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/cli/command"
)

// A servedFolder is a folder that the built binary serves.
type servedFolder struct {
	t        *testing.T
	bin, dir string
	env      []string

	server     *exec.Cmd
	url, token string
	said       *bytes.Buffer // the rest of its standard error, when it has ended
	ended      chan struct{}
}

func serveFolder(t *testing.T, replies string) *servedFolder {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Skipf("needs the go command, to build the binary: %v", err)
	}
	top := t.TempDir()
	f := &servedFolder{t: t, bin: bin, dir: filepath.Join(top, "w"), env: []string{"HOME=" + top, "PAWL_STATE_DIR=" + filepath.Join(top, "s"),
		"PAWL_MODEL=script/" + filepath.Join(top, "model.jsonl"), "PATH=" + os.Getenv("PATH")}}
	if err := errors.Join(os.Mkdir(f.dir, 0o700), os.WriteFile(filepath.Join(top, "model.jsonl"), []byte(replies), 0o600)); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *servedFolder) command(args ...string) *exec.Cmd {
	cmd := exec.Command(f.bin, args...)
	cmd.Dir, cmd.Env = f.dir, f.env
	return cmd
}

// pawl runs a command and returns its output, with its exit code.
func (f *servedFolder) pawl(args ...string) (code int, stdout, stderr string) {
	f.t.Helper()
	cmd := f.command(args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		f.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// start starts the server and waits until it serves.
func (f *servedFolder) start() { f.t.Helper(); f.startWith("serve") }

func (f *servedFolder) startWith(name string) {
	f.t.Helper()
	f.server = f.command(name, "--address", "127.0.0.1:0")
	pipe, err := f.server.StderrPipe()
	if err == nil {
		err = f.server.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.said, f.ended = &bytes.Buffer{}, make(chan struct{})
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		if _, url, ok := strings.Cut(strings.TrimSpace(line), " at http"); ok {
			f.url = "http" + url
			break
		}
		if err != nil {
			f.t.Fatalf("the server said %q: %v", line, err)
		}
	}
	server, said, ended := f.server, f.said, f.ended
	go func() {
		defer close(ended)
		_, _ = io.Copy(said, lines)
		_ = server.Wait()
	}()
	f.t.Cleanup(func() { _ = server.Process.Kill(); <-ended })
	_, token, _ := f.pawl("serve", "token")
	f.token = strings.TrimSpace(token)
}

// stop ends the server with a signal and returns its exit code.
func (f *servedFolder) stop(sig os.Signal) int {
	f.t.Helper()
	if err := f.server.Process.Signal(sig); err != nil {
		f.t.Fatal(err)
	}
	<-f.ended
	return f.server.ProcessState.ExitCode()
}

// do sends a request and returns the body of its response.
func (f *servedFolder) do(status int, method, path, body string) map[string]any {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.url+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		f.t.Fatalf("%s %s: status %d, want %d: %s, %v", method, path, res.StatusCode, status, content, err)
	}
	var v map[string]any
	if err := json.Unmarshal(content, &v); err != nil {
		f.t.Fatalf("%s %s: %v: %s", method, path, err, content)
	}
	return v
}

// until asks for the task until it is as wanted.
func (f *servedFolder) until(id, what string, is func(map[string]any) bool) map[string]any {
	f.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		v := f.do(200, "GET", "/tasks/"+id, "")
		if is(v) {
			return v
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("the task never was %s: %v", what, v)
		}
	}
}

// until waits until something holds.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came")
		}
	}
}

func (f *servedFolder) wait(id, status string) map[string]any {
	f.t.Helper()
	return f.until(id, status, func(v map[string]any) bool { return v["status"].(map[string]any)["name"] == status })
}

// A run started over the API continues after its server is killed and started again. A run at rest is left alone.
func TestAServerThatIsStartedAgainContinuesItsRuns(t *testing.T) {
	t.Parallel()
	f := serveFolder(t, `
{"when":{"first":"Wait"},"calls":[{"id":"c_1","tool":"shell","args":{"command":"touch started; sleep 600"}}]}
{"when":{"first":"Wait","contains":"outcome"},"text":"It was cut off.","repeat":true}
{"when":{"first":"Hello"},"text":"Hello.","repeat":true}
`)
	f.start()
	ended := func(id string) map[string]any {
		t.Helper()
		var r map[string]any
		until(t, func() bool { r = f.do(200, "GET", "/runs/"+id, ""); return r["end"] == "completed" })
		return r
	}
	rests := f.do(201, "POST", "/runs", `{"prompt":"Hello"}`)["run"].(string)
	ended(rests)
	id := f.do(201, "POST", "/runs", `{"prompt":"Wait"}`)["run"].(string)
	var calls []any
	until(t, func() bool {
		calls = f.do(200, "GET", "/runs/"+id+"/approvals", "")["items"].([]any)
		return len(calls) == 1
	})
	f.do(200, "POST", "/runs/"+id+"/approvals/c_1", fmt.Sprintf(`{"answer":"allow","digest":%q}`, calls[0].(map[string]any)["digest"]))
	until(t, func() bool { _, err := os.Stat(filepath.Join(f.dir, "started")); return err == nil })
	f.stop(syscall.SIGKILL)
	f.start()
	if r := ended(id); r["turns"] != 1.0 {
		t.Errorf("the run is %v", r)
	}
	if r := ended(rests); r["turns"] != 1.0 {
		t.Errorf("the run at rest is %v", r)
	}
	f.stop(syscall.SIGTERM)
}

// The story, with the server killed in the middle: planned, a question answered by the
// command line, the plan edited, started, a command allowed, something said midway, completed
// with one report.
func TestAServerThatIsKilledContinuesItsTasks(t *testing.T) {
	t.Parallel()
	f := serveFolder(t, `
{"when":{"first":"Plan this task","contains":"Hidden ones?\nNo."},"repeat":true,"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"]}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Hidden ones?"]}}],"repeat":true}
{"when":{"first":"Carry out this task","contains":"Be quick."},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three."}}]}
{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"shell","args":{"command":"echo once >> counted"}}]}
`)
	f.start()
	if code, _, stderr := f.pawl("serve"); code != 1 || !strings.Contains(stderr, fmt.Sprintf("served already, by process %d at %s", f.server.Process.Pid, f.url)) {
		t.Errorf("a second server: exit code %d, %s", code, stderr)
	}
	id := f.do(201, "POST", "/tasks", `{"description":"Count the files."}`)["id"].(string)
	f.do(200, "POST", "/tasks/"+id+"/plan", "")
	f.wait(id, "awaiting_input")
	if code, stdout, stderr := f.pawl("task", "answer", id, "No."); code != 0 || !strings.Contains(stdout, "Count.") {
		t.Errorf("answered beside the server: exit code %d, %s%s", code, stdout, stderr)
	}
	f.wait(id, "planned")
	f.do(200, "PATCH", "/tasks/"+id, `{"plan":{"summary":"Count well.","plan":["count"]}}`)
	f.do(200, "POST", "/tasks/"+id+"/start", "")
	f.until(id, "waiting for approval", func(v map[string]any) bool { return len(v["permissions"].([]any)) == 1 })
	if code := f.stop(syscall.SIGKILL); code != -1 {
		t.Errorf("killed: exit code %d", code)
	}
	f.start()
	f.do(201, "POST", "/tasks/"+id+"/messages", `{"text":"Be quick."}`)
	var calls []any
	for deadline := time.Now().Add(patience); len(calls) == 0; { // the run is being taken up again
		if time.Now().After(deadline) {
			t.Fatal("no call waits for approval after the restart")
		}
		calls = f.do(200, "GET", "/tasks/"+id+"/approvals", "")["items"].([]any)
	}
	call := calls[0].(map[string]any)
	f.do(200, "POST", fmt.Sprintf("/tasks/%s/runs/%s/calls/%s/decision", id, call["run"], call["call"]), fmt.Sprintf(`{"answer":"allow","digest":%q}`, call["digest"]))
	f.wait(id, "completed")
	f.do(409, "POST", "/tasks/"+id+"/tools", `{"tool":"completion-report","status":"complete","summary":"Three."}`)
	reports := 0
	for _, e := range f.do(200, "GET", "/tasks/"+id+"/history?limit=500", "")["items"].([]any) {
		if e.(map[string]any)["type"] == "completion_report_submitted" {
			reports++
		}
	}
	if counted, err := os.ReadFile(filepath.Join(f.dir, "counted")); reports != 1 || string(counted) != "once\n" {
		t.Errorf("there are %d reports, and the command has written %q, %v", reports, counted, err)
	}
	if code := f.stop(syscall.SIGTERM); code != command.ExitTerminated {
		t.Errorf("terminated: exit code %d\n%s", code, f.said)
	}
	if code, _, stderr := f.pawl("serve", "link"); code != 1 || !strings.Contains(stderr, "pawl serve") {
		t.Errorf("a link without a server: exit code %d, %s", code, stderr)
	}
}

// The board is served by pawl board itself where nothing else serves the folder.
func TestTheBoardServesAFolderThatNothingServes(t *testing.T) {
	t.Parallel()
	f := serveFolder(t, "")
	f.startWith("board")
	if code, stdout, _ := f.pawl("serve", "link"); code != 0 || !strings.HasPrefix(stdout, f.url+"/#code=") {
		t.Errorf("a link: exit code %d, %s", code, stdout)
	}
	if code := f.stop(syscall.SIGTERM); code != command.ExitTerminated {
		t.Errorf("terminated: exit code %d\n%s", code, f.said)
	}
}

// A server that is told to end interrupts what works, and the next one continues it.
func TestAServerEndsInOrder(t *testing.T) {
	t.Parallel()
	f := serveFolder(t, `{"when":{"first":"Plan this task"},"text":"I think","hang":true,"repeat":true}`+"\n")
	f.start()
	if code, stdout, _ := f.pawl("serve", "link"); code != 0 || !strings.HasPrefix(stdout, f.url+"/#code=") {
		t.Errorf("a link: exit code %d, %s", code, stdout)
	}
	if _, stdout, _ := f.pawl("serve", "link", "--json"); !strings.HasPrefix(stdout, `{"url":"`+f.url+`/#code=`) {
		t.Errorf("a link as JSON: %s", stdout)
	}
	if code, stdout, _ := f.pawl("board"); code != 0 || !strings.HasPrefix(stdout, f.url+"/#code=") {
		t.Errorf("the board: exit code %d, %s", code, stdout)
	}
	id := f.do(201, "POST", "/tasks", `{"description":"Count the files."}`)["id"].(string)
	f.do(200, "POST", "/tasks/"+id+"/plan", "")
	f.until(id, "at work", func(v map[string]any) bool {
		runs := v["runs"].([]any)
		return len(runs) == 1 && runs[0].(map[string]any)["prompted"] == 1.
	})
	address := strings.TrimPrefix(f.url, "http://")
	other := serveFolder(t, "")
	if code, _, stderr := other.pawl("serve", "--address", address); code != command.ExitUsage || !strings.Contains(stderr, "the address "+address+" is in use by another program") {
		t.Errorf("on the same port: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := other.pawl("serve", "--address", "0.0.0.0:0"); code != command.ExitUsage || !strings.Contains(stderr, "--tls-cert") {
		t.Errorf("for other machines: exit code %d, %s", code, stderr)
	}
	if code := f.stop(os.Interrupt); code != command.ExitInterrupted {
		t.Errorf("interrupted: exit code %d\n%s", code, f.said)
	}
	f.start()
	if v := f.do(200, "GET", "/tasks/"+id, ""); v["status"].(map[string]any)["name"] != "planning" {
		t.Errorf("after the next start the task is %v", v["status"])
	}
}
