package view_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl/internal/golden"
	"pawl/run"
	"pawl/view"
)

// A trace is a story of what arrives at a face: each line is an update, followed by the
// items that it adds or changes. Lines that begin with ">" are written by the test;
// UPDATE=1 writes them again. The events of a trace are applied to a run, which refuses
// those that cannot follow.
//
//	created [model=M] [mode=M] [control=C] [external] [fork=RUN@N] [output]
//	prompt WORDS | prompt queued=ID WORDS | continue | answer c_1 WORDS
//	steer ID WORDS | queue ID WORDS | withdraw ID
//	request [PURPOSE] [ATTEMPT]
//	reply [stop=S] [cost=F] [unfit=WHY] PARTS    PARTS: "text" <thinking> tool{json} tool!{…} (cut)
//	action {json} [PARTS]                        the answer in controller mode, as its action
//	fail [again=yes] KIND [WAIT] REASON
//	inspect c_1 CLASS [question|submits|problem=WHY]
//	allow c_1 [SOURCE] | deny c_1 REASON | void c_1 REASON | start c_1 [ATTEMPT]
//	settle c_1 OUTCOME [exit=N] [file=PATH] [size=N] RESULT
//	submit [c_1] JSON | told REASON WORDS | compact N | resumed [request] [c_1 …]
//	interrupt CAUSE PARTS | interrupt-then WORDS | synthesized WORDS | ended END [REASON] [DETAIL]
//	observed PARTS | result ID RESULT | received tool{json}
//	configure model=M | mode=M | control=C
//	delta text|think|tool|args TEXT | drop | progress c_1 TEXT | stopping CAUSE | waiting c_1 … | notice WORDS
//	sleep 5s    time passes
//	join        another face begins here, and knows nothing of what was
//	from        another face begins here with the state of the run
//	open        shows the items that are not final
//
// In texts ⏎ stands for a line end.
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

func playTrace(t *testing.T, text string) string {
	p := &player{t: t, view: new(view.Projection), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, ">") {
			continue
		}
		fmt.Fprintln(&p.out, line)
		if line != "" && line[0] != '#' {
			p.line(line)
		}
	}
	if !p.joined {
		checkFinal(t, p.log, p.final)
	}
	return p.out.String()
}

// A player plays a trace.
type player struct {
	t      *testing.T
	view   *view.Projection
	state  run.State
	log    []run.Event
	final  []view.Item
	joined bool
	now    time.Time
	out    strings.Builder
}

func (p *player) update(u view.Update) {
	for _, item := range p.view.Update(u) {
		if item.Final && item.At != (time.Time{}) {
			p.final = append(p.final, item)
		}
		fmt.Fprintf(&p.out, "> %s\n", show(item))
	}
}

func (p *player) event(payload run.Payload) {
	p.t.Helper()
	e := run.Event{Seq: int64(len(p.log)) + 1, At: p.now, Payload: payload}
	s, err := p.state.Apply(e)
	if err != nil {
		p.t.Fatalf("%T: %v", payload, err)
	}
	p.state, p.log = s, append(p.log, e)
	p.update(view.Update{Event: &e})
}

