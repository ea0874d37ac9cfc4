package worker

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/journal"
	"pawl/view"
)

// workspace makes a rig whose calls are of the real tools, in a folder of their own.
func workspace(t *testing.T, replies string) (r *rig, dir string) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs bash and a system that pawl runs commands on")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r = newRig(t, replies)
	r.dir = dir
	tools := append(tool.Builtin(), tool.Shell(), tool.ShellOutput(), tool.ShellStop())
	r.w.Tools, r.w.StateDir = tool.NewRegistry(tools...), t.TempDir()
	return r, dir
}

// write makes a file of the workspace.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Error(err)
	}
	return string(content)
}

func TestTheShellsFolderSurvivesTheProcess(t *testing.T) {
	t.Parallel()
	const moves = `{"calls":[{"tool":"shell","args":{"command":"cd sub"}}]}`
	const touches = `{"calls":[{"tool":"shell","args":{"command":"touch here"}}]}
{"text":"Done.","repeat":true}`
	check := func(t *testing.T, r *rig, dir string) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(dir, "sub", "here")); err != nil {
			t.Errorf("the command of the next process did not run in the folder that the last one had changed to: %v", err)
		}
		var dirs []string
		for _, p := range logged[run.CallSettled](t, r) {
			if p.Tools != nil && p.Tools.Dir != "" {
				dirs = append(dirs, p.Tools.Dir)
			}
		}
		if len(dirs) != 1 || dirs[0] != "sub" {
			t.Errorf("folders in the log: %q", dirs)
		}
	}
	t.Run("a second turn", func(t *testing.T) {
		t.Parallel()
		r, dir := workspace(t, moves+"\n"+`{"text":"Moved."}`+"\n"+touches)
		write(t, dir, "sub/file", "")
		r.run(r.create(), prompt("go"))
		r.run(r.open(), prompt("on"))
		check(t, r, dir)
	})
	t.Run("an approval that waited", func(t *testing.T) {
		t.Parallel()
		r, dir := workspace(t, moves+"\n"+touches)
		write(t, dir, "sub/file", "")
		r.w.OnAsk = AskWait
		r.w.Authorizer = authorizer(func(q permission.Request) permission.Decision {
			if strings.Contains(q.Command, "touch") {
				if want := filepath.Join(dir, "sub"); q.Dir != want {
					t.Errorf("the rules see the command in %s, want %s", q.Dir, want)
				}
				return permission.Decision{Verdict: permission.Ask}
			}
			return permission.Decision{Verdict: permission.Allow}
		})
		if s := r.run(r.create(), prompt("go")); !s.Turn.Open() {
			t.Fatalf("ended %+v", s.Turn.End)
		}
		decideRow(t, r, request.Decide{Call: "c_2", Answer: run.Allow})
		r.run(r.open())
		check(t, r, dir)
	})
	t.Run("a kill", func(t *testing.T) {
		t.Parallel()
		r, dir := workspace(t, moves+"\n"+`{"text":"never said","hang":true}`)
		write(t, dir, "sub/file", "")
		d := r.create()
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			_, _ = d.Run(context.Background(), prompt("go"))
		}()
		r.until(func(v view.Update) bool { return v.Delta != nil && strings.Contains(v.Delta.Text, "never") })
		r.crash()
		r.play(moves + "\n" + touches)
		r.run(r.open())
		check(t, r, dir)
		d.Interrupt(run.Interrupted{Cause: run.ByShutdown})
		<-dead
		_ = d.Close()
	})
}

func TestAFileReadByOneProcessCanBeWrittenByTheNext(t *testing.T) {
	t.Parallel()
	r, dir := workspace(t, `
{"calls":[{"tool":"read","args":{"path":"a.txt"}}]}
{"calls":[{"tool":"write","args":{"path":"a.txt","content":"new\n"}}]}
{"text":"Done.","repeat":true}`)
	write(t, dir, "a.txt", "old\n")
	r.w.OnAsk = AskWait
	r.w.Authorizer = authorizer(func(q permission.Request) permission.Decision {
		if q.Tool == "write" {
			return permission.Decision{Verdict: permission.Ask}
		}
		return permission.Decision{Verdict: permission.Allow}
	})
	r.run(r.create(), prompt("go"))
	decideRow(t, r, request.Decide{Call: "c_2", Answer: run.Allow})
	s := r.run(r.open())
	if got := read(t, dir, "a.txt"); got != "new\n" {
		t.Errorf("the file has %q; results %q", got, results(s))
	}
}

