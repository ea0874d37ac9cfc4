package render_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/approval"
	"pawl/internal/golden"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/render"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// A player plays a run to a transcript, a second an event.
type player struct {
	*render.Transcript
	seq   int64
	at    time.Time
	items []view.Item // that were final
}

func play(s render.Style) *player {
	p := &player{Transcript: render.NewTranscript(s, &view.Projection{}), at: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
	p.Answers, p.Streams, p.Echo, p.Interrupt, p.Began = true, true, true, "esc interrupts", p.at
	return p
}

func (p *player) update(u view.Update) {
	for _, i := range p.Update(u) {
		if i.Final {
			p.items = append(p.items, i)
		}
	}
}

func (p *player) events(payloads ...run.Payload) {
	for _, payload := range payloads {
		p.seq++
		p.at = p.at.Add(time.Second)
		p.update(view.Update{Event: &run.Event{Seq: p.seq, At: p.at, Payload: payload}})
	}
}

// call plays a call from its inspection to its start.
func (p *player) call(id run.CallID, class run.Class) {
	p.events(run.CallInspected{Call: id, Class: class}, run.CallDecided{Call: id, Decision: run.Decision{Answer: run.Allow, Source: "mode"}}, run.CallStarted{Call: id, Attempt: 1})
}

func asked(id run.CallID, tool, args string) run.Part {
	return run.Part{Type: run.CallPart, Call: &run.Call{ID: id, Tool: tool, Arguments: args}}
}

func result(id run.CallID, text string, files ...run.FileChange) run.CallSettled {
	return run.CallSettled{Call: id, Outcome: run.OK, Content: []run.Part{run.Text(text)}, Files: files}
}

const answer = "## What was wrong\n\n" +
	"The loop began at 1; see [the report](https://example.com/reports/17) and `cart.go`.\n\n" +
	"| item | before | after |\n|:---|---:|:-:|\n| total of *two* items | 1200 | 2100 |\n| a \\| b | 3 | `x|y` |\n\n" +
	"```go\n// Total adds all items up.\nfor i := range items { /* every\none */ total += 0x1F + len(\"a // b\") }\n```\n" +
	"Then:\n\n```\nno language\n```\n> quoted\n\n- one\n- two\n\n| not a table\n"

const edited = `Edited cart/cart.go: 3 lines added, 2 lines removed.
@@ -9,4 +9,4 @@
 	total := 0
-	for i := 1; i < n; i++ {
+	for i := range items {
 		total += items[i].Price
@@ -98,3 +98,4 @@
-	return total
+	// The discount starts at 100.00.
+	return total - discount(total)
 }`

const stored = `{"persisted":true,"output_ref":{"id":"c_2","storage":"app_data"},"size_chars":44354000,"preview":"{","preview_truncated":true,"metadata":{"format":"json",` +
	`"root_type":"object","arrays":[{"path":"$.users[*].roles","length":9},{"path":"$.users","length":120000}],` +
	`"shape":["$ object","$.users array","$.users[*] object ×120,000","$.users[*].id int ×120,000","$.users[*].email string ×120,000","$.users[*].roles array ×120,000","$.users[*].roles[*] string"]}}`

// work plays a turn with everything that a transcript knows, and returns what it has at its
// stages.
func work(s render.Style, width int) string {
	p := play(s)
	var out strings.Builder
	frame := func(what string) {
		fmt.Fprintf(&out, "== %s\n", what)
		for _, l := range p.Above(width) {
			fmt.Fprintf(&out, "%s\n", l)
		}
		for _, l := range p.Live(width, 24, p.at) {
			fmt.Fprintf(&out, "~ %s\n", l)
		}
	}
	p.events(run.Created{Run: "r", Config: run.Config{Model: "p/m"}}, run.Prompted{Parts: []run.Part{run.Text("repair the cart")}},
		run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	p.events(run.Replied{Stop: run.StopToolUse, Parts: []run.Part{
		{Type: run.ThinkingPart, Text: "The tests say what is wrong.\nI run them."},
		asked("c_1", "edit", `{"path":"cart/cart.go","edits":[{"old":"1","new":"0"}]}`),
		asked("c_2", "shell", `{"command":"curl -s localhost:3000/users"}`),
		asked("c_3", "agent", `{"prompt":"look for other places"}`),
		asked("c_4", "write", `{"path":"NEW.md","content":"# New\n\ntext\n"}`),
	}})
	p.call("c_1", run.Writes)
	p.events(result("c_1", edited, run.FileChange{Path: "cart/cart.go", Before: "1", After: "2"}))
	p.call("c_2", run.Writes)
	large := result("c_2", stored)
	large.Delivery, large.Size = "stored", 44_354_000
	p.events(large)
	frame("an edit and a large result")
	p.call("c_3", run.Resumable)
	child := &player{Transcript: p.Child(&view.Call{ID: "c_3", Tool: "agent", Subject: "look for other places", Child: run.ChildID("r", "c_3")}), at: p.at}
	child.events(run.Created{Run: "r.c_3", Config: run.Config{Model: "p/m"}}, run.Prompted{Parts: []run.Part{run.Text("look for other places")}},
		run.RequestStarted{Purpose: run.ForStep, Attempt: 1}, run.Replied{Stop: run.StopToolUse, Parts: []run.Part{run.Text("I search."), asked("c_1", "search", `{"pattern":"i := 1"}`), asked("c_2", "read", `{"path":"order.go"}`)}})
	child.call("c_1", run.Reads)
	child.events(result("c_1", "order.go:4: i := 1"))
	child.call("c_2", run.Reads)
	frame("a child run works")
	child.events(result("c_2", "1 package order"))
	p.at = child.at
	p.events(result("c_3", "order.go has the same loop at line 4."))
	p.call("c_4", run.Writes)
	p.events(result("c_4", "Made NEW.md: 3 lines, 13 B.", run.FileChange{Path: "NEW.md", After: "1"}))
	frame("it has ended")
	p.events(run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	cut := strings.Index(answer, "| a")
	p.update(view.Update{Delta: &view.Delta{Text: answer[:cut]}})
	frame("a table streams")
	p.update(view.Update{Delta: &view.Delta{Text: answer[cut:strings.Index(answer, "every")]}})
	frame("code streams")
	p.events(run.Replied{Stop: run.StopEndTurn, Parts: []run.Part{run.Text(answer)}}, run.Ended{Driven: 32 * time.Second, End: run.Completed})
	p.PrintEnd(render.End{Words: "completed", Undo: "/undo", State: run.State{Turn: run.Turn{TurnSummary: run.TurnSummary{N: 1, Tally: run.Tally{Steps: 2}, End: run.Ended{End: run.Completed}}}}})
	frame("the answer")
	fmt.Fprintf(&out, "== the details of the calls\n")
	for _, i := range p.items {
		if i.Call != nil {
			for _, l := range p.Details(i, width, 14) {
				fmt.Fprintf(&out, "%s\n", l)
			}
		}
	}
	return out.String()
}

// commands plays a turn with commands and a list of tasks, and returns what the transcript has at its
// stages.
func commands(s render.Style, width int) string {
	s.Expands = "ctrl+o"
	p := play(s)
	var out strings.Builder
	frame := func(what string) {
		fmt.Fprintf(&out, "== %s\n", what)
		for _, l := range p.Above(width) {
			fmt.Fprintf(&out, "%s\n", l)
		}
		for _, l := range p.Live(width, 24, p.at) {
			fmt.Fprintf(&out, "~ %s\n", l)
		}
	}
	step := func(text string, calls ...run.Part) {
		p.events(run.RequestStarted{Purpose: run.ForStep, Attempt: 1}, run.Replied{Stop: run.StopToolUse, Parts: append([]run.Part{run.Text(text)}, calls...)})
	}
	runs := func(id run.CallID, printed string) {
		p.call(id, run.Writes)
		p.events(result(id, printed))
	}
	numbers := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n\n", i+1)
		}
		return b.String()
	}
	p.events(run.Created{Run: "r", Config: run.Config{Model: "p/m"}}, run.Prompted{Parts: []run.Part{run.Text("repair the cart\nand say what was wrong")}})
	step("I begin with the tests.", asked("c_1", "todo", `{"items":[{"text":"find the bug","status":"active"},{"text":"repair it","status":"pending"},{"text":"run all tests","status":"pending"}]}`),
		asked("c_2", "shell", `{"command":"go test ./... 2>&1 | tail -n 20"}`), asked("c_3", "shell", `{"command":"touch out.txt"}`), asked("c_4", "shell", `{"command":"true; exit 3"}`))
	runs("c_1", "The list is stored.")
	runs("c_2", "ok  \tcart\t0.1s\n"+numbers(30)+"FAIL\torder\t0.2s\n")
	runs("c_3", "(no output)")
	fails := func(id run.CallID, printed string, code int) {
		settled := result(id, printed+fmt.Sprintf("[exit code %d]", code))
		settled.ExitCode = &code
		p.events(settled)
	}
	p.call("c_4", run.Writes)
	fails("c_4", "", 3)
	frame("commands")
	step("Two of them are long.", asked("c_5", "shell", `{"command":"cd internal/cart && CGO_ENABLED=0 go test -run 'TestTotalCountsEveryItem|TestDiscount' -count=1 ./... # the two that fail\nif [ -d /srv/shop ]; then for f in /srv/shop/*.log; do cat \"$f\"; done; fi\n1\n2\n3\n4\n5"}`),
		asked("c_6", "Bash", `{"command":"seq 9"}`), asked("c_7", "shell", `{"command":"make log"}`))
	p.call("c_5", run.Writes)
	p.update(view.Update{Progress: &view.Progress{Call: "c_5", Text: "a\n\n\x1b[31mb\nc\nd\n"}})
	frame("a long command runs")
	fails("c_5", numbers(18), 1)
	runs("c_6", numbers(30)+"[now in cart]")
	p.call("c_7", run.Writes)
	large := result("c_7", `{"persisted":true,"preview":"a","metadata":{"format":"text","lines":90210,"first_lines":["a","b","c"],"last_lines":["x","y","z"]}}`)
	large.Delivery, large.Size = "stored", 4_300_000
	p.events(large)
	step("", asked("c_8", "todo", `{"items":[{"text":"find the bug","status":"done"},{"text":"repair it","status":"active"},{"text":"run all tests","status":"pending"}]}`), asked("c_9", "shell", `{"command":"make"}`))
	runs("c_8", "The list is stored.")
	p.call("c_9", run.Writes)
	fails("c_9", numbers(40), 2)
	frame("more of them")
	p.events(run.Said{ID: "w_1", Delivery: run.Steer, Parts: []run.Part{run.Text("and the discount?")}})
	step("It is right.", asked("c_10", "todo", `{"items":[{"text":"find the bug","status":"done"},{"text":"repair it","status":"done"},{"text":"run all tests","status":"done"}]}`))
	runs("c_10", "The list is stored.")
	p.events(run.RequestStarted{Purpose: run.ForStep, Attempt: 1}, run.Replied{Stop: run.StopEndTurn, Parts: []run.Part{run.Text("All tests pass.")}}, run.Ended{Driven: 48 * time.Second, End: run.Completed})
	p.PrintEnd(render.End{Words: "completed", State: run.State{Turn: run.Turn{TurnSummary: run.TurnSummary{N: 1, Tally: run.Tally{Steps: 4}, End: run.Ended{End: run.Completed}}}}})
	frame("the end")
	return out.String()
}

// What a person sees at the widths of a phone, a terminal and a large screen.
func TestFrames(t *testing.T) {
	t.Parallel()
	for prefix, story := range map[string]func(render.Style, int) string{"": work, "commands_": commands} {
		for _, width := range []int{40, 80, 200} {
			got := story(render.Style{}, width)
			golden.Compare(t, fmt.Sprintf("frames/%swidth_%d.txt", prefix, width), []byte(got))
			if strings.Contains(got, "\x1b") {
				t.Errorf("width %d: styles without colours", width)
			}
		}
		ascii := story(render.Style{ASCII: true}, 80)
		golden.Compare(t, "frames/"+prefix+"ascii.txt", []byte(ascii))
		ascii, _, _ = strings.Cut(ascii, "== the details") // they show what others wrote
		if i := strings.IndexFunc(ascii, func(r rune) bool { return r > '~' }); i >= 0 {
			t.Errorf("in ASCII: %q", ascii[i:min(len(ascii), i+20)])
		}
		golden.Compare(t, "frames/"+prefix+"color.txt", []byte(strings.ReplaceAll(story(render.Style{Color: true, Links: true}, 80), "\x1b", "^")))
		golden.Compare(t, "frames/"+prefix+"spoken.txt", []byte(story(render.Style{}.Spoken(), 80)))
	}
}

// No line is wider than the terminal, and none of the live part is as wide.
func TestNoLineIsTooWide(t *testing.T) {
	t.Parallel()
	for width := 24; width < 120; width += 7 {
		answer := false // code and tables may be wider: they can be copied whole
		for line := range strings.Lines(work(render.Style{Color: true}, width) + commands(render.Style{Color: true}, width)) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "== ") {
				answer = strings.Contains(line, "streams") || strings.Contains(line, "the answer")
				continue
			}
			live, isLive := strings.CutPrefix(line, "~ ")
			switch {
			case isLive && render.Cells(live) >= width:
				t.Errorf("width %d: a live line of %d: %q", width, render.Cells(live), live)
			case !isLive && !answer && render.Cells(line) > width:
				t.Errorf("width %d: a line of %d: %q", width, render.Cells(line), line)
			}
		}
	}
}

