package output

import (
	"io"
	"strings"
	"testing"
	"time"

	"pawl/run"
)

func TestTheDefaultIsTheNewestEnvelope(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s.now = func() time.Time { at = at.Add(time.Second); return at }
	scope := Scope{Conversation: "root", Run: "root"}
	store := func(call run.CallID, text string, mode Mode) {
		t.Helper()
		w, err := s.Create(Key{"root", "root", call}, "shell", "")
		if err != nil {
			t.Fatal(err)
		}
		w.Mode, w.Limits = mode, DefaultLimits
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		o, err := w.Commit(true)
		if err != nil {
			t.Fatal(err)
		}
		o.Close()
	}
	newest := func(want run.CallID) {
		t.Helper()
		o, err := s.Find(scope, "")
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		if o.ID != want {
			t.Errorf("the default is %s, want %s", o.ID, want)
		}
	}
	store("c_1", "small", Auto)
	store("c_2", "smaller", Auto)
	newest("c_2")
	store("c_3", strings.Repeat("large ", 10_000), Auto)
	store("c_4", "small again", Auto)
	store("c_5", strings.Repeat("large ", 10_000), Inline)
	newest("c_3")
	store("c_6", "asked to be stored", Persist)
	store("c_7", "small again", Auto)
	newest("c_6")
}

func TestAForkAsksTheOutputsOfItsOriginalUpToTheFork(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	put(t, s, "first", "first", "c_1", "shell", "one of the original")
	put(t, s, "first", "first", "c_2", "shell", "two of the original")
	put(t, s, "first", "first", "c_3", "shell", "after the fork")
	put(t, s, "first", "child", "c_1", "shell", "of the original's child")
	put(t, s, "fork", "fork", "c_2", "shell", "two of the fork")
	scope := Scope{Conversation: "fork", Run: "fork", Also: []Past{{Conversation: "first", Run: "first", Has: func(c run.CallID) bool { return c != "c_3" }}}}
	for id, want := range map[string]string{"c_1": "one of the original", "c_2": "two of the fork", "": "two of the fork"} {
		o, err := s.Find(scope, id)
		if err != nil {
			t.Errorf("%q: %v", id, err)
			continue
		}
		text, err := io.ReadAll(io.NewSectionReader(o.raw, 0, o.Bytes()))
		if err != nil || string(text) != want {
			t.Errorf("%q is %q, %v; want %q", id, text, err, want)
		}
		o.Close()
	}
	for _, id := range []string{"c_3", "child/c_1", "first/c_3"} {
		if _, err := s.Find(scope, id); err == nil || !strings.Contains(err.Error(), "there is no stored output") {
			t.Errorf("%s: %v", id, err)
		}
	}
	var args ListArgs
	if err := Decode(nil, &args); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(scope, args)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, o := range list.Outputs {
		ids = append(ids, o.ID+" "+o.Preview)
	}
	same(t, "the list", strings.Join(ids, "; "), "c_2 two of the fork; c_2 two of the original; c_1 one of the original")
}

func TestAChildIsInTheConversationOfItsRoot(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	put(t, s, "root", "root", "c_1", "shell", "of the root")
	put(t, s, "root", "child", "c_1", "shell", "of the child")
	put(t, s, "root", "root", "c_2", "shell", "only of the root")
	scope := Scope{Conversation: "root", Run: "child"}
	for id, want := range map[string]string{"c_1": "of the child", "root/c_1": "of the root", "c_2": "only of the root", "": "of the child"} {
		o, err := s.Find(scope, id)
		if err != nil {
			t.Errorf("%q: %v", id, err)
			continue
		}
		if got, _ := o.Preview(100); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
		o.Close()
	}
}
