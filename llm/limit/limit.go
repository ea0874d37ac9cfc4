// Package limit bounds how many requests a provider is sent at once with a key, by all processes that share a store. It wraps
// a provider.
//
// A request takes one of the places that its key has, and waits for one while all are taken. A place is a lease of the store, so
// that of a process that dies is free again a moment later. A request that the provider refuses, because there were too many,
// keeps its place for as long as the provider asks to wait: so all processes ask less then.
package limit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"time"

	"pawl/llm"
	"pawl/run"
)

// ErrTaken says that another request has a place.
var ErrTaken = errors.New("the place is taken")

// An Own takes a place, or returns [ErrTaken]. release frees it. It is safe for concurrent use.
type Own func(ctx context.Context, place string) (release func() error, err error)

// A Provider sends at most so many requests at once to another one. It is safe for concurrent use.
type Provider struct {
	llm.Provider
	key  string
	n    int
	own  Own
	turn chan struct{} // of the requests of this process that wait, one looks for a place
	log  *slog.Logger
}

// New returns a provider that sends at most n requests at once to p, of all that have the key, by places that own gives. The
// key is of the characters of a run's id.
func New(p llm.Provider, key string, n int, own Own, log *slog.Logger) *Provider {
	return &Provider{Provider: p, key: key, n: n, own: own, turn: make(chan struct{}, 1), log: log}
}

const (
	// pollPlaces is how often a request that waits looks at a place.
	pollPlaces = 30 * time.Millisecond
	// maxKept bounds how long a request that was refused keeps its place: a key may be refused for hours, and then each request
	// says so.
	maxKept = time.Minute
)

// Stream sends r when there is a place for it.
func (p *Provider) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		release, err := p.enter(ctx)
		if err != nil {
			yield(llm.Delta{}, llm.AsError(ctx, err))
			return
		}
		var wait time.Duration
		defer func() { p.leave(release, wait) }()
		for d, err := range p.Provider.Stream(ctx, r) {
			if e, ok := errors.AsType[*llm.Error](err); ok && e.Kind == run.ErrRateLimited {
				wait = min(e.Wait, maxKept)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// enter waits for a place and takes it.
func (p *Provider) enter(ctx context.Context) (release func() error, err error) {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-p.turn }()
	first := rand.IntN(p.n)
	for tried := 0; ; tried++ {
		release, err = p.own(ctx, fmt.Sprintf("limit-%s-%d", p.key, (first+tried)%p.n))
		if !errors.Is(err, ErrTaken) {
			return release, err
		}
		if tried+1 < p.n {
			continue
		}
		select {
		case <-time.After(pollPlaces):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (p *Provider) leave(release func() error, wait time.Duration) {
	free := func() {
		if err := release(); err != nil && p.log != nil {
			p.log.Warn("the place of a request is free only when its lease has ended", "error", err)
		}
	}
	if wait > 0 {
		time.AfterFunc(wait, free)
		return
	}
	free()
}
