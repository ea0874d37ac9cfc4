package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/golden"
)

// What a face and a script can read of a run at the end of each trace.
func TestWhatIsKnownAtTheEndOfEachTrace(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	object := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, now := finish(t, string(text))
		used, limit := s.Context()
		fmt.Fprintf(&b, "== %s\n", strings.TrimSuffix(filepath.Base(file), ".trace"))
		fmt.Fprintf(&b, "event %d, turn %d (%v), steps %d and %d, calls %d, next c_%d, driven %v\n",
			s.Seq, s.Turn.N, s.Turn.Phase, s.Steps, s.Turn.Steps, s.Turn.Asked, s.NextCall(), s.Driven(now))
		if at := s.Deadline(); !at.IsZero() {
			fmt.Fprintf(&b, "deadline in %v\n", at.Sub(now))
		}
		fmt.Fprintf(&b, "used %s and %s, context %d of %d, left %s\n", object(s.Usage), object(s.Turn.Usage), used, limit, object(s.Left(now)))
		fmt.Fprintf(&b, "finished %t with %s\n", s.Finished(), object(s.Turn.End))
		for _, c := range []struct{ name, text string }{{"answers", s.Answer()}, {"says", s.Said()}, {"has not finished", s.Unfinished()}, {"conversation", s.Conversation}} {
			if c.text != "" {
				fmt.Fprintf(&b, "%s %q\n", c.name, c.text)
			}
		}
		if s.Assignment() > 0 || s.Submission() != (Submission{}) {
			fmt.Fprintf(&b, "assignment %d has %+v\n", s.Assignment(), s.Submission())
		}
		for _, q := range s.Questions() {
			fmt.Fprintf(&b, "asks %s %s in %s\n", q.ID, q.Arguments, s.MessageOf(q.ID))
		}
		for _, w := range s.Turn.Pending() {
			fmt.Fprintf(&b, "pending %s %q\n", w.ID, PlainText(w.Parts))
		}
		for _, w := range s.Queue {
			fmt.Fprintf(&b, "queued %s %q\n", w.ID, PlainText(w.Parts))
		}
		for _, w := range s.Returned {
			fmt.Fprintf(&b, "returned %s %q\n", w.ID, PlainText(w.Parts))
		}
		for _, c := range s.Turn.Calls {
			if c.Decision.Answer != "" {
				fmt.Fprintf(&b, "decided on %s: %s\n", c.ID, object(c.Decision))
			}
		}
		for _, l := range s.Turn.lines() {
			fmt.Fprintf(&b, "call %s %s: %s\n", l.Call, l.Args, l.words())
		}
		for _, p := range s.Recover() {
			fmt.Fprintf(&b, "after a kill: %s\n", strings.TrimSpace(describe(p)))
		}
		for _, p := range s.LeaveBehind() {
			fmt.Fprintf(&b, "left behind: %s\n", strings.TrimSpace(describe(p)))
		}
		if s.Plan.Steps != nil {
			fmt.Fprintf(&b, "plan %s\n", object(s.Plan))
		}
		fmt.Fprintf(&b, "summary:\n  %s\n", strings.ReplaceAll(s.deterministicSummary(), "\n", "\n  "))
	}
	golden.Compare(t, "ends.golden", []byte(b.String()))
}
