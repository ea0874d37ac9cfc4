package run

import (
	"fmt"
	"strings"
	"testing"
)

// The account of a turn that ended early is for a person: a few lines that say what was found and
// what failed, with a count of the rest.
func TestTheAccountFromTheLogIsBoundedAndNamesOutputsAndFiles(t *testing.T) {
	t.Parallel()
	var turn Turn
	for n := range 250 {
		l := Line{Call: CallID("c_" + itoa(250-n)), Tool: "edit", Args: "{}", Outcome: OK, Found: "Edited x.go."}
		switch n {
		case 0:
			l.Delivery, l.Files = "stored", []string{"a.go"}
		case 1:
			l.Delivery, l.Files, l.Subject = "inline", []string{"b.go", "a.go"}, "b.go"
			l.Outcome, l.Failed, l.Found = Failed, true, "no match for old text"
		case 2:
			l.Tool, l.Subject, l.ExitCode, l.Failed, l.Found = "shell", "go test ./...", new(1), true, "--- FAIL: TestTotal [exit code 1]"
		case 3:
			l.Outcome, l.Failed, l.Found = NotRun, true, "[Request interrupted by user]"
		case 100:
			l.Failed = true
		}
		turn.Account = append(turn.Account, l)
	}
	want := `Based on the tool executions:
- 242 earlier calls, 1 of them failed
- edit: Edited x.go.
- edit: Edited x.go.
- edit: Edited x.go.
- edit: Edited x.go.
- edit: not run
- shell go test ./...: failed with exit code 1: --- FAIL: TestTotal
- edit b.go: failed: no match for old text
- edit: stored as c_250
Stored outputs: c_250
Files changed: b.go, a.go`
	if got := turn.deterministicAccount(); got != want {
		t.Errorf("the account:\n%s\nwant:\n%s", got, want)
	}
	s := State{Turn: turn}
	if text := s.deterministicSummary(); !strings.Contains(text, "(the first 190 calls are left out)") || !strings.HasSuffix(text, "- c_250 edit {}: done (output c_250)") {
		t.Errorf("the summary:\n%s", text)
	}
}

// The goal of a plan is the beginning of the prompt, and a summary keeps the plan.
func TestAPlanSurvivesCompaction(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{Control: Controller})
	d.prompt(strings.Repeat("ü", 200))
	for n := range 3 {
		f := answer("{}")
		f.Parts = append(f.Parts, Part{Type: CallPart, Call: &Call{ID: CallID("c_" + itoa(n+1)), Tool: "read", Arguments: "{}"}})
		f.Action = &Action{Kind: StepTool, InPlan: true, Description: fmt.Sprintf("look %d", n+1)}
		d.end("request/1."+itoa(n+1)+"/step/1", f)
		if n < 2 {
			d.end("perform/c_"+itoa(n+1)+"/1", settledOK(CallID("c_"+itoa(n+1))))
		}
	}
	s := d.r.State.Clone()
	if got := s.Plan.Goal; got != strings.Repeat("ü", maxGoal) {
		t.Errorf("the goal is %q", got)
	}
	if err := s.apply(Event{Payload: settledOK("c_3")}); err != nil {
		t.Fatal(err)
	}
	if err := s.apply(Event{Payload: Compacted{Stage: 2, Through: "m_5", Summary: "notes"}}); err != nil {
		t.Fatal(err)
	}
	text := PlainText(s.Messages[1].Parts)
	for _, want := range []string{"notes", "The plan so far", "1. look 1 (tool, done)", "3. look 3 (tool, done)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	if m := s.Messages[0]; m.ID != "m_1" {
		t.Errorf("the task is gone, the first message is %s", m.ID)
	}
}

// A call that came with a fault never runs, and the model is told which.
func TestACallWithAFaultNeverRuns(t *testing.T) {
	t.Parallel()
	for fault, want := range map[Fault]string{
		FaultCut: "cut off at the output limit", FaultNotJSON: "not a JSON object", FaultEmpty: "names no tool", "of_a_newer_pawl": "of_a_newer_pawl",
	} {
		d := drive(t, Config{})
		d.prompt("go")
		f := calls("read")
		f.Parts[0].Call.Fault = fault
		d.end("request/1.1/step/1", f)
		last := d.r.State.Messages[len(d.r.State.Messages)-1]
		if got := last.Parts[0].Result; got == nil || !got.IsError || !strings.Contains(PlainText(got.Content), want) {
			t.Errorf("%s: the model is told %+v", fault, got)
		}
	}
}
