// Package storetest has a [store.Store] in memory, which can crash and fail on
// purpose, and the suite that every store must pass ([Run]).
package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/run"
	"pawl/store"
)

// ErrCrashed is what every method of a Memory returns once its process has crashed.
var ErrCrashed = errors.New("this process has crashed")

// Memory is a store in memory: one process's view of a disk that several may share.
// It is safe for concurrent use. It keeps events as they are, without encoding
// them, so it is fast enough for simulations.
type Memory struct {
	// Fault, if set, is asked before each operation that writes and decides what
	// goes wrong with it. It is called with the store's lock held: it must not call
	// the store.
	Fault func(Op) Fault

	disk   *disk
	state  error // nil, ErrClosed or ErrCrashed
	leases map[*memoryLease]struct{}
}

var _ store.Store = (*Memory)(nil)

// An Op is an operation about to be performed.
type Op struct {
	Name   string // append, append task, put, own
	Task   string // append task, and append with one
	Run    run.ID
	After  int64       // append: the expected number
	Events []run.Event // append: not to be changed
	Row    store.Row   // put
}

// A Fault is what goes wrong with an operation. The zero Fault is nothing.
type Fault struct {
	// Err is returned to the caller.
	Err error
	// Written performs the operation all the same: as when the disk fails after
	// the data has reached it.
	Written bool
}

// FailNth returns a hook that lets the n-th operation of that name fail (1 is the
// first), and no other.
func FailNth(name string, n int, f Fault) func(Op) Fault {
	return func(op Op) Fault {
		if op.Name == name {
			if n--; n == 0 {
				return f
			}
		}
		return Fault{}
	}
}

// disk is what outlives a process.
type disk struct {
	mu    sync.Mutex
	runs  map[run.ID]*memoryRun
	owned map[run.ID]*memoryLease // by whichever process; gone with it
	rows  int64                   // ids given to inbox rows so far
	used  int64                   // appends so far

	tasks       map[string]*memoryTask
	taskOf      map[run.ID]string
	feed        []store.FeedEntry
	submissions []store.Submission
}

type memoryRun struct {
	sum    store.Summary
	used   int64       // disk.used at the last append
	events []run.Event // only ever appended to
	inbox  []store.Row // that wait
	keys   map[string]*memoryAnswer
}

type memoryAnswer struct {
	answer string
	taken  bool
}

type memoryLease struct {
	memory *Memory
	id     run.ID
	socket string
	waits  string
}

// NewMemory returns a store with nothing in it.
func NewMemory() *Memory {
	return (&disk{
		runs: map[run.ID]*memoryRun{}, owned: map[run.ID]*memoryLease{},
		tasks: map[string]*memoryTask{}, taskOf: map[run.ID]string{},
	}).view()
}

func (d *disk) view() *Memory { return &Memory{disk: d, leases: map[*memoryLease]struct{}{}} }

// Other returns the same disk as another process sees it that runs beside this one.
func (m *Memory) Other() *Memory { return m.disk.view() }

// Crash kills m's process and returns the disk as the next process finds it:
// everything that was appended or put is there, its leases are free. Whatever is
// called on m afterwards returns ErrCrashed.
func (m *Memory) Crash() *Memory {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	m.state = ErrCrashed
	for l := range m.leases {
		delete(m.disk.owned, l.id)
	}
	m.leases = nil
	return m.disk.view()
}

// begin checks what every method checks. The caller holds the lock.
func (m *Memory) begin(ctx context.Context, id run.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.state != nil {
		return m.state
	}
	return store.CheckID(id)
}

// perform runs do under the fault that the hook has chosen. The caller holds the lock.
func (m *Memory) perform(op Op, do func() error) error {
	var f Fault
	if m.Fault != nil {
		f = m.Fault(op)
	}
	if f.Err != nil && !f.Written {
		return f.Err
	}
	if err := do(); err != nil {
		return err
	}
	return f.Err
}

// Append implements [store.Store].
func (m *Memory) Append(ctx context.Context, id run.ID, after int64, events []run.Event, taken ...store.Taken) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, id); err != nil {
		return err
	}
	err := m.perform(Op{Name: "append", Run: id, After: after, Events: events}, func() error {
		return m.disk.append(id, after, events, taken)
	})
	if err != nil {
		return fmt.Errorf("append %s #%d: %w", id, after+1, err)
	}
	return nil
}

