package board

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"pawl/task"
)

// slots bound how many runs work at once, and let none begin beside others while memory is short. They are given to those
// that wait by priority, then in the order in which they came.
type slots struct {
	all    int
	least  int64 // bytes of memory that have to be left
	memory func() int64

	mu      sync.Mutex
	free    int // may be negative: see force
	given   []time.Time
	waiting []*waiter
	looks   bool // at the memory again, after pollMemory
}

// newSlots returns n slots; memory is availableMemory.
func newSlots(n int, least int64, memory func() int64) *slots {
	return &slots{all: n, free: n, least: least, memory: memory}
}

// pollMemory is how often the memory is looked at while runs wait for it.
const pollMemory = time.Second

type waiter struct {
	priority int
	got      chan struct{}
	told     *hold      // the last; nil: none
	holds    chan *hold // has one that take has not seen yet
}

// A hold is what keeps a run from beginning.
type hold struct {
	why    string // for people
	memory bool   // else as many are at work as may be
}

// take waits for a slot. It returns false when ctx or stop is done first. held is called meanwhile: with what the run waits
// for, when that is another thing than before.
func (s *slots) take(ctx context.Context, priority int, stop <-chan struct{}, held func(*hold)) bool {
	s.mu.Lock()
	w := &waiter{priority: priority, got: make(chan struct{}), holds: make(chan *hold, 1)}
	i := len(s.waiting)
	for i > 0 && s.waiting[i-1].priority < priority {
		i--
	}
	s.waiting = slices.Insert(s.waiting, i, w)
	s.mu.Unlock()
	s.grant()
	for waits := true; waits; {
		select {
		case <-w.got:
			return true
		case h := <-w.holds:
			held(h)
		case <-ctx.Done():
			waits = false
		case <-stop:
			waits = false
		}
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
	s.free++
	s.mu.Unlock()
	s.grant()
}

// grant gives what is free, and tells those that wait what for. While memory is short it looks again later.
func (s *slots) grant() {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.grantFree()
	for _, w := range s.waiting {
		if w.told == nil || w.told.memory != h.memory {
			select {
			case <-w.holds: // it was not seen
			default:
			}
			w.told = h
			w.holds <- h
		}
	}
	if len(s.waiting) > 0 && h.memory && !s.looks {
		s.looks = true
		time.AfterFunc(pollMemory, func() {
			s.mu.Lock()
			s.looks = false
			s.mu.Unlock()
			s.grant()
		})
	}
}

// grantFree gives what is free, and returns what keeps it from giving more. s.mu is held.
func (s *slots) grantFree() *hold {
	for s.free > 0 && len(s.waiting) > 0 {
		s.given = slices.DeleteFunc(s.given, func(at time.Time) bool { return time.Since(at) > settling })
		if s.free < s.all { // else none would ever begin where there is little
			if why := memoryShort(s.memory(), s.least, len(s.given)); why != "" {
				return &hold{why, true}
			}
		}
		s.free--
		s.given = append(s.given, time.Now())
		close(s.waiting[0].got)
		s.waiting = s.waiting[1:]
	}
	return &hold{why: fmt.Sprintf("at most %d may work at once", s.all)}
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

// kickAll says that any task may have changed.
func (k *kicks) kickAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.one {
		close(c)
	}
	clear(k.one)
}
