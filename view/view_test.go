package view_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
	"weak"

	"pawl/run"
	"pawl/view"
)

func TestATitleSaysWhatACallDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, arguments, want string }{
		{"shell", `{"command":"go test ./...","timeout_seconds":60}`, "shell go test ./..."},
		{"shell", "{\"command\":\"cat <<E\\na\\nE\"}", "shell cat <<E a E"},
		{"read", `{"path":"a.txt"}`, "read a.txt"},
		{"read", `{"path":"a.pdf","pages":"2-3"}`, "read a.pdf, pages 2-3"},
		{"read", `{"path":"a.txt","offset":"40","limit":10}`, "read a.txt, from line 40"},
		{"edit", `{"edits":[{"old":"a","new":"b"}],"path":"cart.go"}`, "edit cart.go"},
		{"search", `{"pattern":"func \\w+","path":"cli"}`, `search func \w+ in cli`},
		{"glob", `{"pattern":"**/*.go"}`, "glob **/*.go"},
		{"fetch", `{"url":"https://go.dev/","format":"text"}`, "fetch https://go.dev/"},
		{"ask", `{"question":"Red or blue?","options":["red"]}`, "ask Red or blue?"},
		{"todo", `{"items":[{"text":"Look","status":"done"},{"text":"Act","status":"active"},{"text":"Check","status":"pending"}]}`, "todo 1 of 3 done: Act"},
		{"TodoWrite", `{"todos":[{"content":"Look","status":"completed"}]}`, "TodoWrite 1 of 1 done"},
		{"tool_outputs.count", `{"id":"c_2","counts":[{"path":"$.a[*]"},{"path":"$.b"}]}`, "tool_outputs.count c_2 $.a[*], $.b"},
		{"tool_outputs.aggregate", `{"id":"c_2","path":"$[*]","op":"sum","value_path":"@.price"}`, "tool_outputs.aggregate c_2 sum $[*] @.price"},
		{"handoff", `{"agent":"developer","prompt":"Repair the\ncart."}`, "handoff developer: Repair the cart."},
		{"completion-report", `{"status":"complete","summary":"x"}`, "completion-report"},
		{"submit_result", `{"done":true}`, "submit_result"},
		{"shell_stop", `{"id":"job_1"}`, "shell_stop job_1"},
		{"edit", `{"changes":[{"path":"/w/a.go","kind":"update"},{"path":"b.go","kind":"add"}]}`, "edit /w/a.go, b.go"},
		{"Edit", `{"file_path":"/w/a.go","old_string":"x","new_string":"y"}`, "Edit /w/a.go"},
		{"mcp__db__find", `{"table":"users","limit":5,"where":{"a":1},"columns":["a","b"],"all":true}`, "mcp__db__find table=users limit=5 where={…} columns=[2] all=true"},
		{"list", `{}`, "list"},
		{"list", ``, "list"},
		{"shell", `{"command":"echo \u001b[2J\u202e"}`, `shell echo \u001b[2J\u202e`},
		{"nosuch", `not JSON`, "nosuch not JSON"},
		{strings.Repeat("x", 200), `{}`, strings.Repeat("x", 63) + "…"},
	} {
		if got := view.Title(c.tool, c.arguments); got != c.want {
			t.Errorf("Title(%s, %s)\n got %s\nwant %s", c.tool, c.arguments, got, c.want)
		}
	}
}

func TestASubjectIsReadWhileTheArgumentsArrive(t *testing.T) {
	t.Parallel()
	const whole = `{"command":"printf 'a\\u00e4\"b' | sort","background":true}`
	want := view.Subject("shell", whole)
	for n := range len(whole) {
		if got := view.Subject("shell", whole[:n]); n > 2 && strings.ContainsAny(got, "{}") {
			t.Errorf("of %s the subject is %q", whole[:n], got)
		} else if n > len(whole)-10 && got != want {
			t.Errorf("of %s the subject is %q, want %q", whole[:n], got, want)
		}
	}
}