func TestAnEditOfAFileThatChangedBetweenProcessesIsRefused(t *testing.T) {
	t.Parallel()
	for tool, args := range map[string]string{
		"edit":  `{"path":"a.txt","edits":[{"old":"one","new":"two"}]}`,
		"write": `{"path":"a.txt","content":"two\n"}`,
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			r, dir := workspace(t, `
{"calls":[{"tool":"read","args":{"path":"a.txt"}}]}
{"text":"Read."}
{"calls":[{"tool":"`+tool+`","args":`+args+`}]}
{"text":"Done.","repeat":true}`)
			write(t, dir, "a.txt", "one\n")
			r.run(r.create(), prompt("go"))
			write(t, dir, "a.txt", "one\nand what a person has added\n")
			s := r.run(r.open(), prompt("on"))
			if got := results(s); len(got) != 2 || !strings.HasPrefix(got[1], "c_2 true Nothing was changed: a.txt changed since it was last read") {
				t.Errorf("results %q", got)
			}
			if got := read(t, dir, "a.txt"); !strings.Contains(got, "a person has added") {
				t.Errorf("the file has %q", got)
			}
		})
	}
}

func TestTheNamesOfJobsAreNotUsedAgainAfterARestart(t *testing.T) {
	t.Parallel()
	r, _ := workspace(t, `
{"calls":[{"tool":"shell","args":{"command":"sleep 1000","background":true}}]}
{"text":"Started."}
{"calls":[{"tool":"shell","args":{"command":"sleep 1000","background":true}}]}
{"calls":[{"tool":"shell_output","args":{"id":"job_1"}}]}
{"text":"Done.","repeat":true}`)
	r.run(r.create(), prompt("go"))
	if ends := logged[run.Ended](t, r); len(ends) != 1 || len(ends[0].Jobs) != 1 || ends[0].Jobs[0].ID != "job_1" || ends[0].Jobs[0].Command != "sleep 1000" {
		t.Errorf("the turn has ended with %+v, and job_1 runs", ends)
	}
	s := r.run(r.open(), prompt("on"))
	got := results(s)
	if len(got) != 3 || !strings.Contains(got[0], "job_1") || !strings.Contains(got[1], "job_2") || strings.Contains(got[1], "job_1") {
		t.Fatalf("results %q: the model knows another job as job_1", got)
	}
	if !strings.HasPrefix(got[2], "c_3 true") || !strings.Contains(got[2], "no job") {
		t.Errorf("the job of the process before is answered by %q", got[2])
	}
}

func TestAnEditThatWasNotMadeIsRecordedAsAnError(t *testing.T) {
	t.Parallel()
	r, dir := workspace(t, `{"text":"Done.","repeat":true}`)
	write(t, dir, "a.txt", "one\n")
	// A process was killed after it had recorded the start of an edit, and before or
	// after it had journaled what it was about to do.
	for i, journaled := range []bool{true, false} {
		id := run.ID([]string{"journaled", "not-journaled"}[i])
		call := run.Call{ID: "c_1", Tool: "edit", Arguments: `{"path":"a.txt","edits":[{"old":"one","new":"two"}]}`}
		events := []run.Event{}
		for _, p := range []run.Payload{
			run.Created{Run: id, Workspace: dir}, prompt("go"), run.RequestStarted{Purpose: run.ForStep, Attempt: 1},
			run.Replied{Parts: []run.Part{{Type: run.CallPart, Call: &call}}, Stop: run.StopToolUse},
			run.CallInspected{Call: "c_1", Tool: "edit", Class: run.Writes},
			run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow}},
			run.CallStarted{Call: "c_1", Attempt: 1},
		} {
			events = append(events, run.Event{At: time.Now(), Payload: p})
		}
		if err := r.mem.Append(t.Context(), id, 0, events); err != nil {
			t.Fatal(err)
		}
		if journaled {
			entry := `{"path":"a.txt","before":"2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806","after":"of something else","temp":".pawl-1"}`
			write(t, journal.In(r.w.StateDir).RunDir(id), "c_1.json", entry)
		}
		d, err := r.w.Open(t.Context(), id, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.run(d)
		settled := loggedOf[run.CallSettled](t, r, id)
		if len(settled) != 1 || settled[0].Outcome != run.Failed || !settled[0].IsError || !strings.Contains(run.PlainText(settled[0].Content), "nothing was changed") {
			t.Errorf("%s: %+v", id, settled)
		}
	}
	if got := read(t, dir, "a.txt"); got != "one\n" {
		t.Errorf("the file has %q", got)
	}
}

