package worker

import (
	"strings"
	"testing"
	"testing/synctest"

	"pawl/run"
)

func TestAnAnswerInPiecesIsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"text":"The first ha","stop":"max_tokens"}
{"text":"lf, a pause, ","stop":"pause_turn"}
{"text":"and the end."}`)
		s := r.run(r.create(), prompt("go"))
		if s.Turn.End.End != run.Completed || s.Answer() != "The first half, a pause, and the end." {
			t.Errorf("ended %+v with %q", s.Turn.End, s.Answer())
		}
	})
}

func TestAnAnswerBySchemaMayComeInPieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"text":"{\"n\":","stop":"max_tokens"}
{"text":" 3","stop":"max_tokens"}
{"text":"}"}`)
		r.w.Structured = func(string) bool { return true }
		s := r.run(r.createAsked(countSchema), prompt("How many?"))
		if s.Turn.End.End != run.Completed || s.Submission().Value != `{"n":3}` {
			t.Errorf("ended %+v with %+v", s.Turn.End, s.Submission())
		}
		for _, p := range logged[run.Replied](t, r) {
			if p.Unfit != "" {
				t.Errorf("a piece was taken for the whole: %q", p.Unfit)
			}
		}
	})
}

// A model that has learnt to answer with objects may answer so when it is asked for the
// account of a turn that ended early. Words in it are the account; another action is none.
func TestAnAccountThatIsAnotherActionIsMadeFromTheLog(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"action":"next_step","tool":"read","args":{"do":"ok more"}}`:   "Based on the tool executions:\n- read ok ",
		`{"action":"complete","message":"I have read half of it."}`:      "I have read half of it.",
		`{"action":"ask_user","question":"May I go on?"}`:                "Based on the tool executions:\n- read ok ",
		`I have read half of it, and this is no object.`:                 "I have read half of it, and this is no object.",
		`{"action":"guardrail_stop","reason":"I must not","message":""}`: "Based on the tool executions:\n- read ok ",
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, d, _ := controlled(t, `{"action":"next_step","tool":"read","args":{"do":"ok A"}}`, answer)
				steps := run.Configured{Change: run.ConfigChange{Limits: run.Limits{Steps: 1}}}
				s := r.run(d, steps, prompt("go"))
				if s.Turn.End.Reason != "max_steps" || !strings.HasPrefix(s.Answer(), want) {
					t.Errorf("ended %+v with %q, want %q", s.Turn.End, s.Answer(), want)
				}
			})
		})
	}
}

func TestAnAnswerThatPromisesAndDoesNotActIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"read","args":{"do":"ok code"}}]}
{"text":"I see. Let me edit the file."}
{"text":"Done."}`)
		s := r.run(r.create(), prompt("go"))
		told := logged[run.Told](t, r)
		if s.Answer() != "Done." || len(told) != 1 || told[0].Reason != run.TellPromised {
			t.Errorf("answer %q, told %+v", s.Answer(), told)
		}
	})
}
