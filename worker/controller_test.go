package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl/controller"
	"pawl/llm"
	"pawl/llm/script"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/outputs"
)

// object is an answer in controller mode, as a line of a script.
func object(t *testing.T, v string) string {
	t.Helper()
	line, err := json.Marshal(map[string]string{"text": v})
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

// controlled makes a rig whose model answers with objects, and keeps its requests.
func controlled(t *testing.T, answers ...string) (*rig, *Runner, *[]llm.Request) {
	t.Helper()
	var lines string
	for _, a := range answers {
		lines += object(t, a)
	}
	r := newRig(t, lines)
	r.w.Tools = tool.NewRegistry(r.read, r.edit, tool.Ask())
	inner, _, _ := r.w.Provider("")
	seen := &[]llm.Request{}
	r.w.Provider = func(string) (llm.Provider, string, error) { return recorder{inner, seen}, "m", nil }
	d, err := r.w.Create(context.Background(), run.Created{Run: "r", Workspace: "/w", System: "Be brief.",
		Config: run.Config{Model: "m/m", Control: run.Controller}}, r.watch)
	if err != nil {
		t.Fatal(err)
	}
	return r, d, seen
}

func switchTo(control string) run.Payload {
	return run.Configured{Change: run.ConfigChange{Control: &control}}
}

type recorder struct {
	llm.Provider
	seen *[]llm.Request
}

func (r recorder) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Delta, error] {
	*r.seen = append(*r.seen, q)
	return r.Provider.Stream(ctx, q)
}

// words are what the model is shown by one request, message by message.
func words(t *testing.T, q llm.Request) []string {
	t.Helper()
	var out []string
	for _, m := range q.Messages {
		var seen struct{ Words string }
		if err := json.Unmarshal(m.Body, &seen); err != nil {
			t.Fatal(err)
		}
		out = append(out, string(m.Role)+": "+seen.Words)
	}
	return out
}

func TestAModelWithoutToolCallingDecidesOneStepAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		look := `{"action":"next_step","thinking":{"task":"look"},"type":"tool","description":"Look at both","tools":[{"tool":"read","args":"{\"do\":\"ok A\"}"},{"tool":"nosuch","args":{}}]}`
		r, d, seen := controlled(t, look,
			`{"action":"next_step","thinking":{"task":"change"},"tool":"edit","args":{"do":"ok changed"}}`,
			`{"action":"complete","message":"It is repaired."}`)
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("Repair it."))
		if err != nil || s.Turn.End.End != run.Completed || s.Answer() != "It is repaired." {
			t.Fatalf("%+v %q, %v", s.Turn.End, s.Answer(), err)
		}
		if got := append(r.read.Ran(), r.edit.Ran()...); !slices.Equal(got, []string{"ok A", "ok changed"}) {
			t.Errorf("ran %q", got)
		}
		first, last := (*seen)[0], (*seen)[2]
		if len(first.Tools) > 0 || !strings.HasPrefix(first.System, "# How to answer") || !strings.HasSuffix(first.System, "Be brief.") || !strings.Contains(first.System, `"tool":"edit"`) || strings.Contains(first.System, `"tool":"ask"`) {
			t.Errorf("%d tools, system prompt %.3000s", len(first.Tools), first.System)
		}
		shown := words(t, last)
		if len(shown) != 6 || shown[1] != "assistant: "+look {
			t.Fatalf("shown %q", shown)
		}
		for _, want := range []string{"[Tool executions]", "tool: read\ncall: c_1\nsuccess: true", "| A", "tool: nosuch\ncall: c_2\nsuccess: false", "there is no tool"} {
			if !strings.Contains(shown[2], want) {
				t.Errorf("the results are shown as\n%s\nwant %q", shown[2], want)
			}
		}
		if !strings.Contains(shown[5], "[Limits left in this turn] 198 steps") {
			t.Errorf("the end of the request is %q", shown[5])
		}
		// What was sent stays the same from step to step; the limits are no part of it.
		for i, m := range (*seen)[1].Messages[:3] {
			if string(m.Body) != string(last.Messages[i].Body) {
				t.Errorf("message %d changed", i)
			}
		}
		if p := s.Plan; p.Goal != "Repair it." || len(p.Steps) != 2 || p.Steps[0].Description != "Look at both" || p.Steps[0].Status != run.StepDone || !slices.Equal(p.Steps[0].Calls, []run.CallID{"c_1", "c_2"}) {
			t.Errorf("plan %+v", p)
		}
	})
}

