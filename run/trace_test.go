package run

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/heuristic"
	"pawl/internal/golden"
)

// A trace is a story about a run: lines that happen to it, each followed by what
// the [Runner] makes of it. Lines that begin with ">" (owed), "+" (recorded by
// itself), "-" (in flight and to be cancelled), "!" (refused) and "=" (what was asked
// for with show) are written by the test; UPDATE=1 writes them again.
//
//	config steps=3 calls=9 parallel=1 wall=1m retry=1m window=1000 nonudge external child hooks=Stop,PreToolUse output native control=C model=M fallback=M
//	prompt WORDS | say WORDS | continue | answer c_1 WORDS | steer ID WORDS | queue ID WORDS | withdraw ID
//	reply [stop=S] [tokens=N] [cost=F] ["words"] [think] [opaque] [submits=JSON|unfit=WHY] [action=KIND|problem=WHY] TOOL(ARGS)…
//	                                 TOOL! comes cut, TOOL? with arguments that are no JSON
//	fail KIND [asked=1m] [tokens=N]  the request ends without an answer; how long the provider asks to wait
//	submit [c_1] JSON                a result is accepted
//	wait c_1 [WORDS] | void c_1
//	allow|deny c_1 …  done c_1 [RESULT]  err c_1 [RESULT]  cut c_1  unsure c_1  changed c_1
//	instructs c_1 [RESULT]           it is done, and touched what has instructions of its own
//	start c_1                        a start that nothing owes
//	detached c_1 HANDLE              what carries a running call out can be asked for its outcome
//	asks c_1 WORDS | answers c_1 [WORDS]  a call asks while it runs; the answer, or that it waits for none any more
//	do [RESULT]                      allow and finish every open call in order
//	park c_1 | unpark                what c_1 started waits for a person; a person has answered
//	interrupt [CAUSE] ["words that had streamed"] [tokens=N] [TOOL(ARGS)]
//	leave                            what still runs after an interrupt is left behind
//	crash                            the process dies; the next one takes the run up
//	hook POINT [c_1] [allow|ask|deny REASON] [args=X] [context=WORD] [halt=WORD] [tokens=N]  its hooks have ended
//	job COMMAND                      a background job begins
//	observed [WORDS] | driven [WORDS] | received TOOL(ARGS) [KEY]
//	sleep 5s                         time passes
//	retry                            time passes until the request is sent again
//	show                             the context as the model would see it
//	answered                         what a person reads
//
// Requests, external turns and calls start by themselves as soon as they are owed. A
// call's class is told by its tool: read, list, look, urgent and wait read; agent, ask
// and submit are resumable; everything else writes. A tool called nosuch has a problem.
func TestTraces(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".trace"), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, file, []byte(playTrace(t, string(b))))
		})
	}
}

// finish plays a trace and returns the state at its end, and the time.
func finish(t *testing.T, text string) (State, time.Time) {
	p := play(t, text)
	return p.r.State, p.now
}

func playTrace(t *testing.T, text string) string {
	p := play(t, text)
	// Whatever the story, the log replays to the same state.
	again, err := Replay(p.log)
	if err != nil {
		t.Errorf("the log of the trace does not replay: %v", err)
	}
	if got, want := dump(again), dump(p.r.State); got != want {
		t.Errorf("replayed state differs (-live +replayed):\n%s", cmp.Diff(want, got))
	}
	return p.out.String()
}

func play(t *testing.T, text string) *player {
	p := &player{t: t, r: NewRunner(State{}), cancelled: map[string]bool{}, given: map[string]bool{}, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
			p.say("%s", line)
		case !strings.ContainsAny(line[:1], ">+-!="):
			p.say("%s", line)
			p.line(line)
		}
	}
	return p
}

// A player drives the run of a trace and is its [World]. Every batch is durable at
// once.
type player struct {
	t     *testing.T
	r     *Runner
	gate  Gate
	log   []Event
	now   time.Time
	out   strings.Builder
	quiet bool
	first Created

	cancelled map[string]bool // calls that were cancelled
	given     map[string]bool // external turns whose words were shown

	hooks   []string // points that have some
	jobs    []Job
	partial []Part // what has streamed when the line interrupts
	usage   Usage
}

func (p *player) say(format string, args ...any) {
	if !p.quiet {
		fmt.Fprintf(&p.out, format+"\n", args...)
	}
}

