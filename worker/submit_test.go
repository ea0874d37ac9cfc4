package worker

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl/llm"
	"pawl/run"
	"pawl/submission"
	"pawl/tool"
)

const countSchema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`

// createAsked makes a run that is asked for a result.
func (r *rig) createAsked(schema string) *Runner {
	r.t.Helper()
	d, err := r.w.Create(context.Background(), run.Created{Run: "r", Workspace: "/w",
		Config: run.Config{Model: "m/m", Output: run.Output{Tool: tool.SubmitName, Schema: schema}}}, r.watch)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

func TestAResultIsHandedInOnceAndEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"submit_result","args":{"n":"three"}}]}
{"calls":[{"tool":"submit_result","args":{"n":3}},{"tool":"submit_result","args":{"n":4}},{"tool":"read","args":{"do":"ok code"}}]}
{"text":"never asked for"}`)
		s, err := r.createAsked(countSchema).Run(t.Context(), prompt("How many?"))
		if err != nil {
			t.Fatal(err)
		}
		if s.Turn.End.End != run.Completed || s.Submission().Value != `{"n":3}` {
			t.Errorf("end %+v, result %+v", s.Turn.End, s.Submission())
		}
		got := strings.Join(results(s), "\n")
		for _, want := range []string{"c_1 true wrong arguments for submit_result", "c_2 false The result was accepted", "c_3 true The call was not run: the result had been submitted before it", "c_4 true The call was not run: the result had been submitted before it"} {
			if !strings.Contains(got, want) {
				t.Errorf("the results are\n%s\nwant %q", got, want)
			}
		}
		if s.Turn.Steps != 2 {
			t.Errorf("%d steps, want 2: after an accepted result no request is owed", s.Turn.Steps)
		}
	})
}

func TestAProviderThatAnswersBySchemaNeedsNoTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"text":"There are three."}
{"text":"{\"n\": \"three\"}"}
{"text":" {\"n\": 3.0} "}`)
		r.w.Structured = func(string) bool { return true }
		s, err := r.createAsked(countSchema).Run(t.Context(), prompt("How many?"))
		if err != nil {
			t.Fatal(err)
		}
		if s.Turn.End.End != run.Completed || s.Submission().Value != `{"n":3.0}` {
			t.Errorf("end %+v, result %+v", s.Turn.End, s.Submission())
		}
		want := "run_created prompted request_started replied told request_started replied told request_started replied submitted turn_ended"
		if got := strings.Join(r.log(r.mem), " "); got != want {
			t.Errorf("log:\ngot  %s\nwant %s", got, want)
		}
		if words := run.PlainText(s.Messages[2].Parts); !strings.Contains(words, "not JSON") {
			t.Errorf("the first reminder is %q", words)
		}
		if words := run.PlainText(s.Messages[4].Parts); !strings.Contains(words, "does not fit the schema: n: expected integer") {
			t.Errorf("the second reminder is %q", words)
		}
	})
}

func TestAResultThatIsNoObjectIsHandedInInsideOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"submit_result","args":{"result":[12345678901234567890.50,"<a>"]}}]}`)
		s, err := r.createAsked(`{"type":"array"}`).Run(t.Context(), prompt("List them."))
		if err != nil {
			t.Fatal(err)
		}
		if s.Submission().Value != `[12345678901234567890.50,"<a>"]` {
			t.Errorf("end %+v, result %+v", s.Turn.End, s.Submission())
		}
	})
}

// picky is a provider that cannot have one of the tools.
type picky struct{ llm.Provider }

func (p *picky) EncodeTool(t llm.Tool) (json.RawMessage, error) {
	if t.Name == "edit" {
		return nil, errors.New("its schema refers to itself")
	}
	return p.Provider.EncodeTool(t)
}

