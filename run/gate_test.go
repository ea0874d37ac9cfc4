package run

import (
	"testing"
	"time"
)

// driven is a runner with its gate in a test: every batch is adopted at once.
type driven struct {
	t    *testing.T
	r    *Runner
	gate Gate
	now  time.Time
	w    World
}

func drive(t *testing.T, c Config) *driven {
	t.Helper()
	d := &driven{t: t, r: NewRunner(State{}), now: time.Unix(1_800_000_000, 0), w: allowing{}}
	d.gate.Attend(State{})
	d.step(Input{Given: []Payload{Created{Run: "r", Config: c}}})
	return d
}

// step adopts one batch and returns it, with the interrupts that came too late.
func (d *driven) step(in Input) (Batch, []*Interrupted) {
	d.t.Helper()
	in.Interrupt, in.Closed = d.gate.Interrupt(), d.gate.Closed()
	b, err := d.r.Step(d.now, d.w, in)
	if err != nil {
		d.t.Fatal(err)
	}
	return b, d.adopt(b, in)
}

func (d *driven) adopt(b Batch, in Input) []*Interrupted {
	d.r.Adopt(b, in)
	return d.gate.Adopt(b)
}

// want offers payloads.
func (d *driven) want(payloads ...Payload) Batch {
	d.t.Helper()
	var in Input
	for _, p := range payloads {
		in.Wanted = append(in.Wanted, wanted(p))
	}
	b, _ := d.step(in)
	return b
}

// end ends the operation in flight of that key.
func (d *driven) end(key string, payloads ...Payload) Batch {
	d.t.Helper()
	if !d.r.ops[key] {
		d.t.Fatalf("%s is not in flight: %v", key, d.r.ops)
	}
	b, _ := d.step(Input{Done: []Completion{{Key: key, Events: payloads}}})
	return b
}

func (d *driven) prompt(text string) {
	d.t.Helper()
	d.gate.Attend(d.r.State)
	d.want(Prompted{Parts: []Part{Text(text)}})
}

func calls(tools ...string) Replied {
	f := Replied{Stop: StopToolUse}
	for i, tool := range tools {
		f.Parts = append(f.Parts, Part{Type: CallPart, Call: &Call{ID: CallID("c_" + itoa(i+1)), Tool: tool, Arguments: "{}"}})
	}
	return f
}

func answer(text string) Replied { return Replied{Stop: StopEndTurn, Parts: []Part{Text(text)}} }

func TestAnInterruptAtRestOrOfAnotherTurnDoesNothing(t *testing.T) {
	t.Parallel()
	var zero Gate
	if zero.Close(Interrupted{Cause: ByPerson}) || zero.Closed() || zero.Interrupt() != nil {
		t.Error("the gate of a run that is not driven takes an interrupt")
	}
	d := drive(t, Config{})
	d.prompt("go")
	d.end("request/1.1/step/1", answer("done"))
	if d.gate.Close(Interrupted{Cause: ByPerson}) {
		t.Error("an interrupt counts while no turn is open")
	}
	d.prompt("more")
	if d.gate.Close(Interrupted{Turn: 1, Cause: ByPerson}) || d.gate.Closed() {
		t.Error("an interrupt of turn 1 counts in turn 2")
	}
	// One that was left in the inbox days ago stops nothing, and the batch it comes in starts
	// what it owes.
	b := d.want(Interrupted{Turn: 1, Cause: ByRequest})
	if len(b.Events) != 0 || d.r.State.Turn.Phase != Requesting {
		t.Errorf("an interrupt of turn 1 was recorded in turn 2: %+v", b.Events)
	}
	d.end("request/2.1/step/1", answer("done"))
	in := Input{Wanted: []func(State) []Payload{wanted(Interrupted{Turn: 2, Cause: ByRequest}), wanted(Prompted{Parts: []Part{Text("go")}})}}
	if b, _ := d.step(in); len(b.Start) != 1 || len(b.Refused) != 1 {
		t.Errorf("a prompt behind a late interrupt starts %v, refused %v", b.Start, b.Refused)
	}
	if !d.gate.Close(Interrupted{Turn: 3, Cause: ByPerson}) || !d.gate.Closed() {
		t.Error("an interrupt of the open turn does not count")
	}
	if d.gate.Close(Interrupted{Cause: ByPerson}) {
		t.Error("a second interrupt counts")
	}
}

