package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl/permission"
	"pawl/run"
	"pawl/store"
)

// countedStore counts how often inboxes are read.
type countedStore struct {
	store.Store
	one, all atomic.Int64
}

func (s *countedStore) Inbox(ctx context.Context, id run.ID) ([]store.Row, error) {
	s.one.Add(1)
	return s.Store.Inbox(ctx, id)
}

func (s *countedStore) Inboxes(ctx context.Context) ([]run.ID, error) {
	s.all.Add(1)
	return s.Store.Inboxes(ctx)
}

// Runs that wait are looked at together, and those that something has happened to continue also
// when no one has told them.
func TestRunsThatWaitAreLookedAtTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const runs = 20
		r := newRig(t, `{"calls":[{"tool":"edit","args":{"do":"ok"}}],"repeat":true}`)
		r.w.OnAsk = AskWait
		rules := &ruleSet{}
		r.w.Authorizer = rules
		st := &countedStore{Store: r.mem}
		r.w.Store = st
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan int, runs)
		ended := make(chan struct{}, runs)
		for i := range runs {
			d, err := r.w.Create(ctx, run.Created{Run: run.ID(fmt.Sprintf("r%d", i)), Workspace: r.dir}, nil)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				defer func() { d.Close(); ended <- struct{}{} }()
				if s, err := d.Run(ctx, prompt("go")); err != nil || !s.Turn.Open() {
					t.Errorf("run %d does not wait: %v", i, err)
				}
				if d.Await(ctx) == nil {
					gone <- i
				}
			}()
		}
		synctest.Wait()
		before := st.one.Load()
		time.Sleep(10*pollIdle + pollIdle/2)
		synctest.Wait()
		if one, all := st.one.Load()-before, st.all.Load(); one != 0 || all != 10 {
			t.Errorf("in 10 rounds %d inboxes were read one by one, and all of them %d times", one, all)
		}
		if err := st.Put(t.Context(), "r7", store.Row{Key: "k", Kind: "say", Payload: `{"id":"k","delivery":"steer","parts":[{"type":"text","text":"go on"}]}`}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pollIdle)
		synctest.Wait()
		if len(gone) != 1 || <-gone != 7 {
			t.Error("another run than the one with a row in its inbox has continued")
		}
		if err := rules.AddRules("", permission.Rules{{Effect: permission.Allow, Tool: "edit"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pollIdle)
		synctest.Wait()
		if len(gone) != runs-1 {
			t.Errorf("%d runs continue after the rules have changed, want %d", len(gone), runs-1)
		}
		cancel()
		for range runs {
			<-ended
		}
	})
}