// step lets in happen and says what follows, until nothing does.
func (p *player) step(in Input) {
	said := slices.Clone(in.Given)
	for _, c := range in.Done {
		said = append(said, c.Events...)
	}
	for _, want := range in.Wanted {
		said = append(said, want(p.r.State)...)
	}
	for range 100 {
		in.Interrupt, in.Closed = p.gate.Interrupt(), p.gate.Closed()
		b, err := p.r.Step(p.now, p, in)
		if err != nil {
			p.say("! %s", strings.TrimPrefix(err.Error(), "run: event out of order: "))
			return
		}
		for _, refused := range b.Refused {
			p.say("! %s", strings.TrimPrefix(refused.Err.Error(), "run: event out of order: "))
		}
		for _, e := range b.Events {
			if i := slices.IndexFunc(said, func(f Payload) bool { return reflect.DeepEqual(f, e.Payload) }); i >= 0 {
				said = slices.Delete(said, i, i+1) // the line says it already
			} else if text := describe(e.Payload); text != "" {
				p.say("+ %s", text)
			}
		}
		p.log = append(p.log, b.Events...)
		cancelled := p.r.Adopt(b, in)
		p.gate.Adopt(b)
		in = Input{Done: p.cancel(cancelled)}
		if len(b.Events)+len(in.Done) == 0 {
			p.owed()
			return
		}
	}
	p.t.Fatal("the runner records without end")
}

// cancel says what is cancelled, and returns the requests among it: they end at once,
// while calls and hooks end when their lines say so.
func (p *player) cancel(keys []string) []Completion {
	var ended []Completion
	slices.Sort(keys)
	for _, key := range keys {
		if !strings.HasPrefix(key, "perform/") && !strings.HasPrefix(key, "hook/") {
			ended = append(ended, Completion{Key: key})
		} else if p.cancelled[key] {
			continue
		}
		p.cancelled[key] = true
		p.say("- %s", key)
	}
	return ended
}

func (p *player) owed() {
	for _, c := range p.r.State.Next() {
		key := c.Key()
		if at := p.r.RetryAt(); !at.IsZero() && !p.r.ops[key] {
			key += " after " + at.Sub(p.now).String()
		}
		if x, ok := c.(ExternalTurn); ok && !p.given[key] {
			p.given[key] = true
			key += " " + oneLine(fmt.Sprintf("%q", PlainText(x.Message)), 400)
		}
		if p.r.parked[key] {
			key += " parked"
		}
		p.say("> %s", key)
	}
}

// want offers events to the run as someone else's wish.
func (p *player) want(payloads ...Payload) {
	var in Input
	for _, f := range payloads {
		in.Wanted = append(in.Wanted, func(State) []Payload { return []Payload{f} })
	}
	p.step(in)
}

// done ends the operation of that key with events. What no operation in flight brings
// can only be offered.
func (p *player) done(key string, payloads ...Payload) {
	if !p.r.ops[key] {
		p.want(payloads...)
		return
	}
	p.step(Input{Done: []Completion{{Key: key, Events: payloads}}})
}

// The player is the world of its run. A person decides on every call.

func (p *player) Inspect(_ State, c Call) CallInspected { return inspected(c) }

func (p *player) Decide(s State, c CallState) Payload {
	for _, point := range []HookPoint{PreToolUse, PermissionRequest} {
		if _, _, started := s.Turn.Hooked(point, c.ID); !started && slices.Contains(p.hooks, string(point)) {
			return HookStarted{Point: point, Call: c.ID, Hooks: []string{"check"}}
		}
	}
	if j, asked := s.Turn.Judged(c.ID); asked && j.Says == HookAllows {
		return CallDecided{Call: c.ID, Decision: Decision{Answer: Allow, Source: ByModel, By: j.Model, Digest: j.Digest}}
	}
	if slices.Contains(p.hooks, string(JudgeModel)) && !s.Turn.Hooking(c.ID) && s.MayJudge(c.ID) {
		if s.Turn.Judging() {
			return nil
		}
		return HookStarted{Point: JudgeModel, Call: c.ID, Hooks: []string{"model"}, Digest: "d"}
	}
	if slices.Contains(p.hooks, string(Notification)) && !s.Notified(c.ID) {
		return HookStarted{Point: Notification, Call: c.ID, Hooks: []string{"check"}}
	}
	return nil
}

