package tasks

import (
	"strings"
	"testing"
	"time"

	"pawl/board"
	"pawl/cli/command"
	"pawl/gitcopy"
	"pawl/run"
	tasks "pawl/task"
)

// The list of tasks has a header and fits the terminal too.
func TestTheListOfTasksFitsTheTerminal(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	all := []tasks.Summary{
		{ID: "t-k3f9xy", Title: "the cart shows wrong totals, and it is unclear since which release", Status: tasks.Waiting, WaitsFor: string(run.LoopStopped), Agent: "task-validator", Updated: now.Add(-5 * time.Minute)},
		{ID: "t-abcdef", Title: "a\ttab and \x1b[31mcolour", Status: tasks.AwaitingInput, WaitsFor: "answers", Updated: now.Add(-26 * time.Hour)},
	}
	columns := map[int]string{
		0:  "TASK STATUS AGE AGENT COST TITLE",
		90: "TASK STATUS AGE AGENT COST TITLE",
		80: "TASK STATUS AGE AGENT TITLE",
		60: "TASK STATUS AGE TITLE",
		40: "TASK STATUS TITLE",
	}
	for width, want := range columns {
		lines := taskLines(all, now, width)
		if got := strings.Join(strings.Fields(lines[0]), " "); got != want {
			t.Errorf("%d columns: the header is %s, want %s", width, got, want)
		}
		for _, line := range lines {
			if width > 0 && command.ColumnsOf(line) > width || strings.ContainsAny(line, "\t\n\x1b") {
				t.Errorf("a line of %d columns on a terminal of %d: %q", command.ColumnsOf(line), width, line)
			}
		}
		if !strings.HasPrefix(lines[1], "t-k3f9xy  waiting (loop)  ") || !strings.HasPrefix(lines[2], "t-abcdef  awaiting input  ") {
			t.Errorf("%d columns:\n%s", width, strings.Join(lines, "\n"))
		}
	}
}

// The name of a file in the copy of a task makes no line of its own.
func TestNamesOfFilesMakeNoLines(t *testing.T) {
	t.Parallel()
	name := "a\ncompleted · 1 step"
	lines := changedLines([]gitcopy.File{{Name: name, Added: 1}})
	lines = append(lines, meetingLines(board.TaskMergePreviewForm{Conflicts: []string{name}, Uncommitted: []string{name}})...)
	for _, l := range lines {
		if strings.Contains(l, "\n") || !strings.Contains(l, `a\ncompleted`) {
			t.Errorf("%q", l)
		}
	}
}
