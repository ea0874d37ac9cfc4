package worker

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/store"
)

func TestAWishFromTheInboxChangesWhatItNamesAndNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, d := afterATurn(t)
		defer d.Close()
		putRow(t, r, "a", "configure", `{"change":{"model":"p/other","window":9000}}`)
		putRow(t, r, "b", "configure", `{"change":{"mode":"plan"}}`)
		putRow(t, r, "c", "configure", `{"change":{"limits":{"steps":7,"cost":50}}}`)
		given := run.Configured{Change: run.ConfigChange{Limits: run.Limits{Cost: 3}}}
		s, err := d.Run(t.Context(), given, prompt("on"))
		if err != nil {
			t.Fatal(err)
		}
		want := run.Config{Model: "p/other", Window: 9000, Mode: "plan", Limits: run.Limits{Steps: 7, Cost: 3}}
		if !reflect.DeepEqual(s.Config, want) {
			t.Errorf("config %+v, want %+v: each wish counts, and what the caller of Run gives counts over all of them", s.Config, want)
		}
	})
}

func TestAConfigurationThatCannotBeIsRefusedWithANotice(t *testing.T) {
	t.Parallel()
	for payload, reason := range map[string]string{
		`{"change":{"parallel":-1}}`:         "the configuration was not changed: parallel is -1",
		`{"change":{"compact_at":2}}`:        "compact_at is 2",
		`{"change":{"mode":"no such mode"}}`: "no such mode",
		`{"change":`:                         "is not done: decode a request (configure)",
		`{"change":{"model":"p/keyless"}}`:   "no key for provider p",
	} {
		t.Run(payload, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, `
{"calls":[{"tool":"read","args":{"do":"sleep 1s"}}]}
{"text":"Done."}`)
				r.w.Check = func(c run.Config) error {
					if c.Model == "p/keyless" {
						return errors.New("no key for provider p")
					}
					return nil
				}
				d := r.create()
				defer d.Close()
				go func() {
					<-r.read.begun
					putRow(t, r, "k", "configure", payload)
				}()
				s, err := d.Run(t.Context(), prompt("go"))
				if err != nil || s.Turn.End.End != run.Completed || !reflect.DeepEqual(s.Config, run.Config{}) {
					t.Errorf("ended %+v with %+v, %v", s.Turn.End, s.Config, err)
				}
				told := r.noticed()
				if len(told) != 1 || !strings.Contains(told[0], reason) {
					t.Errorf("notices %q, want one with %q", told, reason)
				}
				waits(t, r) // the row does not come back
			})
		})
	}
}

// waits checks which rows wait in the inbox, by their keys.
func waits(t *testing.T, r *rig, want ...string) {
	t.Helper()
	rows, err := r.mem.Inbox(context.Background(), "r")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, row := range rows {
		keys = append(keys, row.Key)
	}
	if !slices.Equal(keys, want) {
		t.Errorf("rows %q wait, want %q", keys, want)
	}
}

func TestARunIsNotCreatedWithAConfigurationThatCannotBe(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text":"yes"}`)
	for _, c := range []run.Config{{Parallel: -1}, {Model: "p/keyless"}} {
		r.w.Check = func(c run.Config) error {
			if c.Model == "p/keyless" {
				return errors.New("no key for provider p")
			}
			return nil
		}
		if _, err := r.w.Create(t.Context(), run.Created{Run: "r", Config: c}, nil); err == nil {
			t.Errorf("%+v was taken", c)
		}
		if _, owned, err := r.mem.Owner(t.Context(), "r"); owned || err != nil {
			t.Errorf("%+v: the run is still owned: %v", c, err)
		}
	}
}

func TestARowOfANewerKindStaysInTheInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, d := afterATurn(t)
		defer d.Close()
		putRow(t, r, "newer", "teleport", `{"to":"the moon"}`)
		put(t, r, "known", saying("known", run.Queue, "and on"))
		for range 2 {
			if _, err := d.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			waits(t, r, "newer")
		}
	})
}

