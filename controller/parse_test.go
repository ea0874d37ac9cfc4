package controller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/controller"
)

// parse parses an answer that has to be fine.
func parse(t *testing.T, answer string) (controller.Action, controller.Report) {
	t.Helper()
	action, report, err := controller.Parse(answer)
	if err != nil {
		t.Fatalf("%s\nis refused: %v", answer, err)
	}
	return action, report
}

// refused parses an answer that has to be refused.
func refused(t *testing.T, answer string) *controller.Error {
	t.Helper()
	action, _, err := controller.Parse(answer)
	if err == nil {
		t.Fatalf("%s\nis taken for %#v", answer, action)
	}
	if action != nil {
		t.Fatalf("%s\nis refused and taken for %#v", answer, action)
	}
	e, ok := errors.AsType[*controller.Error](err)
	if !ok {
		t.Fatalf("%s\nis refused with a %T", answer, err)
	}
	return e
}

// step returns the note of a next_step with nothing beside it.
var step = controller.Note{NextStep: true}

func TestEachActionIsReadAsWhatItSays(t *testing.T) {
	t.Parallel()
	thinking := json.RawMessage(`{"task":"find it","facts":["a","b"],"decisions":["c"],"risks":["d"],"confidence":0.80}`)
	for _, c := range []struct {
		answer string
		want   controller.Action
	}{
		{`{"action":"next_step","type":"tool","tool":"read","args":"{\"path\":\"a\"}"}`,
			controller.UseTools{Note: step, Calls: []controller.Call{{Tool: "read", Args: `{"path":"a"}`}}}},
		{`{"action":"next_step","type":"tool","tools":[{"tool":"a","args":"{}"},{"tool":"b","args":{"x":1}}]}`,
			controller.UseTools{Note: step, Calls: []controller.Call{{Tool: "a", Args: `{}`}, {Tool: "b", Args: `{"x":1}`}}}},
		{`{"action":"next_step","type":"tool","tools":[{"tool":"b"}],"args":{"x":1},"tool":"a"}`, // tool is the first of the list
			controller.UseTools{Note: step, Calls: []controller.Call{{Tool: "a", Args: `{"x":1}`}, {Tool: "b", Args: `{}`}}}},
		{`{"action":"next_step","type":"respond","message":" yes\n"}`, controller.Respond{Note: step, Message: " yes\n"}},
		{`{"action":"next_step","type":"ask_user","question":"q","context":"c","resume_to":"controller"}`,
			controller.AskUser{Note: step, Question: "q", Context: "c", Resume: controller.Controller}},
		{`{"action":"complete","message":"done"}`, controller.Complete{Message: "done"}},
		{`{"action":"guardrail_stop","reason":"r"}`, controller.GuardrailStop{Reason: "r"}},
		{`{"action":"guardrail_stop","reason":"r","message":"m"}`, controller.GuardrailStop{Reason: "r", Message: "m"}},
		{`{"action":"ask_user","question":"q"}`, controller.AskUser{Question: "q", Resume: controller.Reflecting}},
		{`{"action":"ask_user","question":"q","resume_to":"reflecting"}`, controller.AskUser{Question: "q", Resume: controller.Reflecting}},
		{`{"action":"ask_user","question":"q","resume_to":null}`, controller.AskUser{Question: "q", Resume: controller.Reflecting}},
		{`{"action":"next_step","description":"look","type":"respond","message":"m",
		   "thinking":{"task":"find it","facts":["a","b"],"decisions":["c"],"risks":["d"],"confidence":0.80}}`,
			controller.Respond{Note: controller.Note{NextStep: true, Thinking: thinking, Description: "look"}, Message: "m"}},
		{`{"action":"complete","message":"m","thinking":{}}`, controller.Complete{Note: controller.Note{Thinking: json.RawMessage(`{}`)}, Message: "m"}},
	} {
		got, report := parse(t, c.answer)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.answer, diff)
		}
		if !report.Flat() || report.Inferred != "" || report.Unknown != nil || report.Unused != nil || report.Place != controller.Whole || report.JSON != c.answer {
			t.Errorf("%s\nneeded something: %+v", c.answer, report)
		}
	}
}

