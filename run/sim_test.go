package run

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSimulationOfLivesThatCrashAtEveryPoint plays many lives with crashes, failed
// appends, late, duplicate and wrong events, interrupts, words, decisions and changes
// of the configuration at any point, and checks the guarantees after each.
// PAWL_SIM_SEED starts elsewhere, PAWL_SIM_LIVES plays more.
func TestSimulationOfLivesThatCrashAtEveryPoint(t *testing.T) {
	t.Parallel()
	lives, first := envNumber(t, "PAWL_SIM_LIVES", 20_000), envNumber(t, "PAWL_SIM_SEED", 1)
	if testing.Short() {
		lives = min(lives, 2_000)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // lives are short, and so is the heap
	began := time.Now()
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	sums := make([]tally, workers)
	for w := range workers {
		sums[w].init()
		wg.Go(func() {
			for seed := first + w; seed < first+lives && !t.Failed(); seed += workers {
				l := newLife(uint64(seed), &sums[w])
				sums[w].lives++
				if err := l.live(); err != nil {
					t.Errorf("seed %d: %v\nreplay with PAWL_SIM_SEED=%d PAWL_SIM_LIVES=1 go test ./run -run Simulation\n%s", seed, err, seed, l.story())
				}
			}
		})
	}
	wg.Wait()
	for _, sum := range sums[1:] {
		sums[0].add(sum)
	}
	sum := sums[0]
	took := time.Since(began)
	t.Logf("%d lives, %.0f a second; %d events, %d crashes, ends %v", sum.lives, float64(sum.lives)/took.Seconds(), sum.events, sum.crashes, sum.ends)
	t.Logf("%v", sum.seen)
	t.Logf("%v", sum.payloads)
	if lives < 20_000 || t.Failed() {
		return // too few for what is rare
	}
	for _, e := range []End{Completed, Asked, EndInterrupted, LimitReached, GuardrailStopped, EndRefused, EndFailed} {
		if sum.ends[e] == 0 {
			t.Errorf("no life ended %s: the simulation does not reach it", e)
		}
	}
	for _, p := range vocabulary() {
		if sum.payloads[reflect.TypeOf(p)] == 0 {
			t.Errorf("no life has a %T: let one have it, in (*life).disturb or where the world answers (sim_test.go)", p)
		}
	}
	for _, what := range reached {
		if sum.seen[what] == 0 {
			t.Errorf("no life has seen this: %s", what)
		}
	}
}

// vocabulary returns a payload of each type. [TestTheVocabularyIsWhole] says what is missing.
func vocabulary() []Payload {
	var all []Payload
	seen := map[reflect.Type]bool{nil: true}
	_, payloads := moments()
	for _, p := range payloads {
		if t := reflect.TypeOf(p); !seen[t] {
			seen[t] = true
			all = append(all, p)
		}
	}
	return all
}

// What a life may go through beyond the types of payload.
const (
	sawParked       = "a parked operation"
	sawUnparked     = "a parked operation that started again"
	sawTakenUp      = "a detached call that another process has taken up"
	sawLeft         = "a call left behind"
	sawTakenBack    = "words taken back by a second interrupt"
	sawThen         = "a turn begun with the words of an interrupt"
	sawQueued       = "a turn begun with a queued message"
	sawAnswered     = "a turn begun with an answer"
	sawSummaryDied  = "a summary that a process died in"
	sawSummary      = "a context with a summary"
	sawBySummary    = "a summary that was not the model's"
	sawAgentKilled  = "an external turn that was killed"
	sawBoth         = "two operations that ended together"
	sawLate         = "an event that came too late"
	sawWaited       = "a retry that waited"
	sawGaveUp       = "a request that was retried until the time was over"
	sawTooLongWait  = "a provider that asks for a longer wait than the run retries"
	sawBegun        = "an answer that had begun to arrive after a death"
	sawReconciled   = "a call whose tool could tell what became of it"
	sawOtherTurn    = "an interrupt of another turn"
	sawHandover     = "an interrupt that met the next turn"
	sawBusyOutput   = "a submission while an external turn is open"
	sawUnusable     = "an answer that is no action"
	sawOverspent    = "a limit reached"
	sawStepAttempts = "a step that was tried again"
	sawKept         = "a turn with calls that the interrupt before it has kept"
	sawDecidedIdle  = "a decision between two turns"
	sawHookDied     = "hooks that a process died in"
	sawHookRefused  = "a call that hooks refused"
	sawHookChanged  = "a call that hooks changed"
	sawHookWords    = "words that hooks refused"
	sawHookBlocked  = "a turn that hooks let go on"
	sawHookHalted   = "a turn that hooks stopped"
	sawHookReport   = "a report that hooks looked at"
	sawNotified     = "a person who was notified"
	sawSessionEnd   = "hooks at the end of a session"
	sawJudged       = "a call that a model judged"
	sawUnjudged     = "a call that a model may not judge"
	sawJudgedAgain  = "a model that was asked again after its process had died"
)

var reached = []string{
	sawParked, sawUnparked, sawTakenUp, sawLeft, sawTakenBack, sawThen, sawQueued, sawAnswered, sawSummaryDied, sawSummary, sawBySummary, sawAgentKilled, sawBoth, sawLate,
	sawWaited, sawGaveUp, sawTooLongWait, sawBegun, sawReconciled, sawOtherTurn, sawHandover, sawBusyOutput, sawUnusable, sawOverspent, sawStepAttempts,
	sawKept, sawDecidedIdle, sawHookDied, sawHookRefused, sawHookChanged, sawHookWords, sawHookBlocked, sawHookHalted, sawHookReport, sawNotified, sawSessionEnd,
	sawJudged, sawUnjudged, sawJudgedAgain,
}

// A tally sums up lives.
type tally struct {
	lives, events, crashes int
	ends                   map[End]int
	seen                   map[string]int
	payloads               map[reflect.Type]int
}

func (t *tally) init() {
	t.ends, t.seen, t.payloads = map[End]int{}, map[string]int{}, map[reflect.Type]int{}
}

func (t *tally) add(u tally) {
	t.lives, t.events, t.crashes = t.lives+u.lives, t.events+u.events, t.crashes+u.crashes
	for k, n := range u.ends {
		t.ends[k] += n
	}
	for k, n := range u.seen {
		t.seen[k] += n
	}
	for k, n := range u.payloads {
		t.payloads[k] += n
	}
}

func envNumber(t *testing.T, name string, def int) int {
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

// errCrash is the death of a process in a simulated life.
var errCrash = errors.New("crash")

// A life is one run carried on by processes that die: the log and the outside
// world survive, the process does not. One seed is one story. The life is the [World]
// of its run.
type life struct {
	seed  uint64
	rnd   *rand.Rand
	sum   *tally
	first Created
	log   []Event
	book  ledger // of the log; its records of calls hold the effects, which are the world's

	// Of the process.
	r    *Runner
	gate Gate
	ops  []operation
	now  time.Time
	set  bool // the clock was set

	faults   float64 // how likely a fault is at each point
	thorough bool    // more is checked
	turns    int     // that the person begins
	answers  int     // with calls, before the model ends its turn
	words    int     // said so far
	results  int     // of calls so far
	stop     struct {
		armed bool // an interrupt counts and is not in the log yet
		named bool // it names its turn
		turn  int
		words string // that came with it and are not in the log yet
	}
	given  []string // to the external agent
	killed bool     // the last external turn was, and the agent has not been told
	outage bool     // the provider answers no request
	hooks  bool     // there are some
	judges bool     // a model judges calls
}

// An operation is under way in the process.
type operation struct {
	key       string
	command   Command
	effect    bool // has happened
	cancelled bool
	closed    bool // it found the gate closed: nothing happens
}

func newLife(seed uint64, sum *tally) *life {
	l := &life{seed: seed, sum: sum, rnd: rand.New(rand.NewPCG(seed, 7)), now: time.Unix(1_800_000_000, 0), faults: 0.02, thorough: seed%256 == 0}
	l.turns, l.answers = 1+l.rnd.IntN(2), l.rnd.IntN(4)
	c := Config{Limits: Limits{Steps: 12, Wall: 20 * time.Minute}, Parallel: l.rnd.IntN(4)}
	if seed%5 == 0 {
		c.Mode = PlanMode
	}
	switch l.rnd.IntN(8) {
	case 0:
		c.Control = Controller
	case 1:
		c.Control = Auto
	case 2:
		c.Window = 1200
		l.answers += 6
	case 3:
		c.Limits.Steps = 2
	case 4:
		c.Limits.Tokens = 400
	}
	switch l.rnd.IntN(8) {
	case 0:
		c.Retry = -1
	case 1:
		c.Retry = 20 * time.Second
	}
	switch l.rnd.IntN(6) {
	case 0:
		c.Output = Output{Tool: "submit", Schema: "{}"}
	case 1:
		c.Output = Output{Schema: "{}"}
	}
	l.hooks, l.judges = l.rnd.IntN(4) == 0, l.rnd.IntN(3) == 0
	l.first = Created{Run: "r", Config: c, External: l.rnd.IntN(6) == 0}
	return l
}

func (l *life) chance(p float64) bool { return l.rnd.Float64() < p }

func (l *life) saw(what string) { l.sum.seen[what]++ }

// crash is a fault point.
func (l *life) crash() error {
	if l.chance(l.faults) {
		l.sum.crashes++
		return errCrash
	}
	return nil
}

func (l *life) live() error {
	for lifetime := 0; ; lifetime++ {
		if lifetime > 200 {
			return errors.New("guarantee 1: it never comes to an end")
		}
		if lifetime > 20 {
			l.faults = 0 // enough; let it end
		}
		switch err := l.process(); {
		case err == nil:
			return l.check()
		case !errors.Is(err, errCrash):
			return err
		}
	}
}

// process is one process: replay, settle what was under way, continue.
func (l *life) process() error {
	s := l.book.s.Clone() // has read the log event by event
	if l.thorough {
		replayed, err := Replay(l.log)
		if err != nil || dump(replayed) != dump(s) {
			return fmt.Errorf("guarantee 10: replay differs from life (%v)", err)
		}
		s = replayed
	}
	if l.chance(0.1) { // another clock
		l.now = l.now.Add(time.Duration(l.rnd.IntN(7200)-3600) * time.Second)
	}
	l.r, l.gate, l.ops, l.stop.armed = NewRunner(s), Gate{}, nil, false
	l.stop.words = ""
	l.set = false
	var in Input
	l.gate.Attend(s)
	switch {
	case s.Created.Run == "":
		in.Given = []Payload{l.first, Prompted{Parts: []Part{Text("go")}}}
	default:
		in.Given = l.recovered(s)
	}
	idle := 0
	for range 2_000 {
		l.now = l.now.Add(time.Duration(l.rnd.IntN(2000)) * time.Millisecond)
		if l.chance(0.002) {
			l.now, l.set = l.now.Add(time.Duration(l.rnd.IntN(7200)-3600)*time.Second), true
		}
		events, err := l.step(in)
		if err != nil {
			return err
		}
		if idle++; events > 0 {
			idle = 0
		}
		if idle > 60 {
			return errors.New("guarantee 1: nothing happens and the turn is open")
		}
		var done bool
		if in, done = l.input(); done {
			return nil
		}
	}
	return errors.New("guarantee 1: it works without end")
}

// recovered is what the process that takes the run up records first. The tool of a
// call may be able to tell what became of it.
func (l *life) recovered(s State) []Payload {
	payloads := s.Recover()
	for i, p := range payloads {
		if f, ok := p.(CallSettled); ok && l.chance(0.3) {
			l.saw(sawReconciled)
			payloads[i] = CallSettled{Call: f.Call, Outcome: OK, Content: []Part{Text("it is there")}, Key: "k"}
			if l.book.call(f.Call).effects == 0 {
				payloads[i] = CallSettled{Call: f.Call, Outcome: Failed, IsError: true, Content: []Part{Text("nothing was changed")}, Key: "n"}
			}
		}
	}
	if len(payloads) == 0 {
		return nil
	}
	if resumed, ok := payloads[0].(Resumed); ok && resumed.Request {
		switch s.Turn.Request.Purpose {
		case ForAgent:
			l.saw(sawAgentKilled)
		case ForSummary:
			l.saw(sawSummaryDied)
		}
	}
	return payloads
}

// step checks, appends, adopts, starts; the process may die between any two of these.
func (l *life) step(in Input) (events int, err error) {
	l.maybeClose(0.005)
	in.Interrupt, in.Closed = l.gate.Interrupt(), l.gate.Closed()
	before := ""
	if l.thorough {
		before = dump(l.r.State)
	}
	b, err := l.r.Step(l.now, l, in)
	if err != nil {
		return 0, fmt.Errorf("a step is refused: %w", err)
	}
	if l.thorough && dump(l.r.State) != before {
		return 0, errors.New("a step that was not adopted changed the state")
	}
	for _, refused := range b.Refused {
		l.saw(sawLate)
		if !errors.Is(refused.Err, ErrOrder) {
			return 0, fmt.Errorf("%T: %w", refused.Payload, refused.Err)
		}
	}
	if err := l.crash(); err != nil {
		return 0, err
	}
	if b.state.Turn.N != l.r.State.Turn.N && l.r.State.Turn.Open() {
		l.maybeClose(0.1) // while one turn has become the next
	}
	l.maybeClose(0.005)
	for _, e := range b.Events {
		if err := l.append(e, in.Closed); err != nil {
			return 0, err
		}
	}
	if err := l.crash(); err != nil {
		return 0, err
	}
	turn := l.r.State.Turn.N
	for _, key := range l.r.Adopt(b, in) {
		if i := l.find(key); i >= 0 {
			l.ops[i].cancelled = true
		} else if !slices.ContainsFunc(b.Start, func(c Command) bool { return c.Key() == key }) {
			return 0, fmt.Errorf("%s is to be cancelled and is not in flight", key)
		} // else it finds the gate closed
	}
	for _, f := range l.gate.Adopt(b) {
		if PlainText(f.Then) == l.stop.words {
			l.stop.words = "" // the person has them back
		}
	}
	if err := l.checkGate(turn); err != nil {
		return 0, err
	}
	if err := l.crash(); err != nil {
		return 0, err
	}
	for _, c := range b.Start {
		if err := l.start(c, in.Closed); err != nil {
			return 0, err
		}
	}
	return len(b.Events), l.crash()
}

// append makes one event durable.
func (l *life) append(e Event, closed bool) error {
	switch p := e.Payload.(type) {
	case HookSettled:
		l.sawHook(p)
	case CallStarted, RequestStarted, HookStarted:
		if f, ok := p.(HookStarted); closed && (!ok || f.Point != SessionEnd) {
			return fmt.Errorf("guarantee 4: %T was recorded after the gate had closed", p)
		}
		if r, ok := p.(RequestStarted); ok && r.Purpose == ForStep && r.Attempt > 1 {
			l.saw(sawStepAttempts)
		}
	case RequestFailed:
		switch {
		case p.RetryAfter > l.book.s.patience() || p.RetryAfter > 0 && p.RetryAfter < p.Asked:
			return fmt.Errorf("a retry after %v where %v was asked for", p.RetryAfter, p.Asked)
		case p.Kind != ErrOverloaded || p.RetryAfter > 0:
		case p.Asked > l.book.s.patience():
			l.saw(sawTooLongWait)
		case l.book.s.Turn.Failures > 2:
			l.saw(sawGaveUp)
		}
	case Interrupted:
		if l.stop.armed && l.book.s.Turn.N != l.stop.turn {
			l.saw(sawHandover)
		}
		if l.book.s.Turn.Phase == Interrupting {
			l.saw(sawTakenBack)
		}
		l.stop.armed = false
		if PlainText(p.Then) == l.stop.words {
			l.stop.words = ""
		}
	case Said:
		if PlainText(p.Parts) == l.stop.words {
			l.stop.words = ""
		}
	case Resumed:
		l.killed = l.killed || p.Request && l.book.s.Turn.Request.Purpose == ForAgent
	case Prompted:
		switch {
		case p.Answers != "":
			l.saw(sawAnswered)
		case p.Queued != "":
			l.saw(sawQueued)
		case len(l.book.s.Turn.Interrupt.Then) > 0:
			l.saw(sawThen)
		}
	case Compacted:
		if p.Stage == 2 {
			l.saw(sawSummary)
			if strings.HasPrefix(p.Summary, "Earlier steps") {
				l.saw(sawBySummary)
			}
		}
	case Submitted:
		if l.book.s.Turn.Phase == Requesting {
			l.saw(sawBusyOutput)
		}
	case Ended:
		if p.End == LimitReached {
			l.saw(sawOverspent)
		}
		l.sum.ends[p.End]++
	}
	l.sum.payloads[reflect.TypeOf(e.Payload)]++
	l.log = append(l.log, e)
	l.sum.events++
	return l.book.add(e)
}

// maybeClose lets an interrupt come from another goroutine.
func (l *life) maybeClose(p float64) {
	if !l.chance(p) {
		return
	}
	f := l.interrupt()
	if l.gate.Close(f) {
		l.stop.armed, l.stop.named, l.stop.turn = true, f.Turn != 0, l.r.State.Turn.N
		if !l.r.State.Turn.Open() {
			l.stop.turn++
		}
		if len(f.Then) > 0 {
			l.stop.words = PlainText(f.Then)
		}
	}
}

func (l *life) interrupt() Interrupted {
	f := Interrupted{Cause: []Cause{ByPerson, ByRequest, ByShutdown, ByTimeout, ByParent, ByPause}[l.rnd.IntN(6)]}
	if l.asksLate() && l.chance(0.7) { // it keeps the call for the next turn
		return Interrupted{Cause: ByPause}
	}
	switch l.rnd.IntN(4) {
	case 0:
		f.Turn = l.r.State.Turn.N
	case 1:
		l.words++
		f.Then = []Part{Text("rather this " + itoa(l.words))}
	case 2:
		if l.chance(0.2) {
			l.saw(sawOtherTurn)
			f.Turn = l.r.State.Turn.N + l.rnd.IntN(3) - 1
		}
	}
	return f
}

// asksLate reports whether an external agent's call waits for a decision that may come after its turn.
func (l *life) asksLate() bool {
	return slices.ContainsFunc(l.r.State.Turn.Calls, func(c *CallState) bool { return c.Late && c.Status == CallIsInspected && c.Problem == "" })
}

// checkGate holds the gate against the state that was adopted.
func (l *life) checkGate(before int) error {
	t := &l.r.State.Turn
	switch {
	case l.stop.words != "" && !l.gate.Closed():
		return fmt.Errorf("the gate has opened and lost the words %q", l.stop.words)
	case !t.Open():
		l.stop.armed = false
		if !atRest(l.r.State) { // with a prompt that follows by itself
			return nil
		}
		l.gate.Attend(l.r.State)
	case t.Phase == Interrupting && !l.gate.Closed():
		return errors.New("guarantee 4: the gate is open while the turn is being stopped")
	case l.stop.armed && (t.N == l.stop.turn || !l.stop.named) && !l.gate.Closed():
		return errors.New("guarantee 4: the gate has opened and the interrupt is not recorded")
	case l.stop.armed && t.N != l.stop.turn && l.stop.named:
		l.stop.armed = false
	}
	return nil
}

// start starts an operation whose start is durable.
func (l *life) start(c Command, closed bool) error {
	if h, ok := c.(Hook); ok && h.Point == JudgeModel && l.r.State.Turn.hooks[l.r.State.Turn.hook(h.Point, h.Call)].deaths > 0 {
		l.saw(sawJudgedAgain)
	}
	if l.find(c.Key()) >= 0 {
		return fmt.Errorf("%s was started twice", c.Key())
	}
	op := operation{key: c.Key(), command: c, closed: l.gate.Closed()}
	switch c := c.(type) {
	case Perform:
		if c.Call.Handle != "" {
			l.saw(sawTakenUp)
		} else if c.Attempt > 1 || c.Call.Status == CallRunning {
			l.saw(sawUnparked)
		}
		if closed && c.Call.Status != CallRunning {
			return fmt.Errorf("guarantee 4: %s is to start after the gate had closed", op.key)
		}
		if !op.closed && l.chance(0.5) {
			l.effect(&op)
		}
	case ExternalTurn:
		if !op.closed {
			return errors.Join(l.give(c), l.fly(op))
		}
	}
	return l.fly(op)
}

func (l *life) fly(op operation) error {
	l.ops = append(l.ops, op)
	return nil
}

func (l *life) effect(op *operation) {
	p, ok := op.command.(Perform)
	if ok && !op.effect && !op.closed && p.Call.Handle == "" { // with a handle it only asks
		op.effect = true
		l.book.call(p.Call.ID).effects++
	}
}

// give hands its words to the external agent. One whose last turn was killed midway
// is told so: it is never sent the same words alone again.
func (l *life) give(c ExternalTurn) error {
	text := PlainText(c.Message)
	if text == "" {
		return errors.New("an external turn without words")
	}
	if l.killed && !strings.Contains(text, agentCutText) && !strings.Contains(text, "[Request interrupted") {
		return fmt.Errorf("guarantee 2: the agent is not told that its turn was killed: %q", text)
	}
	if strings.Count(text, agentCutText) > 1 {
		return fmt.Errorf("the agent is told more than once that it was cut off: %q", text)
	}
	l.killed = false
	l.given = append(l.given, text)
	return nil
}

func (l *life) find(key string) int {
	return slices.IndexFunc(l.ops, func(op operation) bool { return op.key == key })
}

// input is what comes in next; done reports that the life is over.
func (l *life) input() (in Input, done bool) {
	s := &l.r.State
	if atRest(*s) {
		return l.prompt()
	}
	if at := s.Deadline(); !at.IsZero() && l.now.After(at) && l.gate.Close(Interrupted{Cause: ByTimeout}) {
		l.stop.armed, l.stop.named, l.stop.turn = true, false, s.Turn.N
	}
	if l.asksLate() && l.chance(0.1) {
		return Input{Wanted: []func(State) []Payload{wanted(l.interrupt())}}, false
	}
	if l.chance(0.12) {
		return l.disturb(), false
	}
	if slices.ContainsFunc(s.Turn.Calls, func(c *CallState) bool { return c.Late && c.Status == CallIsInspected }) {
		l.maybeClose(0.05)
	}
	if s.Turn.Phase == Interrupting {
		l.maybeClose(0.1)
		if l.chance(0.1) {
			return l.leave(), false
		}
	}
	if open := s.Answerable(); len(open) > 0 && l.chance(0.5) {
		in.Wanted = append(in.Wanted, wanted(CallAnswered{Call: open[0].ID, Parts: []Part{Text("that one")}}))
		return in, false
	}
	n := len(l.ops)
	undecided := -1
	for i := range s.Turn.Calls {
		if c := s.Turn.Calls[i]; c.Status == CallIsInspected && !c.Question && c.Problem == "" && (undecided < 0 || l.chance(0.5)) {
			undecided = i
		}
	}
	if undecided >= 0 {
		n++
	}
	switch i := l.rnd.IntN(max(1, n)); {
	case i < len(l.ops):
		l.end(i, &in)
		if len(l.ops) > 0 && l.chance(0.2) {
			l.saw(sawBoth)
			l.end(l.rnd.IntN(len(l.ops)), &in)
		}
	case undecided >= 0 && !l.gate.Closed():
		in.Wanted = append(in.Wanted, wanted(l.decision(*s.Turn.Calls[undecided], false)))
	case len(l.r.parked) > 0:
		l.r.Unpark()
	default:
		if at := l.r.RetryAt(); l.now.Before(at) {
			l.saw(sawWaited)
			l.now = at
		}
	}
	return in, false
}

// wanted is a request that means p. It finds out first whether p can follow, as package request does: the
// state that it is given stays as it is.
func wanted(p Payload) func(State) []Payload {
	return func(s State) []Payload {
		_, _ = s.Apply(Event{At: s.At, Payload: p})
		return []Payload{p}
	}
}

// prompt begins another turn, or ends the life.
func (l *life) prompt() (in Input, done bool) {
	s := &l.r.State
	asked, kept := s.Turn.End.End == Asked, s.Turn.kept() > 0
	if l.turns--; l.turns <= 0 && (!asked && !kept || l.chance(0.3)) {
		return in, true
	}
	l.answers = l.rnd.IntN(3)
	if l.hooks && len(s.aside) == 0 && l.chance(0.2) {
		l.saw(sawSessionEnd)
		in.Given = []Payload{HookStarted{Point: SessionEnd, Hooks: []string{"h"}}}
		return in, false
	}
	if kept {
		l.saw(sawKept)
		for _, c := range s.Next() {
			if d, ok := c.(Decide); ok && l.chance(0.5) {
				l.saw(sawDecidedIdle)
				in.Wanted = append(in.Wanted, wanted(l.decision(d.Call, false)))
			}
		}
	}
	l.words++
	parts := []Part{Text("words " + itoa(l.words))}
	if !asked && l.chance(0.2) {
		in.Wanted = append(in.Wanted, wanted(Prompted{Continue: true}))
		return in, false
	}
	in.Wanted = append(in.Wanted, func(s State) []Payload { return []Payload{Say(s, "", Steer, parts)} })
	return in, false
}

// disturb is what others do at any time: words, interrupts, changes, and events that
// come too late or make no sense.
func (l *life) disturb() (in Input) {
	s := &l.r.State
	n := l.rnd.IntN(len(disturbances) + 8)
	if n < len(disturbances) {
		in.Wanted = append(in.Wanted, wanted(disturbances[n](l, s)))
		return in
	}
	switch n - len(disturbances) {
	case 0:
		in.Done = append(in.Done, Completion{Key: "perform/c_99/1", Events: []Payload{CallSettled{Call: "c_1", Outcome: OK}}})
	case 1:
		in.Wanted = append(in.Wanted, wanted(l.interrupt()))
	case 2:
		l.r.Unpark()
	case 3:
		l.words++
		in.Wanted = append(in.Wanted, wanted(Said{ID: "w" + itoa(l.words), Delivery: Queue, Parts: []Part{Text("words " + itoa(l.words))}}))
	case 4, 5:
		l.words++
		in.Wanted = append(in.Wanted, wanted(Said{ID: "w" + itoa(l.words), Delivery: Steer, Parts: []Part{Text("words " + itoa(l.words))}}))
	case 6:
		in.Wanted = append(in.Wanted, wanted(Withdrawn{ID: "w" + itoa(l.words)}))
	case 7:
		in.Wanted = append(in.Wanted, wanted(Configured{l.change()}))
	}
	return in
}

// disturbances are events that must be refused, or change nothing of what is owed.
var disturbances = []func(*life, *State) Payload{
	func(l *life, s *State) Payload { return Created{Run: "r"} },
	func(l *life, s *State) Payload {
		id := CallID("c_" + itoa(1+l.rnd.IntN(6)))
		if c, _ := s.Turn.Call(id); c.Status == CallRunning {
			return CallStarted{Call: id, Attempt: c.Attempt}
		}
		return CallSettled{Call: id, Outcome: OK, Content: []Part{Text("late")}}
	},
	func(l *life, s *State) Payload { return CallStarted{Call: "c_1", Attempt: 7} },
	func(l *life, s *State) Payload {
		return CallAsked{Call: CallID("c_" + itoa(1+l.rnd.IntN(6))), Question: "which?"}
	},
	func(l *life, s *State) Payload {
		if s.Turn.Phase == Requesting {
			return RequestStarted{Purpose: ForStep, Attempt: 1}
		}
		return Replied{Stop: StopEndTurn, Parts: []Part{Text("late")}}
	},
	func(l *life, s *State) Payload {
		if s.Turn.Phase == Requesting {
			return Told{Reason: TellCut, Text: "late"}
		}
		return RequestFailed{Kind: ErrOverloaded}
	},
	func(l *life, s *State) Payload { return Submitted{Assignment: s.Assignment() - 1, Value: "late"} },
	func(l *life, s *State) Payload {
		if s.Turn.Open() {
			return Prompted{Parts: []Part{Text("early")}}
		}
		return Ended{End: Completed}
	},
	func(l *life, s *State) Payload { return CallDecided{Call: "c_1", Decision: Decision{Answer: Deny}} },
	func(l *life, s *State) Payload { return Compacted{Stage: 2, Through: "m_99", Summary: "s"} },
	func(l *life, s *State) Payload { return Resumed{Calls: []CallID{"c_99"}} },
}

func (l *life) change() (c ConfigChange) {
	switch l.rnd.IntN(5) {
	case 0:
		minus := -1
		c.Parallel = &minus // not valid
	case 1:
		window := int64(1000 + l.rnd.IntN(3000))
		c.Window = &window
	case 2:
		c.Limits.Steps = 3 + l.rnd.IntN(10)
	case 3:
		model := "other"
		c.Model = &model
	case 4:
		if l.chance(0.3) {
			c.Output = &Output{Tool: "submit", Schema: "{}"}
		}
	}
	return c
}

// leave gives up on calls that do not stop after an interrupt.
func (l *life) leave() (in Input) {
	in.Given = l.r.State.LeaveBehind()
	for _, p := range in.Given {
		l.saw(sawLeft)
		id := CallID("")
		if f, ok := p.(CallSettled); ok {
			id = f.Call
		}
		l.ops = slices.DeleteFunc(l.ops, func(op operation) bool {
			if _, hook := op.command.(Hook); hook && id == "" {
				l.r.Abandon(op.key)
				return true
			}
			c, ok := op.command.(Perform)
			if ok && c.Call.ID == id {
				l.effect(&op) // it may still have one
				l.r.Abandon(op.key)
				return true
			}
			return false
		})
	}
	return in
}

// end lets an operation in flight come to its end, or an external one a step further.
func (l *life) end(i int, in *Input) {
	op := &l.ops[i]
	c := Completion{Key: op.key}
	switch command := op.command.(type) {
	case Perform:
		switch {
		case op.cancelled || op.closed:
			c.Events = []Payload{CallSettled{Call: command.Call.ID, Outcome: Cut, IsError: true, Content: []Part{Text("cut")}, Key: "cut"}}
		case command.Call.Class == Resumable && l.chance(0.3):
			l.saw(sawParked)
			c.Parked = true
		case command.Call.Class == Writes && l.chance(0.1):
			l.effect(op) // which goes on without this process
			in.Done = append(in.Done, Completion{Key: op.key, Events: []Payload{CallDetached{Call: command.Call.ID, Handle: "h"}}, More: true})
			return
		default:
			l.effect(op)
			c.Events = []Payload{l.result(command.Call)}
		}
	case Hook:
		c.Events = []Payload{l.hookSays(command, op.cancelled || op.closed)}
	case Request:
		switch {
		case !op.cancelled && !op.closed && l.r.State.Turn.Request.Deaths > 0 && l.chance(0.3):
			l.saw(sawBegun)
			in.Done = append(in.Done, Completion{Key: op.key, Events: []Payload{Observed{}}, More: true})
			return
		case op.cancelled && l.chance(0.5):
		case op.cancelled || op.closed:
			c.Events = []Payload{RequestFailed{Kind: ErrAborted}}
		default:
			c.Events = l.answer(command)
		}
	case ExternalTurn:
		switch {
		case op.cancelled && l.chance(0.5):
		case op.cancelled || op.closed:
			c.Events = []Payload{RequestFailed{Kind: ErrAborted}}
		case l.chance(0.6):
			in.Wanted = append(in.Wanted, l.agentDoes)
			return
		case l.chance(0.2):
			c.Events = []Payload{RequestFailed{Kind: ErrBrokenStream, Reason: "exit status 1"}}
		case l.chance(0.2):
			c.Events = []Payload{Replied{Stop: StopEndTurn}}
		default:
			c.Events = []Payload{Replied{Stop: StopEndTurn, Parts: []Part{Text("done")}, Usage: Usage{Output: 10}}}
		}
	}
	in.Done = append(in.Done, c)
	l.ops = slices.Delete(l.ops, i, i+1)
}

// agentDoes is what an external agent does in its turn.
func (l *life) agentDoes(s State) []Payload {
	if s.Turn.Phase != Requesting || l.chance(0.3) {
		return []Payload{Observed{Conversation: "v", Usage: Usage{Input: 5}}}
	}
	key := "k" + itoa(l.rnd.IntN(9))
	if s.Turn.Received(key) != "" {
		key += "'" // a repeated request gets the same result, and nothing is recorded
	}
	c := l.call(s.NextCall())
	if l.chance(0.2) {
		c.Tool = "permission"
	}
	return []Payload{CallReceived{Key: key, Call: *c}}
}

func (l *life) result(c CallState) CallSettled {
	l.results++
	f := CallSettled{Call: c.ID, Outcome: OK, Content: []Part{Text(filler[:700+l.rnd.IntN(1500)])}, Key: itoa(l.rnd.IntN(3))}
	switch {
	case l.chance(0.1):
		f.Outcome, f.IsError = Failed, true
	case c.Class == Writes:
		f.Change, f.Key = MayChange, itoa(l.results)
		f.Tools = &ToolState{Dir: "d" + f.Key, Seen: []SeenFile{{Path: "f", Hash: f.Key}}}
	case c.Class == Resumable:
		f.Usage = Usage{Input: 20}
	}
	return f
}

var filler = strings.Repeat("All work and no play makes Jack a dull boy. ", 60)

// answer is what comes of a model request.
func (l *life) answer(c Request) []Payload {
	if l.chance(0.003) {
		l.outage = !l.outage
	}
	if l.outage || l.chance(0.1) {
		f := RequestFailed{Kind: []ErrorKind{ErrOverloaded, ErrBrokenStream, ErrTooLong, ErrRefused, ErrAuth}[max(0, l.rnd.IntN(10)-5)], Reason: "it failed", Usage: Usage{Input: 10}}
		if l.outage {
			f.Kind = ErrOverloaded
		}
		switch l.rnd.IntN(40) {
		case 0:
			f.Asked = time.Hour
		case 1, 2, 3, 4, 5, 6, 7, 8:
			f.Asked = time.Duration(l.rnd.IntN(100)) * time.Second
		}
		return []Payload{f}
	}
	f := Replied{Stop: StopEndTurn, Parts: []Part{Text("done")}, Usage: Usage{Input: 20, Output: 10}}
	s := &l.r.State
	if s.Config.Window > 0 {
		f.Usage = Usage{} // its bytes count
	}
	if c.Purpose != ForStep {
		if l.chance(0.1) {
			f.Parts = nil
		}
		return []Payload{f}
	}
	if l.answers > 0 {
		l.answers--
		f.Stop, f.Parts = StopToolUse, l.parts(s.NextCall())
		if s.Config.Controlled() {
			f.Action = &Action{Kind: StepTool, InPlan: true, Description: "look"}
		}
		return []Payload{f}
	}
	switch l.rnd.IntN(12) {
	case 0:
		f.Stop = StopMaxTokens
	case 1:
		f.Stop, f.Parts = StopPause, f.Parts[:l.rnd.IntN(2)]
	case 2:
		f.Parts = nil
	case 3:
		f.Promises = true
	case 4:
		f.Stop = []StopReason{StopFiltered, StopRefusal, StopGuardrail, StopSequence}[l.rnd.IntN(4)]
	}
	if s.Config.Controlled() {
		return l.act(f)
	}
	if s.owesOutput() && f.Stop == StopEndTurn && len(f.Parts) > 0 && s.Config.Output.Tool == "" {
		if l.chance(0.5) {
			return []Payload{f, Submitted{Assignment: s.Assignment(), Value: "1"}}
		}
		f.Unfit = "It does not fit."
	} else if s.owesOutput() && l.chance(0.7) {
		l.answers = 1 // it hands the result in
	}
	return []Payload{f}
}

// act is an answer without calls in controller mode.
func (l *life) act(f Replied) []Payload {
	switch l.rnd.IntN(5) {
	case 0:
		l.saw(sawUnusable)
		f.Action = &Action{Problem: "no JSON", Feedback: "Again."}
	case 1:
		f.Action = &Action{Kind: StepGuardrail, Reason: "It must not be"}
	case 2:
		f.Action = &Action{Kind: StepComplete, Message: "done"}
	default:
		f.Action = &Action{Kind: StepRespond, InPlan: true, Message: "done"}
	}
	return []Payload{f}
}

var tools = []string{"read", "read", "edit", "shell", "agent", "ask", "nosuch", "urgent", "submit"}

func (l *life) parts(n int) []Part {
	parts := []Part{Text(filler[:100+l.rnd.IntN(300)])}
	for range 1 + l.rnd.IntN(3) {
		parts = append(parts, Part{Type: CallPart, Call: l.call(n)})
		n++
	}
	return parts
}

func (l *life) call(n int) *Call {
	c := &Call{ID: CallID("c_" + itoa(n)), Tool: tools[l.rnd.IntN(len(tools))], Arguments: "{}"}
	if c.Tool == "submit" && l.r.State.Config.Output.Tool == "" {
		c.Tool = "read"
	}
	if l.chance(0.05) {
		c.Fault = []Fault{FaultCut, FaultNotJSON, FaultEmpty}[l.rnd.IntN(3)]
	}
	return c
}

// decision is what a rule or a person says about a call; a rule may leave it to a
// person.
func (l *life) decision(c CallState, rule bool) Payload {
	switch n := l.rnd.IntN(40); {
	case rule && n < 16:
		return nil
	case n == 39:
		f := Interrupted{Cause: ByWait, Call: c.ID}
		if l.chance(0.5) {
			f.Then = []Part{Text("rather that")}
		}
		return f
	case n >= 35:
		return CallDecided{Call: c.ID, Decision: Decision{Answer: Deny}, Content: "no"}
	}
	return CallDecided{Call: c.ID, Decision: Decision{Answer: Allow}}
}

func (l *life) Inspect(_ State, c Call) CallInspected {
	f := inspectedClass(c)
	f.Key = c.Tool // the fingerprint of the arguments costs more than the life
	return f
}

func (l *life) Decide(s State, c CallState) Payload {
	for _, point := range []HookPoint{PreToolUse, PermissionRequest} {
		if _, _, yes := s.Turn.Hooked(point, c.ID); l.hooks && !yes && s.Turn.Open() && !s.Created.External && l.chance(0.5) {
			return HookStarted{Point: point, Call: c.ID, Hooks: []string{"h"}}
		}
	}
	p := l.decision(c, true)
	if l.judges && p == nil && s.Turn.Open() {
		j, asked := s.Turn.Judged(c.ID)
		switch {
		case asked && j.Says == HookAllows:
			return CallDecided{Call: c.ID, Decision: Decision{Answer: Allow, Source: ByModel, By: j.Model, Digest: j.Digest}}
		case s.Turn.Judging():
			return nil
		case s.MayJudge(c.ID):
			return HookStarted{Point: JudgeModel, Call: c.ID, Hooks: []string{"model"}, Digest: "d"}
		case !asked:
			l.saw(sawUnjudged)
		}
	}
	if p == nil && l.hooks && s.Turn.Open() && !s.Notified(c.ID) && l.chance(0.5) {
		l.saw(sawNotified)
		return HookStarted{Point: Notification, Call: c.ID, Hooks: []string{"h"}}
	}
	return p
}

// Hooks are asked for more often than they are there.
func (l *life) Hooks(s State, at Hook) []string {
	due := at.Point != SessionStart && at.Point != SubagentStart || s.SessionStarted == 0 || s.SessionStarted < s.Summarized
	if l.hooks && at.Point == TaskCompleted {
		l.saw(sawHookReport)
	}
	if !l.hooks || !due || at.Point != UserPromptSubmit && !l.chance(0.6) {
		return nil
	}
	return []string{"h", "i"}
}

// hookSays is what hooks come to.
func (l *life) hookSays(c Hook, stopped bool) HookSettled {
	p := HookSettled{Point: c.Point, Call: c.Call, Runs: []HookRun{{Hook: "h"}, {Hook: "i"}}}
	if stopped {
		return p
	}
	if c.Point == JudgeModel {
		p.Usage = Usage{Input: 1}
		if p.Says = []HookAnswer{HookAllows, HookDenies, HookDenies, HookPasses}[l.rnd.IntN(4)]; p.Says != HookPasses {
			p.Reason = "so it is"
		}
		return p
	}
	switch n := l.rnd.IntN(12); {
	case n < 2:
		p.Says, p.Reason = HookDenies, "no"
	case n == 2:
		p.Says, p.Reason = HookAsks, "who knows"
	case n == 3:
		p.Says = HookAllows
	case n == 4:
		p.Context = "by the way"
	case n == 5 && l.chance(0.3):
		p.Halt = "enough"
	case n < 8 && c.Call != "":
		p.Arguments = `{"x":"changed"}`
	}
	return p
}

func (l *life) sawHook(p HookSettled) {
	words := p.Point == UserPromptSubmit
	for what, yes := range map[string]bool{
		sawHookDied:    len(p.Runs) > 0 && p.Runs[0].Problem == hookLostText,
		sawHookRefused: p.Says == HookDenies && p.Point == PreToolUse,
		sawHookChanged: p.Arguments != "",
		sawHookWords:   p.Says == HookDenies && words,
		sawHookBlocked: p.Says == HookDenies && p.Point == Stop,
		sawHookHalted:  p.Halt != "",
		sawJudged:      p.Point == JudgeModel && p.Says != HookPasses,
	} {
		if yes {
			l.saw(what)
		}
	}
}

func (l *life) Recheck(_ State, c CallState) Payload {
	switch l.rnd.IntN(12) {
	case 0:
		return ApprovalInvalidated{Call: c.ID, Reason: "the file has changed"}
	case 1:
		return CallDecided{Call: c.ID, Decision: Decision{Answer: Never}, Content: "no more"}
	}
	return nil
}

func (l *life) Jobs() []Job {
	if l.chance(0.1) {
		return []Job{{ID: "job_1", Command: "serve"}}
	}
	return nil
}

func (l *life) Submit(State, CallState) (string, string) {
	if l.chance(0.3) {
		return "", "It does not fit."
	}
	return "1", ""
}

func (l *life) Partial(next int) ([]Part, Usage) {
	switch l.rnd.IntN(3) {
	case 0:
		return []Part{{Type: TextPart, Text: "half", Cut: true}}, Usage{Output: 3}
	case 1:
		return l.parts(next), Usage{Output: 5}
	}
	return nil, Usage{}
}

// check tests the guarantees on the finished life.
func (l *life) check() error {
	if err := l.book.end(); err != nil {
		return err
	}
	if l.thorough {
		replayed, err := Replay(l.log)
		if err != nil || dump(replayed) != dump(l.r.State) {
			return fmt.Errorf("guarantee 10: replay differs from life (%v)", err)
		}
	}
	if !l.first.External {
		return nil
	}
	given := strings.Join(l.given, "\n")
	for _, m := range l.r.State.Messages {
		if m.Role != User || number(CallID(m.ID)) > l.r.State.heard {
			continue
		}
		for _, p := range m.Parts {
			if !strings.Contains(given, p.Text) {
				return fmt.Errorf("the external agent was not given %q", p.Text)
			}
		}
	}
	return nil
}

func (l *life) story() string {
	var s strings.Builder
	for _, e := range l.log {
		text := fmt.Sprintf("%+v", e.Payload)
		fmt.Fprintf(&s, "%3d %s %T %s\n", e.Seq, e.At.Format("15:04:05"), e.Payload, shorten(text, 300))
	}
	if l.r != nil {
		fmt.Fprintf(&s, "owed:")
		for _, c := range l.r.State.Next() {
			fmt.Fprintf(&s, " %s", c.Key())
		}
		fmt.Fprintf(&s, "\nin flight: %v, gate closed: %v\n", l.r.ops, l.gate.Closed())
	}
	return s.String()
}
