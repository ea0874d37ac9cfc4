package storetest

import (
	"errors"
	"testing"

	"pawl/run"
	"pawl/store"
)

func TestMemoryPassesTheSuite(t *testing.T) {
	t.Parallel()
	Run(t, func(t *testing.T) (store.Store, func() store.Store) {
		m := NewMemory()
		return m, func() store.Store { return m.Other() }
	})
}

func TestACrashKeepsWhatWasAppendedAndFreesTheLeases(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	begin(t, m, "r")
	put(t, m, "r", store.Row{Key: "a", Kind: "say", At: start})
	if _, err := m.Own(t.Context(), "r", ""); err != nil {
		t.Fatal(err)
	}
	other := m.Other()
	if _, err := other.Own(t.Context(), "another", "/run/other.sock"); err != nil {
		t.Fatal(err)
	}

	next := m.Crash()
	diff(t, "events", load(t, next, "r", 0), numbered(0, created("r")))
	diff(t, "rows that wait", len(inbox(t, next, "r")), 1)
	if _, err := next.Own(t.Context(), "r", ""); err != nil {
		t.Errorf("the lease of the dead process: %v", err)
	}
	if _, err := next.Own(t.Context(), "another", ""); err == nil {
		t.Error("the crash of one process freed the lease of another")
	}
	wantErr(t, "the dead process", m.Append(t.Context(), "r", 1, []run.Event{noted(1)}), ErrCrashed)
	appendTo(t, next, "r", 1, noted(1))
}

func TestAFaultBeforeTheWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	m := NewMemory()
	m.Fault = FailNth("append", 2, Fault{Err: broken})
	begin(t, m, "r")
	wantErr(t, "the second append", m.Append(t.Context(), "r", 1, []run.Event{noted(1)}), broken)
	diff(t, "events", len(load(t, m, "r", 0)), 1)
	appendTo(t, m, "r", 1, noted(1))
}

func TestAFaultAfterTheWriteIsDurableAllTheSame(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	m := NewMemory()
	m.Fault = FailNth("append", 2, Fault{Err: broken, Written: true})
	begin(t, m, "r")
	wantErr(t, "the second append", m.Append(t.Context(), "r", 1, []run.Event{noted(1)}), broken)
	diff(t, "events after a crash", load(t, m.Crash(), "r", 1), numbered(1, noted(1)))
}

func TestAConflictCanBeOrdered(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	begin(t, m, "r")
	m.Fault = func(op Op) Fault {
		if op.Name == "append" && op.After == 1 {
			return Fault{Err: store.ErrConflict}
		}
		return Fault{}
	}
	wantErr(t, "append", m.Append(t.Context(), "r", 1, []run.Event{noted(1)}), store.ErrConflict)
	put(t, m, "r", store.Row{Key: "a", Kind: "say", At: start})
}
