// Package outputtest has the tests that every place of stored outputs passes.
package outputtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/output"
	"pawl/run"
)

// Run tests a store of outputs. Open returns an empty one, and what opens it again, as another process does.
func Run(t *testing.T, open func(t *testing.T) (*output.Store, func() *output.Store)) {
	for name, test := range map[string]func(t *testing.T, s, other *output.Store){
		"comes back byte for byte": comesBack, "is replaced": isReplaced, "is found in its scope": isFound,
		"is aborted": isAborted, "is removed with its run": isRemoved, "is pruned": isPruned, "is stored by many": byMany,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, again := open(t)
			test(t, s, again())
		})
	}
}

func put(t testing.TB, s *output.Store, key output.Key, content []byte) {
	t.Helper()
	w, err := s.Create(key, "shell", "m_1")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	o, err := w.Commit(true)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(o.Reader()); err != nil || !bytes.Equal(got, content) {
		t.Errorf("what Commit returns has %d bytes of %d, %v", len(got), len(content), err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// get returns the content of an output; "" and an error if there is none.
func get(s *output.Store, key output.Key) (string, error) {
	o, err := s.Open(key)
	if err != nil {
		return "", err
	}
	got, err := io.ReadAll(o.Reader())
	return string(got), errors.Join(err, o.Close())
}

func isMissing(err error) bool { return errors.As(err, new(*output.NotFoundError)) }

func comesBack(t *testing.T, s, other *output.Store) {
	var list []any
	for i := range 60_000 {
		list = append(list, map[string]any{"id": i, "email": fmt.Sprint(i, "@example.org"), "active": i%3 == 0})
	}
	document, err := json.Marshal(map[string]any{"users": list})
	if err != nil {
		t.Fatal(err)
	}
	random := make([]byte, 3<<20+17) // cannot be compressed
	rand.NewChaCha8([32]byte{}).Read(random)
	for name, content := range map[string][]byte{
		"empty": nil, "one": []byte("x"), "json": document, "random": random, "text\\x00 ü": bytes.Repeat([]byte("line\n"), 500_000),
	} {
		key := output.Key{Conversation: "root", Run: "root-c1", Call: run.CallID(name)}
		put(t, s, key, content)
		if got, err := get(other, key); err != nil || got != string(content) {
			t.Errorf("%q: %d bytes of %d come back, %v", name, len(got), len(content), err)
		}
	}
	o, err := other.Find(output.Scope{Conversation: "root", Run: "root-c1"}, "json")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var wait sync.WaitGroup
	for range 3 { // a document may be asked by several at once
		wait.Go(func() {
			var args output.CountArgs
			if err := output.Decode([]byte(`{"counts":[{"name":"n","path":"$.users[?@.active==true]","count_type":"matches"}]}`), &args); err != nil {
				t.Error(err)
				return
			}
			if r, err := o.Count(t.Context(), args); err != nil || r.Total != 20_000 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wait.Wait()
}

func isReplaced(t *testing.T, s, other *output.Store) {
	key := output.Key{Conversation: "r", Run: "r", Call: "c_1"}
	put(t, s, key, bytes.Repeat([]byte("old"), 1<<20))
	put(t, other, key, []byte("new"))
	if got, err := get(s, key); got != "new" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	list, err := s.List(output.Scope{Conversation: "r", Run: "r"}, output.ListArgs{})
	if err != nil || list.Total != 1 || list.Outputs[0].Size != 3 {
		t.Errorf("the list has %+v, %v", list, err)
	}
}

func isFound(t *testing.T, s, other *output.Store) {
	for _, key := range []output.Key{{Conversation: "root", Run: "root", Call: "c_1"}, {Conversation: "root", Run: "root-c1", Call: "c_2"}, {Conversation: "other", Run: "other", Call: "c_3"}} {
		put(t, s, key, []byte("of "+string(key.Run)))
	}
	scope := output.Scope{Conversation: "root", Run: "root"}
	for id, want := range map[string]string{"c_1": "of root", "c_2": "of root-c1", "root-c1/c_2": "of root-c1", "c_3": "", "c_9": ""} {
		o, err := other.Find(scope, id)
		if want == "" {
			if !isMissing(err) || strings.Contains(err.Error(), "other") {
				t.Errorf("%s: %v", id, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		if got, err := io.ReadAll(o.Reader()); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", id, got, err)
		}
		o.Close()
	}
	list, err := other.List(scope, output.ListArgs{Preview: true, PreviewLength: 20})
	if err != nil || list.Total != 2 || list.Outputs[0].Preview == "" {
		t.Errorf("%+v, %v", list, err)
	}
	scope.Also = []output.Past{{Conversation: "other", Run: "other", Has: func(c run.CallID) bool { return c == "c_3" }}}
	if o, err := other.Find(scope, "c_3"); err != nil {
		t.Errorf("of the original of a fork: %v", err)
	} else {
		o.Close()
	}
}

func isAborted(t *testing.T, s, other *output.Store) {
	key := output.Key{Conversation: "r", Run: "r", Call: "c_1"}
	w, err := s.Create(key, "shell", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := get(other, key); !isMissing(err) {
		t.Errorf("it is found before it is committed: %v", err)
	}
	w.Abort()
	if _, err := get(other, key); !isMissing(err) {
		t.Errorf("it is found after it was aborted: %v", err)
	}
}

func isRemoved(t *testing.T, s, other *output.Store) {
	for _, id := range []run.ID{"root", "root-c1", "gone"} {
		for _, call := range []run.CallID{"c_1", "c_2"} {
			put(t, s, output.Key{Conversation: "root", Run: id, Call: call}, bytes.Repeat([]byte("x"), 1000))
		}
	}
	if s.UsageOf("root", "gone") == 0 || s.Usage() < s.UsageOf("root", "root")+s.UsageOf("root", "gone") {
		t.Errorf("the outputs occupy %d bytes, those of a run %d", s.Usage(), s.UsageOf("root", "gone"))
	}
	for range 2 { // it may be repeated
		if err := s.Remove("root", "root-c1"); err != nil {
			t.Error(err)
		}
	}
	if other.UsageOf("root", "root-c1") != 0 {
		t.Error("a removed run still has outputs")
	}
	exists := func(id run.ID) bool { return id == "root" }
	for _, dry := range []bool{true, false} {
		removed, err := other.PruneRuns(exists, dry)
		if err != nil || len(removed) != 1 || removed[0].Run != "gone" || removed[0].Conversation != "root" || removed[0].Freed == 0 {
			t.Errorf("removed are %+v, %v", removed, err)
		}
	}
	if list, err := s.List(output.Scope{Conversation: "root", Run: "root"}, output.ListArgs{}); err != nil || list.Total != 2 {
		t.Errorf("left are %+v, %v", list, err)
	}
}

func isPruned(t *testing.T, s, other *output.Store) {
	if s.Exceeds(output.Quota{Bytes: 1}) {
		t.Error("an empty store exceeds a quota")
	}
	for i := range 6 {
		id := run.ID(fmt.Sprint("run", i))
		put(t, s, output.Key{Conversation: id, Run: id, Call: "c_1"}, []byte(strings.Repeat(fmt.Sprint(i), 1000)))
	}
	live := func(m output.Meta) bool { return m.Run == "run0" }
	if !other.Exceeds(output.Quota{Bytes: 1}) || other.Exceeds(output.Quota{}) {
		t.Error("whether a quota is exceeded is not known")
	}
	all, err := other.Prune(output.Quota{}, live, true)
	if err != nil || len(all.Removed) > 0 {
		t.Errorf("without a quota: %+v, %v", all, err)
	}
	var removed []run.ID
	for _, dry := range []bool{true, false} {
		p, err := other.Prune(output.Quota{Bytes: all.Kept * 5 / 12}, live, dry)
		removed = nil
		for _, m := range p.Removed {
			removed = append(removed, m.Run)
		}
		if err != nil || !slices.Equal(removed, []run.ID{"run1", "run2", "run3", "run4"}) || p.Freed == 0 || p.Kept == 0 {
			t.Errorf("removed are %v, %+v, %v", removed, p, err)
		}
	}
	if p, err := s.Prune(output.Quota{Age: time.Nanosecond}, live, false); err != nil || len(p.Removed) != 1 || p.Removed[0].Run != "run5" {
		t.Errorf("of age: %+v, %v", p.Removed, err)
	}
}

func byMany(t *testing.T, s, other *output.Store) {
	var wait sync.WaitGroup
	key := func(i int) output.Key {
		return output.Key{Conversation: "r", Run: "r", Call: run.CallID(fmt.Sprint("c_", i))}
	}
	for i := range 16 {
		wait.Go(func() { put(t, []*output.Store{s, other}[i%2], key(i), bytes.Repeat(fmt.Append(nil, i), 300_000)) })
	}
	wait.Wait()
	for i := range 16 {
		if got, err := get(s, key(i)); err != nil || got != string(bytes.Repeat(fmt.Append(nil, i), 300_000)) {
			t.Errorf("output %d has %d bytes, %v", i, len(got), err)
		}
	}
}
