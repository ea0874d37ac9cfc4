package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/cli/command"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
)

// No line of the list of runs is wider than the terminal: columns are left out and the title
// is cut. In a pipe all of it is there.
func TestTheListOfRunsFitsTheTerminal(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	var runs []runlog.Run
	for i, r := range []struct {
		condition runlog.Condition
		end       run.End
		title     string
		age, took time.Duration
	}{
		{runlog.Working, "", "make the failing test of package cart pass and explain what was wrong with it", 4 * time.Second, 3 * time.Minute},
		{runlog.Waiting, "", "漢字の長い題名がここにあります。とても長いので切られます。", 5 * time.Minute, time.Second},
		{runlog.Killed, "", "short", 26 * time.Hour, 5 * time.Hour},
		{runlog.Ended, run.GuardrailStopped, "a\ttab and \x1b[31mcolour", 90 * 24 * time.Hour, 100 * time.Hour},
	} {
		s := store.Summary{ID: run.ID(fmt.Sprintf("20261122-1455-abcde%d", i)), Model: "anthropic/claude-sonnet-5-5", Title: r.title,
			End: r.end, Updated: now.Add(-r.age), Created: now.Add(-r.age - r.took), Tally: run.Tally{Steps: 12, Usage: run.Usage{Cost: 0.5, Priced: true}}}
		runs = append(runs, runlog.Run{Summary: s, Condition: r.condition})
	}
	runs = append(runs, runlog.Run{Summary: store.Summary{ID: "20261122-1455-damage", Damage: "its summary was changed"}})
	columns := map[int]string{
		0:   "RUN STATE AGE TIME STEPS COST MODEL TITLE",
		120: "RUN STATE AGE TIME STEPS COST MODEL TITLE",
		80:  "RUN STATE AGE TIME MODEL TITLE",
		60:  "RUN STATE AGE TITLE",
		40:  "RUN STATE TITLE",
	}
	for width, want := range columns {
		lines := runLines(slices.Clone(runs), now, width, false)
		if got := strings.Join(strings.Fields(lines[0]), " "); got != want {
			t.Errorf("%d columns: the header is %s, want %s", width, got, want)
		}
		if len(lines) != len(runs)+1 {
			t.Errorf("%d columns: %d lines for %d runs", width, len(lines), len(runs))
		}
		for _, line := range lines {
			if width > 0 && command.ColumnsOf(line) > width {
				t.Errorf("a line has %d columns, the terminal %d: %s", command.ColumnsOf(line), width, line)
			}
			if strings.ContainsAny(line, "\t\n\x1b") {
				t.Errorf("a line has a character that moves the cursor: %q", line)
			}
		}
		if width > 40 && (!strings.Contains(lines[2], "waiting    5m") || !strings.Contains(lines[4], "guardrail  90d")) {
			t.Errorf("the columns are not aligned:\n%s", strings.Join(lines, "\n"))
		}
		if has := strings.Contains(lines[1], "wrong with it"); has != (width == 0) {
			t.Errorf("%d columns: the whole title is there: %t", width, has)
		}
	}
}
