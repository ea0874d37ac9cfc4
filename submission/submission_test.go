package submission_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/golden"
	"pawl/run"
	"pawl/schema"
	"pawl/submission"
)

func output(t *testing.T, k submission.Kind) run.Output {
	t.Helper()
	o, ok := k.Output()
	if !ok {
		t.Fatalf("no output for %s", k)
	}
	return o
}

func TestWhatAnAgentIsToldOfItsResultWasRead(t *testing.T) {
	t.Parallel()
	own := submission.Required("inventory", `{"type":"object","properties":{"files":{"type":"array","items":{"type":"string"}},"count":{"type":"integer"}},"required":["files"]}`)
	for _, o := range []run.Output{output(t, submission.Planner), output(t, submission.Worker), own} {
		told := submission.Instructions(o) + "\n---\n" + run.Reminder(o) + "\n"
		golden.Compare(t, o.Tool+".golden", []byte(told))
	}
}

func TestTheSentencesAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	for k, tool := range map[submission.Kind]string{submission.Planner: "planner-output", submission.Worker: "completion-report"} {
		o := output(t, k)
		if want := "You MUST call the " + tool + " tool to submit your results."; !strings.HasPrefix(submission.Instructions(o), want) {
			t.Errorf("the instructions of %s do not begin with %q", tool, want)
		}
		if want := "You must call the " + tool + " tool before finishing. Please call it now."; !strings.HasPrefix(run.Reminder(o), want) {
			t.Errorf("the reminder of %s does not begin with %q", tool, want)
		}
	}
}

// targets are all forms in which a schema goes to a model.
var targets = []schema.Target{schema.AnthropicTool, schema.AnthropicOutput, schema.OpenAI, schema.OpenAIStrict, schema.Gemini}

// payloads that fit, by kind.
var payloads = map[submission.Kind][]string{
	submission.Planner: {
		`{"type":"plan","summary":"Repair the cart.","requirements":["an empty cart costs 0"],"acceptanceCriteria":["go test ./cart passes"],"plan":["read cart.go","repair it"],"assignedAgent":"developer"}`,
		`{"type":"plan","summary":"Repair the cart.","requirements":[],"acceptanceCriteria":[],"plan":["repair it"]}`,
		`{"type":"questions","questions":["Which cart?"]}`,
		`{"type":"error","error":"there is no cart"}`,
	},
	submission.Worker: {
		`{"status":"complete","summary":"Repaired.","output":"cart.go"}`,
		`{"status":"complete","summary":"Repaired."}`,
		`{"status":"blocked","summary":"Half done.","blockedReason":"no access to the registry"}`,
		`{"status":"failed","summary":"It cannot be built here."}`,
	},
}

func TestEveryFormThatAProviderIsGivenAcceptsTheExamples(t *testing.T) {
	t.Parallel()
	for k, all := range payloads {
		o := output(t, k)
		for _, target := range targets {
			adapted, err := schema.Adapt(target, json.RawMessage(o.Schema))
			if err != nil {
				t.Errorf("%s as %s: %v", o.Tool, target, err)
				continue
			}
			compiled, err := schema.Compile(adapted.Schema)
			if err != nil {
				t.Errorf("%s as %s: %v", o.Tool, target, err)
				continue
			}
			for _, payload := range all {
				if target == schema.OpenAIStrict {
					payload = nulls(t, adapted.Schema, payload) // where every field is required
				}
				if problems := compiled.Validate(json.RawMessage(payload)); problems != nil {
					t.Errorf("%s as %s does not accept %s: %v", o.Tool, target, payload, problems)
				}
			}
			golden.Compare(t, fmt.Sprintf("%s.%s.golden", o.Tool, target), append(indented(t, adapted.Schema), '\n'))
		}
	}
}

