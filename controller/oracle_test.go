package controller_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/controller"
)

// The oracle reads the object that was found with encoding/json, makes the flat
// object of it in the plainest way there is, and compares: an action must be what a
// strict reading of the same bytes says, no more and no less.

const inArguments = `{"action":"next_step","tool":"t","args":`

// inputs returns what models write instead of JSON: the cases of this package, and,
// where they are beside the repository, those that other projects have collected.
func inputs(t testing.TB) []string {
	t.Helper()
	own := casesIn(t, "testdata/malformed.jsonl")
	if _, err := os.Stat("../../shared/cases/malformed-json/cases.jsonl"); errors.Is(err, fs.ErrNotExist) {
		return own
	}
	return append(own, casesIn(t, "../../shared/cases/malformed-json/cases.jsonl")...)
}

func casesIn(t testing.TB, name string) []string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var found []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Input string `json:"input"`
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		found = append(found, c.Input)
	}
	if err := lines.Err(); err != nil || len(found) == 0 {
		t.Fatalf("%d cases, %v", len(found), err)
	}
	return found
}

func TestNoneOfWhatModelsWroteInsteadBecomesAnActionOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, input := range inputs(t) {
		consult(t, input)
		if action, _, err := controller.Parse(input); err == nil {
			t.Errorf("%q is taken for %+v", input, action)
		}
	}
}

