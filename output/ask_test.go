package output

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
)

// ask puts a question as a model does, by its arguments as JSON.
func ask[A, R any](t testing.TB, question func(context.Context, A) (R, error), args string) R {
	t.Helper()
	r, err := try(t, question, args)
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return r
}

// try is ask for questions that may fail.
func try[A, R any](t testing.TB, question func(context.Context, A) (R, error), args string) (r R, err error) {
	t.Helper()
	var a A
	if err := Decode(json.RawMessage(args), &a); err != nil {
		return r, err
	}
	return question(t.Context(), a)
}

// plain returns a text as a document without an index.
func plain(t testing.TB, text string) *Document {
	t.Helper()
	d, err := newDocument("doc", strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// stored returns a text as a stored output.
func stored(t testing.TB, text string) *Output {
	t.Helper()
	return put(t, newStore(t), "root", "root", "c_1", "shell", text)
}

// newStore returns a store whose clock advances by a second with each output.
func newStore(t testing.TB) *Store {
	s := NewStore(filepath.Join(t.TempDir(), "outputs"))
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s.now = func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	return s
}

func put(t testing.TB, s *Store, conversation, owner run.ID, id run.CallID, tool, text string) *Output {
	t.Helper()
	w, err := s.Create(Key{conversation, owner, id}, tool, "m_1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	o, err := w.Commit(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// asJSON returns v as a model reads it.
func asJSON(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatalf("%T: %v", v, err)
	}
	return strings.TrimSpace(b.String())
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}
