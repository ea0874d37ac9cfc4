package worker

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl/permission"
	"pawl/request"
	"pawl/run"
)

// said is a request that says something to the agent.
func said(words string) request.Request { return saying(words, run.Steer, words) }

// saying is a request that says something as message id.
func saying(id string, delivery run.Delivery, words string) request.Say {
	return request.Say{ID: id, Delivery: delivery, Parts: []run.Part{run.Text(words)}}
}

// What a face of this process wants is recorded, or it is told why not.
func TestWhoPostsIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"edit","args":{"do":"ok"}}]}
{"text":"Done."}`)
		r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
		d := r.create()
		for _, c := range []struct {
			what string
			want request.Request
			err  string // "": it is recorded
		}{
			{"words", said("go"), ""},
			{"a decision on no call", request.Decide{Call: "c_9", Answer: run.Allow}, "call c_9 does not need approval"},
			{"a mode that is not one", request.Configure{Change: run.ConfigChange{Mode: new("bold")}}, "bold"},
			{"a mode", request.Configure{Change: run.ConfigChange{Mode: new("plan")}}, ""},
			{"nothing", request.Interrupt{Turn: 7}, request.ErrNoTurn.Error()},
			{"what cannot follow", request.Withdraw{ID: "never said"}, "delivered or taken back already"},
			{"a decision", request.Decide{Call: "c_1", Answer: run.Allow}, ""},
			{"the same again", request.Decide{Call: "c_1", Answer: run.Deny}, "call c_1 does not need approval"},
		} {
			wait := d.Post(t.Context(), c.want)
			impatient, cancel := context.WithCancelCause(t.Context())
			cancel(errKilled)
			if err := wait(impatient); err != errKilled {
				t.Errorf("%s: who does not wait is told %v", c.what, err)
			}
			if !d.HasMail() || d.Await(t.Context()) != nil {
				t.Errorf("%s: there is no mail", c.what)
			}
			if _, err := d.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := wait(t.Context())
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.what, err, c.err)
			}
		}
		if s := d.State(); s.Turn.End.End != run.Completed || s.Config.Mode != string(permission.Plan) || len(r.edit.Ran()) != 1 {
			t.Errorf("ended %+v in mode %s, edits %q", s.Turn.End, s.Config.Mode, r.edit.Ran())
		}
		unread := d.Post(t.Context(), said("more"))
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := unread(t.Context()); err != ErrClosed {
			t.Errorf("what was not read: %v", err)
		}
		if err := d.Post(t.Context(), said("more"))(t.Context()); err != ErrClosed {
			t.Errorf("after Close: %v", err)
		}
	})
}

// Who has given up before the words are read has the turn that begins with them interrupted, and a setting
// made all the same.
func TestWhatWasPostedByOneWhoHasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"Done."}`)
		d := r.create()
		defer d.Close()
		gone := stopped(t, run.ByPerson)
		for _, c := range []struct {
			want request.Request
			end  run.End
		}{
			{request.Configure{Change: run.ConfigChange{Mode: new("plan")}}, ""},
			{said("go"), run.EndInterrupted},
			{request.Configure{Change: run.ConfigChange{Mode: new("default")}}, run.EndInterrupted},
		} {
			wait := d.Post(gone, c.want)
			s, err := d.Run(t.Context())
			if werr := wait(t.Context()); err != nil || werr != nil {
				t.Fatal(err, werr)
			}
			if s.Turn.Open() || s.Turn.End.End != c.end {
				t.Errorf("after %T the turn has ended %+v", c.want, s.Turn.End)
			}
		}
		if m := d.State().Config.Mode; m != "default" {
			t.Errorf("the mode is %s", m)
		}
	})
}