func (p *player) Hooks(s State, at Hook) []string {
	if !slices.Contains(p.hooks, string(at.Point)) || (at.Point == SessionStart || at.Point == SubagentStart) && s.SessionStarted > s.Summarized {
		return nil
	}
	return []string{"check"}
}

func (p *player) Recheck(State, CallState) Payload { return nil }
func (p *player) Partial(int) ([]Part, Usage)      { return p.partial, p.usage }
func (p *player) Jobs() []Job                      { return p.jobs }

func (p *player) Submit(_ State, c CallState) (string, string) {
	if strings.Contains(c.Arguments, "bad") {
		return "", "It does not fit."
	}
	return c.Arguments, ""
}

// inspected is what a worker would find out about a call.
func inspected(c Call) CallInspected {
	f := inspectedClass(c)
	f.Key = heuristic.CallKey(c.Tool, c.Arguments)
	return f
}

func inspectedClass(c Call) CallInspected {
	f := CallInspected{Call: c.ID, Tool: c.Tool, Class: Writes}
	switch c.Tool {
	case "read", "list", "look", "wait":
		f.Class = Reads
		f.Polls = c.Tool == "wait"
	case "agent":
		f.Class = Resumable
	case "submit":
		f.Class, f.Submits = Resumable, true
	case "ask":
		f.Class, f.Question = Resumable, true
	case "permission":
		f.Class, f.Late = Reads, true
	case "nosuch":
		f.Problem = "There is no tool called nosuch."
	case "urgent":
		f.Class, f.Priority = Reads, 5
	}
	return f
}

// describe says what a payload that follows by itself is; empty for those which the
// owed commands show.
func describe(p Payload) string {
	switch p := p.(type) {
	case RequestStarted, CallStarted, Created, HookStarted:
		return ""
	case HookSettled:
		return strings.TrimSpace(fmt.Sprintf("hooks of %s %s say %s", p.Point, p.Call, p.Says)) + " " + p.Reason
	case RequestFailed:
		if p.Kind != ErrAborted {
			return ""
		}
		return "failed " + p.Reason
	case Ended:
		text := fmt.Sprintf("ended %s %s", p.End, p.Reason)
		if p.End == EndFailed {
			text += " " + p.Detail
		}
		for _, j := range p.Jobs {
			text += " " + j.ID
		}
		return strings.TrimSpace(text)
	case CallInspected:
		if p.Problem == "" {
			return ""
		}
		return fmt.Sprintf("inspected %s %s", p.Call, oneLine(p.Problem, 200))
	case CallDecided:
		return fmt.Sprintf("decided %s %s", p.Call, p.Decision.Answer)
	case CallSettled:
		return fmt.Sprintf("settled %s %s %s", p.Call, p.Outcome, oneLine(PlainText(p.Content), 400))
	case Told:
		return strings.TrimSpace(fmt.Sprintf("told %s %s", p.Reason, p.Call)) + " " + oneLine(p.Text, 120)
	case Synthesized:
		return "synthesized " + oneLine(p.Text, 400)
	case Compacted:
		return fmt.Sprintf("compacted stage %d %v%s freed %d", p.Stage, p.Calls, p.Through, p.Freed)
	case Configured:
		if p.Change.Model != nil {
			return fmt.Sprintf("configured model=%s window=%d: %s", *p.Change.Model, *p.Change.Window, p.Change.Reason)
		}
		return fmt.Sprintf("configured control=%s", *p.Change.Control)
	case Submitted:
		return fmt.Sprintf("submitted %s %s", p.Call, p.Value)
	case Prompted:
		return fmt.Sprintf("prompted %q", PlainText(p.Parts))
	case Interrupted:
		return strings.TrimSpace(fmt.Sprintf("interrupted %s %s", p.Cause, p.Call))
	case Resumed:
		return strings.TrimSpace(fmt.Sprintf("resumed%s %s", map[bool]string{true: " request"}[p.Request], strings.Trim(fmt.Sprint(p.Calls), "[]")))
	}
	return fmt.Sprintf("%T", p)
}

func oneLine(s string, n int) string { return shorten(strings.ReplaceAll(s, "\n", "⏎"), n) }

