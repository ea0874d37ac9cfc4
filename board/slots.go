package board

import (
	"context"
	"slices"
	"sync"

	"pawl/task"
)

// slots bound how many runs work at once. They are given to those that wait by priority, then
// in the order in which they came.
type slots struct {
	mu      sync.Mutex
	free    int // may be negative: see force
	waiting []*waiter
}

type waiter struct {
	priority int
	got      chan struct{}
}

// take waits for a slot. It returns false when ctx or stop is done first.
func (s *slots) take(ctx context.Context, priority int, stop <-chan struct{}) bool {
	s.mu.Lock()
	w := &waiter{priority, make(chan struct{})}
	i := len(s.waiting)
	for i > 0 && s.waiting[i-1].priority < priority {
		i--
	}
	s.waiting = slices.Insert(s.waiting, i, w)
	s.grant()
	s.mu.Unlock()
	select {
	case <-w.got:
		return true
	case <-ctx.Done():
	case <-stop:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, w); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return false
	}
	return true // it came at the same time
}

// force takes a slot even if none is free: for a run that continues because a person has
// decided.
func (s *slots) force() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free--
}

// give gives a slot back.
func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.grant()
}

func (s *slots) grant() {
	for s.free > 0 && len(s.waiting) > 0 {
		s.free--
		close(s.waiting[0].got)
		s.waiting = s.waiting[1:]
	}
}

// kicks say that tasks have changed. The zero value is ready to be used.
type kicks struct {
	mu  sync.Mutex
	one map[task.ID]chan struct{}
}

// of returns a channel that is closed when the task changes.
func (k *kicks) of(id task.ID) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.one == nil {
		k.one = map[task.ID]chan struct{}{}
	}
	if k.one[id] == nil {
		k.one[id] = make(chan struct{})
	}
	return k.one[id]
}

// kick says that a task has changed.
func (k *kicks) kick(id task.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.one[id]; c != nil {
		close(c)
		delete(k.one, id)
	}
}