// Words that are handed in while a call runs are of its turn.
func TestWordsReachTheTurnThatIsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"read","args":{"do":"sleep 1m"}}]}
{"when":{"contains":"and then"},"text":"Done."}`)
		d := r.create()
		ended := make(chan run.State, 1)
		go func() { ended <- r.run(d, prompt("go")) }()
		<-r.read.begun
		began := time.Now()
		if err := d.Post(t.Context(), said("and then"))(t.Context()); err != nil || time.Since(began) >= time.Minute {
			t.Errorf("recorded after %s: %v", time.Since(began), err)
		}
		if s := <-ended; s.Turn.N != 1 || s.Answer() != "Done." {
			t.Errorf("turn %d ended %+v with %q", s.Turn.N, s.Turn.End, s.Answer())
		}
	})
}

// Words that are handed in while the turn is being interrupted begin the next one; a setting is not
// held back.
func TestWordsWaitForTheEndOfAnInterruptedTurn(t *testing.T) {
	t.Parallel()
	for name, post := range map[string]func(d *Runner, r request.Request) (wait func(context.Context) error){
		"of a person": func(d *Runner, r request.Request) func(context.Context) error { return d.Post(context.Background(), r) },
		"of its task": func(d *Runner, r request.Request) func(context.Context) error { return d.PostForTask(nil, r) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, `{"calls":[{"tool":"read","args":{"do":"deaf"}}]}
{"when":{"contains":"and then"},"text":"Done."}`)
				d := r.create()
				ended := make(chan run.State, 1)
				go func() { ended <- r.run(d, prompt("go")) }()
				<-r.read.begun
				synctest.Wait()
				d.Interrupt(run.Interrupted{Cause: run.ByPerson})
				words := post(d, said("and then"))
				if err := d.Post(t.Context(), request.Configure{Change: run.ConfigChange{Mode: new("plan")}})(t.Context()); err != nil {
					t.Error(err)
				}
				if s := d.State(); !s.Turn.Open() || s.Config.Mode != string(permission.Plan) {
					t.Errorf("the mode is %s when the turn has ended %+v", s.Config.Mode, s.Turn.End)
				}
				if err := words(t.Context()); err != nil {
					t.Error(err)
				}
				if s := <-ended; s.Turn.N != 2 || s.Answer() != "Done." {
					t.Errorf("turn %d ended %+v with %q", s.Turn.N, s.Turn.End, s.Answer())
				}
				time.Sleep(2 * time.Hour) // the call that did not stop ends
			})
		})
	}
}

// Rows of other processes that say something, as the faces put them; one that cannot be read has no
// effect and is not offered again.
func TestMessagesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"ask","args":{"do":"red or blue?"}}]}
{"text":"{{last_result}} it is."}
{"text":"Done."}`)
		r.w.OnAsk = AskWait
		d := r.create()
		defer d.Close()
		s, err := d.Run(t.Context(), prompt("go"))
		if err != nil || s.Turn.End.End != run.Asked {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		putRow(t, r, "bad", "say", `{"parts":`)
		putRow(t, r, "bad decision", "decide", `[`)
		putRow(t, r, "bad call", "call", `[`)
		putRow(t, r, "unknown", "sing", "la")
		putRow(t, r, "good", "say", `{"delivery":"queue","parts":[{"type":"text","text":"blue"}]}`)
		if s, err = d.Run(t.Context()); err != nil || s.Answer() != "blue it is." {
			t.Errorf("ended %+v with %q, %v", s.Turn.End, s.Answer(), err)
		}
		rows, err := r.mem.Inbox(t.Context(), "r")
		if err != nil || len(rows) != 1 || rows[0].Key != "unknown" {
			t.Errorf("left are %+v, %v: a row of a newer pawl is for that one", rows, err)
		}
		putRow(t, r, "prompt", "say", `{"delivery":"steer","parts":[{"type":"text","text":"more"}]}`)
		if s, err = d.Run(t.Context()); err != nil || s.Answer() != "Done." || s.Turn.N != 3 {
			t.Errorf("turn %d ended %+v with %q, %v", s.Turn.N, s.Turn.End, s.Answer(), err)
		}
		if log := r.log(r.mem); slices.Contains(log, "call_received") {
			t.Errorf("log %q", log)
		}
	})
}

// A run that waits between two calls of Run is woken by what is posted to it, and by nothing else; one
// that is not written yet has no inbox.
func TestWhatIsPostedWakesARunThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"yes","repeat":true}`)
		d := r.create()
		defer d.Close()
		awaits := func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			return d.Await(ctx) == nil
		}
		if awaits() || d.HasMail() {
			t.Error("something is to be done for a run to which nothing was said")
		}
		d.Post(t.Context(), said("go"))
		if !d.HasMail() || !awaits() {
			t.Error("what was posted before is not seen")
		}
		if s, err := d.Run(t.Context()); err != nil || s.Answer() != "yes" || d.HasMail() {
			t.Fatalf("ended %+v, %v", s.Turn.End, err)
		}
		if awaits() {
			t.Error("something is to be done although all was read")
		}
		after(10*time.Second, func() { d.Post(t.Context(), said("more")) })
		began := time.Now()
		if !awaits() || time.Since(began) != 10*time.Second {
			t.Errorf("it is woken after %v, not when something is posted", time.Since(began))
		}
		if s, err := d.Run(t.Context()); err != nil || s.Turn.N != 2 {
			t.Errorf("turn %d ended %+v, %v", s.Turn.N, s.Turn.End, err)
		}
	})
}
