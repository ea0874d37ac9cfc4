package bench

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/app"
	"pawl/board"
	"pawl/run"
	"pawl/task"
)

// tasksScript plans each task in one request. A worker reads a file and reports; one whose
// task says so asks for a command first.
const tasksScript = `
{"when":{"first":"Plan this task"},"repeat":true,"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"],"assignedAgent":"developer"}}]}
{"when":{"first":"wait for a person"},"repeat":true,"calls":[{"tool":"shell","args":{"command":"touch waited"}}]}
{"when":{"first":"Carry out this task","contains":"module example"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three."}}]}
{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"read","args":{"path":"go.mod"}}]}
`

// planned makes n tasks, and lets them be planned.
func (r *rig) planned(b *testing.B, n int, words string) (*app.Workspace, []task.ID) {
	b.Helper()
	if err := os.WriteFile(r.dir+"/go.mod", []byte("module example\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	env := map[string]string{"HOME": r.state, "PAWL_STATE_DIR": r.state}
	ws, err := app.Open(app.Options{Dir: r.dir, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ws.Close() })
	ids := make([]task.ID, n)
	for i := range ids {
		s, err := board.Of(ws).Add(b.Context(), "anna", task.Created{Description: words})
		if err == nil {
			ids[i] = s.Created.Task
			_, err = board.Of(ws).Do(b.Context(), ids[i], "anna", task.StartPlanning{Run: run.ID("plan-" + string(ids[i])), Agent: board.PlannerAgent})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return ws, ids
}

// until waits until all tasks are as wanted.
func until(b *testing.B, ws *app.Workspace, ids []task.ID, is func(task.Summary) bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute) // only what never comes fails
	defer cancel()
	for {
		all, _, err := board.Of(ws).List(ctx, board.Query{})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, s := range all {
			if is(s) {
				n++
			}
		}
		if n == len(ids) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// start starts all tasks.
func start(b *testing.B, ws *app.Workspace, ids []task.ID) {
	b.Helper()
	for _, id := range ids {
		if _, err := board.Of(ws).Do(b.Context(), id, "anna", task.Start{Run: run.ID("work-" + string(id)), Agent: board.DefaultAgent}); err != nil {
			b.Fatal(err)
		}
	}
}

// watch lets a process drive all tasks; the function that it returns ends it and returns its
// processor time and the most memory that it had.
func (r *rig) watch(b *testing.B, runs string) (cmd *exec.Cmd, stop func() (cpu time.Duration, peak int64)) {
	b.Helper()
	cmd = r.command("task", "watch", "--runs", runs)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return cmd, func() (time.Duration, int64) {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if b.Failed() {
			b.Log(said.String())
		}
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), usage.Maxrss << 10
	}
}

// BenchmarkTasksAtOnce: 100 tasks that work at once in one process, from their start to the
// last report. No bar but that they complete.
func BenchmarkTasksAtOnce(b *testing.B) {
	for range b.N {
		r := newRig(b, tasksScript)
		cmd, stop := r.watch(b, "100")
		made := time.Now()
		ws, ids := r.planned(b, 100, "count")
		until(b, ws, ids, func(s task.Summary) bool { return s.Status == task.Planned && !s.Owes })
		b.ReportMetric(time.Since(made).Seconds(), "s-planning")
		before, began := resident(cmd.Process.Pid), time.Now()
		start(b, ws, ids)
		until(b, ws, ids, func(s task.Summary) bool { return s.Status == task.Completed && !s.Owes })
		took := time.Since(began)
		cpu, peak := stop()
		b.ReportMetric(took.Seconds(), "s/100-tasks")
		b.ReportMetric(cpu.Seconds(), "cpu-s")
		b.ReportMetric(float64(before)/(1<<20), "MB-before")
		b.ReportMetric(float64(peak)/(1<<20), "MB-peak")
	}
}

// BenchmarkTasksWaiting: 1,000 tasks whose runs wait for a person's decision in one process.
// Bar: 100 KB of memory a run, over that of the process with 10 of them.
func BenchmarkTasksWaiting(b *testing.B) {
	const few, many = 10, 1000
	for range b.N {
		var memory [2]int64
		for i, n := range []int{few, many} {
			r := newRig(b, tasksScript)
			cmd, stop := r.watch(b, "4")
			ws, ids := r.planned(b, n, "wait for a person")
			until(b, ws, ids, func(s task.Summary) bool { return s.Status == task.Planned && !s.Owes })
			began := time.Now()
			start(b, ws, ids)
			until(b, ws, ids, func(s task.Summary) bool { return s.WaitsFor == "permission" })
			b.ReportMetric(time.Since(began).Seconds(), "s-to-park-all")
			time.Sleep(10 * time.Second) // the garbage of what came before is collected
			memory[i] = resident(cmd.Process.Pid)
			stop()
		}
		b.ReportMetric(float64(memory[1]-memory[0])/(many-few)/1000, "KB/run")
	}
}