func TestInsideOfADecisionWhatModelsWroteIsTakenWhenItIsJSONAndRefusedElse(t *testing.T) {
	t.Parallel()
	taken, refused := 0, 0
	for _, input := range inputs(t) {
		answer := `{"action":"complete","message":"m","x":` + input + `}`
		consult(t, answer)
		_, report, err := controller.Parse(answer)
		switch valid := json.Valid([]byte(answer)); {
		case valid && err == nil:
			taken++
		case !valid && err != nil:
			refused++
		case !valid && report.JSON != answer:
			// "{…}}": what is behind the object is no part of it
		default:
			t.Errorf("valid %t, %v: %s", valid, err, answer)
		}
		consult(t, inArguments+input+"}")
		quoted, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		consult(t, inArguments+string(quoted)+"}")
		consult(t, "Words.\n```json\n"+answer+"\n```\n"+input)
		consult(t, input+answer)
	}
	t.Logf("%d taken, %d refused", taken, refused)
	if taken == 0 || refused == 0 {
		t.Error("the cases do not try both")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		done, other, done + other, "```json\n" + done + "\n```", `{"action":"next_step","step":{"tool_name":"a","arguments":"{\"x\":1}"}}`,
		`{"action":"next_step","tool":"a","calls":[{"name":"b","tool_input":{"y":1e999}},{"tool":"c","args":null}],"thinking":{"facts":["f",null],"confidence":0.5,"x":1}}`,
		`{"action":"next_step","type":"ask_user","question":"q","resume_to":"controller","message":"m"}`, `{"action":"respond","response":"","content":"m"}`,
		`{"action":"guardrail_stop","reason":"r"}`, `{"action":"next_step","message":"m","type":null}`, "{{x} {" + done, `[` + done + `]`, "\uFEFF" + done, `{"action":"complete","message":"m",}`,
		`{"step":{"action":"complete"},"next_step":{"content":"m"}}`, inArguments + `"{}"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) { consult(t, answer) })
}

// consult parses an answer, compares it with the oracle, and checks what holds for
// every answer.
func consult(t *testing.T, answer string) {
	t.Helper()
	action, report, err := controller.Parse(answer)
	again, reportAgain, errAgain := controller.Parse(answer)
	if !cmp.Equal(action, again) || !cmp.Equal(report, reportAgain) || !cmp.Equal(err, errAgain) {
		t.Fatalf("%q is read in two ways", answer)
	}
	if !strings.Contains(answer, report.JSON) {
		t.Fatalf("%q does not stand in %q", report.JSON, answer)
	}
	if err != nil {
		e, ok := errors.AsType[*controller.Error](err)
		if !ok || action != nil || e.Code == "" || e.Message == "" || len(e.Feedback()) > 12_000 || strings.ContainsAny(e.Message, "\n\r") {
			t.Fatalf("%q: %#v, %v", answer, action, err)
		}
		return
	}
	d := json.NewDecoder(strings.NewReader(report.JSON))
	d.UseNumber()
	var sent map[string]any
	if err := d.Decode(&sent); err != nil || d.InputOffset() != int64(len(report.JSON)) {
		t.Fatalf("%q: what was found is no object: %v", answer, err)
	}
	if diff := cmp.Diff(read(t, flatten(sent)), action, cmp.Comparer(sameCall), cmp.Comparer(sameJSON)); diff != "" {
		t.Fatalf("%q (-a strict reading +got)\n%s", answer, diff)
	}
}

type fields = map[string]any

// flatten makes the flat object of what was sent.
func flatten(sent fields) fields {
	flat := dropAbsent(sent)
	var inner []fields
	for _, wrapper := range []string{"step", "next_step"} {
		if w, ok := flat[wrapper].(fields); ok {
			inner = append(inner, dropAbsent(w))
			delete(flat, wrapper)
		}
	}
	for _, w := range inner {
		for name, v := range w {
			if _, ok := flat[name]; !ok {
				flat[name] = v
			}
		}
	}
	renameAny(flat, "tool", "tool_name", "name")
	renameAny(flat, "args", "tool_args", "arguments", "tool_input")
	renameAny(flat, "message", "response", "content")
	renameAny(flat, "tools", "tool_calls", "calls")
	return flat
}

func dropAbsent(o fields) fields {
	kept := fields{}
	for name, v := range o {
		s, isString := v.(string)
		l, isList := v.([]any)
		calls := slices.Contains([]string{"tools", "tool_calls", "calls"}, name)
		if v == nil || isString && strings.TrimSpace(s) == "" || isList && calls && len(l) == 0 {
			continue
		}
		kept[name] = v
	}
	return kept
}

func renameAny(o fields, canonical string, others ...string) {
	for _, other := range others {
		if v, ok := o[other]; ok && o[canonical] == nil {
			o[canonical] = v
		}
	}
}

// read makes the action that a flat object says.
func read(t *testing.T, o fields) controller.Action {
	t.Helper()
	s := func(name string) string { v, _ := o[name].(string); return v }
	note := controller.Note{NextStep: s("action") == "next_step", Description: s("description")}
	if thinking, ok := o["thinking"]; ok {
		raw, err := json.Marshal(thinking)
		if err != nil {
			t.Fatal(err)
		}
		note.Thinking = raw
	}
	kind := s("action")
	if note.NextStep {
		kind = s("type")
		for _, by := range [][2]string{{"tools", "tool"}, {"tool", "tool"}, {"question", "ask_user"}, {"message", "respond"}} {
			if _, ok := o[by[0]]; ok && kind == "" {
				kind = by[1]
			}
		}
	}
	switch {
	case kind == "tool":
		a := controller.UseTools{Note: note}
		if s("tool") != "" {
			a.Calls = append(a.Calls, callOf(t, o))
		}
		tools, _ := o["tools"].([]any)
		for _, entry := range tools {
			e := dropAbsent(entry.(fields))
			renameAny(e, "tool", "tool_name", "name")
			renameAny(e, "args", "tool_args", "arguments", "tool_input")
			a.Calls = append(a.Calls, callOf(t, e))
		}
		return a
	case kind == "respond" && note.NextStep:
		return controller.Respond{Note: note, Message: s("message")}
	case kind == "ask_user":
		a := controller.AskUser{Note: note, Question: s("question"), Context: s("context"), Resume: controller.Reflecting}
		if s("resume_to") != "" {
			a.Resume = controller.Resume(s("resume_to"))
		}
		return a
	case kind == "complete" || kind == "respond":
		return controller.Complete{Note: note, Message: s("message")}
	case kind == "guardrail_stop":
		return controller.GuardrailStop{Note: note, Reason: s("reason"), Message: s("message")}
	}
	t.Fatalf("a strict reading of %v says nothing to do", o)
	return nil
}

// sameCall compares arguments by what they say, numbers as written: the oracle cannot
// know how they were spaced.
func sameCall(a, b controller.Call) bool {
	says := func(args string) any {
		d := json.NewDecoder(strings.NewReader(args))
		d.UseNumber()
		var v fields
		if d.Decode(&v) != nil || v == nil || d.InputOffset() != int64(len(args)) {
			return args // no object: equal to nothing that is one
		}
		return v
	}
	_, aIsText := says(a.Args).(string)
	_, bIsText := says(b.Args).(string)
	return a.Tool == b.Tool && !aIsText && !bIsText && cmp.Equal(says(a.Args), says(b.Args))
}

// sameJSON compares JSON by what it says, numbers as written.
func sameJSON(a, b json.RawMessage) bool {
	says := func(raw json.RawMessage) (v any) {
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		if raw != nil && d.Decode(&v) != nil {
			return string(raw)
		}
		return v
	}
	return (a == nil) == (b == nil) && cmp.Equal(says(a), says(b))
}

// callOf makes the call of an object with tool and args.
func callOf(t *testing.T, o fields) controller.Call {
	t.Helper()
	tool, _ := o["tool"].(string)
	if strings.TrimSpace(tool) == "" {
		t.Fatalf("a strict reading of %v names no tool", o)
	}
	switch args := o["args"].(type) {
	case nil:
		return controller.Call{Tool: tool, Args: "{}"}
	case string:
		return controller.Call{Tool: tool, Args: strings.Trim(args, " \t\r\n")}
	case fields:
		b, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return controller.Call{Tool: tool, Args: string(b)}
	}
	t.Fatalf("a strict reading of %v has no arguments", o)
	return controller.Call{}
}
