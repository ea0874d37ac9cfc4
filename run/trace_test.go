package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A trace is a story about a run: lines that happen to it, and behind each what
// follows. Lines beginning with ">" (owed), "+" (recorded by itself), "!"
// (refused) and "=" (what was asked for with show) are written by the test;
// UPDATE=1 writes them again.
//
//	config steps=3 calls=9 parallel=1 wall=1m window=1000 nonudge stepwise external output control=C
//	prompt WORDS | continue | answer c_1 WORDS | steer ID WORDS | queue ID WORDS | withdraw ID
//	request                          the owed request (or external turn) starts
//	reply [stop=S] [tokens=N] [cost=F] ["words"] [think] [submits=JSON|unfit=WHY] [chose=KIND|misread=WHY] TOOL(ARGS)…
//	                                 TOOL! comes cut, TOOL? with arguments that are no JSON
//	fail KIND [again]
//	submit [c_1] JSON                a result is accepted
//	wait c_1 [WORDS] | void c_1
//	allow|deny c_1 …  start c_1 …  done c_1 [RESULT]  err c_1 [RESULT]  cut c_1  changed c_1
//	do [RESULT]                      allow, start and finish every open call in order
//	interrupt [CAUSE] ["words that had streamed"] [TOOL(ARGS)]
//	crash                            the process dies; the next one records what was lost
//	drive | observed | driven [WORDS] | received TOOL(ARGS)
//	sleep 5s                         time passes
//	show                             the context as the model would see it
//
// A call's class is told by its tool: read, list, look read; agent reattaches; ask
// is a question; everything else writes. A tool called nosuch has a problem.
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
			got := playTrace(t, string(b))
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(b), got); diff != "" {
				t.Errorf("%s (-want +got, UPDATE=1 rewrites):\n%s", file, diff)
			}
		})
	}
}

func playTrace(t *testing.T, text string) string {
	p := &player{t: t, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			out.WriteString(line + "\n")
			continue
		}
		if strings.ContainsAny(line[:1], ">+!=") {
			continue
		}
		out.WriteString(line + "\n")
		p.out = &out
		p.line(line)
	}
	// Whatever the story, the log replays to the same state.
	again, err := Replay(p.log)
	if err != nil {
		t.Errorf("the log of the trace does not replay: %v", err)
	}
	if got, want := dump(again), dump(p.s); got != want {
		t.Errorf("replayed state differs (-live +replayed):\n%s", cmp.Diff(want, got))
	}
	return out.String()
}

// A player plays the worker of a trace.
type player struct {
	t   *testing.T
	s   State
	log []Event
	now time.Time
	out *strings.Builder
	cfg Created
	// also follows the reply in the same append.
	also []Fact
}

