package worker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl/inbox"
	"pawl/permission"
	"pawl/run"
	"pawl/store"
	"pawl/store/storetest"
	"pawl/view"
)

// drive runs a session as a face does: whenever there is something to do, until ctx is done. It
// returns when the runner is at rest for the last time.
func drive(t *testing.T, ctx context.Context, d *Runner, given ...run.Payload) (ended <-chan run.State) {
	done := make(chan run.State, 1)
	go func() {
		defer close(done)
		for {
			s, err := d.Run(context.Background(), given...)
			if given = nil; err != nil {
				t.Error(err)
				return
			}
			if !s.Turn.Open() {
				done <- s
				return
			}
			if d.Await(ctx) != nil {
				return
			}
		}
	}()
	return done
}

// approve allows the first call of a run, as a person does from another process.
func approve(t *testing.T, r *rig, id run.ID) {
	t.Helper()
	row := store.Row{Key: "approved", Kind: "decide", Payload: `{"call":"c_1","answer":"allow","by":"ann"}`}
	if err := r.mem.Put(t.Context(), id, row); err != nil {
		t.Fatal(err)
	}
}

// ended waits for a session that is driven, and releases its run.
func ended(t *testing.T, d *Runner, done <-chan run.State) run.State {
	t.Helper()
	s := <-done
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if s.Turn.End.End != run.Completed {
		t.Errorf("the session was left with %v open, its end is %+v", s.Turn.Open(), s.Turn.End)
	}
	return s
}

func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(cancel)
	return ctx
}

const twoPaint = `
{"calls":[{"tool":"delegate","args":{"prompt":"Paint one."}},{"tool":"delegate","args":{"prompt":"Paint two."}}]}
{"when":{"first":"Paint one."},"calls":[{"tool":"edit","args":{"do":"ok one"}}]}
{"when":{"first":"Paint one."},"text":"{{last_result}}"}
{"when":{"first":"Paint two."},"calls":[{"tool":"edit","args":{"do":"ok two"}}]}
{"when":{"first":"Paint two."},"text":"{{last_result}}"}
{"text":"Done."}`

// Two children wait at once: each continues with its own answer, in any order, and no call of theirs
// happens twice.
func TestTwoChildrenWaitAtOnce(t *testing.T) {
	t.Parallel()
	for _, order := range [][]run.ID{{"r-c1", "r-c2"}, {"r-c2", "r-c1"}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := parent(t, twoPaint)
				r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
				d := r.create()
				done := drive(t, shortly(t), d, prompt("go"))
				for i, id := range order {
					synctest.Wait()
					if n := len(r.edit.Ran()); n != i {
						t.Errorf("%d edits were made after %d answers", n, i)
					}
					below, err := Below(t.Context(), r.mem, d.State())
					if err != nil || len(below) != len(order)-i {
						t.Errorf("%d runs below after %d answers, %v", len(below), i, err)
					}
					approve(t, r, id)
					time.Sleep(2*pollIdle + pollIdle/2) // and does not while the other carries it on
				}
				s := ended(t, d, done)
				if got, want := results(s), []string{"c_1 false one", "c_2 false two"}; !slices.Equal(got, want) {
					t.Errorf("results %q, not %q", got, want)
				}
				if n := len(r.edit.Ran()); n != 2 {
					t.Errorf("%d edits", n)
				}
			})
		})
	}
}