func TestASchemaThatWasStrippedEndsInThreeRequestsWithAClearFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stripped := `{"action":"next_step","thinking":{"task":"I think about it"}}`
		r, d, seen := controlled(t, stripped, stripped, stripped, stripped)
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.EndFailed || s.Turn.End.Reason != "controller_output" {
			t.Fatalf("%+v, %v", s.Turn.End, err)
		}
		const message = "Cannot determine step type: provide 'type' or 'tool'/'message'/'question'"
		if !strings.Contains(s.Turn.End.Detail, message) || len(*seen) != 3 {
			t.Errorf("%d requests, %q", len(*seen), s.Turn.End.Detail)
		}
		if shown := words(t, (*seen)[1]); !strings.Contains(shown[2], message) {
			t.Errorf("the model is told %q", shown)
		}
		if len(r.read.Ran())+len(r.edit.Ran()) > 0 {
			t.Error("something ran")
		}
	})
}

func TestGoodAndBadObjectsByTurnsComeToAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var answers []string
		for i := range 6 {
			answers = append(answers, `{"action":"think"}`, fmt.Sprintf(`{"action":"next_step","tool":"read","args":{"do":"ok %d"}}`, i))
		}
		_, d, _ := controlled(t, append(answers, `{"action":"respond","content":"Done."}`)...)
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.Completed || s.Answer() != "Done." {
			t.Fatalf("%+v %q, %v", s.Turn.End, s.Answer(), err)
		}
	})
}

func TestAQuestionInControllerModeWaitsAndItsAnswerGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ more, asks, want string }{
		{`,"context":"Both fit."`, "Red or blue?\n\nBoth fit.", "Look back at the goal first"},
		{`,"resume_to":"controller"`, "Red or blue?", "Decide on the next action at once"},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, d, seen := controlled(t, `{"action":"ask_user","question":"Red or blue?"`+c.more+`}`, `{"action":"complete","message":"Blue it is."}`)
			defer d.Close()
			s, err := d.Run(t.Context(), prompt("Paint it."))
			if err != nil || s.Turn.End.End != run.Asked || len(s.Questions()) != 1 {
				t.Fatalf("%+v, %v", s.Turn.End, err)
			}
			if asks, _ := tool.Asked(s.Questions()[0]); asks != c.asks {
				t.Errorf("it asks %q, want %q", asks, c.asks)
			}
			s, err = d.Run(t.Context(), say(s, "blue"))
			if err != nil || s.Turn.End.End != run.Completed || s.Answer() != "Blue it is." {
				t.Fatalf("%+v, %v", s.Turn.End, err)
			}
			if shown := words(t, (*seen)[1]); !strings.Contains(shown[2], "The person answers: blue") || !strings.Contains(shown[2], c.want) {
				t.Errorf("shown %q", shown)
			}
		})
	}
}

func TestCallsBeyondTheLimitAreLeftOutAndTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		for i := range 5 {
			calls = append(calls, fmt.Sprintf(`{"tool":"read","args":{"do":"ok %d"}}`, i))
		}
		r, d, seen := controlled(t, `{"action":"next_step","tools":[`+strings.Join(calls, ",")+`]}`, `{"action":"complete","message":"Two of five."}`)
		defer d.Close()
		s, err := d.Run(t.Context(), run.Configured{Change: run.ConfigChange{Limits: run.Limits{Calls: 2}}}, prompt("go"))
		if err != nil || s.Turn.End.End != run.Completed || len(r.read.Ran()) != 2 {
			t.Fatalf("%+v, %v, ran %q", s.Turn.End, err, r.read.Ran())
		}
		if shown := words(t, (*seen)[1]); !strings.Contains(shown[2], "3 more calls of this step were left out") {
			t.Errorf("shown %q", shown)
		}
	})
}