func TestTheKindOfAnActionIsItsName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer string
		want   controller.Kind
	}{
		{`{"action":"next_step","type":"tool","tool":"a"}`, "tool"},
		{`{"action":"next_step","type":"respond","message":"m"}`, "respond"},
		{`{"action":"next_step","type":"ask_user","question":"q"}`, "ask_user"},
		{`{"action":"ask_user","question":"q"}`, "ask_user"},
		{`{"action":"complete","message":"m"}`, "complete"},
		{`{"action":"guardrail_stop","reason":"r"}`, "guardrail_stop"},
	} {
		if got, _ := parse(t, c.answer); got.Kind() != c.want {
			t.Errorf("%s is a %s", c.answer, got.Kind())
		}
	}
}

func TestTheMessagesAreTheOnesKeptStable(t *testing.T) {
	t.Parallel()
	const (
		tool     = "next_step type=tool requires non-empty 'tool' field"
		respond  = "next_step type=respond requires non-empty 'message' field"
		ask      = "next_step type=ask_user requires non-empty 'question' field"
		neither  = "Cannot determine step type: provide 'type' or 'tool'/'message'/'question'"
		complete = "complete requires non-empty 'message' field"
		stop     = "guardrail_stop requires non-empty 'reason' field"
		asked    = "ask_user requires non-empty 'question' field"
	)
	for _, c := range []struct {
		answer string
		code   controller.Code
		want   string
	}{
		{`{"action":"next_step","type":"tool"}`, controller.StepTool, tool},
		{`{"action":"next_step","type":"tool","tool":""}`, controller.StepTool, tool},
		{`{"action":"next_step","type":"tool","tool":" \n\t"}`, controller.StepTool, tool},
		{`{"action":"next_step","type":"tool","tool":null,"tools":null}`, controller.StepTool, tool},
		{`{"action":"next_step","type":"tool","tools":[]}`, controller.StepTool, tool},
		{`{"action":"next_step","type":"tool","message":"m","args":"{}"}`, controller.StepTool, tool},
		{`{"action":"next_step","type":"tool","tools":[{"tool":"a"},{"args":"{}"}]}`, controller.StepToolAt, "next_step type=tool requires non-empty tool name at tools[1]"},
		{`{"action":"next_step","type":"tool","tools":[{"tool":" "}]}`, controller.StepToolAt, "next_step type=tool requires non-empty tool name at tools[0]"},
		{`{"action":"next_step","tool":"a","tool_calls":[{"tool":null}]}`, controller.StepToolAt, "next_step type=tool requires non-empty tool name at tools[0]"},
		{`{"action":"next_step","type":"respond"}`, controller.StepMessage, respond},
		{`{"action":"next_step","type":"respond","message":"  "}`, controller.StepMessage, respond},
		{`{"action":"next_step","type":"respond","tool":"a"}`, controller.StepMessage, respond},
		{`{"action":"next_step","type":"ask_user"}`, controller.StepQuestion, ask},
		{`{"action":"next_step","type":"ask_user","question":null}`, controller.StepQuestion, ask},
		{`{"action":"next_step"}`, controller.Undetermined, neither},
		{`{"action":"next_step","description":"read the file"}`, controller.Undetermined, neither},
		{`{"action":"next_step","thinking":{"task":"t"}}`, controller.Undetermined, neither},
		{`{"action":"next_step","type":"","tool":" ","message":"","question":null,"tools":[]}`, controller.Undetermined, neither},
		{`{"action":"next_step","args":"{}","context":"c","reason":"r"}`, controller.Undetermined, neither},
		{`{"action":"complete"}`, controller.CompleteMessage, complete},
		{`{"action":"complete","message":"\t"}`, controller.CompleteMessage, complete},
		{`{"action":"respond"}`, controller.CompleteMessage, complete},
		{`{"action":"guardrail_stop"}`, controller.GuardrailReason, stop},
		{`{"action":"guardrail_stop","reason":"","message":"m"}`, controller.GuardrailReason, stop},
		{`{"action":"ask_user"}`, controller.AskQuestion, asked},
		{`{"action":"ask_user","question":" ","context":"c"}`, controller.AskQuestion, asked},
		{`{"action":"next_step","type":"think"}`, controller.UnknownStep, "Unknown step type: think"},
		{`{"action":"next_step","type":"complete","message":"m"}`, controller.UnknownStep, "Unknown step type: complete"},
		{`{"action":"next_step","type":"Tool","tool":"a"}`, controller.UnknownStep, "Unknown step type: Tool"},
	} {
		got := refused(t, c.answer)
		if got.Message != c.want || got.Code != c.code || got.Error() != c.want {
			t.Errorf("%s\n got %s (%s)\nwant %s (%s)", c.answer, got.Message, got.Code, c.want, c.code)
		}
	}
}