func TestAToolThatTheProviderCannotHaveIsSetAsideWithANotice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"Done."}`)
		inner, _, _ := r.w.Provider("")
		r.w.Provider = func(string) (llm.Provider, string, error) { return &picky{inner}, "m", nil }
		s, err := r.create().Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.Completed {
			t.Fatalf("%+v, %v", s.Turn.End, err)
		}
		var notices []string
		for _, v := range r.views {
			if v.Notice != "" {
				notices = append(notices, v.Notice)
			}
		}
		if len(notices) != 1 || !strings.Contains(notices[0], "edit is not offered to this model: its schema refers to itself") {
			t.Errorf("notices %q", notices)
		}
	})
}

func TestWordsThatComeWithTheResultGoBackToThePerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := stagedRig(t, says(`{"n":3}`, time.Second))
		r.w.Structured = func(string) bool { return true }
		after(500*time.Millisecond, func() { put(t, r, "s1", saying("s1", run.Steer, "Count the hidden ones too.")) })
		s, err := r.createAsked(countSchema).Run(t.Context(), prompt("How many?"))
		if err != nil || s.Turn.End.End != run.Completed {
			t.Fatalf("%+v, %v", s.Turn.End, err)
		}
		if len(s.Returned) != 1 || run.PlainText(s.Returned[0].Parts) != "Count the hidden ones too." {
			t.Errorf("returned %+v: the model has not read what was said", s.Returned)
		}
		for _, m := range s.Messages {
			if strings.Contains(run.PlainText(m.Parts), "hidden") {
				t.Errorf("%s says it, as if it had been delivered", m.ID)
			}
		}
	})
}

func TestAnInterruptAtAnyInstantLeavesNoResultHalfHandedIn(t *testing.T) {
	t.Parallel()
	for at := 1; at < 60; at++ {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, `{"calls":[{"tool":"submit_result","args":{"n":3}},{"tool":"read","args":{"do":"ok code"}}]}`)
			var d *Runner
			var looks atomic.Int32
			r.w.Now = func() time.Time {
				if int(looks.Add(1)) == at {
					d.Interrupt(run.Interrupted{Cause: run.ByPerson})
				}
				return time.Now()
			}
			looks.Store(-100) // not while it is made
			d = r.createAsked(countSchema)
			looks.Store(0)
			begun := time.Now()
			s, err := d.Run(t.Context(), prompt("How many?"))
			if err != nil || s.Turn.Open() {
				t.Fatalf("look %d: %+v, %v", at, s.Turn.End, err)
			}
			if took := time.Since(begun); took >= stuckAfter {
				t.Errorf("look %d: it took %v: nothing was under way that could be slow", at, took)
			}
			for _, l := range s.Turn.Account {
				if l.Outcome == run.Unknown {
					t.Errorf("look %d: the outcome of %s is unknown", at, l.Tool)
				}
			}
		})
	}
}

func TestAnotherResultIsAskedForAfresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"text":"No."}
{"text":"No."}
{"text":"No."}
{"text":"Not yet."}
{"text":"{\"m\":1}"}`)
		r.w.Structured = func(string) bool { return true }
		d := r.createAsked(countSchema)
		s, err := d.Run(t.Context(), prompt("How many?"))
		if err != nil || s.Turn.End.Reason != "output_missing" {
			t.Fatalf("%+v, %v", s.Turn.End, err)
		}
		output := s.Config.Output
		output.Schema = strings.ReplaceAll(countSchema, `"n"`, `"m"`)
		s, err = d.Run(t.Context(), run.Configured{Change: run.ConfigChange{Output: &output}}, run.Prompted{Continue: true})
		if err != nil || s.Submission().Value != `{"m":1}` {
			t.Errorf("%+v, result %+v, %v: the reminders were of another result", s.Turn.End, s.Submission(), err)
		}
	})
}

// report is the result of a worker agent.
func report(t *testing.T) run.Output {
	t.Helper()
	o, ok := submission.Worker.Output()
	if !ok {
		t.Fatal("no output")
	}
	return o
}