func (p *player) line(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	words := strings.Fields(rest)
	first, tail, _ := strings.Cut(rest, " ")
	if p.r.State.Created.Run == "" && verb != "config" {
		p.quiet = true
		p.first.Run = "r"
		p.step(Input{Given: []Payload{p.first}})
		p.quiet = false
	}
	switch verb {
	case "config":
		p.config(words)
	case "prompt":
		p.want(Prompted{Parts: []Part{Text(rest)}})
	case "continue":
		p.want(Prompted{Continue: true})
	case "answer":
		p.want(Prompted{Answers: CallID(first), Parts: []Part{Text(tail)}})
	case "steer":
		p.want(Said{ID: first, Delivery: Steer, Parts: []Part{Text(tail)}})
	case "queue":
		p.want(Said{ID: first, Delivery: Queue, Parts: []Part{Text(tail)}})
	case "withdraw":
		p.want(Withdrawn{ID: first})
	case "reply":
		p.done(p.request(), p.reply(rest)...)
	case "submit":
		if strings.HasPrefix(first, "c_") {
			p.want(Submitted{Assignment: p.r.State.Assignment(), Call: CallID(first), Value: tail})
		} else {
			p.want(Submitted{Assignment: p.r.State.Assignment(), Value: rest})
		}
	case "fail":
		f := RequestFailed{Kind: ErrorKind(first), Reason: "it failed"}
		for w := range strings.FieldsSeq(tail) {
			if asked, ok := strings.CutPrefix(w, "asked="); ok {
				f.Asked, _ = time.ParseDuration(asked)
			} else if _, err := fmt.Sscanf(w, "tokens=%d", &f.Usage.Input); err != nil {
				p.t.Fatalf("unknown word %q", w)
			}
		}
		p.done(p.request(), f)
	case "allow", "deny":
		var all []Payload
		for _, id := range words {
			f := CallDecided{Call: CallID(id), Decision: Decision{Answer: Allow, Source: "person"}}
			if verb == "deny" {
				f.Decision.Answer, f.Content = Deny, "Not allowed."
			}
			all = append(all, f)
		}
		p.want(all...)
	case "wait":
		f := Interrupted{Turn: p.r.State.Turn.N, Cause: ByWait, Call: CallID(first)}
		if tail != "" {
			f.Then = []Part{Text(tail)}
		}
		p.want(f)
	case "void":
		p.want(ApprovalInvalidated{Call: CallID(first), Reason: "the file has changed"})
	case "start":
		c, _ := p.r.State.Turn.Call(CallID(first))
		p.want(CallStarted{Call: CallID(first), Attempt: c.Attempt + 1})
	case "detached":
		p.step(Input{Done: []Completion{{Key: p.perform(CallID(first)), Events: []Payload{CallDetached{Call: CallID(first), Handle: tail}}, More: true}}})
	case "asks":
		p.step(Input{Done: []Completion{{Key: p.perform(CallID(first)), Events: []Payload{CallAsked{Call: CallID(first), Question: tail}}, More: true}}})
	case "answers":
		f := CallAnswered{Call: CallID(first)}
		if tail != "" {
			f.Parts = []Part{Text(tail)}
		}
		p.want(f)
	case "say":
		p.want(Say(p.r.State, "said", Steer, []Part{Text(rest)}))
	case "done", "err", "cut", "unsure", "changed", "instructs":
		p.settle(verb, CallID(first), tail)
	case "do":
		p.doAll(rest)
	case "park":
		p.step(Input{Done: []Completion{{Key: p.perform(CallID(first)), Parked: true}}})
	case "unpark":
		p.r.Unpark()
		p.step(Input{})
	case "interrupt":
		p.interrupt(rest)
	case "leave":
		in := Input{Given: p.r.State.LeaveBehind()}
		for _, c := range p.r.State.Turn.Calls {
			if c.Status == CallRunning {
				p.r.Abandon(p.perform(c.ID))
			}
		}
		for _, f := range in.Given {
			p.say("+ %s", describe(f))
		}
		p.step(in)
	case "crash":
		s, err := Replay(p.log)
		if err != nil {
			p.t.Fatal(err)
		}
		p.r, p.gate = NewRunner(s), Gate{}
		p.gate.Attend(s)
		for _, f := range s.Recover() {
			p.say("+ %s", describe(f))
		}
		p.step(Input{Given: s.Recover()})
	case "observed":
		if p.first.External && rest != "" {
			p.want(Observed{Parts: []Part{Text(rest)}})
		} else if p.first.External {
			p.want(Observed{Conversation: "conv"})
		} else {
			p.want(Observed{}) // part of the answer has arrived
		}
	case "hook":
		p.hook(words)
	case "leaves": // the process lets go of the run
		p.step(Input{Given: []Payload{HookStarted{Point: SessionEnd, Hooks: []string{"check"}}}})
	case "job":
		p.jobs = append(p.jobs, Job{ID: fmt.Sprintf("job_%d", len(p.jobs)+1), Command: rest, Since: p.now})
	case "driven":
		f := Replied{Stop: StopEndTurn}
		if rest != "" {
			f.Parts = []Part{Text(rest)}
		}
		p.done(p.request(), f)
	case "received":
		tool, args, _ := strings.Cut(rest, "(")
		args, key, _ := strings.Cut(args, ")")
		p.want(CallReceived{Key: strings.TrimSpace(key), Call: Call{ID: CallID(fmt.Sprintf("c_%d", p.r.State.NextCall())), Tool: tool, Arguments: fmt.Sprintf(`{"x":%q}`, args)}})
	case "sleep":
		d, err := time.ParseDuration(rest)
		if err != nil {
			p.t.Fatal(err)
		}
		p.now = p.now.Add(d)
		p.step(Input{})
	case "retry":
		p.now = p.r.RetryAt()
		p.step(Input{})
	case "show":
		p.show()
	case "answered":
		p.say("= %s", oneLine(p.r.State.Answer(), 500))
	default:
		p.t.Fatalf("unknown line %q", line)
	}
}