func (p *player) say(format string, args ...any) {
	if p.out != nil {
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// record applies a fact; a refusal is part of the story.
func (p *player) record(f Fact) bool {
	e := Event{Seq: p.s.Seq + 1, At: p.now, Fact: f}
	next, err := p.s.Apply(e)
	if err != nil {
		p.say("! %s", strings.TrimPrefix(err.Error(), "run: event out of order: "))
		return false
	}
	p.s = next
	p.log = append(p.log, e)
	return true
}

func (p *player) created() {
	if p.s.Created.Run == "" {
		p.cfg.Run = "r"
		p.record(p.cfg)
	}
}

// settle records what follows by itself and shows what is owed.
func (p *player) settle() {
	for range 10_000 {
		acted := false
		for _, c := range p.s.Next() {
			switch c := c.(type) {
			case Record:
				if p.record(c.Fact) {
					p.say("+ %s", describe(c.Fact))
				}
				acted = true
			case Ask:
				p.record(asked(c.Call))
				acted = true
			}
			if acted {
				break // what else is owed may have changed
			}
		}
		if !acted {
			for _, c := range p.s.Next() {
				p.say("> %s", c.Key())
			}
			return
		}
	}
	p.t.Fatal("the machine records without end")
}

// asked looks at a call as a worker would.
func asked(c Call) CallAsked {
	f := CallAsked{Call: c.ID, Tool: c.Tool, Class: Writes, Key: CallKey(c.Tool, c.Arguments)}
	switch c.Tool {
	case "read", "list", "look", "wait":
		f.Class = Reads
		f.Waits = c.Tool == "wait"
	case "agent":
		f.Class = Reattaches
	case "submit":
		f.Class = Reattaches
	case "ask":
		f.Class, f.Ask = Reattaches, true
	case "nosuch":
		f.Problem = "There is no tool called nosuch."
	case "urgent":
		f.Class, f.Priority = Reads, 5
	}
	return f
}

func describe(f Fact) string {
	switch f := f.(type) {
	case Ended:
		return strings.TrimSpace(fmt.Sprintf("ended %s %s", f.End, f.Reason))
	case CallAsked:
		return fmt.Sprintf("asked %s %s", f.Call, oneLine(f.Problem, 200))
	case CallSettled:
		return fmt.Sprintf("settled %s %s %s", f.Call, f.Outcome, oneLine(PlainText(f.Content), 400))
	case CallNoted:
		return fmt.Sprintf("noted %s %s", f.Call, oneLine(f.Text, 60))
	case Nudged:
		return fmt.Sprintf("nudged %s", f.Reason)
	case Reminded:
		return fmt.Sprintf("reminded %d %s", f.N, f.Text)
	case Synthesized:
		return "synthesized " + oneLine(f.Text, 400)
	case Compacted:
		return fmt.Sprintf("compacted stage %d %v%s freed %d", f.Stage, f.Calls, f.Through, f.Freed)
	case Prompted:
		return fmt.Sprintf("prompted %q", PlainText(f.Parts))
	}
	return fmt.Sprintf("%T", f)
}

func oneLine(s string, n int) string { return shorten(strings.ReplaceAll(s, "\n", "⏎"), n) }

func (p *player) line(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	words := strings.Fields(rest)
	first, tail, _ := strings.Cut(rest, " ")
	if verb != "config" {
		p.created()
	}
	switch verb {
	case "config":
		p.config(words)
		return
	case "prompt":
		p.record(Prompted{Parts: []Part{Text(rest)}})
	case "continue":
		p.record(Prompted{Continue: true})
	case "answer":
		p.record(QuestionAnswered{Call: CallID(first), Text: tail})
	case "steer":
		p.record(Steered{ID: first, Parts: []Part{Text(tail)}})
	case "queue":
		p.record(Queued{ID: first, Parts: []Part{Text(tail)}})
	case "withdraw":
		p.record(Withdrawn{ID: first})
	case "request":
		p.request()
	case "reply":
		p.also = nil
		p.record(p.reply(rest))
		for _, f := range p.also {
			p.record(f)
		}
	case "submit":
		if strings.HasPrefix(first, "c_") {
			p.record(Submitted{Assignment: p.s.Assignment(), Call: CallID(first), Value: tail})
		} else {
			p.record(Submitted{Assignment: p.s.Assignment(), Value: rest})
		}
	case "fail":
		f := RequestFailed{Kind: ErrorKind(first), Reason: "it failed"}
		if tail == "again" {
			f.RetryAt = p.now.Add(time.Second)
		}
		p.record(f)
	case "allow":
		for _, id := range words {
			p.record(CallAllowed{Call: CallID(id), Decision: Decision{Answer: Allow}})
		}
	case "deny":
		for _, id := range words {
			p.record(CallRefused{Call: CallID(id), Decision: Decision{Answer: Deny}, Content: "Not allowed."})
		}
	case "wait":
		f := Interrupted{Cause: ByWait, Call: CallID(first)}
		if tail != "" {
			f.Then = []Part{Text(tail)}
		}
		p.record(f)
	case "void":
		p.record(DecisionVoided{Call: CallID(first), Reason: "the file has changed"})
	case "start":
		for _, id := range words {
			p.start(CallID(id))
		}
	case "done", "err", "cut", "changed":
		p.finish(verb, CallID(first), tail)
	case "do":
		p.doAll(rest)
	case "interrupt":
		p.interrupt(rest)
	case "crash":
		for _, e := range p.s.Lost() {
			if p.record(e.Fact) {
				p.say("+ lost: %s", strings.TrimPrefix(describe(e.Fact), "run."))
			}
		}
	case "drive":
		p.record(DriveStarted{Attempt: p.s.Turn.Request.Attempt + 1})
	case "observed":
		p.record(Observed{Conversation: "conv"})
	case "driven":
		p.record(DriveEnded{Text: rest})
	case "received":
		tool, args, _ := strings.Cut(strings.TrimSuffix(rest, ")"), "(")
		p.record(CallReceived{Call{ID: CallID(fmt.Sprintf("c_%d", p.s.NextCall())), Tool: tool, Arguments: `"` + args + `"`}})
	case "sleep":
		d, err := time.ParseDuration(rest)
		if err != nil {
			p.t.Fatal(err)
		}
		p.now = p.now.Add(d)
		return
	case "show":
		for _, m := range p.s.Messages {
			p.say("= %s %s", m.ID, m.Role)
			for _, part := range m.Parts {
				p.say("=     %s", showPart(part))
			}
		}
		if plan := p.s.Plan; plan.ID != "" {
			p.say("= %s %s", plan.ID, oneLine(plan.text(), 400))
		}
		if v := p.s.Submission(); v != (Submission{}) {
			p.say("= handed in %s%s", v.Value, map[bool]string{true: " by " + string(v.Call)}[v.Call != ""])
		}
		for _, w := range p.s.Returned {
			p.say("= returned %s %q", w.ID, PlainText(w.Parts))
		}
		return
	default:
		p.t.Fatalf("unknown line %q", line)
	}
	p.settle()
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
	c := &p.cfg.Config
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
			c.Parallel = n
		case "tokens":
			c.Limits.Tokens = int64(n)
		case "cost":
			fmt.Sscan(v, &c.Limits.Cost)
		case "wall":
			c.Limits.Wall, _ = time.ParseDuration(v)
		case "window":
			c.Window = int64(n)
		case "nonudge":
			c.NoNudge = true
		case "stepwise":
			c.StepByStep = true
		case "external":
			p.cfg.External = true
		case "control":
			c.Control = v
		case "output":
			c.Output = Output{Tool: "submit", Schema: "{}"}
		default:
			p.t.Fatalf("unknown setting %q", w)
		}
	}
	if p.s.Created.Run != "" {
		p.record(Configured{*c})
	}
}

