package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl/heuristic"
)

// The loop guard is measured on stories of what agents do, one file per label in
// testdata/loops. A line of a story is a step with one call, its result, and how it
// came out:
//
//	story NAME
//	TOOL ARGUMENTS -> RESULT ; err refused invalid made same job waits ran=30s
//	& TOOL …            one more call of the step before
//	sleep 30s           the shell command
//	wait 30s            time passes and nothing happens
//	think 30s           from here on the model takes this long, instead of 4 s
//	says WORDS          an answer without a call
//	steer WORDS         the person says something, delivered with the next step
//	repeat N … end      $i counts the rounds, $j those of the repeat around it
//
// $n and $h are a number and eight hexadecimal digits that never come twice, $t is
// the time of day. "run" is a shell command that may change something, "sh" one that
// reads, by its syntax; write and edit change something if they did not fail; every
// other tool reads. "job" means that a background job runs.
func TestGuardStopsLoopsAndLetsWorkGoOn(t *testing.T) {
	t.Parallel()
	spins := map[string]bool{"failures": true, "successes": true, "polling": false, "converging": false, "honest": false}
	total, missed := 0, 0
	for _, label := range slices.Sorted(maps.Keys(spins)) {
		n, wrong := 0, 0
		for _, s := range readStories(t, filepath.Join("testdata", "loops", label+".txt")) {
			p := newNarrator(t, s)
			p.tell()
			n++
			if got := p.stopped != ""; got == spins[label] {
				t.Logf("%-10s %-62s %3d calls%s", label, s.name, p.calls, cmp.Or(p.stopped, ", not stopped"))
				if label == "polling" {
					p.checkTold()
				}
				continue
			}
			wrong++
			if spins[label] {
				t.Logf("%-10s MISSED %q, %d calls", label, s.name, p.calls)
			} else {
				t.Errorf("%s: FALSE ALARM: %q was stopped%s", label, s.name, p.stopped)
			}
		}
		word := "false alarms"
		if spins[label] {
			word = "missed"
			total, missed = total+n, missed+wrong
		}
		t.Logf("%-10s %3d stories, %d %s (%.1f %%)", label, n, wrong, word, 100*float64(wrong)/float64(n))
		if n < 20 {
			t.Errorf("%s: %d stories are no measure", label, n)
		}
	}
	// What is missed on purpose is said in the stories: a shell command that is new
	// each time may have changed something, and to guess that it has not would stop
	// work that converges through sed. The limits of the turn end those.
	t.Logf("loops: %d of %d stopped", total-missed, total)
	if 20*missed > total {
		t.Errorf("%d of %d loops were missed; at least 95 %% are to be stopped", missed, total)
	}
}

// The figures of spec/run.md, "Ends".
func TestGuardStopsAtTheFifthCallTheFourthRoundAndTheSixthError(t *testing.T) {
	t.Parallel()
	round := func(n int) []string {
		var calls []string
		for i := range n {
			calls = append(calls, fmt.Sprintf(`read {"file":"%d"} -> %d`, i, i))
		}
		return calls
	}
	errors := make([]string, 8)
	for i := range errors {
		errors[i] = fmt.Sprintf(`read {"file":"%d"} -> no such file ; err`, i)
	}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{slices.Repeat(round(1), 8), ", stopped at call 5 as same_call"},
		{slices.Repeat(round(2), 8), ", stopped at call 8 as cycle"},
		{slices.Repeat(round(3), 8), ", stopped at call 12 as cycle"},
		{slices.Repeat(round(4), 8), ", stopped at call 16 as cycle"},
		{slices.Repeat(round(5), 8), ", stopped at call 20 as cycle"},
		{slices.Repeat(round(6), 8), ", stopped at call 25 as same_call"}, // too long for a cycle
		{errors, ", stopped at call 6 as no_progress"},
	} {
		p := newNarrator(t, story{name: c.lines[0], lines: c.lines})
		p.tell()
		if p.stopped != c.want {
			t.Errorf("%d calls in turns: got %q, want %q", len(c.lines), p.stopped, c.want)
		}
	}
}

type story struct {
	name  string
	lines []string // as told: repeats done, what counts the rounds filled in
}

func readStories(t *testing.T, file string) []story {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []story
	var lines []string
	flush := func() {
		if len(all) > 0 {
			s := &all[len(all)-1]
			var rest []string
			s.lines, rest = unroll(t, lines, 0, 0)
			if len(rest) > 0 || len(s.lines) == 0 {
				t.Fatalf("%s: story %q: an end too many, or nothing in it", file, s.name)
			}
		}
		lines = nil
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "story "); ok {
			flush()
			all = append(all, story{name: name})
		} else if line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	flush()
	return all
}