func TestWhatIsWrongInFormBeginsWithInvalidControllerOutput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answer, want string }{
		{`{"thinking":{"task":"t"}}`, "'action' is missing; it is one of next_step, complete, guardrail_stop, ask_user"},
		{`{}`, "'action' is missing; it is one of next_step, complete, guardrail_stop, ask_user"},
		{`{"tool":"read","args":"{}"}`, "'action' is missing; it is one of next_step, complete, guardrail_stop, ask_user"},
		{`{"next_step":{"type":"tool","tool":"a"}}`, "'action' is missing; it is one of next_step, complete, guardrail_stop, ask_user"},
		{`{"action":"finish","message":"m"}`, `there is no action "finish"; it is one of next_step, complete, guardrail_stop, ask_user`},
		{`{"action":"Complete","message":"m"}`, `there is no action "Complete"; it is one of next_step, complete, guardrail_stop, ask_user`},
		{`{"action":7,"message":"m"}`, "'action' is a number; it has to be a string"},
		{`{"action":"complete","message":["m"]}`, "'message' is a list; it has to be a string"},
		{`{"action":"complete","message":"m","context":true}`, "'context' is a boolean; it has to be a string"},
		{`{"action":"next_step","type":"tool","tool":{"name":"a"}}`, "'tool' is an object; it has to be a string"},
		{`{"action":"next_step","tools":{"tool":"a"}}`, "'tools' is an object; it has to be a list"},
		{`{"action":"next_step","tools":["a"]}`, "'tools[0]' is a string; an entry is an object with tool and args"},
		{`{"action":"next_step","tools":[{"tool":"a"},null]}`, "'tools[1]' is null; an entry is an object with tool and args"},
		{`{"action":"next_step","calls":[{"name":4}]}`, "'calls[0].name' is a number; it has to be a string"},
		{`{"action":"ask_user","question":"q","resume_to":"tools"}`, `'resume_to' is "tools"; it is one of reflecting, controller`},
		{`{"action":"next_step","step":{"type":"tool","tool_name":1}}`, "'step.tool_name' is a number; it has to be a string"},
		{`["complete"]`, "one JSON object is needed, not a list"},
		{`"{}"`, "one JSON object is needed, not a string"},
		{`null`, "one JSON object is needed, not null"},
		{`-1.5e3`, "one JSON object is needed, not a number"},
	} {
		got := refused(t, c.answer)
		if want := "Invalid controller output: " + c.want; got.Message != want || got.Code != controller.InvalidOutput {
			t.Errorf("%s\n got %s (%s)\nwant %s", c.answer, got.Message, got.Code, want)
		}
	}
}

func TestAThinkStepIsRefusedInEverySpellingWhereverItStands(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"think", "Think", "THINK", "thinking", "thought", "think_step", "think-step", "thinkStep", " think "} {
		for _, form := range []string{
			`{"action":"next_step","type":%q}`,
			`{"action":"next_step","type":%q,"tool":"read","message":"m"}`,
			`{"action":"next_step","step":{"type":%q,"message":"m"}}`,
			`{"action":%q,"message":"m"}`,
			`{"action":"complete","type":%q,"message":"m"}`,
		} {
			got := refused(t, fmt.Sprintf(form, name))
			if got.Code != controller.UnknownStep || got.Message != "Unknown step type: "+name {
				t.Errorf("%q in %s: %s (%s)", name, form, got.Message, got.Code)
			}
		}
	}
	for _, name := range []string{"reflect", "plan", "reasoning", "final"} {
		if got := refused(t, fmt.Sprintf(`{"action":"next_step","type":%q,"message":"m"}`, name)); got.Message != "Unknown step type: "+name {
			t.Errorf("%q: %s", name, got.Message)
		}
	}
}

