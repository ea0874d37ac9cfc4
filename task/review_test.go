package task

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
)

// A review is one message: the agent gets each comment as data, says in its report what became of it, and a later
// report may say more.
func TestAReviewIsAnsweredCommentByComment(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.working()
	k.must("developer", submit("w", 1, aReport))
	k.must("", ended("w", run.Completed))
	review := Say{ID: "m1", Text: "Nearly.", Review: Review{Tree: "abc", Comments: []Comment{
		{File: "a.go", Side: "new", Line: 3, Quoted: "x := 1", Text: "Why 1?"},
		{File: "b.go", Text: "Is it needed?", Became: "changed"}, // which only the agent says
	}}}
	for what, bad := range map[string]Review{
		"each needs a file and a text":  {Comments: []Comment{{File: "a.go", Text: " "}}},
		"there are 501, more than 500":  {Comments: make([]Comment, 501)},
		"each needs a file and a text ": {Comments: []Comment{{Text: "x"}}},
	} {
		if err := k.try("anna", Say{ID: "m0", Review: bad}); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(what)) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	k.must("anna", review)
	k.wantStatus(Active)
	told := k.s.Next()[0].(StartRun).Input
	for _, want := range []string{"Nearly.\n", `{"id":"c1","file":"a.go","side":"new","line":3,"quoted":"x := 1","text":"Why 1?"}`, `{"id":"c2","file":"b.go","text":"Is it needed?"}`} {
		if !strings.Contains(told, want) {
			t.Errorf("the agent is told %s, without %s", told, want)
		}
	}
	if m := k.s.Messages[len(k.s.Messages)-1]; m.Typed != "Nearly.\nWhy 1?\nIs it needed?" { // and not what stands in the files
		t.Errorf("typed was %q", m.Typed)
	}
	seq := k.s.Seq
	k.must("anna", review) // sent twice
	if k.s.Seq != seq {
		t.Error("it was queued twice")
	}
	k.must("", Note{"w", AgentPrompted{2, 2, ""}})
	report := aReport
	report.Comments = []Comment{{ID: "c3", Became: "changed"}}
	var e *InputError
	if err := k.try("developer", submit("w", 2, report)); !errors.As(err, &e) || !strings.Contains(err.Error(), `there is no comment "c3": c1, c2`) {
		t.Errorf("an answer to a comment that is not there: %v", err)
	}
	report.Comments = []Comment{{ID: "c1", Became: "changed", Answer: "It is 2 now."}}
	k.must("developer", submit("w", 2, report))
	k.must("", ended("w", run.Completed))
	before := k.s
	k.must("anna", Say{ID: "m2", Review: Review{Comments: []Comment{{File: "a.go", Text: "Thanks."}}}})
	k.must("", Note{"w", AgentPrompted{3, 3, ""}})
	report.Comments = []Comment{{ID: "c2", Became: "answered", Answer: "Yes."}, {ID: "c3", Became: "open"}}
	k.must("developer", submit("w", 3, report))
	want := []Comment{
		{ID: "c1", File: "a.go", Side: "new", Line: 3, Quoted: "x := 1", Text: "Why 1?", Became: "changed", Answer: "It is 2 now."},
		{ID: "c2", File: "b.go", Text: "Is it needed?", Became: "answered", Answer: "Yes."},
	}
	if diff := cmp.Diff(want, k.s.Messages[0].Comments); diff != "" || k.s.Messages[0].Tree != "abc" || k.s.Messages[1].Comments[0].Became != "open" {
		t.Errorf("the reviews are %+v (-want +got):\n%s", k.s.Messages, diff)
	}
	if before.Messages[0].Comments[1].Became != "" {
		t.Error("a state from before the report has changed")
	}
}
