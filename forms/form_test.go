package forms

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
	"pawl/runlog"
)

// An event is printed in the names and units of docs/json.md, and what a model or a person
// wrote stays as it is.
func TestEventsArePrintedInTheDialect(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	call := run.Call{ID: "c_1", ProviderID: "toolu_1", Tool: "shell", Arguments: `{"command":"ls","usage":{"input":1},"wait_ns":5}`}
	broken := run.Call{ID: "c_2", Tool: "read", Arguments: `{`, Fault: run.FaultCut, Raw: `{"pa`}
	var lines Lines
	for i, c := range []struct {
		event run.Payload
		after time.Duration
		want  string
	}{
		{run.Created{Run: "r", Config: run.Config{Model: "p/m", Limits: run.Limits{Wall: 90 * time.Second, Cost: 0.1 + 0.2}, Retry: -1,
			Output: run.Output{Tool: "submit", Schema: `{"type":"integer"}`}}}, 0,
			`{"run":"r","config":{"model":"p/m","limits":{"wall_ms":90000,"cost":0.3},"retry_ms":-1,"output":{"tool":"submit","schema":{"type":"integer"}}}}`},
		{run.RequestFailed{Kind: run.ErrOverloaded, Asked: time.Second, RetryAfter: 1500 * time.Millisecond, Usage: run.Usage{Input: 7}}, 0,
			`{"kind":"overloaded","asked_ms":1000,"retry_after_ms":1500,"usage":{"input_tokens":7,"cache_read_tokens":0,"cache_write_tokens":0,"output_tokens":0,"cost":null}}`},
		{run.Replied{Parts: []run.Part{{Type: run.CallPart, Call: &call}, {Type: run.CallPart, Call: &broken}, {Type: run.OpaquePart, Raw: `{"a":1}`}},
			Usage: run.Usage{Output: 3, Cost: 0.25604999999999994, Priced: true}}, 0,
			`{"parts":[{"type":"call","call":{"id":"c_1","provider_id":"toolu_1","tool":"shell","input":{"command":"ls","usage":{"input":1},"wait_ns":5}}},` +
				`{"type":"call","call":{"id":"c_2","tool":"read","input":{},"fault":"cut","raw":"{\"pa"}},{"type":"opaque","raw":{"a":1}}],` +
				`"usage":{"input_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"output_tokens":3,"cost":0.25605}}`},
		{run.CallStarted{Call: "c_1", Attempt: 1}, time.Second, `{"call":"c_1","attempt":1,"tool":"shell"}`},
		{run.CallSettled{Call: "c_1", Outcome: run.OK, ExitCode: new(3), Content: []run.Part{run.Text("<no>\xff\n[exit code 3]")}}, 3 * time.Second,
			`{"call":"c_1","outcome":"ok","content":[{"type":"text","text":"<no>\ufffd\n[exit code 3]"}],"exit_code":3,"tool":"shell","is_error":false,"duration_ms":2000}`},
		{run.CallSettled{Call: "c_2", Outcome: run.Invalid, IsError: true}, 0, `{"call":"c_2","outcome":"invalid","is_error":true,"tool":"read"}`},
		{run.Submitted{Assignment: 1, Value: `{"n":1}`}, 0, `{"assignment":1,"value":{"n":1}}`},
		{run.Ended{End: run.Completed, Jobs: []run.Job{{ID: "job_1", Command: "sleep 9", Since: at}}}, 0,
			`{"end":"completed","jobs":[{"id":"job_1","command":"sleep 9","started_at":"2026-11-22T15:00:00Z"}]}`},
	} {
		line := lines.Event(run.Event{Seq: int64(i + 1), At: at.Add(c.after), Payload: c.event})
		var got, want any
		b, err := json.Marshal(line.Data)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatalf("%s: %v", c.want, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", line.Type, diff)
		}
	}
}

func TestTheConditionOfARun(t *testing.T) {
	t.Parallel()
	asked := run.CallState{Call: run.Call{ID: "c_1", Tool: "shell"}, Status: run.CallIsInspected}
	question := asked
	question.Question = true
	for _, c := range []struct {
		name   string
		turn   run.Turn
		driven bool
		want   runlog.Condition
	}{
		{"no turn", run.Turn{}, false, runlog.New},
		{"a request is under way", run.Turn{TurnSummary: run.TurnSummary{N: 1}, Phase: run.Requesting}, true, runlog.Working},
		{"its process was killed", run.Turn{TurnSummary: run.TurnSummary{N: 1}, Phase: run.Requesting}, false, runlog.Killed},
		{"a call needs approval, at a terminal", run.Turn{TurnSummary: run.TurnSummary{N: 1}, Phase: run.Calling, Calls: []*run.CallState{&asked}}, true, runlog.Waiting},
		{"a call needs approval, and its process has ended", run.Turn{TurnSummary: run.TurnSummary{N: 1}, Phase: run.Calling, Calls: []*run.CallState{&asked}}, false, runlog.Waiting},
		{"it has asked a question", run.Turn{TurnSummary: run.TurnSummary{N: 1, End: run.Ended{End: run.Asked}}, Calls: []*run.CallState{&question}}, false, runlog.Waiting},
		{"it is done, and its process has other work", run.Turn{TurnSummary: run.TurnSummary{N: 1, End: run.Ended{End: run.Completed}}}, true, runlog.Ended},
	} {
		s := run.State{Created: run.Created{Run: "r"}, Turn: c.turn}
		if got := runlog.ConditionOf(s, c.driven); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