func (d *disk) append(id run.ID, after int64, events []run.Event, taken []store.Taken) error {
	r := d.runs[id]
	if r == nil {
		r = &memoryRun{sum: store.Summary{ID: id}, keys: map[string]*memoryAnswer{}}
	}
	if have := int64(len(r.events)); have != after {
		return fmt.Errorf("%w: it has %d events", store.ErrConflict, have)
	}
	waiting := func(t store.Taken) int {
		return slices.IndexFunc(r.inbox, func(row store.Row) bool { return row.ID == t.ID })
	}
	for _, t := range taken {
		if waiting(t) < 0 {
			return fmt.Errorf("%w: %d", store.ErrTaken, t.ID)
		}
	}
	for _, e := range events {
		if e.Payload == nil {
			return errors.New("an event without a payload")
		}
	}
	for _, e := range events {
		// As it would come back from a disk: UTC, and without the reading of the
		// monotonic clock.
		e.Seq, e.At = int64(len(r.events))+1, e.At.Round(0).UTC()
		r.events = append(r.events, e)
		r.sum.Add(e)
	}
	for _, t := range taken {
		if i := waiting(t); i >= 0 {
			*r.keys[r.inbox[i].Key] = memoryAnswer{t.Answer, true}
			r.inbox = slices.Delete(r.inbox, i, i+1)
		}
	}
	switch parent := d.runs[r.sum.Parent]; {
	case r.sum.Root != "":
	case r.sum.Parent == "":
		r.sum.Root = id
	case parent == nil: // it is not in this store
		r.sum.Root = r.sum.Parent
	default:
		r.sum.Root = parent.sum.Root
	}
	if len(events) > 0 {
		d.used++
		r.used, d.runs[id] = d.used, r
	}
	return nil
}

// Events implements [store.Store].
func (m *Memory) Events(ctx context.Context, id run.ID, after int64) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		r, err := m.lookup(ctx, id)
		if err != nil {
			yield(run.Event{}, err)
			return
		}
		m.disk.mu.Lock()
		events := r.events // those there are now; what is appended later comes after them
		m.disk.mu.Unlock()
		for _, e := range events[min(max(after, 0), int64(len(events))):] {
			if err := ctx.Err(); err != nil {
				yield(run.Event{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *Memory) lookup(ctx context.Context, id run.ID) (*memoryRun, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, id); err != nil {
		return nil, err
	}
	r := m.disk.runs[id]
	if r == nil {
		return nil, fmt.Errorf("run %s: %w", id, store.ErrNotFound)
	}
	return r, nil
}

// Run implements [store.Store].
func (m *Memory) Run(ctx context.Context, id run.ID) (store.Summary, error) {
	r, err := m.lookup(ctx, id)
	if err != nil {
		return store.Summary{}, err
	}
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	return r.sum, nil
}

// Runs implements [store.Store].
func (m *Memory) Runs(ctx context.Context, limit int) ([]store.Summary, error) {
	byUse := func(a, b *memoryRun) int { return cmp.Compare(b.used, a.used) }
	all, err := m.summaries(ctx, "any", func(s store.Summary) bool { return s.Parent == "" }, byUse)
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	return all, err
}

// Children implements [store.Store].
func (m *Memory) Children(ctx context.Context, id run.ID) ([]store.Summary, error) {
	return m.summaries(ctx, id, func(s store.Summary) bool { return s.Parent == id }, byCreation)
}

// Conversation implements [store.Store].
func (m *Memory) Conversation(ctx context.Context, root run.ID) ([]store.Summary, error) {
	return m.summaries(ctx, root, func(s store.Summary) bool { return s.Root == root }, func(a, b *memoryRun) int {
		return cmp.Or(min(len(a.sum.Parent), 1)-min(len(b.sum.Parent), 1), byCreation(a, b))
	})
}

// Said implements [store.Store].
func (m *Memory) Said(ctx context.Context, id run.ID) (said []string, err error) {
	for e, err := range m.Events(ctx, id, 0) {
		if err != nil {
			return said, err
		}
		said = append(said, store.SaidIn(e)...)
	}
	return said, nil
}

func byCreation(a, b *memoryRun) int {
	return cmp.Or(a.sum.Created.Compare(b.sum.Created), strings.Compare(string(a.sum.ID), string(b.sum.ID)))
}

// summaries returns those that match, in order.
func (m *Memory) summaries(ctx context.Context, id run.ID, match func(store.Summary) bool, order func(a, b *memoryRun) int) ([]store.Summary, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, id); err != nil {
		return nil, err
	}
	var all []store.Summary
	for _, r := range slices.SortedFunc(maps.Values(m.disk.runs), order) {
		if match(r.sum) {
			all = append(all, r.sum)
		}
	}
	return all, nil
}

// Verify implements [store.Store]. In memory nothing rots, so it only looks whether
// there is such a run.
func (m *Memory) Verify(ctx context.Context, id run.ID) error {
	_, err := m.lookup(ctx, id)
	return err
}

// Own implements [store.Store]. Every Memory counts as process 1.
func (m *Memory) Own(ctx context.Context, id run.ID, socket string) (store.Lease, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, id); err != nil {
		return nil, err
	}
	l := &memoryLease{m, id, socket, ""}
	err := m.perform(Op{Name: "own", Run: id}, func() error {
		if have := m.disk.owned[id]; have != nil {
			return &store.OwnedError{Run: id, PID: 1, Socket: have.socket}
		}
		m.disk.owned[id] = l
		m.leases[l] = struct{}{}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("own %s: %w", id, err)
	}
	return l, nil
}

// Owner implements [store.Store].
func (m *Memory) Owner(ctx context.Context, id run.ID) (store.Owner, bool, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, id); err != nil {
		return store.Owner{}, false, err
	}
	if l := m.disk.owned[id]; l != nil {
		return store.Owner{PID: 1, Socket: l.socket, Waits: l.waits}, true, nil
	}
	return store.Owner{}, false, nil
}