// unroll tells lines up to the end of the repeat they are in, and returns what
// stands behind it.
func unroll(t *testing.T, lines []string, i, j int) (told, rest []string) {
	round := strings.NewReplacer("${i}", strconv.Itoa(i), "$i", strconv.Itoa(i), "${j}", strconv.Itoa(j), "$j", strconv.Itoa(j))
	for len(lines) > 0 {
		line := lines[0]
		lines = lines[1:]
		n, ok := strings.CutPrefix(line, "repeat ")
		switch {
		case line == "end":
			return told, lines
		case !ok:
			told = append(told, round.Replace(line))
			continue
		}
		times, err := strconv.Atoi(n)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		var after []string
		for k := 1; k <= times; k++ {
			var body []string
			body, after = unroll(t, lines, k, i)
			told = append(told, body...)
		}
		lines = after
	}
	return told, nil
}

// A narrator is the worker and the model of a story.
type narrator struct {
	t       *testing.T
	story   story
	s       State
	now     time.Time
	think   time.Duration
	fresh   int // numbers given
	calls   int
	step    []scripted
	stopped string // how the guard stopped it; the story ends there
	looks   map[pair]int
	told    map[pair]int // at which look the model was told that it polls
}

func newNarrator(t *testing.T, s story) *narrator {
	return &narrator{t: t, story: s, think: 4 * time.Second, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		looks: map[pair]int{}, told: map[pair]int{}}
}

// A scripted call is one line of a story.
type scripted struct {
	tool, args, result string
	ran                time.Duration
	class              Class
	change             Change
	err, refused       bool
	invalid, job       bool
	waits              bool
}

func (p *narrator) tell() {
	p.record(Created{Run: "r", Config: Config{Limits: Limits{Steps: -1, Wall: -1}}})
	for _, line := range p.story.lines {
		verb, rest, _ := strings.Cut(line, " ")
		if verb != "&" {
			p.play()
		}
		if p.stopped != "" {
			return
		}
		switch verb {
		case "wait":
			p.now = p.now.Add(p.duration(rest))
		case "think":
			p.think = p.duration(rest)
		case "says":
			p.reply(Text(rest))
			p.follow()
		case "steer":
			p.fresh++
			p.record(Said{ID: fmt.Sprint("w", p.fresh), Delivery: Steer, Parts: []Part{Text(rest)}})
		case "&":
			p.step = append(p.step, p.script(rest))
		default:
			p.step = []scripted{p.script(line)}
		}
	}
	p.play()
}

func (p *narrator) duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		p.t.Fatalf("story %q: %v", p.story.name, err)
	}
	return d
}

func (p *narrator) script(line string) scripted {
	p.fresh++
	line = strings.NewReplacer(
		"${n}", strconv.Itoa(1000+p.fresh*37), "$n", strconv.Itoa(1000+p.fresh*37),
		"$h", fmt.Sprintf("%08x", uint32(p.fresh)*2654435761), // spread by a large prime
		"${t}", p.now.Format(time.TimeOnly), "$t", p.now.Format(time.TimeOnly),
		`\n`, "\n", `\t`, "\t",
	).Replace(line)
	flags := ""
	if i := strings.LastIndex(line, " ; "); i >= 0 {
		line, flags = line[:i], line[i+3:]
	}
	line, result, _ := strings.Cut(line, " ->")
	c := scripted{result: cmp.Or(strings.TrimPrefix(result, " "), "(no output)"), ran: 50 * time.Millisecond, class: Reads}
	c.tool, c.args, _ = strings.Cut(line, " ")
	switch c.tool {
	case "run":
		c.class, c.change = Writes, MayChange
	case "sleep":
		c.ran = p.duration(c.args)
		c.waits = c.ran >= pollGap // as package permission has it
		c.args = "sleep " + c.args
	case "edit", "write":
		c.class, c.change = Writes, Changed
	case "agent", "ask":
		c.class = Resumable
	}
	if c.tool == "run" || c.tool == "sh" || c.tool == "sleep" {
		b, _ := json.Marshal(c.args)
		c.tool, c.args = "shell", `{"command":`+string(b)+`}`
	}
	for _, f := range strings.Fields(flags) {
		switch f {
		case "err":
			c.err, c.change = true, NoChange
		case "refused":
			c.refused = true
		case "invalid":
			c.invalid = true
		case "made":
			c.change = Changed
		case "same":
			c.change = NoChange
		case "job":
			c.job = true
		case "waits":
			c.waits = true
		default:
			d, ok := strings.CutPrefix(f, "ran=")
			if !ok {
				p.t.Fatalf("story %q: unknown word %q", p.story.name, f)
			}
			c.ran = p.duration(d)
		}
	}
	return c
}