func (p *player) request() bool {
	for _, c := range p.s.Next() {
		if r, ok := c.(Request); ok {
			if r.NotBefore.After(p.now) {
				p.now = r.NotBefore
			}
			return p.record(RequestStarted{Purpose: r.Purpose, Attempt: r.Attempt, Model: "m", End: r.End})
		}
	}
	return p.record(RequestStarted{Purpose: ForStep, Attempt: p.s.Turn.Request.Attempt + 1})
}

// reply builds a message from its line.
func (p *player) reply(line string) Replied {
	f := Replied{Usage: Usage{Priced: true}}
	n := p.s.NextCall()
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] == '"' {
			text, rest, ok := strings.Cut(line[1:], `"`)
			if !ok {
				p.t.Fatalf("unclosed words in %q", line)
			}
			if times, unit, ok := strings.Cut(text, "*"); ok {
				n := 0
				fmt.Sscan(times, &n)
				text = strings.Repeat(unit, n)
			}
			f.Parts = append(f.Parts, Text(text))
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
			p.also = append(p.also, Submitted{Assignment: p.s.Assignment(), Value: v})
		case "chose":
			f := StepChosen{Kind: StepKind(v), InPlan: v != "complete", Description: "step", Message: map[string]string{"respond": "It is so.", "complete": "It is done."}[v]}
			if v == "guardrail_stop" {
				f.InPlan, f.Reason = false, "It must not be"
			}
			if open, ok := p.s.OpenPlan(); ok && f.InPlan {
				p.also = append(p.also, open)
			}
			p.also = append(p.also, f)
		case "misread":
			p.also = append(p.also, StepRefused{Problem: v, Feedback: "Again: " + v})
		case "unfit":
			p.also = append(p.also, SubmissionRefused{v})
		case "think":
			f.Parts = append(f.Parts, Part{Type: ThinkingPart, Text: "hm", Signature: "s"})
		default:
			p.t.Fatalf("unknown word %q in a reply", word)
		}
		line = rest
	}
	if f.Stop == "" {
		f.Stop = StopEndTurn
		if countCalls(f.Parts) > 0 {
			f.Stop = StopToolUse
		}
	}
	if f.Stop == "none" {
		f.Stop = StopNone
	}
	return f
}

