package run

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// errCrash is the death of a process in a simulated life.
var errCrash = errors.New("crash")

// A life is one run carried on by processes that die: the log and the outside
// world survive, the process does not. One seed is one story.
type life struct {
	seed    uint64
	rnd     *rand.Rand
	log     []Event
	effects map[CallID]int // how often a call did something, in the world
	asked   []CallID
	now     time.Time
	crashes int
	steps   int // model answers so far
	want    int // answers that ask for calls before the model ends
	state   State
	faults  float64
}

// TestSimulationOfLivesThatCrashAtEveryPoint plays many lives with a crash, a
// failed append, a late, duplicate or lost fact at any point, interrupts and
// steering, and checks the guarantees after each. PAWL_SIM_SEED starts elsewhere,
// PAWL_SIM_LIVES plays more.
func TestSimulationOfLivesThatCrashAtEveryPoint(t *testing.T) {
	t.Parallel()
	lives := number(t, "PAWL_SIM_LIVES", 20_000)
	if testing.Short() {
		lives = 2_000
	}
	first := number(t, "PAWL_SIM_SEED", 1)
	crashes, ends := 0, map[End]int{}
	for seed := first; seed < first+lives; seed++ {
		l := newLife(uint64(seed))
		if err := l.live(); err != nil {
			t.Fatalf("seed %d: %v\nreplay with PAWL_SIM_SEED=%d PAWL_SIM_LIVES=1 go test ./run -run Simulation\n%s", seed, err, seed, l.story())
		}
		crashes += l.crashes
		ends[l.state.Turn.End.End]++
	}
	t.Logf("%d lives, %d crashes, ends %v", lives, crashes, ends)
	for _, e := range []End{Completed, EndInterrupted, EndFailed} {
		if ends[e] == 0 && lives >= 2_000 {
			t.Errorf("no life ended %s: the simulation does not reach it", e)
		}
	}
}

