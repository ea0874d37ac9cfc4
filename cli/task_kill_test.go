package cli

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/app"
	"pawl/board"
	"pawl/config"
	"pawl/run"
	tasks "pawl/task"
)

// A task whose process is killed with -9 at random moments is planned once and completed with
// one report, by however many processes. PAWL_KILLS says how often (see
// TestKilledAtAnyMomentARunGoesOnAndNoEffectHappensTwice).
func TestATaskThatIsKilledAtAnyMomentHasOneReport(t *testing.T) {
	t.Parallel()
	bin, err := built()
	if err != nil {
		t.Skipf("needs the go command, to build the binary: %v", err)
	}
	for range few(make([]int, 4), 4) {
		top := t.TempDir()
		dir := filepath.Join(top, "w")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		const replies = `{"when":{"first":"Plan this task"},"calls":[{"tool":"list","args":{"path":"."}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"s","requirements":[],"acceptanceCriteria":[],"plan":["p"]}}],"repeat":true}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"list","args":{"path":"."}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}],"repeat":true}
`
		if err := os.WriteFile(filepath.Join(top, "model.jsonl"), []byte(replies), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"HOME": top, "PAWL_STATE_DIR": filepath.Join(top, "s"), "PAWL_MODEL": "script/" + filepath.Join(top, "model.jsonl"), "PATH": os.Getenv("PATH")}
		pawl := func(kill time.Duration, args ...string) {
			cmd := exec.Command(bin, append([]string{"task"}, args...)...)
			cmd.Dir = dir
			for name, value := range env {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			var said strings.Builder
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if kill > 0 {
				timer := time.AfterFunc(kill, func() { _ = cmd.Process.Kill() })
				defer timer.Stop()
			}
			if err := cmd.Wait(); err != nil && kill == 0 {
				t.Fatalf("pawl task %q: %v\n%s", args, err, &said)
			}
		}
		pawl(0, "add", "Count the files")
		look := func() tasks.State {
			return checkedTask(t, dir, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		}
		for kills := 0; ; {
			s := look()
			if s.Status.Name == tasks.Completed && !s.Owes() {
				break
			}
			var kill time.Duration
			if kills < 6 {
				kills++
				kill = time.Duration(10+rand.IntN(400)) * time.Millisecond
			}
			switch {
			case s.Owes():
				pawl(kill, "watch", "last")
			case s.Status.Name == tasks.Pending:
				pawl(kill, "plan", "last")
			case s.Status.Name == tasks.Planned:
				pawl(kill, "start", "last")
			default:
				t.Fatalf("the task is %+v", s.Status)
			}
		}
	}
}

// check compares a task with its runs: what the one says is in the log of the other.
func check(t *testing.T, ws *app.Workspace, s tasks.State) {
	t.Helper()
	events, err := board.Of(ws).Events(context.Background(), s.Created.Task, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	goesOn := map[run.ID]int{} // how often the history says that another process goes on with a run
	for _, e := range events {
		if p, ok := e.Payload.(tasks.Interrupted); ok && p.Cause == tasks.Lost {
			goesOn[e.Run]++
		}
		typ, _, _, err := tasks.Encode(e.Payload)
		if err != nil {
			t.Fatal(err)
		}
		count[typ]++
	}
	if count["planner_output_submitted"] > 1 || count["completion_report_submitted"] > 1 || count["planning_started"] > 1 || count["agent_started"] > 1 {
		t.Fatalf("something happened twice: %v", count)
	}
	for _, r := range s.Chain {
		log, _, err := ws.Load(context.Background(), r.ID)
		prompted, submitted := 0, 0
		for _, e := range log {
			switch p := e.Payload.(type) {
			case run.Resumed:
				if p.Request {
					goesOn[r.ID]--
				}
			case run.Prompted:
				if !p.Continue {
					prompted++
				}
			case run.Submitted:
				submitted++
			}
		}
		want := 0
		if r.Submitted != nil {
			want = 1
		}
		if goesOn[r.ID] < 0 {
			t.Fatalf("run %s was cut off %d times more than its task says", r.ID, -goesOn[r.ID])
		}
		if prompted != r.Prompted || submitted != want || err != nil && r.Prompted > 0 {
			b, _ := json.Marshal(r)
			t.Fatalf("the run has %d prompts and %d submissions, %v; the task says %s", prompted, submitted, err, b)
		}
	}
}

// checkedTask returns the last task of a folder, of which [check] has found nothing wrong.
func checkedTask(t *testing.T, dir string, env config.Env) tasks.State {
	t.Helper()
	ws, err := app.Open(app.Options{Dir: dir, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	id, err := board.Of(ws).Find(context.Background(), "last")
	if err != nil {
		t.Fatal(err)
	}
	s, err := board.Of(ws).Load(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	check(t, ws, s)
	return s
}
