package storetest

import (
	"errors"
	"sync"
	"testing"

	"pawl/run"
	"pawl/store"
)

func testOwn(t *testing.T, st store.Store, reopen func() store.Store) {
	ctx := t.Context()
	lease, err := st.Own(ctx, "r", "/run/one.sock")
	if err != nil {
		t.Fatal(err)
	}
	for name, st := range map[string]store.Store{"the same store": st, "another store": reopen()} {
		_, err := st.Own(ctx, "r", "/run/two.sock")
		owned, ok := errors.AsType[*store.OwnedError](err)
		if !ok {
			t.Fatalf("%s: got error %v, want an OwnedError", name, err)
		}
		diff(t, name+": the owner", []any{owned.Run, owned.Socket, owned.PID > 0}, []any{run.ID("r"), "/run/one.sock", true})
	}
	held := func(what string, l store.Lease, want bool) {
		t.Helper()
		if got, err := l.Held(ctx); got != want || err != nil {
			t.Errorf("%s: held is %t, %v", what, got, err)
		}
	}
	held("a lease", lease, true)
	another, err := st.Own(ctx, "another", "")
	if err != nil {
		t.Errorf("another run: %v", err)
	} else if err := another.Release(); err != nil {
		t.Error(err)
	}

	for range 2 {
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	}
	held("a lease that was released", lease, false)
	next, err := reopen().Own(ctx, "r", "/run/three.sock")
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	held("a lease whose run another has", lease, false)
	held("the next", next, true)
	if err := lease.Release(); err != nil { // the old lease has nothing left to give up
		t.Error(err)
	}
	if _, err := st.Own(ctx, "r", ""); err == nil {
		t.Error("an old lease, released again, freed the run of its new owner")
	}
	if err := next.Release(); err != nil {
		t.Error(err)
	}
}

func testOwner(t *testing.T, st store.Store, reopen func() store.Store) {
	ctx, other := t.Context(), reopen()
	owner := func(what string, want bool) {
		t.Helper()
		for _, st := range []store.Store{st, other} {
			got, owned, err := st.Owner(ctx, "r")
			if err != nil {
				t.Fatal(err)
			}
			diff(t, what, []any{owned, got.Socket, got.PID > 0}, []any{want, map[bool]string{true: "/run/r.sock"}[want], want})
		}
	}
	owner("a run that never had an owner", false)
	lease, err := st.Own(ctx, "r", "/run/r.sock")
	if err != nil {
		t.Fatal(err)
	}
	owner("a run with an owner", true)
	for _, why := range []string{"for memory", "for the others", ""} {
		if err := lease.Wait(why); err != nil {
			t.Fatal(err)
		}
		owner("an owner that waits "+why, true)
		if got, _, err := other.Owner(ctx, "r"); err != nil || got.Waits != why {
			t.Errorf("the owner waits %q, want %q; %v", got.Waits, why, err)
		}
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	owner("a run that was released", false)
	_, _, err = st.Owner(ctx, "../r")
	wantErr(t, "an id that is no file name", err, store.ErrBadID)

	// One asks all the time; another that takes the run is never refused for it.
	done := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		defer close(done)
		for range 2000 {
			if _, _, err := other.Owner(ctx, "r"); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for taken := 0; ; taken++ {
		select {
		case <-done:
			asking.Wait()
			return
		default:
		}
		lease, err := st.Own(ctx, "r", "")
		if err != nil {
			t.Fatalf("refused after %d leases: %v", taken, err)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