// The run at the top hears what is answered to the child of its child.
func TestAGrandchildThatWaitsIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const grandchild = theChild + "-c1"
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"First."}}]}
{"when":{"first":"First."},"calls":[{"tool":"delegate","args":{"prompt":"Second."}}]}
{"when":{"first":"Second."},"calls":[{"tool":"edit","args":{"do":"ok blue"}}]}
{"when":{"first":"Second."},"text":"{{last_result}}"}
{"when":{"first":"First."},"text":"{{last_result}}"}
{"text":"{{last_result}}"}`)
		r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
		d := r.create()
		done := drive(t, shortly(t), d, prompt("go"))
		r.until(func(u view.Update) bool { return u.Below == grandchild })
		below, err := Below(t.Context(), r.mem, d.State())
		if err != nil || len(below) != 2 || below[0].Created.Run != theChild || below[1].Created.Run != grandchild {
			t.Errorf("below: %+v, %v", below, err)
		}
		if _, err := Below(t.Context(), unreadable{r.mem, grandchild}, d.State()); !errors.Is(err, errDeaf) {
			t.Errorf("of a grandchild's log that cannot be read: %v", err)
		}
		approve(t, r, grandchild)
		if s := ended(t, d, done); s.Answer() != "blue" {
			t.Errorf("answered %q", s.Answer())
		}
	})
}

// What is put into the inbox of a run is taken by the process that drives it, or else by the nearest
// above that one does.
func TestTheDriverOfARun(t *testing.T) {
	t.Parallel()
	m := storetest.NewMemory()
	for _, c := range []run.Created{{Run: "r"}, {Run: "r-c1", Parent: "r"}, {Run: "r-c1-c1", Parent: "r-c1"}, {Run: "other"}} {
		if err := m.Append(t.Context(), c.Run, 0, []run.Event{{Payload: c}}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(id run.ID, want string) {
		t.Helper()
		o, driven, err := inbox.Driver(t.Context(), m, id)
		if err != nil || driven != (want != "") || o.Socket != want {
			t.Errorf("%s is driven: %t, at %q, %v; want %q", id, driven, o.Socket, err, want)
		}
	}
	own := func(id run.ID, socket string) store.Lease {
		l, err := m.Own(t.Context(), id, socket)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	deepest := run.ID("r-c1-c1")
	for range run.MaxDepth - 2 {
		next := deepest + "-c1"
		if err := m.Append(t.Context(), next, 0, []run.Event{{Payload: run.Created{Run: next, Parent: deepest}}}); err != nil {
			t.Fatal(err)
		}
		deepest = next
	}
	check("r-c1-c1", "")
	defer own("other", "/other").Release()
	check("r-c1-c1", "")
	check("unknown", "")
	defer own("r", "/root").Release()
	check("r-c1-c1", "/root")
	check(deepest, "/root")
	check("r", "/root")
	child := own("r-c1", "/child")
	check("r-c1-c1", "/child")
	if err := child.Release(); err != nil {
		t.Fatal(err)
	}
	check("r-c1-c1", "/root")
	if _, _, err := inbox.Driver(stopped(t, run.ByPerson), m, "r-c1-c1"); err == nil {
		t.Error("a store that cannot be read says that no one drives the run")
	}
}

// A child that waits continues while its sibling is at work, with an answer or with a rule that
// another process has stored; also if the rule comes shortly before the sibling ends.
func TestAChildContinuesWhileItsSiblingWorks(t *testing.T) {
	t.Parallel()
	rule := func(t *testing.T, r *rig) {
		if err := r.w.Authorizer.AddRules("", permission.Rules{{Effect: permission.Allow, Tool: "edit"}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		answer func(t *testing.T, r *rig)
		after  time.Duration
	}{
		"an answer":   {func(t *testing.T, r *rig) { approve(t, r, theChild) }, time.Second},
		"a rule":      {rule, time.Second},
		"a late rule": {rule, time.Minute - time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Paint it."}},{"tool":"read","args":{"do":"sleep 1m"}}]}
{"when":{"first":"Paint it."},"calls":[{"tool":"edit","args":{"do":"ok blue"}}]}
{"when":{"first":"Paint it."},"text":"{{last_result}}"}
{"text":"Done."}`)
				r.w.OnAsk, r.w.Authorizer = AskWait, &ruleSet{rules: permission.Rules{{Effect: permission.Allow, Tool: "delegate"}}}
				d := r.create()
				done := drive(t, shortly(t), d, prompt("go"))
				<-r.read.begun
				r.until(func(u view.Update) bool { return u.Below == theChild })
				synctest.Wait()
				began := time.Now()
				time.Sleep(c.after)
				c.answer(t, r)
				if <-r.edit.begun; time.Since(began) > c.after+2*pollIdle {
					t.Errorf("the child has waited %s", time.Since(began)-c.after)
				}
				if s := ended(t, d, done); time.Since(began) > time.Minute+2*pollIdle {
					t.Errorf("ended after %s with %q", time.Since(began), results(s))
				}
			})
		})
	}
}