// hook ends the hooks of a point.
func (p *player) hook(words []string) {
	f := HookSettled{Point: HookPoint(words[0]), Runs: []HookRun{{Hook: "check"}}}
	for _, w := range words[1:] {
		k, v, is := strings.Cut(w, "=")
		switch {
		case strings.HasPrefix(w, "c_"):
			f.Call = CallID(w)
		case k == "args":
			f.Arguments = fmt.Sprintf(`{"x":%q}`, v)
		case k == "context":
			f.Context = v
		case k == "halt":
			f.Halt = v
		case k == "tokens":
			if _, err := fmt.Sscan(v, &f.Usage.Input); err != nil {
				p.t.Fatal(err)
			}
		case is:
			p.t.Fatalf("unknown word %q of a hook", w)
		case f.Says == "" && slices.Contains([]HookAnswer{HookAllows, HookAsks, HookDenies}, HookAnswer(w)):
			f.Says = HookAnswer(w)
		default:
			f.Reason = strings.TrimSpace(f.Reason + " " + w)
		}
	}
	key := "hook/" + words[0]
	for _, c := range p.r.State.Next() {
		if h, ok := c.(Hook); ok && h.Point == f.Point && h.Call == f.Call {
			key = h.Key()
		}
	}
	p.done(key, f)
}

func (p *player) show() {
	s := p.r.State
	for _, m := range s.Messages {
		p.say("= %s %s", m.ID, m.Role)
		for _, part := range m.Parts {
			p.say("=     %s", showPart(part))
		}
	}
	if plan := s.Plan; plan.ID != "" {
		p.say("= %s %s", plan.ID, oneLine(plan.text(), 400))
	}
	if v := s.Submission(); v != (Submission{}) {
		p.say("= handed in %s%s", v.Value, map[bool]string{true: " by " + string(v.Call)}[v.Call != ""])
	}
	for _, w := range s.Returned {
		p.say("= returned %s %q", w.ID, PlainText(w.Parts))
	}
}

func showPart(part Part) string {
	switch {
	case part.Call != nil:
		return fmt.Sprintf("call %s %s %s", part.Call.ID, part.Call.Tool, part.Call.Arguments)
	case part.Result != nil:
		mark := ""
		if part.Result.IsError {
			mark = "error "
		}
		return fmt.Sprintf("%sresult of %s: %s", mark, part.Result.Call, oneLine(PlainText(part.Result.Content), 500))
	case part.Cut:
		return fmt.Sprintf("%s (cut): %s", part.Type, oneLine(part.Text, 500))
	}
	return fmt.Sprintf("%s: %s", part.Type, oneLine(part.Text, 500))
}

