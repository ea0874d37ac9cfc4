package limit

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pawl/llm"
	"pawl/run"
)

// places are those of several processes.
type places struct {
	mu    sync.Mutex
	taken map[string]bool
}

func (p *places) own(_ context.Context, place string) (func() error, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[place] {
		return nil, ErrTaken
	}
	p.taken[place] = true
	return func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken[place] = false
		return nil
	}, nil
}

// slow answers after a second, or with an error, and counts the requests that it has at once.
type slow struct {
	mu      sync.Mutex
	at      int
	most    int
	refuses bool
}

func (s *slow) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.mu.Lock()
		s.at++
		s.most = max(s.most, s.at)
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.at--
			s.mu.Unlock()
		}()
		if s.refuses {
			yield(llm.Delta{}, &llm.Error{Kind: run.ErrRateLimited, Wait: 20 * time.Second})
			return
		}
		time.Sleep(time.Second)
		yield(llm.Delta{Answer: &llm.Answer{}}, nil)
	}
}

func (*slow) Wire() string                                                 { return "slow" }
func (*slow) Encode(run.Message) (json.RawMessage, error)                  { return nil, nil }
func (*slow) EncodeTool(llm.Tool) (json.RawMessage, error)                 { return nil, nil }
func (*slow) EncodeOutput(schema json.RawMessage) (json.RawMessage, error) { return schema, nil }

// processes returns the providers of processes that share places and a server.
func processes(count, n int, s *slow) (all []*Provider) {
	shared := &places{taken: map[string]bool{}}
	for range count {
		all = append(all, New(s, "k", n, shared.own, nil))
	}
	return all
}

func ask(ctx context.Context, p *Provider) (err error) {
	for _, err = range p.Stream(ctx, llm.Request{}) {
	}
	return err
}

func TestSeveralProcessesSendAsManyAtOnceAsTheyMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		began := time.Now()
		var all sync.WaitGroup
		for _, p := range processes(3, 2, s) {
			for range 4 {
				all.Go(func() {
					if err := ask(t.Context(), p); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if took := time.Since(began); s.most != 2 || took < 6*time.Second || took > 8*time.Second {
			t.Errorf("12 requests of a second took %s, with %d at once", took, s.most)
		}
	})
}

// While the provider asks to wait, no process sends more.
func TestARefusedRequestKeepsItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{refuses: true}
		two := processes(2, 1, s)
		if e := new(llm.Error); !errors.As(ask(t.Context(), two[0]), &e) || e.Wait != 20*time.Second {
			t.Errorf("the error is %v", e)
		}
		s.refuses = false
		began := time.Now()
		if err := ask(t.Context(), two[1]); err != nil || time.Since(began) < 20*time.Second {
			t.Errorf("another process sent after %s: %v", time.Since(began), err)
		}
	})
}

func TestARequestThatWaitsForAPlaceCanBeStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		two := processes(2, 1, &slow{})
		var all sync.WaitGroup
		all.Go(func() { ask(t.Context(), two[0]) })
		synctest.Wait()
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, stop)
		for range 2 { // one looks for a place, the other waits for its turn
			all.Go(func() {
				if e := new(llm.Error); !errors.As(ask(ctx, two[1]), &e) || e.Kind != run.ErrAborted {
					t.Errorf("the error is %v", e)
				}
			})
		}
		all.Wait()
	})
}