// However a text streams, its finished lines are those that the whole text has.
func TestATextStreamsToTheSameLines(t *testing.T) {
	t.Parallel()
	lines := func(r *rand.Rand) []string {
		p := play(render.Style{Color: true})
		p.events(run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("x")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
		var all []string
		for rest := answer; r != nil && rest != ""; {
			n := min(len(rest), 1+r.IntN(30))
			p.update(view.Update{Delta: &view.Delta{Text: rest[:n]}})
			rest = rest[n:]
			if r.IntN(2) == 0 {
				all = append(all, p.Above(60)...)
				p.Live(60, 20, p.at)
			}
		}
		p.events(run.Replied{Stop: run.StopEndTurn, Parts: []run.Part{run.Text(answer)}})
		return append(all, p.Above(60)...)
	}
	want := lines(nil)
	for seed := range uint64(300) {
		if diff := cmp.Diff(want, lines(rand.New(rand.NewPCG(seed, 0)))); diff != "" {
			t.Fatalf("seed %d (-whole +streamed)\n%s", seed, diff)
		}
	}
}

// onlyStyles fails the test at a control character that is not part of a style.
func onlyStyles(t *testing.T, lines []string) {
	t.Helper()
	for _, l := range lines {
		if rest := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(l, ""); visible.Escape(rest) != rest || strings.ContainsAny(rest, "\t\n\r") {
			t.Errorf("%q is not safe to print", l)
		}
	}
}

// What models, tools and files say cannot control the terminal.
func TestEverythingIsSafeToPrint(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]0;title\x07\x1b[2J\r\u202e\u009b2J\x00\t[a](https://x\x1b\\y) | b"
	for _, s := range []render.Style{{}, {Color: true}, {Color: true, ASCII: true}} {
		p := play(s)
		p.events(run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text(evil)}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
		p.update(view.Update{Delta: &view.Delta{Text: "| " + evil + "|\n|---|---|\n|" + evil + "\n\n```go\n\"" + evil + "\n" + evil}})
		onlyStyles(t, slices.Concat(p.Above(60), p.Live(60, 20, p.at)))
		p.events(run.Replied{Stop: run.StopToolUse, Parts: []run.Part{asked("c_1", evil, `{"path":"\u001b[2J","content":"\u001b[2J\nx"}`), asked("c_2", "shell", `{"command":"x"}`), asked("c_3", evil, "{"+evil)}})
		p.call("c_1", run.Writes)
		p.events(result("c_1", "Made "+evil+": 1 line, 3 B.", run.FileChange{Path: evil, After: "1"}))
		p.call("c_2", run.Writes)
		large := result("c_2", `{"persisted":true,"metadata":{"format":"`+"\u202e"+`","arrays":[{"path":"$.\u001b[2J","length":3}],"shape":["$.\u001b[2J[*].\u001b[2J int"],"last_lines":["\u001b[2J"]}}`)
		large.Delivery, large.Size, large.IsError, large.Outcome = "stored", 5, true, run.Failed
		p.events(large)
		p.call("c_3", run.Resumable)
		c := p.Child(&view.Call{Child: run.ChildID("r", "c_3"), Tool: evil, Subject: view.OneLine(evil, 99)})
		c.Update(view.Update{Notice: evil})
		onlyStyles(t, slices.Concat(p.Above(60), p.Live(60, 20, p.at)))
		p.events(result("c_3", evil))
		p.events(run.Interrupted{Cause: run.ByPerson}, run.Ended{End: run.EndInterrupted, Detail: evil})
		onlyStyles(t, p.Above(60))
		for _, i := range p.items {
			onlyStyles(t, p.Details(i, 60, 40))
		}
		onlyStyles(t, s.QuestionLines(runlog.Question{Text: evil, Options: []string{evil}}, 60))
		for _, call := range []run.Call{{Tool: "shell", Arguments: `{"command":"\u001b[2J"}`}, {Tool: "edit", Arguments: `{"path":"a","edits":[{"old":"b\u001b","new":"\u001b[2J"}]}`}, {Tool: "write", Arguments: `{"path":"a","content":"\u001b[2J"}`}, {Tool: evil, Arguments: evil}} {
			a := approval.Approval{Call: call, Request: permission.Request{Sandbox: run.Unconfined}, Explanation: permission.Explanation{Parts: []permission.Part{{Decision: permission.Decision{Reason: evil}}}}}
			a.Change = approval.ChangeOf(call, a.Request)
			onlyStyles(t, s.ApprovalLines(a, 2, 5, 60))
		}
	}
}

// Before an edit is allowed it is shown at its place in the file.
func TestAnEditIsShownAtItsPlace(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(at, []byte("one\ntwo\nthree\nfour\nfive\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	change := func(c run.Call) string {
		return approval.ChangeOf(c, permission.Request{Paths: []string{"a"}, Resolved: []string{at}})
	}
	a := approval.Approval{Call: run.Call{Tool: "edit", Arguments: `{"path":"a","edits":[{"old":"four","new":"4"}]}`}}
	a.Change = change(a.Call)
	want := []string{"? Edit a  (1 more)", "    2 │  two", "    3 │  three", "    4 │ -four", "    4 │ +4", "    5 │  five"}
	if diff := cmp.Diff(want, render.Style{}.ApprovalLines(a, 2, 0, 80)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	a.Call.Arguments = `{"path":"a","edits":[{"old":"not there","new":"4"}]}`
	a.Change = change(a.Call)
	want = []string{"? Edit a", "    -not there", "    +4"}
	if diff := cmp.Diff(want, render.Style{}.ApprovalLines(a, 1, 0, 80)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Of what is long, details show the beginning and the end and say how much is left out.
func TestDetailsAreBounded(t *testing.T) {
	t.Parallel()
	c := &view.Call{Tool: "shell", Subject: "seq", Arguments: `{"command":"seq 1000"}`, State: view.Settled, Outcome: run.OK, Result: strings.Repeat("line\n", 999) + "last"}
	got := render.Style{}.Details(view.Item{Kind: view.KindCall, Call: c}, 40, 12)
	if len(got) != 12 || got[len(got)-1] != "  last" || got[7] != "  … 995 lines left out" {
		t.Errorf("got %d lines\n%s", len(got), strings.Join(got, "\n"))
	}
}

// A second in which 500 tokens arrive and the live part is made as often as it is drawn.
func BenchmarkASecondOfFastStreaming(b *testing.B) {
	p := play(render.Style{Color: true})
	p.events(run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("x")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	tokens := strings.SplitAfter(strings.Repeat(answer, 3), " ")
	for b.Loop() {
		for i := range 500 {
			p.update(view.Update{Delta: &view.Delta{Text: tokens[i%len(tokens)]}})
			if i%33 == 0 {
				p.Above(120)
				p.Live(120, 40, p.at)
			}
		}
	}
}

// What two child runs do at the same time stands together for each, and meanwhile in the live part.
func TestEachOfSeveralChildRunsIsABlock(t *testing.T) {
	t.Parallel()
	p := play(render.Style{})
	p.events(run.Created{Run: "r", Config: run.Config{Model: "p/m"}}, run.Prompted{Parts: []run.Part{run.Text("look")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1},
		run.Replied{Stop: run.StopToolUse, Parts: []run.Part{asked("c_1", "agent", `{"prompt":"part one"}`), asked("c_2", "agent", `{"prompt":"part two"}`)}})
	p.call("c_1", run.Resumable)
	p.call("c_2", run.Resumable)
	var children []*player
	for _, id := range []run.CallID{"c_1", "c_2"} {
		c := &player{Transcript: p.Child(&view.Call{ID: id, Tool: "agent", Subject: "part " + string(id), Child: run.ChildID("r", id)}), at: p.at}
		c.events(run.Created{Run: "child", Config: run.Config{Model: "p/m"}}, run.Prompted{Parts: []run.Part{run.Text("look")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
		children = append(children, c)
	}
	var above []string
	for n := range 3 {
		for i, c := range children {
			call := run.CallID(fmt.Sprintf("c_%d", n+1))
			c.events(run.Replied{Stop: run.StopToolUse, Parts: []run.Part{run.Text(fmt.Sprintf("child %d says %d", i+1, n)), asked(call, "list", "{}")}})
			c.call(call, run.Reads)
			c.events(result(call, "a.go"), run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
			above = append(above, p.Above(80)...)
			if live := strings.Join(p.Live(80, 24, p.at), "\n"); !strings.Contains(live, fmt.Sprintf("child %d says %d", i+1, n)) {
				t.Errorf("the live part has not what child %d has said:\n%s", i+1, live)
			}
		}
	}
	p.events(result("c_2", "two"))
	above = append(above, p.Above(80)...)
	p.events(result("c_1", "one"))
	above = append(above, p.Above(80)...)
	var said []string
	for _, l := range above {
		if _, words, ok := strings.Cut(l, "child "); ok {
			said = append(said, words)
		}
	}
	if got, want := strings.Join(said, ", "), "2 says 0, 2 says 1, 2 says 2, 1 says 0, 1 says 1, 1 says 2"; got != want {
		t.Errorf("%s\nwant\n%s\nof\n%s", got, want, strings.Join(above, "\n"))
	}
}