func (p *player) config(words []string) {
	var c ConfigChange
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		n := 0
		fmt.Sscan(v, &n)
		switch k {
		case "steps":
			c.Limits.Steps = n
		case "calls":
			c.Limits.Calls = n
		case "parallel":
			c.Parallel = &n
		case "tokens":
			c.Limits.Tokens = int64(n)
		case "cost":
			fmt.Sscan(v, &c.Limits.Cost)
		case "wall":
			c.Limits.Wall, _ = time.ParseDuration(v)
		case "retry":
			retry, err := time.ParseDuration(v)
			if err != nil {
				p.t.Fatal(err)
			}
			c.Retry = &retry
		case "window":
			window := int64(n)
			c.Window = &window
		case "nonudge":
			yes := true
			c.NoNudge = &yes
		case "compact":
			c.Compact = true
		case "mode":
			c.Mode = &v
		case "external":
			p.first.External = true
		case "child":
			p.first.Parent, p.first.ParentCall = "p", "c_1"
		case "hooks":
			p.hooks = strings.Split(v, ",")
		case "control":
			c.Control = &v
		case "output":
			c.Output = &Output{Tool: "submit", Schema: "{}"}
		case "model":
			c.Model = &v
		case "fallback":
			c.Fallback = &Fallback{Model: v, Window: 500, Control: Native}
		case "native":
			c.Output = &Output{Schema: "{}"} // the answer itself is the result
		default:
			p.t.Fatalf("unknown setting %q", w)
		}
	}
	if p.r.State.Created.Run == "" {
		p.first.Config = c.Apply(p.first.Config)
		return
	}
	p.want(Configured{c})
}

// request returns the key of the request, or external turn, that is in flight.
func (p *player) request() string {
	for _, c := range p.r.State.Next() {
		switch c.(type) {
		case Request, ExternalTurn:
			return c.Key()
		}
	}
	return ""
}

// perform returns the key of the operation that runs the call.
func (p *player) perform(id CallID) string {
	c, _ := p.r.State.Turn.Call(id)
	return Perform{c, c.Attempt}.Key()
}

// reply builds a message, and what comes with it, from its line.
func (p *player) reply(line string) []Payload {
	f := Replied{Usage: Usage{Priced: true}}
	var also []Payload
	n := p.r.State.NextCall()
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] == '"' {
			text, rest, ok := strings.Cut(line[1:], `"`)
			if !ok {
				p.t.Fatalf("unclosed words in %q", line)
			}
			f.Parts = append(f.Parts, Text(repeated(text)))
			line = rest
			continue
		}
		if head, rest, ok := strings.Cut(line, "("); ok && !strings.Contains(head, " ") {
			args, rest, _ := strings.Cut(rest, ")")
			c := &Call{ID: CallID(fmt.Sprintf("c_%d", n)), Tool: strings.TrimRight(head, "!?"), Arguments: fmt.Sprintf(`{"x":%q}`, args)}
			if strings.HasSuffix(head, "!") {
				c.Fault, c.Arguments = FaultCut, "{}"
			}
			if strings.HasSuffix(head, "?") {
				c.Fault, c.Raw, c.Arguments = FaultNotJSON, args, "{}"
			}
			n++
			f.Parts = append(f.Parts, Part{Type: CallPart, Call: c})
			line = rest
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		k, v, _ := strings.Cut(word, "=")
		switch k {
		case "stop":
			f.Stop = StopReason(v)
		case "tokens":
			fmt.Sscan(v, &f.Usage.Input)
		case "cost":
			fmt.Sscan(v, &f.Usage.Cost)
		case "submits":
			also = append(also, Submitted{Assignment: p.r.State.Assignment(), Value: v})
		case "action":
			f.Action = &Action{Kind: StepKind(v), InPlan: v != "complete" && v != "guardrail_stop", Description: "step",
				Message: map[string]string{"respond": "It is so.", "complete": "It is done."}[v]}
			if v == "guardrail_stop" {
				f.Action.Reason = "It must not be"
			}
		case "problem":
			f.Action = &Action{Problem: v, Feedback: "Again: " + v}
		case "unfit":
			f.Unfit = v
		case "think":
			f.Parts = append(f.Parts, Part{Type: ThinkingPart, Text: "hm", Signature: "s"})
		case "opaque":
			f.Parts = append(f.Parts, Part{Type: OpaquePart, Raw: "{}"})
		default:
			p.t.Fatalf("unknown word %q in a reply", word)
		}
		line = rest
	}
	switch {
	case f.Stop == "none":
		f.Stop = StopNone
	case f.Stop == "" && countCalls(f.Parts) > 0:
		f.Stop = StopToolUse
	case f.Stop == "":
		f.Stop = StopEndTurn
	}
	f.Promises = heuristic.Promises(PlainText(f.Parts))
	return append([]Payload{f}, also...)
}