func (p *player) line(line string) {
	p.t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.ReplaceAll(rest, "⏎", "\n")
	options := map[string]string{}
	for {
		word, more, _ := strings.Cut(rest, " ")
		name, value, ok := strings.Cut(word, "=")
		if !ok || strings.ContainsAny(name, "\"<{}") || strings.HasPrefix(verb, "delta") {
			break
		}
		options[name], rest = value, more
	}
	first, tail, _ := strings.Cut(rest, " ")
	id := run.CallID(first)
	words := []run.Part{run.Text(rest)}
	switch verb {
	case "created":
		c := run.Created{Run: "r1", Workspace: "/w", External: strings.Contains(rest, "external"),
			Config: run.Config{Model: options["model"], Mode: options["mode"], Control: options["control"]}}
		if strings.Contains(rest, "output") {
			c.Config.Output = run.Output{Tool: "submit_result", Schema: "{}"}
		}
		if from, at, ok := strings.Cut(options["fork"], "@"); ok {
			c.ForkedFrom = run.ID(from)
			c.ForkedAt, _ = strconv.ParseInt(at, 10, 64)
		}
		p.event(c)
	case "prompt":
		p.event(run.Prompted{Parts: words, Queued: options["queued"]})
	case "continue":
		p.event(run.Prompted{Continue: true})
	case "answer":
		p.event(run.Prompted{Answers: id, Parts: []run.Part{run.Text(tail)}})
	case "steer":
		p.event(run.Said{ID: first, Delivery: run.Steer, Parts: []run.Part{run.Text(tail)}})
	case "queue":
		p.event(run.Said{ID: first, Delivery: run.Queue, Parts: []run.Part{run.Text(tail)}})
	case "withdraw":
		p.event(run.Withdrawn{ID: first})
	case "request":
		f := run.RequestStarted{Purpose: run.ForStep, Attempt: 1}
		if first != "" {
			f.Purpose = run.Purpose(first)
		}
		if tail != "" {
			f.Attempt, _ = strconv.Atoi(tail)
		}
		p.event(f)
	case "reply":
		p.reply(run.Replied{Parts: p.parts(rest), Unfit: strings.ReplaceAll(options["unfit"], "_", " ")}, options)
	case "action":
		a, _, more := cutObject(rest)
		f := run.Replied{Parts: append([]run.Part{run.Text(a)}, p.parts(more)...), Action: &run.Action{}}
		p.decode(a, f.Action)
		p.reply(f, options)
	case "fail":
		f := run.RequestFailed{Kind: run.ErrorKind(first), Reason: tail, Again: options["again"] != ""}
		if wait, reason, _ := strings.Cut(tail, " "); wait != "" {
			if d, err := time.ParseDuration(wait); err == nil {
				f.RetryAfter, f.Reason = d, reason
			}
		}
		p.event(f)
	case "inspect":
		class, what, _ := strings.Cut(tail, " ")
		c, _ := p.state.Turn.Call(id)
		f := run.CallInspected{Call: id, Tool: c.Tool, Class: run.Class(class), Question: what == "question", Submits: what == "submits"}
		f.Problem, _ = strings.CutPrefix(what, "problem=")
		if f.Problem == what {
			f.Problem = ""
		}
		p.event(f)
	case "allow":
		source := tail
		if source == "" {
			source = "default"
		}
		p.event(run.CallDecided{Call: id, Decision: run.Decision{Answer: run.Allow, Source: source}})
	case "deny":
		p.event(run.CallDecided{Call: id, Decision: run.Decision{Answer: run.Deny, Source: "default", Reason: tail}, Content: "It was refused: " + tail})
	case "void":
		p.event(run.ApprovalInvalidated{Call: id, Reason: tail})
	case "start":
		f := run.CallStarted{Call: id, Attempt: 1}
		if tail != "" {
			f.Attempt, _ = strconv.Atoi(tail)
		}
		p.event(f)
	case "settle":
		p.settle(id, tail)
	case "submit":
		f := run.Submitted{Assignment: p.state.Assignment(), Value: rest}
		if strings.HasPrefix(first, "c_") {
			f.Call, f.Value = id, tail
		}
		p.event(f)
	case "told":
		p.event(run.Told{Reason: run.TellReason(first), Text: tail})
	case "compact":
		n, _ := strconv.ParseInt(first, 10, 64)
		p.event(run.Compacted{Stage: 1, Freed: n})
	case "resumed":
		f := run.Resumed{}
		for _, w := range strings.Fields(rest) {
			if w == "request" {
				f.Request = true
			} else {
				f.Calls = append(f.Calls, run.CallID(w))
			}
		}
		p.event(f)
	case "interrupt":
		f := run.Interrupted{Cause: run.Cause(first), Partial: p.parts(tail)}
		for i := range f.Partial {
			f.Partial[i].Cut = f.Partial[i].Type == run.TextPart
		}
		p.event(f)
	case "interrupt-then":
		p.event(run.Interrupted{Cause: run.ByPerson, Then: words})
	case "synthesized":
		p.event(run.Synthesized{Text: rest})
	case "ended":
		reason, detail, _ := strings.Cut(tail, " ")
		p.event(run.Ended{End: run.End(first), Reason: reason, Detail: detail, Driven: p.state.Driven(p.now)})
	case "observed":
		p.event(run.Observed{Parts: p.parts(rest)})
	case "result":
		p.event(run.Observed{Parts: []run.Part{{Type: run.ResultPart, Result: &run.Result{Call: id, Content: []run.Part{run.Text(tail)}}}}})
	case "received":
		p.event(run.CallReceived{Call: *p.parts(rest)[0].Call})
	case "configure":
		var c run.ConfigChange
		for name, value := range options {
			switch name {
			case "model":
				c.Model = &value
			case "mode":
				c.Mode = &value
			case "control":
				c.Control = &value
			}
		}
		p.event(run.Configured{Change: c})
	case "delta":
		d := view.Delta{}
		*map[string]*string{"text": &d.Text, "think": &d.Thinking, "tool": &d.Tool, "args": &d.Arguments}[first] = tail
		p.update(view.Update{Delta: &d})
	case "drop":
		p.update(view.Update{Drop: true})
	case "progress":
		p.update(view.Update{Progress: &view.Progress{Call: id, Text: tail}})
	case "stopping":
		p.update(view.Update{Stopping: &run.Interrupted{Cause: run.Cause(first)}})
	case "waiting":
		ids := []run.CallID{}
		for _, w := range strings.Fields(rest) {
			ids = append(ids, run.CallID(w))
		}
		p.update(view.Update{Waiting: ids})
	case "notice":
		p.update(view.Update{Notice: rest})
	case "sleep":
		d, err := time.ParseDuration(first)
		if err != nil {
			p.t.Fatal(err)
		}
		p.now = p.now.Add(d)
	case "join":
		p.view, p.joined = new(view.Projection), true
	case "from":
		p.view, p.joined = view.From(p.state), true
	case "open":
		for _, item := range p.view.Open() {
			fmt.Fprintf(&p.out, "> %s\n", show(item))
		}
	default:
		p.t.Fatalf("unknown line %q", line)
	}
}