func TestAResultThatAToolMustSubmitIsNeverAnAnswer(t *testing.T) {
	t.Parallel()
	for name, structured := range map[string]bool{"a provider that answers by schema": true, "a provider that does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, `
{"text":"{\"status\":\"complete\",\"summary\":\"Done.\"}"}
{"calls":[{"tool":"completion_report","args":{"tool":"completion-report","status":"blocked","summary":"Half."}}]}
{"calls":[{"tool":"planner_output","args":{"type":"error","error":"no"}},{"tool":"completion-report","args":{"tool":"completion-report","status":"complete","summary":"Done."}}]}`)
				r.w.Structured = func(string) bool { return structured }
				d := r.createWith(run.Created{Config: run.Config{Model: "m/m", Output: report(t)}})
				s := r.run(d, prompt("Do it."))
				if s.Turn.End.End != run.Completed || s.Submission().Value != `{"status":"complete","summary":"Done."}` || s.Submission().Call != "c_3" {
					t.Errorf("end %+v, result %+v", s.Turn.End, s.Submission())
				}
				words := run.PlainText(s.Messages[2].Parts)
				if want := "You must call the completion-report tool before finishing. Please call it now. It is the tool completion_report in your list of tools. For example: {"; !strings.HasPrefix(words, want) {
					t.Errorf("the reminder is %q", words)
				}
				got := strings.Join(results(s), "\n")
				for _, want := range []string{"c_1 true wrong arguments for completion-report: blockedReason: missing", "c_2 true not granted: the tool planner_output is not for this agent", "c_3 false The result was accepted"} {
					if !strings.Contains(got, want) {
						t.Errorf("the results are\n%s\nwant %q", got, want)
					}
				}
			})
		})
	}
}

// An answer by schema is the result when it is whole, makes no call and fits; otherwise the model is told
// what is wrong with it, or nothing where the run goes on anyway.
func TestWhichAnswersBySchemaAreTheResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text":"Done."}`)
	d := r.createWith(run.Created{Config: run.Config{Output: run.Output{Tool: "submit", Schema: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`}}})
	defer d.Close()
	const good = `{"n":3}`
	call := run.Part{Type: run.CallPart, Call: &run.Call{ID: "c_1", Tool: "read", Arguments: "{}"}}
	for name, c := range map[string]struct {
		stop           run.StopReason
		parts          []run.Part
		value, problem string
	}{
		"whole":                 {run.StopEndTurn, []run.Part{run.Text(" " + good + "\n")}, good, ""},
		"in two parts":          {run.StopEndTurn, []run.Part{run.Text(`{"n":`), run.Text("3}")}, good, ""},
		"without a reason":      {run.StopNone, []run.Part{run.Text(good)}, good, ""},
		"for a reason unknown":  {"of_a_newer_provider", []run.Part{run.Text(good)}, good, ""},
		"cut":                   {run.StopMaxTokens, []run.Part{run.Text(good)}, "", ""},
		"paused":                {run.StopPause, []run.Part{run.Text(good)}, "", ""},
		"filtered":              {run.StopFiltered, []run.Part{run.Text(good)}, "", ""},
		"refused":               {run.StopRefusal, []run.Part{run.Text(good)}, "", ""},
		"stopped by guardrails": {run.StopGuardrail, []run.Part{run.Text(good)}, "", ""},
		"to call a tool":        {run.StopToolUse, []run.Part{run.Text(good)}, "", ""},
		"beside a call":         {run.StopEndTurn, []run.Part{run.Text(good), call}, "", ""},
		"empty":                 {run.StopEndTurn, []run.Part{run.Text(" \n")}, "", ""},
		"no JSON":               {run.StopEndTurn, []run.Part{run.Text("three")}, "", "The answer is not JSON."},
		"of another type":       {run.StopEndTurn, []run.Part{run.Text(`{"n":"3"}`)}, "", "The answer does not fit the schema: n: expected integer, got string. It needs n."},
	} {
		value, problem := d.bySchema(d.State(), run.Replied{Stop: c.stop, Parts: c.parts})
		if value != c.value || problem != c.problem {
			t.Errorf("%s: the result is %q, the problem %q", name, value, problem)
		}
	}
}
