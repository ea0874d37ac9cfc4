package output

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/run"
)

func TestTheOutputsOfARunAreRemovedWithIt(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if used := s.Usage() + s.UsageOf("root", "root"); used != 0 {
		t.Errorf("an empty store occupies %d bytes", used)
	}
	for _, owner := range []run.ID{"root", "child"} {
		for _, call := range []run.CallID{"c_1", "c_2"} {
			put(t, s, "root", owner, call, "shell", strings.Repeat(string(call), 1000))
		}
	}
	put(t, s, "other", "other", "c_1", "shell", "kept")
	all, child := s.Usage(), s.UsageOf("root", "child")
	if child == 0 || all < 2*child {
		t.Errorf("all outputs occupy %d bytes, those of a run %d", all, child)
	}
	for _, owner := range []run.ID{"child", "root", "root"} {
		if err := s.Remove("root", owner); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "root")); err == nil {
		t.Error("the folder of the conversation is left")
	}
	if left, err := s.everything(); err != nil || len(left) != 1 || left[0].Run != "other" {
		t.Errorf("left are %+v, %v", left, err)
	}
}

func TestOutputsOfRunsThatAreNoMoreAreRemoved(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	exists := func(id run.ID) bool { return id == "root" }
	if removed, err := s.PruneRuns(exists, false); len(removed) != 0 || err != nil {
		t.Errorf("an empty store: %v, %v", removed, err)
	}
	for _, id := range []run.ID{"root", "gone"} {
		put(t, s, "root", id, "c_1", "shell", "text")
	}
	put(t, s, "gone-too", "gone-too", "c_1", "shell", "text")
	w, err := s.Create(Key{"root", "new", "c_1"}, "shell", "") // is being stored
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := w.create(); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		removed, err := s.PruneRuns(exists, dry)
		if err != nil {
			t.Fatal(err)
		}
		var ids []run.ID
		for _, r := range removed {
			if r.Freed == 0 {
				t.Errorf("%+v frees nothing", r)
			}
			ids = append(ids, r.Run)
		}
		slices.Sort(ids)
		same(t, "removed", ids, []run.ID{"gone", "gone-too"})
	}
	if left, err := s.everything(); err != nil || len(left) != 1 || left[0].Run != "root" {
		t.Errorf("left are %+v, %v", left, err)
	}
	if _, err := w.Commit(true); err != nil {
		t.Error(err)
	}
}