func TestRowsThatMakeNoSenseAreTakenAndDoNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"read","args":{"do":"sleep 1s"}}]}
{"text":"Done."}`)
		d := r.create()
		defer d.Close()
		go func() {
			<-r.read.begun
			putRow(t, r, "1", "interrupt", `not JSON`)
			putRow(t, r, "2", "decide", `not JSON`)
			putRow(t, r, "3", "decide", `{"call":"c_9","answer":"allow"}`)
			putRow(t, r, "4", "decide", `{"call":"c_1","answer":"perhaps"}`)
			putRow(t, r, "5", "withdraw", `nothing of this name`)
			putRow(t, r, "6", "call", `not JSON`)
			putRow(t, r, "7", "call", `{"tool":"read","arguments":"{}"}`) // not a run of an external agent
		}()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.Completed || s.Answer() != "Done." {
			t.Errorf("ended %+v with %q, %v", s.Turn.End, s.Answer(), err)
		}
		waits(t, r)
	})
}

func TestAMessageCanBeTakenBackBeforeItIsDelivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"read","args":{"do":"sleep 1s"}}]}
{"text":"{{prompt}}","repeat":true}`)
		d := r.create()
		defer d.Close()
		go func() {
			<-r.read.begun
			put(t, r, "s", saying("s", run.Steer, "use tabs"))
			put(t, r, "q", saying("q", run.Queue, "then commit"))
			put(t, r, "1", request.Withdraw{ID: "s"})
			put(t, r, "2", request.Withdraw{ID: "q"})
		}()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.N != 1 || s.Answer() != "go" {
			t.Errorf("turn %d ended with %q, %v", s.Turn.N, s.Answer(), err)
		}
	})
}

func TestAnInterruptAtRestDoesNothingToTheNextTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"yes","repeat":true}`)
		d := r.create()
		defer d.Close()
		press := func(when string) {
			t.Helper()
			if d.Interrupt(run.Interrupted{Cause: run.ByPerson}) {
				t.Errorf("an interrupt %s counts", when)
			}
		}
		press("before the first turn")
		for range 2 {
			s, err := d.Run(t.Context(), prompt("go"))
			if err != nil || s.Turn.End.End != run.Completed {
				t.Fatalf("ended %+v, %v", s.Turn.End, err)
			}
			press("at rest")
		}
	})
}

func TestAnInterruptRowStopsTheTurnThatItNamesAndNoOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload string
		end     run.End
	}{
		"whatever is open": {`{"by":"ann"}`, run.EndInterrupted},
		"the open one":     {`{"turn":2,"by":"ann"}`, run.EndInterrupted},
		"an ended one":     {`{"turn":1,"by":"ann"}`, run.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, `
{"text":"yes"}
{"calls":[{"tool":"read","args":{"do":"sleep 1s"}}]}
{"text":"Done."}`)
				d := r.create()
				defer d.Close()
				if _, err := d.Run(t.Context(), prompt("go")); err != nil {
					t.Fatal(err)
				}
				go func() {
					<-r.read.begun
					putRow(t, r, "k", "interrupt", c.payload)
				}()
				s, err := d.Run(t.Context(), prompt("on"))
				if err != nil || s.Turn.End.End != c.end {
					t.Errorf("ended %+v, %v", s.Turn.End, err)
				}
				var by []string
				for _, p := range logged[run.Interrupted](t, r) {
					by = append(by, p.By)
				}
				if c.end == run.EndInterrupted && !slices.Equal(by, []string{"ann"}) || c.end == run.Completed && by != nil {
					t.Errorf("interrupts in the log by %q", by)
				}
				waits(t, r)
			})
		})
	}
}

func TestAnInterruptRowBehindAPromptStopsItsTurnBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, d := afterATurn(t)
		defer d.Close()
		putRow(t, r, "1", "interrupt", `{}`)
		put(t, r, "2", saying("2", run.Queue, "one more thing"))
		putRow(t, r, "3", "interrupt", `{}`)
		s, err := d.Run(t.Context())
		if err != nil || s.Turn.N != 2 || s.Turn.End.End != run.EndInterrupted || s.Turn.Steps != 0 {
			t.Errorf("turn %d ended %+v after %d steps, %v", s.Turn.N, s.Turn.End, s.Turn.Steps, err)
		}
	})
}

func TestTheTimesInALogNeverGoBackwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `
{"calls":[{"tool":"read","args":{"do":"ok a"}},{"tool":"edit","args":{"do":"ok b"}}]}
{"text":"{{prompt}}","repeat":true}`)
		looks := time.Duration(0)
		began := time.Now()
		r.w.Now = func() time.Time { // each look at the clock is later than the one before
			looks += time.Millisecond
			return began.Add(looks)
		}
		r.w.OnAsk = AskWait
		r.w.Authorizer = authorizer(func(q permission.Request) permission.Decision {
			if q.Tool == "edit" {
				return permission.Decision{Verdict: permission.Ask}
			}
			return permission.Decision{Verdict: permission.Allow}
		})
		r.run(r.create(), prompt("go"))
		putRow(t, r, "k", "decide", `{"call":"c_2","answer":"allow"}`)
		put(t, r, "q", saying("q", run.Queue, "and on"))
		r.run(r.open())
		last := began
		for e, err := range r.mem.Events(t.Context(), "r", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.At.Before(last) {
				t.Errorf("event %d (%s) is at %v, and the one before at %v", e.Seq, store.Type(e.Payload), e.At, last)
			}
			last = e.At
		}
	})
}