// repeated writes out 3*abc.
func repeated(text string) string {
	times, unit, ok := strings.Cut(text, "*")
	if !ok {
		return text
	}
	n := 0
	fmt.Sscan(times, &n)
	return strings.Repeat(unit, n)
}

func (p *player) settle(verb string, id CallID, text string) {
	f := CallSettled{Call: id, Outcome: OK}
	if text == "" {
		text = "ok"
	}
	text = repeated(text)
	c, _ := p.r.State.Turn.Call(id)
	if c.Class == Writes {
		f.Change = MayChange
	}
	switch verb {
	case "err":
		f.Outcome, f.IsError = Failed, true
	case "cut":
		f.Outcome, f.IsError, text = Cut, true, p.r.State.Turn.Interrupt.CutText(strings.TrimPrefix(text, "ok"))
	case "unsure":
		f.Outcome, f.IsError = Unknown, true
	case "changed":
		f.Change, f.Files = Changed, []FileChange{{Path: text, Before: "b", After: "a"}}
	case "instructs":
		f.Instructions = Instructions{Text: "keep to the style", Files: []string{"/w/AGENTS.md"}}
	}
	f.Content = []Part{Text(text)}
	f.Key = heuristic.ResultKey(f.IsError, []string{text}, nil)
	p.done(p.perform(id), f)
}

// doAll allows every open call and finishes them in the order asked.
func (p *player) doAll(result string) {
	verb := "done"
	for _, v := range []string{"err", "changed"} {
		if r, ok := strings.CutPrefix(result, v); ok {
			verb, result = v, strings.TrimSpace(r)
		}
	}
	p.quiet = true
	for _, c := range p.r.State.Next() {
		if d, ok := c.(Decide); ok {
			p.want(CallDecided{Call: d.Call.ID, Decision: Decision{Answer: Allow}})
		}
	}
	for p.r.State.Turn.running > 0 {
		i := slices.IndexFunc(p.r.State.Turn.Calls, func(c *CallState) bool { return c.Status == CallRunning })
		p.quiet = p.r.State.Turn.open > 1 // what follows the last one is part of the story
		p.settle(verb, p.r.State.Turn.Calls[i].ID, result)
	}
	p.quiet = false
}

func (p *player) interrupt(rest string) {
	f := Interrupted{Cause: ByPerson}
	if word, tail, _ := strings.Cut(rest, " "); word != "" && !strings.ContainsAny(word, `"(=`) {
		f.Cause, rest = Cause(word), tail
	}
	p.partial, p.usage = nil, Usage{}
	if rest != "" {
		reply := p.reply(rest)[0].(Replied)
		p.partial, p.usage = reply.Parts, reply.Usage
		for i := range p.partial {
			p.partial[i].Cut = p.partial[i].Type == TextPart
		}
	}
	if !p.gate.Close(f) {
		p.say("! the interrupt does not count")
	}
	p.step(Input{})
}

// dump is the whole state as text, with everything behind pointers, for comparing.
func dump(s State) string {
	var b strings.Builder
	for _, m := range s.Messages {
		fmt.Fprintf(&b, "%s %s %d\n", m.ID, m.Role, m.Rev)
		for _, p := range m.Parts {
			b.WriteString(dumpPart(p))
		}
	}
	t := s.Turn
	for _, call := range t.Calls {
		c := *call
		r := c.Result
		c.Result = Result{}
		fmt.Fprintf(&b, "call %+v\n", c)
		for _, p := range r.Content {
			b.WriteString(dumpPart(p))
		}
	}
	for _, w := range [][]Words{t.Words, s.Queue, s.Returned} {
		fmt.Fprintf(&b, "words %+v\n", w)
	}
	t.Calls, t.Words, t.owned, t.guard.shared = nil, nil, ownsNothing, false
	s.Messages, s.Turn, s.Queue, s.Returned = nil, Turn{}, nil, nil
	fmt.Fprintf(&b, "%+v\n%+v\n", t, s)
	return b.String()
}

func dumpPart(p Part) string {
	call, result := p.Call, p.Result
	p.Call, p.Result = nil, nil
	s := fmt.Sprintf("  %+v", p)
	if call != nil {
		s += fmt.Sprintf(" %+v", *call)
	}
	s += "\n"
	if result != nil {
		s += fmt.Sprintf("  result %s %v\n", result.Call, result.IsError)
		for _, c := range result.Content {
			s += "  " + dumpPart(c)
		}
	}
	return s
}