// A person opens the child in another process, answers, and leaves: the parent continues by itself.
func TestAParentContinuesWhenAnotherProcessLeavesItsChild(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]bool{"": false, "after a row that it could not take": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := asksFor(t, anEdit)
				r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
				d := r.create()
				done := drive(t, shortly(t), d, prompt("go"))
				synctest.Wait()
				other, err := r.w.Open(t.Context(), theChild, nil)
				if err != nil {
					t.Fatal(err)
				}
				approve(t, r, theChild)
				if row { // the parent looks while the child is the other's
					time.Sleep(2*pollIdle + pollIdle/2) // and does not while the other carries it on
				}
				before := r.told(theChild)
				if s, err := other.Run(t.Context()); err != nil || s.Turn.End.End != run.Completed {
					t.Fatalf("the child ended %+v, %v", s.Turn.End, err)
				}
				time.Sleep(4 * pollIdle)
				if n := r.told(theChild) - before; n != 1 {
					t.Errorf("who shows the parent is told %d times that the child has gone on", n)
				}
				if err := other.Close(); err != nil {
					t.Fatal(err)
				}
				if s := ended(t, d, done); s.Answer() != "blue it is. And done." {
					t.Errorf("ended with %q", s.Answer())
				}
			})
		})
	}
}

// told returns how often who shows the run was told that something has happened to a run below.
func (r *rig) told(id run.ID) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.views {
		if v.Below == id {
			n++
		}
	}
	return n
}

// releases is a store that does something when a run is released.
type releases struct {
	store.Store
	do func(run.ID)
}

type releasing struct {
	store.Lease
	do func()
}

func (s *releases) Own(ctx context.Context, id run.ID, socket string) (store.Lease, error) {
	l, err := s.Store.Own(ctx, id, socket)
	if err != nil {
		return nil, err
	}
	return releasing{l, func() { s.do(id) }}, nil
}

func (l releasing) Release() error {
	l.do()
	return l.Lease.Release()
}

// An answer that comes when its child has just stopped looking at its inbox is heard when the call has
// been parked, though the run looks before that because of another call.
func TestAnAnswerWhileACallIsParkedIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, twoPaint)
		st := releases{Store: r.mem}
		released := 0
		st.do = func(id run.ID) {
			if id == theChild {
				if _, err := r.mem.Run(t.Context(), theChild); err != nil {
					return // it has not begun
				}
				if released++; released == 1 {
					time.Sleep(time.Second) // the other call is parked
					approve(t, r, theChild)
					time.Sleep(time.Second) // the run looks
				}
			}
		}
		r.w.Store, r.w.OnAsk, r.w.Authorizer = &st, AskWait, authorizer(needsApproval)
		d := r.create()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := drive(t, ctx, d, prompt("go"))
		<-done
		if got := r.edit.Ran(); !slices.Equal(got, []string{"ok one"}) {
			t.Errorf("edits %q", got)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// An interrupt that comes when the child has just begun to wait for a person reaches it.
func TestAnInterruptWhileACallIsParkedReachesTheChild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := asksFor(t, anEdit)
		st := releases{Store: r.mem}
		r.w.Store, r.w.OnAsk, r.w.Authorizer = &st, AskWait, authorizer(needsApproval)
		d := r.create()
		defer d.Close()
		st.do = func(id run.ID) {
			if _, err := r.mem.Run(t.Context(), theChild); err == nil && id == theChild {
				d.Interrupt(run.Interrupted{Cause: run.ByPerson})
			}
		}
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.EndInterrupted {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		if child := stateOf(t, r, theChild); child.Turn.End.Reason != string(run.ByParent) {
			t.Errorf("the child is left with %v open, its end is %+v", child.Turn.Open(), child.Turn.End)
		}
	})
}

