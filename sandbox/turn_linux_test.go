package sandbox_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pawl/run"
)

// Of commands that run unasked and those that were allowed only one kind runs at a time, in the order in which they come.
func TestCommandsThatRunUnaskedAndOthersTakeTurns(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	mine := s.policy
	s.plan(t) // another process has its own
	other := s.policy
	stop := errors.New("stopped")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	now := func(level run.Confinement) (leave func(), ok bool) {
		t.Helper()
		turn, err := other.Turn(ended, level, false)
		if err != nil && !errors.Is(err, stop) {
			t.Fatal(err)
		}
		return turn.Leave, err == nil
	}
	asked := []run.Confinement{run.Confined, run.WithNetwork, run.Unconfined}
	for _, level := range append(asked, run.Inside) {
		turn, err := mine.Turn(t.Context(), level, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range append(asked, run.Inside, run.Trial, run.ReadOnly) {
			leave, ok := now(l)
			if waits := (l == run.Inside) != (level == run.Inside) && (l == run.Inside || slices.Contains(asked, l)); ok == waits {
				t.Errorf("beside %q one at %q runs: %t", level, l, ok)
			}
			leave()
		}
		turn.Leave()
		turn.Leave()
		if leave, ok := now(run.Inside); ok {
			leave()
		} else {
			t.Errorf("after %q nothing runs", level)
		}
	}

	// One that runs unasked and can change the repository runs beside none, and none beside it.
	for _, level := range append(asked, run.Inside) {
		for _, alone := range []bool{true, false} {
			turn, err := mine.Turn(t.Context(), level, !alone)
			if err != nil {
				t.Fatal(err)
			}
			second, err := other.Turn(ended, run.Inside, alone)
			if second.Leave(); err == nil {
				t.Errorf("beside %q one runs unasked that git's work must not meet: first %t", level, !alone)
			}
			turn.Leave()
		}
	}
	git, err := mine.Turn(t.Context(), run.Inside, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range append(asked, run.Inside) {
		if leave, ok := now(l); ok {
			leave()
			t.Errorf("beside git's work that nobody was asked about one at %q runs", l)
		}
	}
	git.Leave()

	// Nor is a file written that programs obey, by whatever name, while one runs unasked; others are.
	unasked, err := mine.Turn(t.Context(), run.Inside, false)
	if err != nil {
		t.Fatal(err)
	}
	for path, waits := range map[string]bool{"main.go": false, "sub/package.json": true, ".github/workflows/ci.yml": true, s.workspace + "/.envrc": true, "/elsewhere/.envrc": true} {
		turn, err := other.TurnToWrite(ended, path)
		if turn.Leave(); errors.Is(err, stop) != waits {
			t.Errorf("%s: %v", path, err)
		}
	}
	unasked.Leave()
	if turn, err := other.TurnToWrite(t.Context(), "package.json"); err != nil {
		t.Error(err)
	} else if _, ok := now(run.Inside); ok {
		t.Error("one runs unasked while a file is written that programs obey")
	} else {
		turn.Leave()
	}

	// One that waits has its turn before those that come later.
	first, err := mine.Turn(t.Context(), run.Inside, false)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan func(), 1)
	go func() {
		turn, err := mine.Turn(t.Context(), run.Confined, false)
		if err != nil {
			t.Error(err)
		}
		got <- turn.Leave
	}()
	for {
		leave, ok := now(run.Inside)
		leave()
		if !ok {
			break
		}
	}
	first.Leave()
	leave := <-got
	if _, ok := now(run.Inside); ok {
		t.Error("one that runs unasked runs beside one that was allowed")
	}
	leave()
}