func TestALogThatHasLostItsEndIsNotContinued(t *testing.T) {
	t.Parallel()
	for _, beside := range []string{"an output", "an edit"} {
		t.Run(beside, func(t *testing.T) {
			t.Parallel()
			r, dir := workspace(t, `
{"calls":[{"tool":"write","args":{"path":"a.txt","content":"1"}}]}
{"text":"Written."}`)
			write(t, dir, "x", "")
			storeOutputs(t, r)
			r.run(r.create(), prompt("go"))
			r.run(r.open()) // an ordinary restart opens

			folder, name := journal.In(r.w.StateDir).RunDir("r"), "c_7.json"
			if beside == "an output" {
				folder, name = r.w.Outputs.RunDir("r", "r"), "c_7.zst"
			}
			write(t, folder, name, "{}")
			_, err := r.w.Open(t.Context(), "r", nil)
			const want = "run r: the log ends after call c_1, but results or edits of calls up to c_7 are on disk: the end of the log was lost, and continuing would repeat those calls"
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("opened: %v", err)
			}
			// Who was refused does not keep the run.
			if _, owned, err := r.mem.Owner(t.Context(), "r"); owned || err != nil {
				t.Errorf("it is still owned: %v", err)
			}
		})
	}
}

// An ordinary kill leaves nothing beside the log that the log does not have: whatever
// is written for a call is written after its start.
func TestAnOrdinaryKillIsNotTakenForALostEnd(t *testing.T) {
	t.Parallel()
	const replies = `
{"calls":[{"tool":"write","args":{"path":"a.txt","content":"1"}},{"tool":"shell","args":{"command":"seq 100000"}}]}
{"calls":[{"tool":"shell","args":{"command":"cat a.txt"}}]}
{"text":"Done.","repeat":true}`
	total := 0
	for n := 1; ; n++ {
		r, _ := workspace(t, replies)
		storeOutputs(t, r)
		r.mem.Fault = failFrom(n, "append", errKilled)
		d := r.create()
		_, err := d.Run(t.Context(), prompt("go"))
		_ = d.Close()
		if err == nil {
			break // this life had fewer appends
		}
		total = n
		r.crash()
		if _, err := r.mem.Run(t.Context(), "r"); err != nil {
			continue // it died before anything was on disk
		}
		d, err = r.w.Open(t.Context(), "r", nil)
		if err != nil {
			t.Fatalf("killed at append %d: %v", n, err)
		}
		if s := r.run(d); s.Turn.End.End != run.Completed {
			t.Errorf("killed at append %d: ended %+v", n, s.Turn.End)
		}
	}
	if total < 3 {
		t.Errorf("there were only %d appends to be killed at", total)
	}
}