func (l *memoryLease) Wait(why string) error {
	d := l.memory.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	l.waits = why
	return nil
}

func (l *memoryLease) Held(context.Context) (bool, error) {
	d := l.memory.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.owned[l.id] == l, nil
}

func (l *memoryLease) Lost() <-chan struct{} { return nil }

func (l *memoryLease) Release() error {
	d := l.memory.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owned[l.id] == l {
		delete(d.owned, l.id)
	}
	delete(l.memory.leases, l)
	return nil
}

// Put implements [store.Store].
func (m *Memory) Put(ctx context.Context, id run.ID, row store.Row) error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, id); err != nil {
		return err
	}
	err := m.perform(Op{Name: "put", Run: id, Row: row}, func() error {
		r := m.disk.runs[id]
		switch {
		case row.Key == "":
			return store.ErrNoKey
		case r == nil:
			return store.ErrNotFound
		case r.keys[row.Key] != nil:
			return nil
		case row.At.IsZero():
			row.At = time.Now()
		}
		m.disk.rows++
		row.ID, row.At = m.disk.rows, row.At.Round(0).UTC()
		r.inbox = append(r.inbox, row)
		r.keys[row.Key] = &memoryAnswer{}
		return nil
	})
	if err != nil {
		return fmt.Errorf("put to %s: %w", id, err)
	}
	return nil
}

// Inbox implements [store.Store].
func (m *Memory) Inbox(ctx context.Context, id run.ID) ([]store.Row, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, id); err != nil {
		return nil, err
	}
	r := m.disk.runs[id]
	if r == nil {
		return nil, nil
	}
	return slices.Clone(r.inbox), nil
}

// Inboxes implements [store.Store].
func (m *Memory) Inboxes(ctx context.Context) ([]run.ID, error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, "any"); err != nil {
		return nil, err
	}
	var ids []run.ID
	for id, r := range m.disk.runs {
		if len(r.inbox) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Answer implements [store.Store].
func (m *Memory) Answer(ctx context.Context, id run.ID, key string) (answer string, taken bool, err error) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if err := m.begin(ctx, id); err != nil {
		return "", false, err
	}
	r := m.disk.runs[id]
	if r == nil || r.keys[key] == nil {
		return "", false, fmt.Errorf("run %s: %w: %q", id, store.ErrNoRow, key)
	}
	return r.keys[key].answer, r.keys[key].taken, nil
}

// Close implements [store.Store].
func (m *Memory) Close() error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if m.state == nil {
		m.state = store.ErrClosed
	}
	return nil
}
