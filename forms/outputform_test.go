package forms

import (
	"slices"
	"testing"

	"pawl/output"
	"pawl/run"
)

func TestAPageOfOutputsGoesOverSeveralRuns(t *testing.T) {
	t.Parallel()
	s := output.NewStore(t.TempDir())
	var scopes []output.Scope
	for _, id := range []run.ID{"a", "b", "c"} {
		for _, call := range []run.CallID{"c_1", "c_2"} {
			w, err := s.Create(output.Key{Conversation: id, Run: id, Call: call}, "shell", "m_2")
			if err != nil {
				t.Fatal(err)
			}
			o, err := w.Commit(true)
			if err != nil {
				t.Fatal(err)
			}
			o.Close() // it was only written
		}
		scopes = append(scopes, output.Scope{Conversation: id, Run: id})
	}
	for _, c := range []struct {
		limit, offset int
		want          []string
		next          int
	}{
		{0, 0, []string{"a/c_1", "a/c_2", "b/c_1", "b/c_2", "c/c_1", "c/c_2"}, 0},
		{3, 0, []string{"a/c_1", "a/c_2", "b/c_1"}, 3},
		{3, 3, []string{"b/c_2", "c/c_1", "c/c_2"}, 0},
		{1, 2, []string{"b/c_1"}, 3},
		{0, 5, []string{"c/c_2"}, 0},
		{2, 7, nil, 0},
	} {
		list, total, err := ListOutputs(s, output.ListArgs{SortOrder: "asc", Limit: c.limit, Offset: c.offset}, scopes...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range list.Items {
			got = append(got, string(o.Run)+"/"+o.ID)
		}
		if !slices.Equal(got, c.want) || list.Next != c.next || total != 6 || list.Items == nil {
			t.Errorf("%d after %d: %q of %d, next %d; want %q, next %d", c.limit, c.offset, got, total, list.Next, c.want, c.next)
		}
	}
}
