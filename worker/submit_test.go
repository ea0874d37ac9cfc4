package worker

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"pawl/llm"
	"pawl/run"
	"pawl/tool"
)

const countSchema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`

// createAsked makes a run that is asked for a result.
func (r *rig) createAsked(schema string) *Driver {
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
		for _, want := range []string{"c_1 true wrong arguments for submit_result", "c_2 false The result was accepted", "c_3 true A result was handed in already", "c_4 false code"} {
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
		want := "run_created prompted request_started replied submission_refused reminded request_started replied submission_refused reminded request_started replied submitted turn_ended"
		if got := strings.Join(r.log(r.mem), " "); got != want {
			t.Errorf("log:\ngot  %s\nwant %s", got, want)
		}
		if words := run.PlainText(s.Messages[2].Parts); !strings.Contains(words, "not JSON") {
			t.Errorf("the first reminder is %q", words)
		}
		if words := run.PlainText(s.Messages[4].Parts); !strings.Contains(words, "does not fit: n: expected integer") {
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
		if len(notices) != 1 || !strings.Contains(notices[0], "edit is set aside: its schema refers to itself") {
			t.Errorf("notices %q", notices)
		}
	})
}