func (p *player) start(id CallID) bool {
	i := p.s.Turn.find(id)
	attempt := 1
	if i >= 0 {
		attempt = p.s.Turn.Calls[i].Attempt + 1
	}
	return p.record(CallStarted{Call: id, Attempt: attempt})
}

func (p *player) finish(verb string, id CallID, text string) {
	f := CallSettled{Call: id, Outcome: OK}
	if text == "" {
		text = "ok"
	}
	if times, unit, ok := strings.Cut(text, "*"); ok {
		n := 0
		fmt.Sscan(times, &n)
		text = strings.Repeat(unit, n)
	}
	i := p.s.Turn.find(id)
	if i >= 0 && p.s.Turn.Calls[i].Class == Writes {
		f.Change = MayChange
	}
	switch verb {
	case "err":
		f.Outcome, f.IsError = Failed, true
	case "cut":
		f.Outcome, f.IsError, text = Cut, true, p.s.Turn.Interrupt.CutText(strings.TrimPrefix(text, "ok"))
	case "changed":
		f.Change, f.Files = Changed, []FileChange{{Path: text, Before: "b", After: "a"}}
	}
	f.Content = []Part{Text(text)}
	f.Key = ResultKey(f.Content, f.IsError)
	p.record(f)
}

// doAll carries every open call out, in the order asked, and asks the model again.
func (p *player) doAll(result string) {
	verb := "done"
	for _, v := range []string{"err", "changed"} {
		if r, ok := strings.CutPrefix(result, v); ok {
			verb, result = v, strings.TrimSpace(r)
		}
	}
	quiet := p.out
	p.out = nil
	for {
		acted := false
		for _, c := range p.s.Next() {
			switch c := c.(type) {
			case Ask:
				acted = p.record(asked(c.Call)) || acted
			case Decide:
				acted = p.record(CallAllowed{Call: c.Call.ID, Decision: Decision{Answer: Allow}}) || acted
			case Perform:
				if c.Call.Status != CallRuns {
					acted = p.start(c.Call.ID) || acted
				}
			}
		}
		for _, c := range p.s.Turn.Calls {
			if c.Status == CallRuns {
				p.finish(verb, c.ID, result)
				acted = true
			}
		}
		if !acted {
			break
		}
	}
	p.out = quiet
}

func (p *player) interrupt(rest string) {
	f := Interrupted{Cause: ByPerson}
	if word, tail, _ := strings.Cut(rest, " "); word != "" && !strings.HasPrefix(word, `"`) && !strings.Contains(word, "(") {
		f.Cause, rest = Cause(word), tail
	}
	if rest != "" {
		f.Partial = p.reply(rest).Parts
		for i := range f.Partial {
			if f.Partial[i].Type == TextPart {
				f.Partial[i].Cut = true
			}
		}
	}
	p.record(f)
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
	for _, c := range t.Calls {
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
	t.Calls, t.Words = nil, nil
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