// TestASessionOfTenThousandMessagesDoesNotGrow follows a run of 10,000 turns, each with a
// call whose result has 10 kB: 100 MB that must not be kept.
func TestASessionOfTenThousandMessagesDoesNotGrow(t *testing.T) {
	t.Parallel()
	p := new(view.Projection)
	var results []weak.Pointer[byte]
	seq, at := int64(0), time.Unix(1_800_000_000, 0)
	event := func(payload run.Payload) {
		seq++
		p.Update(view.Update{Event: &run.Event{Seq: seq, At: at, Payload: payload}})
	}
	event(run.Created{Run: "r"})
	for n := range 10_000 {
		result := strings.Repeat("x", 10_000)
		results = append(results, weak.Make(unsafe.StringData(result)))
		id := run.CallID(fmt.Sprintf("c_%d", n+1))
		event(run.Prompted{Parts: []run.Part{run.Text("again")}})
		event(run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
		p.Update(view.Update{Delta: &view.Delta{Text: "I look."}})
		event(run.Replied{Parts: []run.Part{run.Text("I look."), {Type: run.CallPart, Call: &run.Call{ID: id, Tool: "read", Arguments: `{"path":"a"}`}}}})
		event(run.CallInspected{Call: id, Tool: "read", Class: run.Reads})
		event(run.CallDecided{Call: id, Decision: run.Decision{Answer: run.Allow}})
		event(run.CallStarted{Call: id, Attempt: 1})
		event(run.CallSettled{Call: id, Outcome: run.OK, Content: []run.Part{run.Text(result)}})
		event(run.Ended{End: run.Completed})
	}
	if open := p.Open(); len(open) != 0 {
		t.Errorf("%d items are open: %v", len(open), open[0])
	}
	runtime.GC()
	kept := slices.DeleteFunc(results, func(p weak.Pointer[byte]) bool { return p.Value() == nil })
	runtime.KeepAlive(p)
	if len(kept) > 1 {
		t.Errorf("the projection keeps %d of %d results", len(kept), len(results))
	}
}

func TestTheTailOfACommandIsBounded(t *testing.T) {
	t.Parallel()
	p := new(view.Projection)
	for i, payload := range []run.Payload{run.Created{Run: "r"}, run.CallStarted{Call: "c_1", Attempt: 1}} {
		p.Update(view.Update{Event: &run.Event{Seq: int64(i + 1), Payload: payload}})
	}
	var tail string
	for n := range 2 { // the second replaces the first
		lines := strings.Repeat("Zeile ✓\n", 2000) + fmt.Sprintf("the %d. end ✓\n", n+1)
		for _, i := range p.Update(view.Update{Progress: &view.Progress{Call: "c_1", Text: lines}}) {
			tail = i.Call.Tail
		}
	}
	if len(tail) > view.MaxTail || len(tail) < view.MaxTail-20 || !strings.HasSuffix(tail, "Zeile ✓\nthe 2. end ✓\n") || strings.Contains(tail, "the 1.") || strings.ContainsRune(tail, '\ufffd') {
		t.Errorf("the tail has %d bytes and ends with %q", len(tail), tail[len(tail)-30:])
	}
}

func FuzzASubjectIsOneLine(f *testing.F) {
	f.Add("shell", `{"command":"a\nb\u00e`)
	f.Add("x", `{"a":{"b":[1,2,{"c":"`)
	f.Add("read", `{"offset":1e400,"path":"`)
	f.Fuzz(func(t *testing.T, tool, arguments string) {
		for n := range min(len(arguments)+1, 300) {
			if title := view.Title(tool, arguments[:n]); strings.ContainsAny(title, "\n\r\x1b") || len([]rune(title)) > view.MaxLine {
				t.Errorf("title of %q %q: %q", tool, arguments[:n], title)
			}
		}
	})
}

// A result of a task is shown by what it says, and any other as it is.
func TestWhatWasSubmittedIsShownByItsWords(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`{"status":"complete","summary":"Built.","output":"x"}`: "complete: Built.",
		`{"type":"questions","questions":["One?","Two?"]}`:      "questions: One? Two?",
		`{"type":"error","error":"no\nfolder"}`:                 "error: no folder",
		`{"status":"open"}`:                                     `{"status":"open"}`,
		`{"status":7,"summary":"x"}`:                            `{"status":7,"summary":"x"}`,
		`42`:                                                    "42",
	} {
		if got := view.SubmittedWords(value); got != want {
			t.Errorf("%s is shown as %q", value, got)
		}
	}
}
