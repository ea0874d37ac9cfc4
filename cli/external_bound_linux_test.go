package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pawl/external/externaltest"
	"pawl/forms"
	"pawl/internal/text"
	tasks "pawl/task"
)

// A task whose agent may not begin yet says why, to every process: because as many work as may, or because of memory.
func TestATaskThatIsQueuedSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	f := newLeftAgent(t, strings.Repeat("[{\"wait\":true}]\n", 3))
	says := func(want string, args ...string) {
		t.Helper()
		var last []byte
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("pawl %q printed %s", args, last)
			}
		})
		until(t, func() bool { last, _ = f.pawl(args...).CombinedOutput(); return strings.Contains(string(last), want) })
	}
	agents := filepath.Join(f.env["HOME"], ".config", "pawl", "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(agents, "task-validator.md"), []byte("---\nkind: planner\nprovider: claude-code\n---\n\nPlan it.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if out, err := f.pawl("task", "add", "--start", "--detach", "Plan it").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	watch := f.pawl("task", "watch", "--runs", "1")
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	says("planning (queued)", "task", "list", "--status", "planning")
	f.notes(t, "waits")
	var list forms.TaskListForm
	if out, err := f.pawl("task", "list", "--json").Output(); err != nil || json.Unmarshal(out, &list) != nil || len(list.Items) != 2 {
		t.Fatalf("%s, %v", out, err)
	}
	for _, sum := range list.Items {
		want := "\nits agent takes "
		if sum.Queued != "" {
			want = "\nits agent has not begun to work: at most 1 may work at once\n"
		}
		says(want, "task", "show", string(sum.ID))
	}
	says("MEMORY", "task", "list")
	says(" MB of memory", "doctor", "--offline")
	_ = watch.Process.Kill()
	_ = watch.Wait()
	if out, err := f.pawl("task", "list", "--json").Output(); err != nil || strings.Contains(string(out), `"queued"`) || strings.Count(string(out), `"undriven":true`) != 2 {
		t.Errorf("after a kill: %s, %v", out, err)
	}
	says("`pawl task watch t-", "doctor", "--offline")

	// The process that takes them up keeps more memory free than there is.
	watch = f.pawl("task", "watch", "--min-memory", "900000GB")
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	says("of memory are available, and min_memory is 900.0 TB", "task", "list", "--json")
	_ = watch.Process.Signal(os.Interrupt)
	_ = watch.Wait()
}

// As many agents work at once as may, each with its own memory, and the others are queued. PAWL_AGENTS_AT_ONCE says how
// many, and PAWL_AGENTS_KIND of which program.
func TestRealAgentsWorkAtOnce(t *testing.T) {
	t.Parallel()
	n, kind := 2, "claude-code"
	if v := os.Getenv("PAWL_AGENTS_AT_ONCE"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	if v := os.Getenv("PAWL_AGENTS_KIND"); v != "" {
		kind = v
	}
	asked, answer := make(chan struct{}, 2*(n+1)), make(chan struct{})
	s := newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
		if strings.Contains(strings.Join(r.Results, " "), "was accepted") {
			return externaltest.Reply{Text: "Done."}
		}
		if strings.Contains(r.Words, "Carry out this task") {
			return reports(kind, "complete", "Looked.")
		}
		asked <- struct{}{}
		<-answer
		return calls(kind, "planner_output", planArgs)
	})
	for range n + 1 {
		s.must(t, []string{"task", "add", "--start", "--detach", "Look around"})
	}
	watch := exec.CommandContext(t.Context(), s.bin, "task", "watch", "--runs", strconv.Itoa(n), "--min-memory", "-1")
	watch.Dir, watch.Env = s.dir, s.env
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	for range n {
		<-asked
	}
	list := func() (all []forms.TaskSummaryForm) {
		var l forms.TaskListForm
		if err := json.Unmarshal([]byte(s.pawl(t, "task", "list", "--json")), &l); err != nil {
			t.Fatal(err)
		}
		return l.Items
	}
	var memory []int64
	queued := 0
	for _, sum := range list() {
		if sum.Queued != "" {
			queued++
		} else {
			memory = append(memory, sum.Memory)
		}
	}
	slices.Sort(memory)
	if len(memory) != n || memory[0] < 20e6 || queued != 1 {
		t.Errorf("at work are agents with %v, and %d are queued", memory, queued)
	}
	all := int64(0)
	for _, m := range memory {
		all += m
	}
	rollup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", watch.Process.Pid)) // for the log
	own, _, _ := strings.Cut(strings.TrimSpace(string(rollup[max(0, bytes.Index(rollup, []byte("\nPss:"))):])), "\n")
	t.Logf("%d of %s at once: %s to %s each, %s together; pawl has %q", n, s.kind.Title, text.Size(memory[0]), text.Size(memory[len(memory)-1]), text.Size(all), own)
	if got := strings.Count(s.pawl(t, "doctor", "--offline"), " is at work, and takes "); got != n {
		t.Errorf("doctor names %d agents at work", got)
	}
	close(answer)
	until(t, func() bool {
		return !slices.ContainsFunc(list(), func(s forms.TaskSummaryForm) bool { return s.Status != tasks.Completed })
	})
	_ = watch.Process.Signal(os.Interrupt)
	_ = watch.Wait()
	if left := s.leftOf(t); len(left) > 0 {
		t.Errorf("there are still\n%s", strings.Join(left, "\n"))
	}
}