func TestAnInterruptBeforeTheFirstBatchEndsTheTurn(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.gate.Attend(State{})
	if !d.gate.Close(Interrupted{Cause: ByPerson}) {
		t.Fatal("the interrupt does not count")
	}
	b := d.want(Prompted{Parts: []Part{Text("go")}})
	if d.r.State.Turn.End.End != EndInterrupted || len(b.Start) > 0 {
		t.Errorf("the turn ended %+v and started %v", d.r.State.Turn.End, b.Start)
	}
	if d.gate.Closed() {
		t.Error("the gate is closed after the turn")
	}
}

func TestTheGateStaysClosedUntilTheTurnHasEnded(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.prompt("go")
	d.end("request/1.1/step/1", calls("read"))
	d.gate.Close(Interrupted{Cause: ByPerson})
	d.step(Input{})
	if d.r.State.Turn.Phase != Interrupting || !d.gate.Closed() || d.gate.Interrupt() != nil {
		t.Fatalf("in phase %s the gate has %v to record", d.r.State.Turn.Phase, d.gate.Interrupt())
	}
	b := d.end("perform/c_1/1", settledOK("c_1"))
	if got := d.r.State.Turn.End.End; got != EndInterrupted || d.gate.Closed() || len(b.Start) > 0 {
		t.Errorf("ended %s, closed %v, started %v", got, d.gate.Closed(), b.Start)
	}
}

// A person's "wait, and do this instead" reaches the next turn; an interrupt that comes
// on top of it takes the words back.
func TestTheWordsOfAnInterruptBeginTheNextTurnOrComeBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		first, second *Interrupted
		early         bool // the second comes before the first is recorded
		turn          int
		returned      string
	}{
		{"words", &Interrupted{Cause: ByPerson, Then: []Part{Text("use tabs")}}, nil, false, 2, ""},
		{"taken back", &Interrupted{Cause: ByPerson, Then: []Part{Text("use tabs")}}, &Interrupted{Cause: ByPerson}, false, 1, "use tabs"},
		{"taken back at once", &Interrupted{Cause: ByPerson, Then: []Part{Text("use tabs")}}, &Interrupted{Cause: ByPerson}, true, 1, "use tabs"},
		{"words after", &Interrupted{Cause: ByPerson}, &Interrupted{Cause: ByPerson, Then: []Part{Text("use tabs")}}, false, 1, "use tabs"},
		{"words on words", &Interrupted{Cause: ByPerson, Then: []Part{Text("use tabs")}}, &Interrupted{Cause: ByPerson, Then: []Part{Text("or not")}}, false, 1, "use tabs\nor not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := drive(t, Config{})
			d.prompt("go")
			d.end("request/1.1/step/1", calls("read"))
			d.gate.Close(*c.first)
			if !c.early {
				d.step(Input{})
			}
			if c.second != nil && !d.gate.Close(*c.second) {
				// It does not count, but words are never dropped: they come by the inbox.
				d.want(*c.second)
			}
			d.step(Input{})
			d.step(Input{})
			d.end("perform/c_1/1", CallSettled{Call: "c_1", Outcome: Cut, IsError: true, Content: []Part{Text("cut")}})
			d.step(Input{})
			returned := ""
			for _, w := range d.r.State.Returned {
				returned += PlainText(w.Parts)
			}
			if d.r.State.Turn.N != c.turn || returned != c.returned {
				t.Errorf("turn %d, returned %q", d.r.State.Turn.N, returned)
			}
		})
	}
}

