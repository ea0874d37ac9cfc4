package metrics_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl/metrics"
	"pawl/run"
)

var at = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// record counts payloads, a second apart.
func record(r *metrics.Run, before run.State, payloads ...run.Payload) {
	var events []run.Event
	for i, p := range payloads {
		events = append(events, run.Event{Seq: int64(i + 1), At: at.Add(time.Duration(i) * time.Second), Payload: p})
	}
	r.Recorded(before, events)
}

func text(t *testing.T, m *metrics.Metrics, gauges ...metrics.Gauge) string {
	t.Helper()
	var b strings.Builder
	if err := m.Write(&b, gauges...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wantLines(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, line := range want {
		if !strings.Contains("\n"+got, "\n"+line+"\n") {
			t.Errorf("there is no line %s in\n%s", line, got)
		}
	}
}

func TestATurnIsCountedWhenItEnds(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	record(m.Run(), run.State{},
		run.Prompted{},
		run.RequestStarted{Purpose: run.ForStep, Attempt: 1},
		run.RequestFailed{Kind: run.ErrOverloaded, RetryAfter: time.Second},
		run.RequestStarted{Purpose: run.ForStep, Attempt: 2},
		run.Replied{},
		run.CallInspected{Call: "c_1", Tool: "shell"},
		run.CallInspected{Call: "c_2", Tool: "no_such_tool", Problem: "there is no such tool"},
		run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow, Source: "user file /home/anna/.config/pawl/config.toml"}},
		run.CallDecided{Call: "c_2", Decision: run.Decision{Answer: run.Deny, Source: "inspection"}},
		run.CallSettled{Call: "c_1", Outcome: run.OK, Delivery: "stored", Size: 70_000},
		run.RequestStarted{Purpose: run.ForStep, Attempt: 1},
		run.Interrupted{Cause: run.ByPerson},
		run.Interrupted{Cause: run.ByPerson},
		run.Ended{End: run.EndInterrupted})
	wantLines(t, text(t, m),
		`pawl_turns_total{end="interrupted"} 1`,
		`pawl_turns_total{end="completed"} 0`,
		`pawl_turn_steps_bucket{le="1"} 0`,
		`pawl_turn_steps_bucket{le="2"} 1`,
		`pawl_turn_steps_sum 2`,
		`pawl_retries_total{kind="overloaded"} 1`,
		`pawl_decisions_total{answer="allow",tool="shell",source="user"} 1`,
		`pawl_decisions_total{answer="deny",tool="other",source="inspection"} 1`,
		`pawl_output_bytes_total{delivery="stored"} 70000`,
		`pawl_interrupts_total{cause="person"} 1`,
		`pawl_interrupt_seconds_sum 2`,
		`pawl_model_request_seconds_count 3`,
		`pawl_model_request_seconds_sum 3`)
}

func TestWaitIsADecisionOfAPerson(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	record(m.Run(), run.State{}, run.CallInspected{Call: "c_1", Tool: "edit"}, run.Interrupted{Cause: run.ByWait, Call: "c_1"}, run.Ended{End: run.EndInterrupted})
	wantLines(t, text(t, m), `pawl_decisions_total{answer="wait",tool="edit",source="person"} 1`, `pawl_interrupts_total{cause="wait"} 1`)
}

// Servers of tools name tools, and a mistaken one a million of them.
func TestTheValuesOfALabelAreBounded(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	r := m.Run()
	for i := range 1000 {
		record(r, run.State{}, run.CallInspected{Call: "c_1", Tool: fmt.Sprintf("tool_%d", i)},
			run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow, Source: fmt.Sprintf("environment V%d", i)}})
	}
	record(r, run.State{}, run.CallInspected{Call: "c_1", Tool: strings.Repeat("x", 10_000)}, run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow, Source: "flag"}})
	got := text(t, m)
	if n := strings.Count(got, "\npawl_decisions_total{"); n > 65 {
		t.Errorf("%d series of decisions", n)
	}
	if len(got) > 20_000 {
		t.Errorf("the text has %d bytes", len(got))
	}
	wantLines(t, got, `pawl_decisions_total{answer="allow",tool="other",source="environment"} 940`, `pawl_decisions_total{answer="allow",tool="other",source="flag"} 1`)
}

// sampleLine is a line of the format: a name, labels with escaped values, a figure.
var sampleLine = regexp.MustCompile(`^([a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-z]+="(?:[^"\\\n]|\\[\\"n])*")*\})? (\S+)$`)

func TestTheTextIsInTheFormatOfPrometheus(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	record(m.Run(), run.State{}, run.CallInspected{Call: "c_1", Tool: "a\"b\\c\nd\xff"}, run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow, Source: "mode"}})
	gauges := append(metrics.Process("v1.0"), metrics.Gauge{Name: "pawl_runs", Help: "Runs by state.", Label: "state", Values: map[string]float64{"working": 2, "ended": 5}})
	kinds, last := map[string]string{}, ""
	for line := range strings.Lines(text(t, m, gauges...)) {
		line, ended := strings.CutSuffix(line, "\n")
		if !ended {
			t.Errorf("the line %q does not end", line)
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			if kinds[name] != "" {
				t.Errorf("%s is there twice", name)
			}
			kinds[name], last = kind, name
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		f := sampleLine.FindStringSubmatch(line)
		if f == nil {
			t.Errorf("not a sample: %q", line)
			continue
		}
		if _, err := strconv.ParseFloat(f[3], 64); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		family := f[1]
		if kinds[last] == "histogram" {
			family = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(family, "_bucket"), "_sum"), "_count")
		}
		if family != last {
			t.Errorf("%s stands below %s", f[1], last)
		}
		if counts := strings.HasSuffix(family, "_total"); counts != (kinds[family] == "counter") {
			t.Errorf("%s is a %s", family, kinds[family])
		}
	}
	for _, name := range []string{"pawl_turns_total", "pawl_decisions_total", "pawl_interrupts_total", "pawl_interrupt_seconds", "pawl_turn_steps", "pawl_model_request_seconds",
		"pawl_retries_total", "pawl_reminders_total", "pawl_submissions_total", "pawl_output_bytes_total", "pawl_runs", "process_start_time_seconds"} {
		if kinds[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
}