func TestARunChangesFromToolCallingToObjectsAndBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"I look.","calls":[{"tool":"read","args":{"do":"ok A"}}]}
{"text":"Seen."}
`+object(t, `{"action":"next_step","tool":"read","args":{"do":"ok B"}}`)+object(t, `{"action":"complete","message":"Seen too."}`)+`{"text":"And this."}`)
		inner, _, _ := r.w.Provider("")
		seen := &[]llm.Request{}
		r.w.Provider = func(string) (llm.Provider, string, error) { return recorder{inner, seen}, "m", nil }
		d := r.create()
		defer d.Close()
		ran := func(facts ...run.Payload) run.State {
			t.Helper()
			s, err := d.Run(t.Context(), facts...)
			if err != nil || s.Turn.End.End != run.Completed {
				t.Fatalf("%+v, %v", s.Turn.End, err)
			}
			return s
		}
		ran(prompt("go"))
		ran(switchTo(run.Controller), prompt("on"))
		s := ran(switchTo(run.Native), prompt("and"))
		if s.Answer() != "And this." {
			t.Errorf("answer %q", s.Answer())
		}
		if shown := words(t, (*seen)[2]); shown[1] != `assistant: {"action":"next_step","type":"tool","description":"I look.","tools":[{"tool":"read","args":"{\"do\":\"ok A\"}"}]}` || !strings.Contains(shown[2], "[Tool executions]") {
			t.Errorf("what was done by tool calling is shown as %q", shown)
		}
		var kinds []run.StepKind
		for _, p := range logged[run.Replied](t, r) {
			if p.Action != nil {
				kinds = append(kinds, p.Action.Kind)
			}
		}
		if !slices.Equal(kinds, []run.StepKind{run.StepTool, run.StepComplete}) {
			t.Errorf("actions in the log: %q", kinds)
		}
	})
}

func TestArgumentsThatWereLetGoAreNotSentInTheObject(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 9000)
	said := `{"action":"next_step","type":"tool","description":"Write it","tool":"edit","args":{"do":"` + long + `"}}`
	w := objectWire{calls: map[run.CallID]run.Call{}, resumes: map[run.CallID]controller.Resume{}}
	parts := func(args string) []run.Part {
		return []run.Part{run.Text(said), {Type: run.CallPart, Call: &run.Call{ID: "c_1", Tool: "edit", Arguments: args}}}
	}
	if got := run.PlainText(w.object(parts(`{"do":"` + long + `"}`))); got != said {
		t.Errorf("as it was said it is %.100q", got)
	}
	got := run.PlainText(w.object(parts(`{"left_out":"9000 bytes, to save room"}`)))
	if strings.Contains(got, long) || !strings.Contains(got, "left_out") || !strings.Contains(got, "Write it") {
		t.Errorf("after compaction it is %.200q", got)
	}
	if _, _, err := controller.Parse(got); err != nil {
		t.Errorf("%.200q is no object: %v", got, err)
	}
}

func TestAnObjectIsReadWhateverItsStopReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, func(_ context.Context, yield func(llm.Delta, error) bool) {
			yield(llm.Delta{Answer: &llm.Answer{Stop: run.StopToolUse, Parts: []run.Part{run.Text(`{"action":"complete","message":"Done."}`)}}}, nil)
		})
		d, err := r.w.Create(t.Context(), run.Created{Run: "r", Workspace: "/w", Config: run.Config{Model: "m/m", Control: run.Controller}}, r.watch)
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.Completed || s.Turn.Steps != 1 || s.Answer() != "Done." {
			t.Errorf("%+v after %d steps, %q, %v", s.Turn.End, s.Turn.Steps, s.Answer(), err)
		}
	})
}

func TestAnAnswerToAQuestionOfToolCallingOpensAPlanOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, d, _ := controlled(t, `{"action":"next_step","type":"respond","description":"Greet","message":"Hello."}`)
		inner, err := script.Parse(strings.NewReader(object(t, `{"action":"next_step","type":"respond","description":"Greet","message":"Hello."}`) +
			`{"text":"I ask.","calls":[{"tool":"ask","args":{"question":"Which?"}}]}` + "\n" +
			object(t, `{"action":"next_step","type":"respond","description":"Take it","message":"The second, then."}`)))
		if err != nil {
			t.Fatal(err)
		}
		p := script.New(inner, 0)
		r.w.Provider = func(string) (llm.Provider, string, error) { return p, "m", nil }
		s, err := d.Run(t.Context(), prompt("Hello"))
		if err != nil || s.Plan.ID != "p_1" {
			t.Fatalf("plan %+v, %v", s.Plan, err)
		}
		if s, err = d.Run(t.Context(), switchTo(run.Native), prompt("Choose one")); err != nil || s.Turn.End.End != run.Asked {
			t.Fatalf("%+v, %v", s.Turn.End, err)
		}
		s, err = d.Run(t.Context(), switchTo(run.Controller), say(s, "The second."))
		if err != nil || s.Plan.ID != "p_3" || len(s.Plan.Steps) != 1 {
			t.Errorf("plan %+v, %v: the first turn's is over", s.Plan, err)
		}
	})
}

func TestTheMetadataOfAStoredResultIsABlockOfItsOwn(t *testing.T) {
	t.Parallel()
	r, d, seen := controlled(t, `{"action":"next_step","type":"tool","description":"Print","tool":"print","args":{"text":"[1, 2] ","times":20000}}`,
		`{"action":"complete","message":"Done."}`)
	storeOutputs(t, r)
	r.w.Tools = tool.NewRegistry(append(outputs.All(), printer{})...)
	defer d.Close()
	if _, err := d.Run(t.Context(), prompt("go")); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(words(t, (*seen)[len(*seen)-1]), "\n")
	head, output, found := strings.Cut(said, "\noutput:\n")
	if !found || !strings.Contains(head, "\nmetadata:\n| {\"format\":") || strings.Contains(output, `"metadata":`) || !strings.Contains(output, `"preview":`) {
		t.Errorf("the model is shown %s", said)
	}
}

// What is left of the limits is told with the step that is about to be made, also with the last.
func TestTheModelIsToldOfItsLastStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, d, seen := controlled(t, `{"action":"next_step","tool":"read","args":{"do":"ok a"}}`, `{"action":"next_step","tool":"read","args":{"do":"ok b"}}`, `{"action":"complete","message":"Half of it."}`)
		r.run(d, run.Configured{Change: run.ConfigChange{Limits: run.Limits{Steps: 2}}}, prompt("go"))
		for i, want := range []string{"[Limits left in this turn] 2 steps, ", "[Limits left in this turn] 1 steps, "} {
			if got := strings.Join(words(t, (*seen)[i]), "\n"); !strings.Contains(got, want) {
				t.Errorf("with step %d the model is shown\n%s", i+1, got)
			}
		}
		var none run.State
		none.Config.Limits.Steps = -1
		if got := left(none, time.Time{}); strings.Contains(got, "steps") {
			t.Errorf("without a limit: %s", got)
		}
	})
}

// Which answers are steps, and what is said of one that is not.
func TestWhatAnAnswerMeansInControllerMode(t *testing.T) {
	t.Parallel()
	const step = `{"action":"guardrail_stop","reason":"It would be published.","message":"I stopped."}`
	said := func(stop run.StopReason, text string) run.Replied {
		return (&modelSession{}).interpret(run.State{}, run.Replied{Stop: stop, Parts: []run.Part{run.Text(text)}}, time.Time{})
	}
	for _, stop := range []run.StopReason{run.StopFiltered, run.StopRefusal, run.StopGuardrail, run.StopPause} {
		if p := said(stop, step); p.Action != nil || p.Stop != stop {
			t.Errorf("an answer that stopped with %s: %+v", stop, p)
		}
	}
	if p := said(run.StopMaxTokens, " \n"); p.Action != nil || p.Stop != run.StopMaxTokens {
		t.Errorf("an empty answer: %+v", p)
	}
	if p := said(run.StopMaxTokens, step[:30]); p.Action == nil || p.Action.Problem != "Invalid JSON: the answer was cut off at the output limit" || !strings.Contains(p.Action.Feedback, "shorter") {
		t.Errorf("an answer that was cut off: %+v", p.Action)
	}
	if p := said(run.StopEndTurn, step[:30]); p.Action == nil || !strings.HasPrefix(p.Action.Problem, "Invalid JSON") || strings.Contains(p.Action.Problem, "output limit") || strings.Contains(p.Action.Feedback, "shorter") {
		t.Errorf("an answer that is no object: %+v", p.Action)
	}
	p := said(run.StopMaxTokens, step)
	if p.Action == nil || p.Action.Kind != run.StepKind("guardrail_stop") || p.Action.Reason != "It would be published." || p.Action.Message != "I stopped." || p.Stop != run.StopEndTurn {
		t.Errorf("a whole one: %+v, %s", p.Action, p.Stop)
	}
}