func TestEachAliasIsTakenForItsField(t *testing.T) {
	t.Parallel()
	call := controller.UseTools{Note: step, Calls: []controller.Call{{Tool: "a", Args: `{"x":1}`}}}
	for _, c := range []struct {
		answer string
		want   controller.Action
		lines  []string
	}{
		{`{"action":"next_step","tool_name":"a","args":{"x":1}}`, call, []string{"tool_name is tool"}},
		{`{"action":"next_step","name":"a","args":{"x":1}}`, call, []string{"name is tool"}},
		{`{"action":"next_step","tool":"a","tool_args":{"x":1}}`, call, []string{"tool_args is args"}},
		{`{"action":"next_step","tool":"a","arguments":"{\"x\":1}"}`, call, []string{"arguments is args"}},
		{`{"action":"next_step","tool":"a","tool_input":{"x":1}}`, call, []string{"tool_input is args"}},
		{`{"action":"next_step","tool_calls":[{"tool":"a","args":{"x":1}}]}`, call, []string{"tool_calls is tools"}},
		{`{"action":"next_step","calls":[{"tool":"a","args":{"x":1}}]}`, call, []string{"calls is tools"}},
		{`{"action":"next_step","tools":[{"tool_name":"a","tool_input":{"x":1}}]}`, call, []string{"tools[0].tool_name is tool", "tools[0].tool_input is args"}},
		{`{"action":"next_step","calls":[{"name":"a","arguments":{"x":1}}]}`, call, []string{"calls is tools", "calls[0].name is tool", "calls[0].arguments is args"}},
		{`{"action":"next_step","response":"m"}`, controller.Respond{Note: step, Message: "m"}, []string{"response is message"}},
		{`{"action":"next_step","content":"m"}`, controller.Respond{Note: step, Message: "m"}, []string{"content is message"}},
		{`{"action":"complete","response":"m"}`, controller.Complete{Message: "m"}, []string{"response is message"}},
		{`{"action":"complete","content":"m"}`, controller.Complete{Message: "m"}, []string{"content is message"}},
		{`{"action":"respond","message":"m"}`, controller.Complete{Message: "m"}, []string{"action respond is complete"}},
		{`{"action":"respond","content":"m"}`, controller.Complete{Message: "m"}, []string{"content is message", "action respond is complete"}},
	} {
		got, report := parse(t, c.answer)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.answer, diff)
		}
		if diff := cmp.Diff(c.lines, report.Normalized); diff != "" || report.Flat() {
			t.Errorf("%s: normalized (-want +got)\n%s", c.answer, diff)
		}
	}
}

func TestTheFirstAliasIsTakenAndOnlyWhereTheFieldIsAbsent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer string
		want   controller.Call
		unused []string
	}{
		{`{"action":"next_step","name":"b","tool_name":"a"}`, controller.Call{Tool: "a", Args: "{}"}, []string{"name"}},
		{`{"action":"next_step","name":"b","tool_name":"c","tool":"a"}`, controller.Call{Tool: "a", Args: "{}"}, []string{"tool_name", "name"}},
		{`{"action":"next_step","tool":null,"tool_name":" ","name":"a"}`, controller.Call{Tool: "a", Args: "{}"}, nil},
		{`{"action":"next_step","tool":"a","tool_input":{"x":3},"arguments":{"x":2},"tool_args":{"x":1}}`, controller.Call{Tool: "a", Args: `{"x":1}`}, []string{"arguments", "tool_input"}},
		{`{"action":"next_step","tool":"a","args":{},"tool_args":{"x":1}}`, controller.Call{Tool: "a", Args: `{}`}, []string{"tool_args"}},
		{`{"action":"next_step","tool":"a","args":"","tool_args":{"x":1}}`, controller.Call{Tool: "a", Args: `{"x":1}`}, nil},
		{`{"action":"next_step","tools":[],"tool_calls":[{"tool":"a"}],"calls":[{"tool":"b"}]}`, controller.Call{Tool: "a", Args: "{}"}, []string{"calls"}},
		{`{"action":"next_step","tools":[{"tool":"a","name":7}]}`, controller.Call{Tool: "a", Args: "{}"}, []string{"tools[0].name"}}, // not looked at
	} {
		got, report := parse(t, c.answer)
		want := controller.UseTools{Note: step, Calls: []controller.Call{c.want}}
		if diff := cmp.Diff(controller.Action(want), got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.answer, diff)
		}
		if diff := cmp.Diff(c.unused, report.Unused); diff != "" {
			t.Errorf("%s: unused (-want +got)\n%s", c.answer, diff)
		}
	}
}