func (p *player) reply(f run.Replied, options map[string]string) {
	f.Usage = run.Usage{Input: 1000, Priced: true}
	f.Usage.Cost, _ = strconv.ParseFloat(options["cost"], 64)
	f.Stop = run.StopEndTurn
	for _, part := range f.Parts {
		if part.Type == run.CallPart {
			f.Stop = run.StopToolUse
		}
	}
	if s := options["stop"]; s != "" {
		f.Stop = run.StopReason(s)
	}
	p.event(f)
}

func (p *player) settle(id run.CallID, text string) {
	outcome, text, _ := strings.Cut(text, " ")
	f := run.CallSettled{Call: id, Outcome: run.Outcome(outcome), IsError: outcome != "ok" && outcome != "answered"}
	for {
		word, more, _ := strings.Cut(text, " ")
		name, value, ok := strings.Cut(word, "=")
		switch {
		case ok && name == "file":
			f.Files = append(f.Files, run.FileChange{Path: value, Before: "b", After: "a" + strconv.Itoa(len(p.log))})
		case ok && name == "exit":
			code, _ := strconv.Atoi(value)
			f.ExitCode = &code
		case ok && name == "size":
			f.Size, _ = strconv.ParseInt(value, 10, 64)
			f.Delivery = "stored"
		default:
			f.Content = []run.Part{run.Text(text)}
			p.event(f)
			return
		}
		text = more
	}
}

func (p *player) decode(object string, a *run.Action) {
	for _, pair := range strings.Split(strings.Trim(object, "{}"), "|") {
		name, value, _ := strings.Cut(pair, ":")
		*map[string]*string{"kind": (*string)(&a.Kind), "description": &a.Description, "thinking": &a.Thinking, "message": &a.Message,
			"reason": &a.Reason, "problem": &a.Problem, "feedback": &a.Feedback}[name] = value
	}
}

// cutObject cuts text after the object that begins at its first brace.
func cutObject(text string) (object, before, after string) {
	i := strings.IndexByte(text, '{')
	depth := 0
	for j := i; j >= 0 && j < len(text); j++ {
		switch text[j] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[i : j+1], text[:i], text[j+1:]
			}
		}
	}
	return "", text, ""
}

