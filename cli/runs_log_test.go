package cli

import (
	"slices"
	"testing"
	"time"

	"pawl/report"
	"pawl/run"
	"pawl/store"
)

// Each event is a sentence in the log for people, and no type of event is left out.
func TestEachEventIsASentence(t *testing.T) {
	t.Parallel()
	call := run.Call{ID: "c_1", Tool: "shell", Arguments: `{"command":"go test ./..."}`}
	said := []run.Part{run.Text("use the\ntest database")}
	plan := "plan"
	var words report.EventWords
	var types []string
	for _, c := range []struct {
		event run.Payload
		want  string
	}{
		{run.Created{Run: "r", Workspace: "/w", Config: run.Config{Model: "p/m"}, System: `{"a":1}`}, "run r with p/m in /w"},
		{run.Created{Run: "r", Workspace: "/w", Config: run.Config{Model: "p/m"}, ForkedFrom: "q", ForkedAt: 7}, "run r with p/m in /w, forked from q at event 7"},
		{run.Configured{Change: run.ConfigChange{Mode: &plan}}, "mode: plan"},
		{run.Prompted{Parts: said}, "prompt: use the test database"},
		{run.Prompted{Continue: true}, "continue, without a new prompt"},
		{run.Said{ID: "s", Delivery: run.Steer, Parts: said}, "message to the agent at work: use the test database"},
		{run.Said{ID: "s", Delivery: run.Queue, Parts: said}, "message for after the turn: use the test database"},
		{run.Withdrawn{ID: "s"}, "message taken back: use the test database"},
		{run.RequestStarted{Purpose: run.ForStep, Model: "p/m", Attempt: 2}, "request to p/m, attempt 2"},
		{run.RequestStarted{Purpose: run.ForSynthesis, Model: "p/m"}, "request to p/m for a summary of the turn"},
		{run.RequestFailed{Kind: run.ErrOverloaded, Reason: "HTTP 529", RetryAfter: 2 * time.Second}, "request failed (overloaded): HTTP 529; retrying in 2s"},
		{run.Replied{Parts: []run.Part{run.Text("I test."), {Type: run.CallPart, Call: &call}}, Stop: run.StopToolUse}, "answer: I test. [c_1 shell go test ./...]"},
		{run.Replied{Parts: []run.Part{run.Text("half")}, Stop: run.StopMaxTokens}, "answer: half (stopped: max_tokens)"},
		{run.Observed{Parts: []run.Part{run.Text("on my way")}}, "reported: on my way"},
		{run.CallReceived{Call: call}, "c_1 shell go test ./...: received from the external agent"},
		{run.CallInspected{Call: "c_1", Tool: "shell", Class: run.Writes}, "c_1 shell go test ./...: inspected, it may write"},
		{run.CallInspected{Call: "c_1", Tool: "shell", Problem: "there is no such tool"}, "c_1 shell go test ./...: cannot run: there is no such tool"},
		{run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow, Source: "flag", Rule: "shell(go test *)"}}, "c_1 shell go test ./...: allowed by the rule shell(go test *) (flag)"},
		{run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Deny, Source: "mode", Reason: "it writes"}}, "c_1 shell go test ./...: refused by mode: it writes"},
		{run.ApprovalInvalidated{Call: "c_1", Reason: "a.go has changed"}, "c_1 shell go test ./...: needs approval again: a.go has changed"},
		{run.CallStarted{Call: "c_1", Attempt: 1}, "c_1 shell go test ./...: started"},
		{run.CallSettled{Call: "c_1", Outcome: run.OK, ExitCode: new(1), Content: []run.Part{run.Text("FAIL\n[exit code 1]")}}, "c_1 shell go test ./...: exit code 1: FAIL"},
		{run.CallSettled{Call: "c_1", Outcome: run.OK, ExitCode: new(0), Content: []run.Part{run.Text("[exit code 137 (signal 9)]")}},
			"c_1 shell go test ./...: ok: [exit code 137 (signal 9)]"},
		{run.CallSettled{Call: "c_1", Outcome: run.Unknown}, "c_1 shell go test ./...: outcome unknown"},
		{run.Resumed{Request: true, Calls: []run.CallID{"c_1"}}, "resumed by another process; the request is sent again; 1 call taken up again"},
		{run.Resumed{}, "resumed after a pause"},
		{run.Told{Reason: run.TellEmpty, Text: "Say something."}, "pawl to the model: Say something."},
		{run.CallDetached{Call: "c2", Handle: "h"}, "c2: goes on without pawl, and can be asked for its outcome"},
		{run.CallAsked{Call: "c2", Question: "Which day?"}, "c2: asks: Which day?"},
		{run.CallAnswered{Call: "c2", Parts: []run.Part{run.Text("Friday")}}, "answer to c2: Friday"},
		{run.HookStarted{Point: run.Stop, Hooks: []string{"F: a", "F: b"}}, "hooks of Stop: F: a, F: b"},
		{run.HookSettled{Point: run.PreToolUse, Call: "c_1", Says: run.HookDenies, Reason: "no tests"}, "hooks of PreToolUse for c_1 shell go test ./...: hook PreToolUse refuses: no tests"},
		{run.HookSettled{Point: run.PreToolUse, Call: "c_1", Arguments: `{"command":"go vet"}`, Runs: []run.HookRun{{Hook: "F: a", Problem: "it exited with 1", Message: "hm"}}},
			"hooks of PreToolUse for c_1 shell go test ./...: hook PreToolUse changes the call to {\"command\":\"go vet\"}; hook PreToolUse failed: it exited with 1 (F: a); hook PreToolUse says: hm"},
		{run.HookSettled{Point: run.Stop}, "hooks of Stop have ended"},
		{run.Submitted{Value: "42"}, "result submitted: 42"},
		{run.Interrupted{Cause: run.ByPerson, By: "ann"}, "interrupted (person) by ann"},
		{run.Compacted{Stage: 1, Freed: 8123}, "context compacted, about 8,123 tokens freed"},
		{run.Synthesized{Text: "I read two files."}, "account: I read two files."},
		{run.Ended{End: run.LimitReached, Detail: "this turn's limit of 3 steps is reached"}, "stopped: this turn's limit of 3 steps is reached"},
	} {
		types = append(types, store.Type(c.event))
		if got := words.Of(run.Event{Payload: c.event}); got != c.want {
			t.Errorf("%s:\n  got  %s\n  want %s", store.Type(c.event), got, c.want)
		}
	}
	for _, p := range payloads(t) {
		if !slices.Contains(types, store.Type(p)) {
			t.Errorf("there is no sentence for the event %s: add an example to this test, and its words to report/eventwords.go", store.Type(p))
		}
	}
}