func number(t *testing.T, name string, def int) int {
	v := os.Getenv(name)
	if v == "" {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func newLife(seed uint64) *life {
	r := rand.New(rand.NewPCG(seed, 7))
	return &life{seed: seed, rnd: r, effects: map[CallID]int{}, now: time.Unix(1_800_000_000, 0), want: r.IntN(4), faults: 0.05}
}

func (l *life) chance(p float64) bool { return l.rnd.Float64() < p }

// crash is a fault point.
func (l *life) crash() error {
	if l.chance(l.faults) {
		l.crashes++
		return errCrash
	}
	return nil
}

// record checks, appends, adopts; the process may die before and after, and the
// append may fail.
func (l *life) record(fs ...Fact) error {
	s := l.state
	var batch []Event
	for _, f := range fs {
		e := Event{Seq: s.Seq + 1, At: l.now, Fact: f}
		next, err := s.Apply(e)
		if err != nil {
			return err
		}
		s = next
		batch = append(batch, e)
	}
	if err := l.crash(); err != nil {
		return err
	}
	if l.chance(l.faults / 4) {
		return errCrash // the append failed: this process is done with the run
	}
	l.log = append(l.log, batch...)
	l.state = s
	return l.crash()
}

func (l *life) live() error {
	for lifetime := 0; ; lifetime++ {
		if lifetime > 3_000 {
			return errors.New("it never comes to an end")
		}
		if lifetime > 60 {
			l.faults = 0 // enough; let it end
		}
		err := l.process()
		if err == nil {
			break
		}
		if !errors.Is(err, errCrash) {
			return err
		}
	}
	return l.check()
}

// process is one process: replay, settle what was lost, go on.
func (l *life) process() error {
	s, err := Replay(l.log)
	if err != nil {
		return fmt.Errorf("the log does not replay: %w", err)
	}
	l.state = s
	if s.Created.Run == "" {
		c := Config{Limits: Limits{Steps: 12}}
		if l.seed%5 == 0 {
			c.Control = Controller
		}
		if l.seed%3 == 0 {
			c.Output = Output{Tool: "submit", Schema: "{}"}
		}
		if err := l.record(Created{Run: "r", Config: c}, Prompted{Parts: []Part{Text("go")}}); err != nil {
			return err
		}
	}
	for _, e := range l.state.Lost() {
		if err := l.record(e.Fact); err != nil {
			return err
		}
	}
	for range 10_000 {
		if !l.state.Turn.Open {
			if len(l.state.Next()) == 0 {
				return nil
			}
		}
		l.now = l.now.Add(time.Second)
		if err := l.disturb(); err != nil {
			return err
		}
		if err := l.act(); err != nil {
			return err
		}
	}
	return errors.New("it works for ever")
}

// disturb is what others do at any time: words, interrupts, late and wrong facts.
func (l *life) disturb() error {
	before, thorough := l.state, l.seed%32 == 0
	if thorough {
		before = l.state.Clone()
	}
	var f Fact
	switch l.rnd.IntN(60) {
	case 0:
		f = Steered{ID: fmt.Sprintf("s%d", len(l.log)), Parts: []Part{Text("and this")}}
	case 1:
		f = Interrupted{Cause: ByPerson}
	case 2:
		f = CallSettled{Call: CallID(fmt.Sprintf("c_%d", 1+l.rnd.IntN(6))), Outcome: OK, Content: []Part{Text("late")}}
		if i := before.Turn.find(f.(CallSettled).Call); i >= 0 && before.Turn.Calls[i].Status == CallRuns {
			return nil // it would be the real one
		}
	case 3:
		f = CallStarted{Call: CallID(fmt.Sprintf("c_%d", 1+l.rnd.IntN(6))), Attempt: 1 + l.rnd.IntN(2)}
		for _, c := range before.Next() {
			if p, ok := c.(Perform); ok && p.Call.ID == f.(CallStarted).Call {
				return nil // it is owed: act does it
			}
		}
	case 4:
		f = Replied{Stop: StopEndTurn, Parts: []Part{Text("nobody asked")}}
		if before.Turn.Request.Open {
			return nil
		}
	default:
		return nil
	}
	err := l.record(f)
	if errors.Is(err, ErrOrder) {
		if thorough && dump(before) != dump(l.state) {
			return fmt.Errorf("a refused %T changed the state", f)
		}
		return nil
	}
	return err
}

// act does one thing that is owed.
func (l *life) act() error {
	cmds := l.state.Next()
	if len(cmds) == 0 {
		// Interrupted, and what runs has to be settled by its worker.
		for _, c := range l.state.Turn.Calls {
			if c.Status == CallRuns {
				return l.settle(c, Cut)
			}
		}
		return errors.New("nothing is owed and the turn is open")
	}
	switch c := cmds[l.rnd.IntN(len(cmds))].(type) {
	case Record:
		return l.record(c.Fact)
	case Ask:
		l.asked = append(l.asked, c.Call.ID)
		return l.record(asked(c.Call))
	case Decide:
		if l.chance(0.15) {
			return l.record(CallRefused{Call: c.Call.ID, Content: "no"})
		}
		return l.record(CallAllowed{Call: c.Call.ID})
	case Perform:
		if c.Call.Status == CallRuns {
			return l.settle(c.Call, OK)
		}
		if err := l.record(CallStarted{Call: c.Call.ID, Attempt: c.Attempt}); err != nil {
			return err
		}
		// The tool: it may die before, in the middle of and after its effect.
		if err := l.crash(); err != nil {
			return err
		}
		l.effects[c.Call.ID]++
		return l.crash()
	case Request:
		if l.state.Turn.Request.Open {
			return l.answer(c)
		}
		return l.record(RequestStarted{Purpose: c.Purpose, Attempt: c.Attempt, End: c.End})
	}
	return fmt.Errorf("unknown command %T", cmds[0])
}

func (l *life) settle(c CallState, o Outcome) error {
	text := fmt.Sprintf("result %d", l.rnd.IntN(1000))
	f := CallSettled{Call: c.ID, Outcome: o, Content: []Part{Text(text)}, Key: text}
	if c.Class == Writes {
		f.Change = MayChange
	}
	return l.record(f)
}

func (l *life) answer(c Request) error {
	if l.chance(0.1) {
		f := RequestFailed{Kind: ErrOverloaded}
		if l.chance(0.8) {
			f.RetryAt = l.now
		}
		return l.record(f)
	}
	f := Replied{Stop: StopEndTurn}
	chosen := func(kind StepKind, message string) []Fact { // a worker records with the answer what it means
		if c.Purpose != ForStep || !l.state.Config.Controlled() {
			return nil
		}
		if l.chance(0.2) && kind != StepTool {
			return []Fact{StepRefused{"no action", "again"}}
		}
		var facts []Fact
		if open, ok := l.state.OpenPlan(); ok {
			facts = append(facts, open)
		}
		return append(facts, StepChosen{Kind: kind, InPlan: true, Message: message})
	}
	if c.Purpose == ForStep && l.steps < l.want {
		n := l.state.NextCall()
		for range 1 + l.rnd.IntN(3) {
			tool := []string{"read", "edit", "agent"}[l.rnd.IntN(3)]
			f.Parts = append(f.Parts, Part{Type: CallPart, Call: &Call{ID: CallID(fmt.Sprintf("c_%d", n)), Tool: tool, Arguments: fmt.Sprintf(`{"n":%d}`, n)}})
			n++
		}
		f.Stop = StopToolUse
		if err := l.record(append([]Fact{f}, chosen(StepTool, "")...)...); err != nil {
			return err
		}
		l.steps++
		return nil
	}
	f.Parts = []Part{Text("done")}
	if also := chosen(StepRespond, "done"); also != nil {
		return l.record(append([]Fact{f}, also...)...)
	}
	if c.Purpose != ForStep || l.state.Config.Output.Schema == "" {
		return l.record(f)
	}
	switch l.rnd.IntN(3) { // a worker records with the answer whether it is the result
	case 0:
		return l.record(f, Submitted{Assignment: l.state.Assignment(), Value: "1"})
	case 1:
		return l.record(f, SubmissionRefused{"It is none."})
	}
	return l.record(f)
}

// check tests the guarantees on the finished life.
func (l *life) check() error {
	if l.state.Turn.Open || len(l.state.Next()) > 0 {
		return errors.New("guarantee 1: at rest something is owed")
	}
	if l.state.Turn.End.End == "" {
		return errors.New("guarantee 1: it does not say why it ended")
	}
	if end := l.state.Turn.End; end.End == Completed && l.state.owesOutput() {
		return errors.New("guarantee 5: completed without the result that it owes")
	}
	replayed, err := Replay(l.log)
	if err != nil || l.seed%32 == 0 && dump(replayed) != dump(l.state) {
		return fmt.Errorf("guarantee 10: replay differs from life (%v)", err)
	}
	return checkLog(l.log, l.effects)
}

// checkLog tests what every log must have: each call asked, allowed, started and
// settled in that order and settled once; no start after an interrupt; no effect
// twice unless it may be; every call answered in the next message in the order
// asked.
func checkLog(log []Event, effects map[CallID]int) error {
	class := map[CallID]Class{}
	settled, allowed, starts := map[CallID]int{}, map[CallID]bool{}, map[CallID]int{}
	interrupted := false
	submissions := map[int]int{}
	var s State
	for _, e := range log {
		switch f := e.Fact.(type) {
		case Submitted:
			if submissions[f.Assignment]++; submissions[f.Assignment] > 1 {
				return fmt.Errorf("guarantee 5: assignment %d has two results", f.Assignment)
			}
		case CallAsked:
			class[f.Call] = f.Class
		case CallAllowed:
			allowed[f.Call] = true
		case CallRefused:
			settled[f.Call]++
		case CallStarted:
			starts[f.Call]++
			if interrupted {
				return fmt.Errorf("guarantee 4: %s started after the interrupt", f.Call)
			}
			if !allowed[f.Call] {
				return fmt.Errorf("guarantee 6: %s started without an allowing decision", f.Call)
			}
			if class[f.Call] == Writes && starts[f.Call] > 1 {
				return fmt.Errorf("guarantee 2: %s writes and was started twice", f.Call)
			}
		case CallSettled:
			settled[f.Call]++
		case Interrupted:
			interrupted = true
		case Prompted:
			interrupted = false
		}
		var err error
		if s, err = s.Apply(e); err != nil {
			return err
		}
		if _, ok := e.Fact.(RequestStarted); ok {
			if err := checkHistory(s.Messages); err != nil {
				return err
			}
		}
	}
	for id, n := range settled {
		if n != 1 {
			return fmt.Errorf("guarantee 3: %s has %d results", id, n)
		}
	}
	for id, n := range effects {
		if class[id] == Writes && n > 1 {
			return fmt.Errorf("guarantee 2: the effect of %s happened %d times", id, n)
		}
		if settled[id] == 0 {
			return fmt.Errorf("guarantee 3: %s has no result", id)
		}
	}
	return checkHistory(s.Messages)
}

// checkHistory holds the context against what providers demand.
func checkHistory(messages []Message) error {
	if len(messages) > 0 && messages[0].Role != User {
		return errors.New("guarantee 3: the first message is not the user's")
	}
	for i, m := range messages {
		var calls []CallID
		for _, p := range m.Parts {
			if p.Type == CallPart {
				calls = append(calls, p.Call.ID)
			}
		}
		if len(m.Parts) == 0 {
			return fmt.Errorf("guarantee 3: message %s is empty", m.ID)
		}
		if len(calls) == 0 {
			continue
		}
		if i+1 == len(messages) {
			return fmt.Errorf("guarantee 3: the calls of %s have no results", m.ID)
		}
		for j, id := range calls {
			parts := messages[i+1].Parts
			if j >= len(parts) || parts[j].Type != ResultPart || parts[j].Result.Call != id {
				return fmt.Errorf("guarantee 3: call %s is not answered in its place", id)
			}
		}
	}
	return nil
}

func (l *life) story() string {
	s := ""
	for _, e := range l.log {
		s += fmt.Sprintf("%3d %T %+v\n", e.Seq, e.Fact, e.Fact)
	}
	return s
}