func TestAStepInAnObjectOfItsOwnCountsAsIfItStoodAtTheTop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer string
		want   controller.Action
		report controller.Report
	}{
		{`{"action":"next_step","step":{"type":"tool","tool":"a","args":{"x":1}}}`,
			controller.UseTools{Note: step, Calls: []controller.Call{{Tool: "a", Args: `{"x":1}`}}},
			controller.Report{Normalized: []string{"step hoisted"}}},
		{`{"action":"next_step","next_step":{"tool_name":"a"}}`,
			controller.UseTools{Note: step, Calls: []controller.Call{{Tool: "a", Args: `{}`}}},
			controller.Report{Normalized: []string{"next_step hoisted", "next_step.tool_name is tool"}, Inferred: "tool"}},
		// A field at the top wins, unless it is absent.
		{`{"action":"next_step","message":"top","type":null,"step":{"message":"inner","type":"respond"}}`,
			controller.Respond{Note: step, Message: "top"},
			controller.Report{Normalized: []string{"step hoisted"}, Unused: []string{"step.message"}}},
		// step comes before next_step.
		{`{"action":"next_step","next_step":{"message":"second"},"step":{"message":"first"}}`,
			controller.Respond{Note: step, Message: "first"},
			controller.Report{Normalized: []string{"step hoisted", "next_step hoisted"}, Unused: []string{"next_step.message"}, Inferred: "respond"}},
		{`{"step":{"action":"complete","message":"m"}}`, controller.Complete{Message: "m"}, controller.Report{Normalized: []string{"step hoisted"}}},
		// What is no object is kept and reported, and so is a wrapper in a wrapper.
		{`{"action":"complete","message":"m","step":3,"next_step":"read it"}`, controller.Complete{Message: "m"}, controller.Report{Unknown: []string{"step", "next_step"}}},
		{`{"action":"complete","step":{"message":"m","step":{"message":"n"}}}`, controller.Complete{Message: "m"},
			controller.Report{Normalized: []string{"step hoisted"}, Unknown: []string{"step.step"}}},
		{`{"action":"complete","message":"m","step":null,"next_step":""}`, controller.Complete{Message: "m"}, controller.Report{}},
	} {
		got, report := parse(t, c.answer)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.answer, diff)
		}
		c.report.JSON, c.report.Place = c.answer, controller.Whole
		if diff := cmp.Diff(c.report, report); diff != "" {
			t.Errorf("%s: report (-want +got)\n%s", c.answer, diff)
		}
	}
}

func TestAMissingTypeIsInferredInOrderAndAnExplicitOneWins(t *testing.T) {
	t.Parallel()
	const all = `"tools":[{"tool":"a"}],"tool":"b","question":"q","message":"m"`
	for _, c := range []struct {
		fields   string
		want     controller.Kind
		inferred controller.Kind
	}{
		{all, "tool", "tool"},
		{`"tool":"b","question":"q","message":"m"`, "tool", "tool"},
		{`"question":"q","message":"m"`, "ask_user", "ask_user"},
		{`"message":"m"`, "respond", "respond"},
		{`"tools":[],"tool":" ","question":"\n","message":"m"`, "respond", "respond"},
		{`"type":null,"tool":"b"`, "tool", "tool"},
		{`"type":" ","tool":"b"`, "tool", "tool"},
		{`"type":"respond",` + all, "respond", ""},
		{`"type":"ask_user",` + all, "ask_user", ""},
		{`"type":"tool",` + all, "tool", ""},
	} {
		got, report := parse(t, `{"action":"next_step",`+c.fields+`}`)
		if got.Kind() != c.want || report.Inferred != c.inferred {
			t.Errorf("%s: %s, inferred %q", c.fields, got.Kind(), report.Inferred)
		}
	}
}