// A run whose process has ended, and that is interrupted before it is driven again or when the rules do
// not allow its call any more, leaves no child with an open turn.
func TestARestartLeavesNoChildOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules permission.Rules // meanwhile
		stop  func(t *testing.T) context.Context
		crash string // the name of the event that cannot be written when it is interrupted before; empty: none
	}{
		"interrupted":                {nil, func(t *testing.T) context.Context { return stopped(t, run.ByPerson) }, ""},
		"refused":                    {permission.Rules{{Effect: permission.Deny, Tool: "delegate"}}, (*testing.T).Context, ""},
		"interrupted, and then dead": {nil, (*testing.T).Context, "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := asksFor(t, anEdit)
				rules := &ruleSet{rules: permission.Rules{{Effect: permission.Allow, Tool: "delegate"}}}
				r.w.OnAsk, r.w.Authorizer = AskWait, rules
				d := r.create()
				if s, err := d.Run(t.Context(), prompt("go")); err != nil || !s.Turn.Open() {
					t.Fatalf("ended %+v, %v", s.Turn.End, err)
				}
				if c.crash != "" { // it dies when the interrupt is durable, before it reaches the child
					r.mem.Fault = func(op storetest.Op) storetest.Fault {
						for _, e := range op.Events {
							if store.Type(e.Payload) == c.crash {
								r.mem.Fault = nil
								return storetest.Fault{Err: errKilled, Written: true}
							}
						}
						return storetest.Fault{}
					}
					if _, err := d.Run(stopped(t, run.ByPerson)); err == nil {
						t.Fatal("it did not die")
					}
				}
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				if err := rules.AddRules("", c.rules); err != nil {
					t.Fatal(err)
				}
				d = r.open()
				defer d.Close()
				if s, err := d.Run(c.stop(t)); err != nil || s.Turn.Open() {
					t.Fatalf("ended %+v, %v", s.Turn.End, err)
				}
				if child := stateOf(t, r, theChild); child.Turn.End.Reason != string(run.ByParent) {
					t.Errorf("the child is left with %v open, its end is %+v", child.Turn.Open(), child.Turn.End)
				}
			})
		})
	}
}

// An interrupt while one child waits and another is at work interrupts both, and what is below them.
func TestAnInterruptReachesAllRunsBelow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := parent(t, `
{"calls":[{"tool":"delegate","args":{"prompt":"Outer."}},{"tool":"delegate","args":{"prompt":"Work."}}]}
{"when":{"first":"Outer."},"calls":[{"tool":"delegate","args":{"prompt":"Paint it."}}]}
{"when":{"first":"Paint it."},"calls":[{"tool":"edit","args":{"do":"ok blue"}}]}
{"when":{"first":"Work."},"calls":[{"tool":"read","args":{"do":"wait"}}]}`)
		r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
		d := r.create()
		done := drive(t, shortly(t), d, prompt("go"))
		<-r.read.begun
		r.until(func(u view.Update) bool { return u.Below == "r-c1-c1" })
		time.Sleep(time.Second)
		if !d.Interrupt(run.Interrupted{Cause: run.ByPerson}) {
			t.Error("the interrupt was not accepted")
		}
		if s := <-done; s.Turn.End.End != run.EndInterrupted {
			t.Errorf("ended %+v", s.Turn.End)
		}
		for _, id := range []run.ID{"r-c1", "r-c1-c1", "r-c2"} {
			if s := stateOf(t, r, id); s.Turn.End.Reason != string(run.ByParent) {
				t.Errorf("%s is left with %v open, its end is %+v", id, s.Turn.Open(), s.Turn.End)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A call that may start a run and has started none yet has none below it.
func TestACallThatHasStartedNoRunHasNoneBelow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		starts := newFake("starts", run.Resumable)
		r := parent(t, `{"calls":[{"tool":"starts","args":{"do":"wait"}}]}`, starts)
		d := r.create()
		ended := make(chan run.State, 1)
		go func() { ended <- r.run(d, prompt("go")) }()
		<-starts.begun
		synctest.Wait()
		if all, err := Below(t.Context(), r.mem, d.State()); err != nil || len(all) > 0 {
			t.Errorf("below are %d runs, %v", len(all), err)
		}
		if _, err := Below(t.Context(), brokenStore{r.mem, "Events"}, d.State()); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "the run that call c_1 has started: ") {
			t.Errorf("of a log that cannot be read: %v", err)
		}
		interrupt(d)()
		<-ended
	})
}

// deafStore is a store whose inboxes cannot be read while it is deaf, but that of the run r.
type deafStore struct {
	store.Store
	deaf atomic.Bool
}

var errDeaf = errors.New("the disk is away")

// unreadable is a store in which the log of one run cannot be read.
type unreadable struct {
	store.Store
	id run.ID
}