// Tools come and go while a run lives, as those of a server do.
func TestToolsThatComeAndGoAreOfferedFromTheNextRequestOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"calls":[{"tool":"read","args":{"do":"look"}}]}
{"calls":[{"tool":"read","args":{"do":"look"}},{"tool":"late","args":{"do":"come"}}]}
{"text":"Done."}`)
	late := newFake("late", run.Reads)
	r.read.runs = func() { r.w.SetTools(tool.NewRegistry(late)) }
	s := r.run(r.create(), prompt("go"))
	var results []string
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if p.Type == run.ResultPart && p.Result != nil {
				results = append(results, run.PlainText(p.Result.Content))
			}
		}
	}
	if len(results) != 3 || strings.Contains(results[0], "no tool") || !strings.Contains(results[1], `there is no tool "read"`) || strings.Contains(results[2], "no tool") {
		t.Errorf("results %q", results)
	}
	if len(r.read.ran) != 1 || len(late.ran) != 1 {
		t.Errorf("read ran %q, late %q", r.read.ran, late.ran)
	}
}

// Where a model can search the tools of servers, those that come and go while a run lives leave the beginning of its
// requests as it is: the provider has it cached.
func TestToolsOfServersThatComeLaterAreSearched(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"calls":[{"tool":"read","args":{"do":"look"}}]}
{"calls":[{"tool":"mcp_call","args":{"tool":"mcp__x__late","arguments":"{\"do\":\"ok come\"}"}},{"tool":"mcp__x__early","args":{"do":"ok go"}}]}
{"calls":[{"tool":"read","args":{"do":"look"}},{"tool":"mcp__x__late","args":{"do":"ok directly"}}]}
{"text":"Done."}`)
	of := func(name string, served, instead bool) *fromServer {
		f := &fromServer{fake: newFake(name, run.Reads)}
		f.spec = f.fake.Spec()
		if served {
			f.spec.Server = "x"
		}
		if instead {
			f.spec.Instead, f.spec.Always, f.spec.Beside = true, true, []string{"x", "y"}
		}
		return f
	}
	early, late, call := of("mcp__x__early", true, false), of("mcp__x__late", true, false), of("mcp_call", false, true)
	base := tool.NewRegistry(r.read, call)
	r.w.SetTools(base.With(early))
	next := []*tool.Registry{base.With(early, late), base.With(late)}
	r.read.runs = func() { r.w.SetTools(next[0]); next = next[1:] }
	p, _, err := r.w.Provider("m")
	if err != nil {
		t.Fatal(err)
	}
	sent := &asksTools{Provider: p}
	r.w.Provider = func(string) (llm.Provider, string, error) { return sent, "m", nil }
	s := r.run(r.create(), prompt("go"))
	if len(sent.tools) != 4 || !strings.Contains(sent.tools[0], `"mcp_call"`) || !strings.Contains(sent.tools[0], `"mcp__x__early"`) {
		t.Fatalf("%d requests have the tools %q", len(sent.tools), sent.tools)
	}
	for i, tools := range sent.tools {
		if tools != sent.tools[0] {
			t.Errorf("request %d has the tools %s", i, tools)
		}
	}
	if diff := cmp.Diff([]string{"ok come", "ok directly"}, late.ran); diff != "" || len(early.ran) != 1 || s.Turn.End.End != run.Completed {
		t.Errorf("ended %+v; early ran %q, late: %s", s.Turn.End, early.ran, diff)
	}
}

// fromServer is a fake with a specification of its own.
type fromServer struct {
	*fake
	spec tool.Spec
}

func (f *fromServer) Spec() tool.Spec { return f.spec }

// asksTools records the tools that requests have.
type asksTools struct {
	llm.Provider
	tools []string
}

func (a *asksTools) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	a.tools = append(a.tools, fmt.Sprintf("%s", req.Tools))
	return a.Provider.Stream(ctx, req)
}

// A call that goes on without the process is asked for by the next one, with what was durable before its outcome was waited
// for, and without another question. What cannot be asked any more is unknown.
func TestADetachedCallIsTakenUpByTheNextProcess(t *testing.T) {
	t.Parallel()
	for handle, want := range map[string]string{"h1": "c_1 false asked with h1", "lost": "c_1 true nobody knows"} {
		r := newRig(t, `{"calls":[{"tool":"edit","args":{"do":"apart `+handle+`"}}]}`)
		d, dead := r.create(), make(chan struct{})
		go func() {
			defer close(dead)
			_, _ = d.Run(context.Background(), prompt("go"))
		}()
		for did := range r.edit.begun {
			if did == "detached" {
				break
			}
		}
		if log := r.log(r.mem); log[len(log)-1] != "call_detached" {
			t.Errorf("it waits for the outcome when the log is %q", log)
		}
		r.crash()
		r.w.Authorizer = authorizer(func(permission.Request) permission.Decision { return permission.Decision{Verdict: permission.Deny} })
		r.play(`{"text":"Done.","repeat":true}`)
		s := r.run(r.open())
		if got := results(s); s.Turn.End.End != run.Completed || len(got) != 1 || got[0] != want {
			t.Errorf("it ended %+v with %q, want %q", s.Turn.End, got, want)
		}
		if c := s.Turn.Account[0]; (c.Outcome == run.Unknown) != (handle == "lost") {
			t.Errorf("with %s it settled as %s", handle, c.Outcome)
		}
		d.Interrupt(run.Interrupted{Cause: run.ByShutdown})
		<-dead
		_ = d.Close()
	}
}