func TestWhatIsNotKnownOrNotUsedIsReportedAndChangesNothing(t *testing.T) {
	t.Parallel()
	got, report := parse(t, `{"action":"next_step","type":"tool","tools":[{"tool":"a","id":7}],"args":{"x":1},"Tool":"b","message":"m","thinking":{"task":"t","mood":1},"x":[{}]}`)
	want := controller.UseTools{Note: controller.Note{NextStep: true, Thinking: json.RawMessage(`{"task":"t","mood":1}`)}, Calls: []controller.Call{{Tool: "a", Args: "{}"}}}
	if diff := cmp.Diff(controller.Action(want), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"tools[0].id", "Tool", "x"}, report.Unknown); diff != "" {
		t.Errorf("unknown (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"args", "message"}, report.Unused); diff != "" {
		t.Errorf("unused (-want +got)\n%s", diff)
	}
	// An alias that was renamed and is not used is reported by the name it was sent with.
	if _, report := parse(t, `{"action":"next_step","tool":"a","content":"m"}`); !cmp.Equal(report.Unused, []string{"content"}) {
		t.Errorf("unused %q", report.Unused)
	}
}

func TestThinkingIsKeptAsTheModelWroteIt(t *testing.T) {
	t.Parallel()
	for _, thinking := range []string{
		`"hm"`, `["a", 1]`, `7`, `true`, `{}`, `{"task":1,"facts":"f","risks":["r",2],"confidence":"high"}`,
		`{ "plan" : {"deep":[null]}, "task":"<t>" }`,
	} {
		got, report := parse(t, `{"action":"complete","message":"m","thinking":`+thinking+`}`)
		if string(got.About().Thinking) != thinking || !report.Flat() || report.Unknown != nil || report.Unused != nil {
			t.Errorf("%s is kept as %s, %+v", thinking, got.About().Thinking, report)
		}
	}
	for _, absent := range []string{`{"action":"complete","message":"m"}`, `{"action":"complete","message":"m","thinking":null}`, `{"action":"complete","message":"m","thinking":" "}`} {
		if got, _ := parse(t, absent); got.About().Thinking != nil {
			t.Errorf("%s has the thinking %s", absent, got.About().Thinking)
		}
	}
}

func TestWordsThatWereAskedForAreWordsOrAMessage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answer, want string }{
		{"I repaired it.\n", "I repaired it."},
		{`I set {"port": 9090} in config.json.`, `I set {"port": 9090} in config.json.`},
		{"It is in there:\n```json\n{\"port\":9090}\n```", "It is in there:\n```json\n{\"port\":9090}\n```"},
		{`{"action":"complete","message":"Done."}`, "Done."},
		{`{"action":"next_step","type":"respond","message":"Done."}`, "Done."},
		{"<think>What did I do? {</think>\nI repaired it.", "I repaired it."},
		{"<think>hm</think>" + `{"action":"complete","message":"Done."}`, "Done."},
		// Not words:
		{`{"action":"next_step","tool":"read","args":{}}`, ""},
		{`{"action":"ask_user","question":"Which?"}`, ""},
		{`{"action":"complete"}`, ""},
		{`{"summary":"I repaired it."}`, ""},
		{`{"action":"next_step","tool":"rea`, ""},
		{`Next: {"action":"next_step","tool":"read","args":{}}`, ""},
		{"", ""}, {" \n", ""}, {"<think>hm</think> ", ""},
	} {
		if got, ok := controller.PlainText(c.answer); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", c.answer, got, ok, c.want)
		}
	}
}