func (s unreadable) Events(ctx context.Context, id run.ID, after int64) iter.Seq2[run.Event, error] {
	if id == s.id {
		return func(yield func(run.Event, error) bool) { yield(run.Event{}, errDeaf) }
	}
	return s.Store.Events(ctx, id, after)
}

func (s *deafStore) Inbox(ctx context.Context, id run.ID) ([]store.Row, error) {
	if s.deaf.Load() && id != "r" {
		return nil, errDeaf
	}
	return s.Store.Inbox(ctx, id)
}

func (s *deafStore) Inboxes(ctx context.Context) ([]run.ID, error) {
	if s.deaf.Load() {
		return nil, errDeaf
	}
	return s.Store.Inboxes(ctx)
}

// What cannot be read while a child waits for a person is told to the diagnostics alone, and the child
// continues when it can be read again.
func TestInboxesThatCannotBeReadForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := asksFor(t, anEdit)
		_, lines := diagnostics(r)
		st := &deafStore{Store: r.mem}
		r.w.Store, r.w.OnAsk, r.w.Authorizer = st, AskWait, authorizer(needsApproval)
		d := r.create()
		done := drive(t, shortly(t), d, prompt("go"))
		time.Sleep(3 * pollIdle)
		synctest.Wait()
		if got := lines("runs below", "inboxes"); len(got) > 0 {
			t.Errorf("while all can be read the diagnostics are %q", got)
		}
		st.deaf.Store(true)
		approve(t, r, theChild)
		time.Sleep(3 * pollIdle)
		synctest.Wait()
		for _, what := range []string{"runs below", "inboxes"} {
			if got := lines(what); len(got) == 0 || !strings.Contains(got[0], errDeaf.Error()) {
				t.Errorf("%s: the diagnostics are %q", what, got)
			}
		}
		if got := r.edit.Ran(); len(got) > 0 {
			t.Errorf("edits %q", got)
		}
		st.deaf.Store(false)
		ended(t, d, done)
		if got := r.edit.Ran(); len(got) != 1 {
			t.Errorf("edits %q", got)
		}
	})
}

// deafAtRest is a store in which the child cannot be read, with one of the methods, from the moment
// it waits for a person.
type deafAtRest struct {
	store.Store
	method string
	deaf   atomic.Bool
	heals  atomic.Bool // it can be read again
}

func (s *deafAtRest) Own(ctx context.Context, id run.ID, socket string) (store.Lease, error) {
	l, err := s.Store.Own(ctx, id, socket)
	if err != nil || id != theChild {
		return l, err
	}
	return releasing{l, func() {
		if _, err := s.Store.Run(ctx, theChild); err == nil { // it has begun
			s.deaf.Store(true)
		}
	}}, nil
}

func (s *deafAtRest) Owner(ctx context.Context, id run.ID) (store.Owner, bool, error) {
	if s.deaf.Load() && !s.heals.Load() && id == theChild && s.method == "Owner" {
		return store.Owner{}, false, errDeaf
	}
	return s.Store.Owner(ctx, id)
}

func (s *deafAtRest) Events(ctx context.Context, id run.ID, after int64) iter.Seq2[run.Event, error] {
	if s.deaf.Load() && !s.heals.Load() && s.method == "Events" {
		return unreadable{s.Store, theChild}.Events(ctx, id, after)
	}
	return s.Store.Events(ctx, id, after)
}

// A child that cannot be read when it begins to wait is heard once it can.
func TestAChildThatCannotBeReadAtFirstIsHeardLater(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Owner", "Events"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := asksFor(t, anEdit)
				st := &deafAtRest{Store: r.mem, method: method}
				r.w.Store, r.w.OnAsk, r.w.Authorizer = st, AskWait, authorizer(needsApproval)
				d := r.create()
				done := drive(t, shortly(t), d, prompt("go"))
				time.Sleep(3 * pollIdle)
				approve(t, r, theChild)
				time.Sleep(3 * pollIdle)
				if got := r.edit.Ran(); len(got) > 0 || !st.deaf.Load() {
					t.Errorf("while it cannot be read: edits %q", got)
				}
				st.heals.Store(true)
				ended(t, d, done)
				if got := r.edit.Ran(); len(got) != 1 {
					t.Errorf("edits %q", got)
				}
			})
		})
	}
}