// parts reads the parts of a message.
func (p *player) parts(text string) []run.Part {
	p.t.Helper()
	var parts []run.Part
	n := p.state.NextCall()
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		switch text[0] {
		case '"':
			said, more, ok := strings.Cut(text[1:], `"`)
			if !ok {
				p.t.Fatalf("unclosed text in %q", text)
			}
			if strings.HasPrefix(said, "{") { // an object is written with ' for "
				said = strings.ReplaceAll(said, "'", `"`)
			}
			parts, text = append(parts, run.Text(said)), more
		case '<':
			thought, more, _ := strings.Cut(text[1:], ">")
			parts, text = append(parts, run.Part{Type: run.ThinkingPart, Text: thought}), more
		default:
			args, tool, more := cutObject(text)
			c := &run.Call{ID: run.CallID("c_" + strconv.Itoa(n)), Tool: tool, Arguments: args}
			if name, cut := strings.CutSuffix(tool, "!"); cut {
				c.Tool, c.Arguments, c.Fault = name, "{}", run.FaultCut
			}
			if name, own, ok := strings.Cut(tool, "#"); ok {
				c.Tool, c.ID = name, run.CallID(own)
			} else {
				n++
			}
			parts, text = append(parts, run.Part{Type: run.CallPart, Call: c}), more
		}
	}
	return parts
}

// show is an item on one line.
func show(i view.Item) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", i.ID)
	say := func(yes bool, format string, args ...any) {
		if yes {
			fmt.Fprintf(&b, " "+format, args...)
		}
	}
	text := func() { say(i.Text != "", "%q", i.Text) }
	switch {
	case i.Run != nil:
		say(true, "%s %s", i.Run.Model, i.Run.Workspace)
		say(i.Run.ForkedFrom != "", "forked from %s at %d", i.Run.ForkedFrom, i.Run.ForkedAt)
	case i.Message != nil:
		say(true, "%s %s", i.Message.Kind, i.Message.State)
		text()
	case i.Call != nil:
		c := i.Call
		say(true, "%s %q", c.State, c.Title())
		say(c.Class != "", "%s", c.Class)
		say(c.Question, "question")
		say(c.Submits, "submits")
		say(c.Observed, "observed")
		say(c.Fault != "", "fault=%s", c.Fault)
		say(c.Child != "", "child=%s", c.Child)
		say(c.Decision.Answer != "", "%s", view.DecisionWords(c.Decision))
		say(c.Attempt > 1, "attempt %d", c.Attempt)
		say(c.State == view.Settled, "%s %s", c.OutcomeWords(), c.Duration)
		say(c.IsError, "error: %s", c.Reason())
		say(!c.IsError && c.Result != "", "= %q", c.Result)
		say(c.Size > 0, "%s %d bytes", c.Delivery, c.Size)
		for _, f := range c.Files {
			say(true, "%s", showFile(f))
		}
		say(c.Tail != "", "… %q", c.Tail)
	case i.Note != nil:
		say(true, "%s", i.Note.Kind)
		text()
		say(i.Note.Detail != "", "(%s)", i.Note.Detail)
	case i.End != nil:
		text()
		say(true, "%s %s, %d steps, %d tokens, %s", i.End.Reason, i.End.Duration, i.End.Steps, i.End.Usage.Total(), view.Money(i.End.Usage))
		for _, f := range i.End.Files {
			say(true, "%s", showFile(f))
		}
		for _, r := range i.End.Refused {
			say(true, "refused %q: %s", r.Title, r.Reason)
		}
	default:
		text()
	}
	say(i.Step, "step")
	say(i.Cut, "cut")
	say(i.Answer, "answer")
	say(i.Inherited, "inherited")
	say(i.Gone, "gone")
	say(!i.Final && !i.Gone, "…")
	return strings.ReplaceAll(b.String(), "\n", "⏎")
}

func showFile(f view.File) string {
	if !f.Counted {
		return f.Path
	}
	return fmt.Sprintf("%s +%d −%d", f.Path, f.Added, f.Removed)
}