func TestANullIsAbsentWhereverStrictOutputPutsOne(t *testing.T) {
	t.Parallel()
	got, report := parse(t, `{"action":"complete","thinking":{"task":null,"facts":null,"decisions":[null,"d"],"risks":null,"confidence":null},"type":null,"description":null,
		"tool":null,"args":null,"tools":null,"message":"m","reason":null,"question":null,"context":null,"resume_to":null}`)
	want := controller.Complete{Note: controller.Note{Thinking: json.RawMessage(`{"task":null,"facts":null,"decisions":[null,"d"],"risks":null,"confidence":null}`)}, Message: "m"}
	if diff := cmp.Diff(controller.Action(want), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !report.Flat() || report.Unused != nil || report.Unknown != nil {
		t.Errorf("%+v", report)
	}
}

func TestArgumentsAreAnObjectOrAStringThatHoldsOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{`null`, `{}`},
		{`""`, `{}`},
		{`" \n "`, `{}`},
		{`{}`, `{}`},
		{`"{}"`, `{}`},
		{`" {\"a\": 1}\n"`, `{"a": 1}`},
		{`{"a": [1, {"b": null}]}`, `{"a": [1, {"b": null}]}`},
		{`{"n":123456789012345678901234567890,"f":1e400,"z":-0,"d":1.50}`, `{"n":123456789012345678901234567890,"f":1e400,"z":-0,"d":1.50}`},
		{`"{\"n\":1e400,\"s\":\"\\u00e9\\n\"}"`, `{"n":1e400,"s":"\u00e9\n"}`},
		{`{"step":{"tool":"b"},"name":"c"}`, `{"step":{"tool":"b"},"name":"c"}`}, // not ours to normalize
	} {
		for _, form := range []string{`{"action":"next_step","tool":"a","args":%s}`, `{"action":"next_step","tools":[{"tool":"a","args":%s}]}`} {
			got, _ := parse(t, fmt.Sprintf(form, c.args))
			want := controller.UseTools{Note: step, Calls: []controller.Call{{Tool: "a", Args: c.want}}}
			if diff := cmp.Diff(controller.Action(want), got); diff != "" {
				t.Errorf("%s in %s (-want +got)\n%s", c.args, form, diff)
			}
		}
	}
	for _, c := range []struct{ args, want string }{
		{`[]`, `'args' of tool "a" is a list; it is a JSON object, or a string that holds one`},
		{`7`, `'args' of tool "a" is a number; it is a JSON object, or a string that holds one`},
		{`false`, `'args' of tool "a" is a boolean; it is a JSON object, or a string that holds one`},
		{`"[1]"`, `'args' of tool "a" is a string that holds a list; it has to hold a JSON object`},
		{`"null"`, `'args' of tool "a" is a string that holds null; it has to hold a JSON object`},
		{`"\"{}\""`, `'args' of tool "a" is a string that holds a string; it has to hold a JSON object`},
		{`"{'x':1}"`, `'args' of tool "a" is a string that does not hold a JSON object: line 1, column 2: invalid character '\'' at start of value; strings stand in straight double quotes`},
		{`"{\"x\":1,}"`, `'args' of tool "a" is a string that does not hold a JSON object: line 1, column 7: invalid character ',' at start of value; there is a comma too many, or a value is missing`},
		{`"{\"x\":1} and more"`, `'args' of tool "a" is a string that does not hold a JSON object: line 1, column 9: there is more behind the JSON value; send nothing else`},
		{`"{\"x\":1,\"x\":2}"`, `'args' of tool "a" is a string that does not hold a JSON object: line 1, column 8: the name "x" stands twice in one object; which of the two counts is not clear`},
		{`"read it"`, `'args' of tool "a" is a string that does not hold a JSON object: line 1, column 1: invalid character 'r' at start of value; names and strings stand in double quotes`},
	} {
		got := refused(t, fmt.Sprintf(`{"action":"next_step","tool":"a","args":%s}`, c.args))
		if want := "Invalid controller output: " + c.want; got.Message != want || got.Code != controller.InvalidArgs {
			t.Errorf("%s\n got %s (%s)\nwant %s", c.args, got.Message, got.Code, want)
		}
	}
	// One bad call of several runs none of them.
	if got := refused(t, `{"action":"next_step","tools":[{"tool":"a"},{"tool":"b","arguments":3}]}`); !strings.Contains(got.Message, "'tools[1].arguments' of tool \"b\"") {
		t.Error(got.Message)
	}
	// Arguments of nothing are not looked at.
	if _, report := parse(t, `{"action":"complete","message":"m","args":"none"}`); !cmp.Equal(report.Unused, []string{"args"}) {
		t.Errorf("unused %q", report.Unused)
	}
}