// record applies what the worker would append; nothing in a story may be refused.
func (p *narrator) record(f Payload) {
	next, err := p.s.Apply(Event{Seq: p.s.Seq + 1, At: p.now, Payload: f})
	if err != nil {
		p.t.Fatalf("story %q: %v", p.story.name, err)
	}
	p.s = next
}

// reply lets the model answer.
func (p *narrator) reply(parts ...Part) {
	if !p.s.Turn.Open() {
		p.record(Prompted{Parts: []Part{Text("go on")}})
	}
	stop := StopEndTurn
	if countCalls(parts) > 0 {
		stop = StopToolUse
	}
	p.record(RequestStarted{Purpose: ForStep, Attempt: 1})
	p.now = p.now.Add(p.think)
	p.record(Replied{Parts: parts, Stop: stop, Promises: heuristic.Promises(PlainText(parts))})
}

// play lets the model ask for the calls of the step and carries them out as Next
// says.
func (p *narrator) play() {
	if len(p.step) == 0 {
		return
	}
	script := map[CallID]scripted{}
	var parts []Part
	for i, c := range p.step {
		call := &Call{ID: CallID("c_" + itoa(p.s.NextCall()+i)), Tool: c.tool, Arguments: c.args}
		script[call.ID] = c
		parts = append(parts, Part{Type: CallPart, Call: call})
	}
	p.calls += len(p.step)
	p.step = nil
	p.reply(parts...)
	for p.s.Turn.open > 0 {
		p.carryOut(script)
	}
	for _, c := range p.s.Turn.Calls {
		p.looks[pair{c.Key, c.resultKey}]++
	}
	p.follow()
}

// carryOut does what is owed for the open calls, and settles the one that is done
// first.
func (p *narrator) carryOut(script map[CallID]scripted) {
	for _, owed := range p.s.Next() {
		switch o := owed.(type) {
		case Derive: // a call that cannot run is settled, or the turn ends with a question
			p.record(o.Payload)
		case Inspect:
			c := script[o.Call.ID]
			f := CallInspected{Call: o.Call.ID, Tool: c.tool, Class: c.class, Key: heuristic.CallKey(c.tool, c.args), Polls: c.waits, Question: c.tool == "ask"}
			if c.invalid {
				f.Problem = c.result
			}
			p.record(f)
		case Decide:
			c := script[o.Call.ID]
			if c.refused {
				p.record(CallDecided{Call: o.Call.ID, Decision: Decision{Answer: Deny}, Content: c.result})
			} else {
				p.record(CallDecided{Call: o.Call.ID, Decision: Decision{Answer: Allow}})
			}
		case Perform:
			if o.Call.Status == CallAllowed {
				p.record(CallStarted{Call: o.Call.ID, Attempt: o.Attempt})
			}
		}
	}
	if !p.s.Turn.Open() {
		q := p.s.Questions()[0]
		p.record(Prompted{Answers: q.ID, Parts: []Part{Text(script[q.ID].result)}})
		return
	}
	var first CallState
	var at time.Time
	for _, c := range p.s.Turn.Calls {
		if end := c.startedAt.Add(script[c.ID].ran); c.Status == CallRunning && (at.IsZero() || end.Before(at)) {
			first, at = *c, end
		}
	}
	if at.IsZero() {
		return
	}
	p.now = at
	c := script[first.ID]
	f := CallSettled{Call: first.ID, Outcome: OK, Content: []Part{Text(c.result)}, IsError: c.err, Change: c.change, JobRuns: c.job}
	if c.err {
		f.Outcome = Failed
	}
	f.Key = heuristic.ResultKey(f.IsError, []string{c.result}, nil)
	p.record(f)
}

// follow records what follows by itself, and sees whether the guard has had enough.
func (p *narrator) follow() {
	for p.s.Turn.Open() {
		if end := p.s.stopped(); end.End == LoopStopped {
			p.stopped = fmt.Sprintf(", stopped at call %d as %s", p.calls, end.Reason)
			return
		}
		owed, ok := p.s.Next()[0].(Derive)
		if !ok {
			return
		}
		if note, ok := owed.Payload.(Told); ok && note.Text == notePoll {
			c := p.s.Turn.Calls[p.s.Turn.find(note.Call)]
			p.told[pair{c.Key, c.resultKey}] = p.looks[pair{c.Key, c.resultKey}]
		}
		p.record(owed.Payload)
	}
}

// checkTold checks that the model was told of each poll at the tenth look.
func (p *narrator) checkTold() {
	for look, n := range p.looks {
		switch at, told := p.told[look]; {
		case n >= 10 && !told:
			p.t.Errorf("polling: %q: the model was not told in %d looks", p.story.name, n)
		case told && at != 10:
			p.t.Errorf("polling: %q: the model was told at look %d", p.story.name, at)
		}
	}
}