// An interrupt that comes while a batch is being made meets the state after it.
func TestAnInterruptMeetsTheStateAfterTheBatch(t *testing.T) {
	t.Parallel()
	words := []Part{Text("rather this")}
	for _, c := range []struct {
		name   string
		queued bool
		f      Interrupted
		late   bool
		end    End
	}{
		{"the turn has ended by itself", false, Interrupted{Cause: ByPerson, Then: words}, true, Completed},
		{"the queue has begun the next", true, Interrupted{Cause: ByPerson}, false, EndInterrupted},
		{"the queue has begun the next and it names the one before", true, Interrupted{Turn: 1, Cause: ByPerson, Then: words}, true, Completed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := drive(t, Config{})
			d.prompt("go")
			if c.queued {
				d.want(Said{ID: "q", Delivery: Queue, Parts: words})
			}
			in := Input{Done: []Completion{{Key: "request/1.1/step/1", Events: []Payload{answer("done")}}}}
			b, err := d.r.Step(d.now, d.w, in)
			if err != nil || !d.gate.Close(c.f) {
				t.Fatalf("%v, or it does not count", err)
			}
			late := d.adopt(b, in)
			if (len(late) == 1) != c.late {
				t.Errorf("late: %v", late)
			}
			if !d.r.State.Turn.Open() {
				return
			}
			if d.gate.Closed() == c.late {
				t.Errorf("the gate is closed: %v", d.gate.Closed())
			}
			d.step(Input{})
			if d.gate.Closed() {
				t.Error("the gate stays closed")
			}
			if c.end == EndInterrupted && d.r.State.Turn.End.End != c.end {
				t.Errorf("the turn is %s", d.r.State.Turn.Phase)
			}
		})
	}
}

// What cancels a request also ends it: the failure that this causes does not hide
// what had streamed.
func TestAnAbortedRequestKeepsWhatHadStreamed(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.w = streaming{}
	d.prompt("go")
	d.gate.Close(Interrupted{Cause: ByPerson})
	d.end("request/1.1/step/1", RequestFailed{Kind: ErrAborted})
	s := d.r.State
	if s.Turn.End.End != EndInterrupted || s.Answer() != "half" || s.Usage.Output != 7 {
		t.Errorf("ended %+v with %q, usage %+v", s.Turn.End, s.Answer(), s.Usage)
	}
}

type streaming struct{ allowing }

func (streaming) Partial(int) ([]Part, Usage) {
	return []Part{{Type: TextPart, Text: "half", Cut: true}}, Usage{Output: 7}
}

// Closed alone, with the interrupt still on its way, keeps everything from starting.
func TestNothingStartsWhileAnInterruptIsOnItsWay(t *testing.T) {
	t.Parallel()
	d := drive(t, Config{})
	d.w = &rechecking{}
	in := Input{Closed: true, Given: []Payload{Prompted{Parts: []Part{Text("go")}}}}
	b, err := d.r.Step(d.now, d.w, in)
	if err != nil || len(b.Events) != 1 || len(b.Start) != 0 {
		t.Fatalf("a prompt: %v, started %v, %v", b.Events, b.Start, err)
	}
	d.prompt("go")
	d.end("request/1.1/step/1", calls("edit"))
	in = Input{Closed: true, Wanted: []func(State) []Payload{wanted(CallDecided{Call: "c_1", Decision: Decision{Answer: Allow}})}}
	b, err = d.r.Step(d.now, d.w, in)
	if err != nil || len(b.Events) != 1 || len(b.Start) != 0 {
		t.Fatalf("an approval: %v, started %v, %v", b.Events, b.Start, err)
	}
	d.w = allowing{} // its rules would allow the call
	if b, err = d.r.Step(d.now, d.w, Input{Closed: true}); err != nil || len(b.Events) != 0 {
		t.Fatalf("a decision: %v, %v", b.Events, err)
	}
	if b, err = d.r.Step(d.now, d.w, Input{}); err != nil || len(b.Start) != 1 {
		t.Fatalf("open again: started %v, %v", b.Start, err)
	}
}