func TestTheFeedbackSaysWhatWasWrongAndWhatIsRight(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		``, `I am done.`, `{"action":"complete"}`, `{"action":"next_step"}`, `{"action":"next_step","tool":"a","args":"x"}`, `{"action":"next_step","type":"tool"}`,
		`{"action":"next_step","type":"respond"}`, `{"action":"next_step","type":"ask_user"}`, `{"action":"ask_user"}`, `{"action":"guardrail_stop"}`,
		`{"action":"next_step","type":"think"}`, `{"action":"complete","message":"m",}`, `{"action":"complete","message":"a"} {"action":"complete","message":"b"}`,
		`{"action":"` + strings.Repeat("ä", 5000) + `"}`, `{"action":"complete","x":` + strings.Repeat("[", 5000),
		`{"action":"complete","` + strings.Repeat("x", 5000) + `":1,"` + strings.Repeat("x", 5000) + `":1}`, strings.Repeat("{ ", 5000), "\xff{\xff}",
		`{"action":"next_step","type":"` + strings.Repeat(`a\n`, 3000) + `"}`, strings.Repeat("\u2028", 1<<20),
	} {
		err := refused(t, answer)
		feedback := err.Feedback()
		if !strings.Contains(feedback, err.Message) {
			t.Errorf("%.60s: the feedback does not say %q", answer, err.Message)
		}
		if len(feedback) > 12_000 || len(err.Message) > 1000 {
			t.Errorf("%.60s: the feedback has %d bytes, the message %d", answer, len(feedback), len(err.Message))
		}
		shapes := 0
		for line := range strings.Lines(feedback) {
			if !strings.HasPrefix(line, "{") {
				continue
			}
			shapes++
			if _, report := parse(t, line); !report.Flat() || report.Unknown != nil || report.Unused != nil || report.Inferred != "" {
				t.Errorf("the shape %s is no example: %+v", line, report)
			}
		}
		if shapes == 0 {
			t.Errorf("%.60s: the feedback shows no shape:\n%s", answer, feedback)
		}
	}
	got := refused(t, "{\"action\":\"complete\",\n \"message\":\"done\",}").Feedback()
	want := `Your last answer could not be used, and nothing of it was done.

Invalid JSON: line 2, column 18: invalid character ',' at start of value; there is a comma too many, or a value is missing

The place is marked with ⟨here⟩:
| {"action":"complete",
|  "message":"done"⟨here⟩,}

You sent:
| {"action":"complete",
|  "message":"done",}

Answer again with one JSON object and nothing else, in one of these shapes:
`
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestALongAnswerComesBackWithHeadAndTail(t *testing.T) {
	t.Parallel()
	got := refused(t, "HEAD"+strings.Repeat("é", 2000)+"TAIL").Sent
	if !strings.HasPrefix(got, "HEAD") || !strings.HasSuffix(got, "TAIL") || !strings.Contains(got, "\n[… 1008 characters left out …]\n") {
		t.Errorf("%s", got)
	}
}

func TestAnAnswerIsReadTheSameWayEveryTime(t *testing.T) {
	t.Parallel()
	const answer = `{"x":1,"y":2,"action":"next_step","step":{"tool_name":"a","z":3,"q":4},"name":"b","calls":[{"name":"c"}]}`
	first, report := parse(t, answer)
	for range 50 {
		again, r := parse(t, answer)
		if !cmp.Equal(first, again) || !cmp.Equal(report, r) {
			t.Fatalf("%+v\n%+v", report, r)
		}
	}
	if _, err := json.Marshal(report); err != nil {
		t.Error(err) // pawl controller parse prints it
	}
}
