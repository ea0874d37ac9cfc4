package store

import (
	"errors"
	"testing"

	"pawl/run"
)

// Whoever makes a log, or has a copy of one, computes all of its hashes but not the seal of this state folder.
func TestALogFromAnotherStateFolderIsReadAndNotContinued(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, key := range []string{"", "theirs"} {
		var theirs []byte
		if key != "" {
			theirs = []byte(key)
		}
		s := openTest(t, dir, Options{Key: theirs})
		id := run.ID("r" + key)
		if err := s.Append(t.Context(), id, 0, newRun(id)); err != nil {
			t.Fatal(err)
		}
		err := s.AppendTask(t.Context(), TaskAppend{Task: "t" + key, Events: []TaskEvent{{At: testTime, Type: "task_created", Version: 1, Data: "{}"}}, Row: TaskRow{Status: "waiting"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(t.Context(), id); err != nil {
			t.Errorf("where it was made: %v", err)
		}
		s.Close()
	}
	for _, readOnly := range []bool{true, false} {
		s := openTest(t, dir, Options{Key: []byte("ours"), ReadOnly: readOnly})
		for _, id := range []run.ID{"r", "rtheirs"} {
			seen, err := reading(s, id, 0)
			if bad, ok := errors.AsType[*ChainError](err); len(seen) != len(newRun(id)) || !ok || bad.Seq != 0 {
				t.Errorf("%s: read %d events, %v", id, len(seen), err)
			}
			if err := s.Append(t.Context(), id, int64(len(seen)), newRun(id)); err == nil {
				t.Errorf("%s: it was continued", id)
			}
		}
		for _, id := range []string{"t", "ttheirs"} {
			for _, err := range s.TaskEvents(t.Context(), id, 0) {
				if !errors.Is(err, ErrCorrupt) {
					t.Errorf("task %s: %v", id, err)
				}
			}
		}
		if runs, err := s.Runs(t.Context(), 0); err != nil || len(runs) != 2 || runs[0].Damage == "" || runs[1].Damage == "" {
			t.Errorf("listed: %+v, %v", runs, err)
		}
		s.Close()
	}
}