func indented(t *testing.T, b []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// nulls returns payload with a null for each property of an object schema that it lacks.
func nulls(t *testing.T, schema json.RawMessage, payload string) string {
	t.Helper()
	var s struct{ Properties map[string]any }
	var p map[string]any
	if err := errors.Join(json.Unmarshal(schema, &s), json.Unmarshal([]byte(payload), &p)); err != nil {
		t.Fatal(err)
	}
	for name := range s.Properties {
		if _, ok := p[name]; !ok {
			p[name] = nil
		}
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What a provider makes of the flat form of a union is the payload with nulls and empty
// fields, and what the prompt shows has the tool's name in it.
func TestWhatModelsAddToAPayloadIsRemoved(t *testing.T) {
	t.Parallel()
	for k, all := range payloads {
		o := output(t, k)
		c, err := submission.NewChecker(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, payload := range all {
			want, err := c.Check(json.RawMessage(payload))
			if err != nil {
				t.Errorf("%s: %v", payload, err)
				continue
			}
			adapted, err := schema.Adapt(schema.OpenAIStrict, json.RawMessage(o.Schema))
			if err != nil {
				t.Fatal(err)
			}
			rest := strings.TrimPrefix(payload, "{")
			for _, form := range []string{
				nulls(t, adapted.Schema, payload),
				fmt.Sprintf(`{"tool":%q,%s`, o.Tool, rest),
				fmt.Sprintf(`{"tool":%q,%s`, submission.Wire(o.Tool), rest),
			} {
				got, err := c.Check(json.RawMessage(form))
				if err != nil || !sameJSON(t, got, want) {
					t.Errorf("%s: %s, %v", form, got, err)
				}
			}
		}
	}
	c, err := submission.NewChecker(output(t, submission.Planner))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Check(json.RawMessage(`{"type":"questions","questions":["Which?"],"summary":"","plan":[],"error":null}`))
	if err != nil || string(got) != `{"type":"questions","questions":["Which?"]}` {
		t.Errorf("%s, %v", got, err)
	}
}

// A result of a person's own, without variants: a tool's name that it does not declare is removed, and
// a field that it does declare is not.
func TestAResultWithoutVariantsIsChecked(t *testing.T) {
	t.Parallel()
	const fields = `"type":"object","additionalProperties":false,"required":["n"]`
	for _, c := range []struct{ schema, payload, want string }{
		{`{` + fields + `,"properties":{"n":{"type":"integer"}}}`, `{"tool":"count","n":3}`, `{"n":3}`},
		{`{` + fields + `,"properties":{"n":{"type":"integer"},"tool":{"type":"string"}}}`, `{"tool":"count","n":3}`, `{"tool":"count","n":3}`},
		{`{` + fields + `,"properties":{"n":{"type":"integer"}}}`, `{"tool":"other","n":3}`, ""},
		{`{` + fields + `,"properties":{"n":{"type":"integer"}}}`, `{"n":"three"}`, ""},
	} {
		checker, err := submission.NewChecker(run.Output{Tool: "count", Schema: c.schema})
		if err != nil {
			t.Fatal(err)
		}
		got, err := checker.Check(json.RawMessage(c.payload))
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s by %s: %s, %v", c.payload, c.schema, got, err)
		}
	}
}

// What is said of one payload is bounded: ten problems, and how many more there are.
func TestTenProblemsAreNamed(t *testing.T) {
	t.Parallel()
	for wrong, want := range map[int]int{10: 10, 11: 11, 13: 11} {
		payload := `{"status":"complete","summary":"x"`
		for i := range wrong {
			payload += fmt.Sprintf(`,"more%d":1`, i)
		}
		_, err := check(submission.Worker, payload+"}")
		e, ok := errors.AsType[*submission.Error](err)
		if !ok || len(e.Problems) != want {
			t.Errorf("%d wrong fields: %v", wrong, err)
			continue
		}
		if last := e.Problems[want-1]; wrong > 10 && last != (submission.Problem{What: fmt.Sprintf("and %d more", wrong-10)}) {
			t.Errorf("%d wrong fields end with %+v", wrong, last)
		}
	}
}

func TestEveryKindOfAgentHasAResult(t *testing.T) {
	t.Parallel()
	tools := map[string]bool{}
	for _, k := range submission.Kinds {
		o, ok := k.Output()
		if !ok || !submission.Reserved(o.Tool) {
			t.Errorf("an agent of kind %s submits with %q", k, o.Tool)
		}
		tools[o.Tool] = true
	}
	if !tools[submission.PlannerTool] || !tools[submission.ReportTool] || len(tools) != 2 {
		t.Errorf("the tools are %v", tools)
	}
}

func sameJSON(t *testing.T, x, y json.RawMessage) bool {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal(x, &a), json.Unmarshal(y, &b)); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(a, b)
}

func TestAPayloadThatDoesNotFitIsToldWhatWould(t *testing.T) {
	t.Parallel()
	const plannerVariants = `There are these variants: type "plan" needs summary, requirements, acceptanceCriteria, plan and may have assignedAgent; type "questions" needs questions; type "error" needs error.`
	const reportVariants = `There are these variants: status "complete" needs summary and may have output, comments; status "blocked" needs summary, blockedReason and may have output, comments; status "failed" needs summary and may have output, comments.`
	for _, c := range []struct {
		kind         submission.Kind
		payload      string
		fields, want string
	}{
		{submission.Planner, `{"type":"idea","summary":"x"}`, "type", `wrong arguments for planner-output: type: "idea" is none of "plan", "questions", "error". ` + plannerVariants},
		{submission.Planner, `{"summary":"x"}`, "type", `wrong arguments for planner-output: type: missing. ` + plannerVariants},
		{submission.Planner, ``, "type", `wrong arguments for planner-output: type: missing. ` + plannerVariants},
		{submission.Planner, `[]`, "", `wrong arguments for planner-output: it is not a JSON object. ` + plannerVariants},
		{submission.Planner, `{"type":"plan","summary":"x","plan":"all"}`, "acceptanceCriteria,plan,requirements",
			`wrong arguments for planner-output: acceptanceCriteria: missing; plan: expected array, got string; requirements: missing. A payload of type "plan" needs summary, requirements, acceptanceCriteria, plan and may have assignedAgent.`},
		{submission.Planner, `{"type":"questions","questions":[]}`, "questions",
			`wrong arguments for planner-output: questions: too few: at least 1 item. A payload of type "questions" needs questions.`},
		{submission.Planner, `{"type":"questions","questions":["x"],"error":"y"}`, "error",
			`wrong arguments for planner-output: error: there is no such field. A payload of type "questions" needs questions.`},
		{submission.Worker, `{"status":"blocked","summary":"half"}`, "blockedReason",
			`wrong arguments for completion-report: blockedReason: missing. A payload of status "blocked" needs summary, blockedReason and may have output, comments.`},
		{submission.Worker, `{"status":"blocked","summary":"half","blockedReason":"  "}`, "blockedReason",
			`wrong arguments for completion-report: blockedReason: "" does not match the pattern \S. A payload of status "blocked" needs summary, blockedReason and may have output, comments.`},
		{submission.Worker, `{"status":"done","summary":"x"}`, "status", `wrong arguments for completion-report: status: "done" is none of "complete", "blocked", "failed". ` + reportVariants},
		{submission.Worker, `{"tool":"planner-output","status":"complete","summary":"x"}`, "tool",
			`wrong arguments for completion-report: tool: there is no such field. A payload of status "complete" needs summary and may have output, comments.`},
	} {
		_, err := check(c.kind, c.payload)
		wrong, ok := errors.AsType[*submission.Error](err)
		if !ok {
			t.Errorf("%s: %v", c.payload, err)
			continue
		}
		var fields []string
		for _, p := range wrong.Problems {
			fields = append(fields, p.Field)
		}
		if got := strings.Join(fields, ","); got != c.fields || err.Error() != c.want {
			t.Errorf("%s:\n got %s: %s\nwant %s: %s", c.payload, got, err, c.fields, c.want)
		}
	}
}

func TestBothSpellingsOfANameAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"planner-output", "planner_output", "completion-report", "completion_report"} {
		if !submission.Reserved(name) {
			t.Errorf("%s is not reserved", name)
		}
	}
	if submission.Reserved("read") || submission.Wire("planner-output") != "planner_output" {
		t.Error("wrong names")
	}
}

// What was accepted is accepted again as it stands, and by one tool only.
func FuzzCheck(f *testing.F) {
	for _, all := range payloads {
		for _, payload := range all {
			f.Add(payload)
		}
	}
	f.Add(`{"tool":{"x":1},"type":"plan","plan":null}`)
	f.Fuzz(func(t *testing.T, payload string) {
		plan, err := check(submission.Planner, payload)
		if err != nil {
			return
		}
		if again, err := check(submission.Planner, string(plan)); err != nil || !sameJSON(t, again, plan) {
			t.Fatalf("%s became %s, and that %s: %v", payload, plan, again, err)
		}
		if _, err := check(submission.Worker, payload); err == nil {
			t.Fatalf("%s is both", payload)
		}
	})
}

// check checks a payload of a kind.
func check(k submission.Kind, payload string) (json.RawMessage, error) {
	o, _ := k.Output()
	c, err := submission.NewChecker(o)
	if err != nil {
		return nil, err
	}
	return c.Check(json.RawMessage(payload))
}
