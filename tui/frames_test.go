package tui

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/approval"
	"pawl/instructions"
	"pawl/internal/golden"
	"pawl/internal/screen"
	"pawl/internal/screen/screentest"
	"pawl/permission"
	"pawl/provider"
	"pawl/render"
	"pawl/run"
	"pawl/tui/keys"
	"pawl/view"
)

// A scene is a model with a clock that stands still, on a terminal in memory. Nothing performs
// its effects.
type scene struct {
	testing.TB
	*model
	terminal *screentest.Terminal
	screen   *screen.Screen
	at       time.Time
	log      run.State
}

// newScene returns the terminal agent with a run that has begun.
func newScene(t testing.TB, width, height int, s render.Style) *scene {
	getenv := func(string) string { return "" }
	c := &scene{TB: t, terminal: screentest.New(t, width, height), at: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC),
		model: newModel(Options{Version: "0.1", Dir: "/home/ann/shop", Home: "/home/ann", Mode: "default", Style: s, Getenv: getenv})}
	c.screen = screen.New(c.terminal, true)
	c.model.size(width, height)
	c.take(nil, modelKnown{name: "anthropic/claude-sonnet-5-5"}, branchKnown{"main"})
	return c
}

// begin opens a run, in which the person says something.
func (c *scene) begin(words string) {
	c.take(opened{n: 1, id: "r"})
	c.events(run.Created{Run: "r", Config: run.Config{Model: "anthropic/claude-sonnet-5-5", Mode: "default", Window: 200_000}},
		run.Prompted{Parts: []run.Part{run.Text(words)}})
}

func (c *scene) take(messages ...message) {
	for _, m := range messages {
		c.update(m, c.at)
	}
	c.draw()
}

func (c *scene) draw() {
	c.Helper()
	f := c.frame()
	width, height := c.terminal.Size()
	err := c.screen.Draw(screen.Frame{Width: width, Height: height, Above: f.above, Live: f.live,
		Cursor: screen.Cursor{Row: f.row, Col: f.col, Hidden: f.row < 0}, Now: c.at})
	if err != nil {
		c.Fatal(err)
	}
	if f.shown.guard != nil {
		c.update(f.shown, c.at)
	}
}

// passes lets time pass.
func (c *scene) passes(d time.Duration) {
	c.Helper()
	c.at = c.at.Add(d)
	c.take(tick{})
}

// events takes in events of the run, a second apart.
func (c *scene) events(payloads ...run.Payload) {
	c.Helper()
	for _, p := range payloads {
		e := run.Event{Seq: c.log.Seq + 1, At: c.at, Payload: p}
		next, err := c.log.Apply(e)
		if err != nil {
			c.Fatal(err)
		}
		c.log = next
		c.take(news{n: 1, Update: view.Update{Event: &e}, state: next})
		c.at = c.at.Add(time.Second)
	}
}

func (c *scene) live(u view.Update) { c.take(news{n: 1, Update: u}) }

func (c *scene) presses(name, text string) { c.take(pressed{keys.Key{Name: name, Text: text}}) }

// says is an answer of the model, with calls.
func (c *scene) says(text string, calls ...run.Call) {
	c.Helper()
	reply := run.Replied{Stop: run.StopEndTurn, Usage: run.Usage{Input: 13_000, Output: 1200, Cost: 0.026, Priced: true}}
	if text != "" {
		reply.Parts = append(reply.Parts, run.Text(text))
	}
	for _, call := range calls {
		reply.Stop = run.StopToolUse
		reply.Parts = append(reply.Parts, run.Part{Type: run.CallPart, Call: &call})
	}
	c.events(run.RequestStarted{Purpose: run.ForStep, Attempt: 1}, reply)
	for _, call := range calls {
		class := run.Writes
		if call.Tool == "agent" {
			class = run.Resumable
		}
		c.events(run.CallInspected{Call: call.ID, Tool: call.Tool, Class: class, Question: call.Tool == "ask"})
	}
}

func call(id, tool, arguments string) run.Call {
	return run.Call{ID: run.CallID(id), Tool: tool, Arguments: arguments}
}

// runs lets calls run, and settles them with results.
func (c *scene) runs(id, result string, files ...run.FileChange) {
	c.Helper()
	c.starts(id)
	c.events(run.CallSettled{Call: run.CallID(id), Outcome: run.OK, Content: []run.Part{run.Text(result)}, Files: files})
}

// exits is runs for a command that ends with an exit code.
func (c *scene) exits(id string, code int, result string) {
	c.Helper()
	c.starts(id)
	c.events(run.CallSettled{Call: run.CallID(id), Outcome: run.OK, ExitCode: &code, Content: []run.Part{run.Text(result)}})
}

func (c *scene) starts(id string) {
	c.Helper()
	c.events(run.CallDecided{Call: run.CallID(id), Decision: run.Decision{Answer: run.Allow, Source: "mode"}}, run.CallStarted{Call: run.CallID(id), Attempt: 1})
}

// asks shows the dialog for calls, as the workspace would explain them.
func (c *scene) asks(requests map[run.CallID]permission.Request, calls ...run.Call) {
	c.Helper()
	var all []approval.Approval
	for _, call := range calls {
		r := requests[call.ID]
		r.Tool, r.Workspace, r.Dir = call.Tool, c.Dir, c.Dir
		all = append(all, approval.Approval{Run: c.id, Call: call, Request: r, Explanation: permission.Rules(nil).Explain(r, permission.Default),
			Proposal: permission.Rules(nil).Propose(r, permission.Default, nil), Change: approval.ChangeOf(call, permission.Request{Workspace: c.Dir, Paths: r.Paths, Resolved: r.Paths})})
	}
	ids := []run.CallID{}
	for _, call := range calls {
		ids = append(ids, call.ID)
	}
	c.live(view.Update{Waiting: ids})
	c.take(approvals{1, all, nil})
	c.passes(calm)
}

func (c *scene) ends(e run.Ended) {
	c.Helper()
	c.events(e)
	c.take(finished{n: 1, state: c.log})
}

// work is a turn up to the last call, which runs.
func (c *scene) work() {
	c.Helper()
	c.begin("the tests of package cart fail; find out why and repair it")
	c.says("I'll look at the tests first.", call("c_1", "read", `{"path":"cart/cart_test.go"}`), call("c_2", "shell", `{"command":"go test ./cart"}`),
		call("c_3", "todo", `{"items":[{"text":"find the bug","status":"done"},{"text":"repair it","status":"active"},{"text":"test 日本語","status":"pending"}]}`))
	c.runs("c_1", "package cart")
	c.exits("c_2", 1, "--- FAIL: TestTotalCountsEveryItem (0.00s)\n    cart_test.go:8: Total = 1200, want 2100\nFAIL\n[exit code 1]")
	c.runs("c_3", "1 of 3 done")
	c.says("`Total` starts its loop at 1 and skips the first item.", call("c_4", "edit", `{"path":"cart/cart.go","edits":[{"old":"a","new":"b"}]}`),
		call("c_5", "shell", `{"command":"go test ./..."}`))
	c.runs("c_4", "Edited cart/cart.go: 1 line added, 1 line removed.\n@@ -12,1 +12,1 @@\n-\tfor i := 1; i < len(items); i++ {\n+\tfor i := range items {",
		run.FileChange{Path: "cart/cart.go", Before: "1", After: "2"})
	c.starts("c_5")
	c.live(view.Update{Progress: &view.Progress{Call: "c_5", Text: "ok   example.com/shop/order  0.31s\n"}})
}

var scenes = []struct {
	name string
	play func(c *scene)
}{
	{"start", func(*scene) {}},
	{"first_start", func(c *scene) {
		c.take(modelKnown{err: provider.ErrNoModel}, picked{newPicker("pawl needs a model. What is here:", []entry{
			{text: "Paste an API key", more: "Anthropic, OpenAI, Gemini, OpenRouter and others"}, {text: "ollama/qwen3-coder:30b", more: "a server on this machine"},
			{text: "Just look", more: "a scripted demo, offline, one minute"}}), true})
	}},
	{"working", func(c *scene) {
		c.work()
		c.take(pasted{text: "also check the discount tests"})
	}},
	{"decision", func(c *scene) {
		c.begin("add a left pad")
		one, two := call("c_1", "shell", `{"command":"npm install left-pad"}`), call("c_2", "shell", `{"command":"npm test"}`)
		c.says("I install it.", one, two)
		c.asks(map[run.CallID]permission.Request{"c_1": {Command: "npm install left-pad", Sandbox: run.WithNetwork}, "c_2": {Command: "npm test"}}, one, two)
	}},
	{"compound_decision", func(c *scene) {
		command := `go vet ./... && go test ./... 2>&1 | tee test.log && curl -fsS https://example.org/hook`
		c.begin("test it and tell the hook")
		one := call("c_1", "shell", fmt.Sprintf(`{"command":%q}`, command))
		c.says("", one)
		c.asks(map[run.CallID]permission.Request{"c_1": {Command: command}}, one)
	}},
	{"edit_decision", func(c *scene) {
		c.begin("repair it")
		one := call("c_1", "edit", `{"path":"cart/cart.go","edits":[{"old":"\tfor i := 1; i < len(items); i++ {\n\t\ttotal += items[i]","new":"\tfor _, item := range items {\n\t\ttotal += item"}]}`)
		c.says("", one)
		c.asks(map[run.CallID]permission.Request{"c_1": {Paths: []string{"cart/cart.go"}, Edits: true}}, one)
	}},
	{"interrupted", func(c *scene) {
		c.work()
		f := run.Interrupted{Cause: run.ByPerson, By: "ann"}
		c.events(f)
		c.events(run.CallSettled{Call: "c_5", Outcome: run.Cut, IsError: true, Content: []run.Part{run.Text(f.CutText(""))}})
		c.ends(run.Ended{Driven: 21 * time.Second, End: run.EndInterrupted, Reason: string(run.ByPerson), Detail: "say what to do next"})
	}},
	{"end", func(c *scene) {
		c.work()
		c.events(run.CallSettled{Call: "c_5", Outcome: run.OK, Content: []run.Part{run.Text("ok  	example.com/shop/cart")}})
		c.says("Both tests pass. `Total` now counts **every** item; the discount starts at exactly 100.00 instead of above it.")
		c.ends(run.Ended{Driven: 22 * time.Second, End: run.Completed})
	}},
	{"large_result", func(c *scene) {
		c.begin("how many users are there?")
		c.says("", call("c_1", "shell", `{"command":"curl -s localhost:3000/users"}`), call("c_2", "shell", `{"command":"sleep 60"}`))
		c.starts("c_1")
		c.events(run.CallSettled{Call: "c_1", Outcome: run.OK, Content: []run.Part{run.Text("JSON, 42.3 MB")}, Delivery: "envelope", Size: 42_300_000})
	}},
	{"retrying", func(c *scene) {
		c.begin("go on")
		for n := range 3 {
			c.events(run.RequestStarted{Purpose: run.ForStep, Attempt: n + 1},
				run.RequestFailed{Kind: run.ErrOverloaded, Reason: "overloaded (HTTP 529): Overloaded", RetryAfter: 8 * time.Second})
		}
	}},
	{"question", func(c *scene) {
		c.begin("set it up")
		c.says("Before I start:", call("c_1", "ask", `{"question":"Which database should the shop use?","options":["sqlite","postgres: needs a server that somebody has to run, and an account on it","none"]}`))
		c.ends(run.Ended{End: run.Asked})
	}},
	{"resume", func(c *scene) {
		c.take(picked{picker: newPicker("Resume a run", []entry{
			{text: fmt.Sprintf("%-12s %-13s %s", "2 min ago", "waiting", "add left-pad"), more: "$0.03"},
			{text: fmt.Sprintf("%-12s %-13s %s", "1 h ago", "completed", "repair the cart tests"), more: "$0.04"},
			{text: fmt.Sprintf("%-12s %-13s %s", "3 days ago", "killed", "upgrade to Go 1.26 in all modules and 日本語"), more: "$1.12"}})})
		c.presses("down", "")
	}},
}

// What a person sees, from a small window to a large one.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {40, 12}, {200, 50}} {
		for _, s := range scenes {
			name := fmt.Sprintf("%s_%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := newScene(t, size[0], size[1], render.Style{})
				s.play(c)
				golden.Compare(t, name+".frame", []byte(c.terminal.Text()))
				if c.terminal.Styled {
					t.Error("styles were sent without colours")
				}
			})
		}
	}
}

// Without UTF-8 nothing of pawl's own is outside ASCII.
func TestFramesInASCII(t *testing.T) {
	t.Parallel()
	for _, s := range scenes {
		c := newScene(t, 80, 24, render.Style{ASCII: true})
		s.play(c)
		for _, r := range strings.ReplaceAll(c.terminal.Text(), "日本語", "") {
			if r >= 0x80 {
				t.Errorf("%s: %q is not ASCII", s.name, r)
			}
		}
	}
}

func TestTheHelpFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 80, 120} {
		c := newScene(t, width, 24, render.Style{})
		c.lines = nil
		c.help("")
		if len(c.lines) < 20 {
			t.Fatalf("%d lines of help", len(c.lines))
		}
		for _, line := range c.lines {
			if n := render.Cells(line); n > width {
				t.Errorf("%d columns on a terminal of %d: %s", n, width, line)
			}
		}
	}
}

// A model that has not answered yet is not a terminal that hangs: the time runs.
func TestTheTimeRunsWhileTheModelIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := newScene(t, 80, 24, render.Style{})
	c.begin("go on")
	c.events(run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	c.at = c.at.Add(7 * time.Second)
	c.take(tick{})
	c.shows("◐ 9s · waiting for the model · esc: interrupt")
	c.live(view.Update{Delta: &view.Delta{Text: "I look"}})
	c.shows("I look", "◐ 9s · esc: interrupt")
}

// shows checks that texts are on the terminal.
func (c *scene) shows(texts ...string) {
	c.Helper()
	for _, text := range texts {
		if !strings.Contains(c.terminal.Text(), text) {
			c.Errorf("there is no %q:\n%s", text, c.terminal.Text())
		}
	}
}

// The lines of an error stay lines: what to do next is often a list of commands.
func TestAnErrorOfSeveralLinesKeepsThem(t *testing.T) {
	t.Parallel()
	c := newScene(t, 60, 24, render.Style{})
	c.take(failed{errors.New("nothing was done. Do one of these:\n  export KEY=…   get one\n  pawl demo      needs none")})
	c.shows("✗ nothing was done. Do one of these:\n    export KEY=…   get one\n    pawl demo      needs none\n")
}

// Notes are broken between words.
func TestNotesAreBrokenBetweenWords(t *testing.T) {
	t.Parallel()
	c := newScene(t, 60, 24, render.Style{})
	c.begin("write it")
	one := call("c_1", "write", `{"path":"cart/doc.md","content":"x"}`)
	c.says("", one)
	c.asks(map[run.CallID]permission.Request{"c_1": {Paths: []string{"cart/doc.md"}, Edits: true}}, one)
	c.chooses("v")
	c.shows("Never allow:\n    write(cart/doc.md)")
	c.passes(standing)
	c.chooses("1")
	c.shows("never allowed · stored: deny write(cart/doc.md) in this\n  folder · remove it with /permissions")
}

// Enter chooses what is shown. When nothing is, it does nothing.
func TestEnterWithNothingThatFitsKeepsTheList(t *testing.T) {
	t.Parallel()
	c := newScene(t, 80, 24, render.Style{})
	c.take(picked{picker: newPicker("Resume a run", []entry{{text: "add left-pad"}})})
	c.presses("z", "z")
	c.presses("enter", "")
	c.shows("Resume a run · search: z", "no match")
}

// A run whose process was killed says what ran then.
func TestAResumedRunNamesTheCallThatWasCutOff(t *testing.T) {
	t.Parallel()
	for words, of := range map[string]run.Call{
		"was running when pawl ended: Run go test ./...":              call("c_1", "shell", `{"command":"go test ./..."}`),
		"was waiting for its sub-agent when pawl ended: agent a look": call("c_1", "agent", `{"prompt":"a look"}`),
	} {
		first := newScene(t, 80, 24, render.Style{})
		first.begin("test it")
		first.says("I test.", of)
		first.starts("c_1")
		c := newScene(t, 80, 24, render.Style{})
		c.take(opened{n: 1, id: "r", state: first.log})
		c.shows(words, "/continue resumes it")
	}
}

// What a call had asked whose process was killed is no question any more: nobody waits for the answer.
func TestAQuestionOfAKilledProcessIsNotAsked(t *testing.T) {
	t.Parallel()
	first := newScene(t, 80, 24, render.Style{})
	first.begin("test it")
	first.says("I test.", call("c_1", "mcp__hub__find", `{}`))
	first.starts("c_1")
	first.events(run.CallDetached{Call: "c_1", Handle: "h"}, run.CallAsked{Call: "c_1", Question: "Which one?", Options: []string{"the first"}})
	first.shows("Which one?", "the first")
	c := newScene(t, 80, 24, render.Style{})
	c.take(opened{n: 1, id: "r", state: first.log})
	c.shows("was running when pawl ended", "/continue resumes it")
	if strings.Contains(c.terminal.Text(), "the first") {
		t.Errorf("it asks:\n%s", c.terminal.Text())
	}
	first.events(run.Resumed{Calls: []run.CallID{"c_1"}})
	if strings.Contains(first.terminal.Text(), "type an answer") {
		t.Errorf("it still asks:\n%s", first.terminal.Text())
	}
}

// A session that was opened again, because the log could not be written, has not lost its process.
func TestARunThatThisProcessOpensAgainHasNotLostItsProcess(t *testing.T) {
	t.Parallel()
	c := newScene(t, 80, 24, render.Style{})
	c.begin("test it")
	c.events(run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	c.take(opened{n: 2, id: "r", state: c.log})
	if strings.Contains(c.terminal.Text(), "process ended") {
		t.Error(c.terminal.Text())
	}
}

// In a small window the line of the call that runs matters more than what it prints.
func TestARunningCallIsNamedInASmallWindow(t *testing.T) {
	t.Parallel()
	c := newScene(t, 40, 14, render.Style{})
	c.begin("go")
	c.says("", call("c_1", "shell", `{"command":"go test ./..."}`))
	c.starts("c_1")
	c.take(news{n: 1, Update: view.Update{Progress: &view.Progress{Call: "c_1", Text: "one\ntwo\nthree\n"}}})
	c.shows("Run go test ./...", "three")
}

// A command that is not trusted is not a command that there is not.
func TestACommandThatIsIgnoredIsNamed(t *testing.T) {
	t.Parallel()
	c := newScene(t, 120, 24, render.Style{})
	c.words("/hello there")
	c.presses("enter", "")
	c.shows("looking for the command /hello") // it may be one of those that are not known yet
	c.words("go on")
	c.take(commandsKnown{untrusted: []string{".pawl/commands"}})
	c.shows("› go on", "/hello there", "unknown command /hello; did you mean /help?")
	c.presses("ctrl+u", "")
	c.presses("backspace", "")
	c.presses("ctrl+u", "")
	c.take(pasted{text: "/hello"})
	c.presses("enter", "")
	c.shows("unknown command /hello; did you mean /help? · commands in .pawl/commands are not loaded: review them with /trust")
}

func TestACommandOfAPluginIsFoundByItsShortName(t *testing.T) {
	t.Parallel()
	c := newScene(t, 120, 24, render.Style{})
	c.take(commandsKnown{commands: []instructions.Command{{Name: "x:greet"}, {Name: "y:both"}, {Name: "z:both"}}})
	c.words("/both of them")
	c.presses("enter", "")
	c.shows("unknown command /both")
	c.presses("ctrl+u", "")
	c.words("/greet ann")
	c.presses("enter", "")
	c.shows("waiting for the model")
}

func TestTheArgumentsOfACommandAreShown(t *testing.T) {
	t.Parallel()
	c := newScene(t, 120, 24, render.Style{})
	c.take(commandsKnown{commands: []instructions.Command{{Name: "git:review", Arguments: "[package]", Description: "Review a package"}}})
	for _, r := range "/git" {
		c.presses(string(r), string(r))
	}
	c.shows("› /git:review [package]  Review a package")
	c.update(pressed{keys.Key{Name: "ctrl+u"}}, c.at)
	c.help("")
	c.draw()
	c.shows("/git:review [package]")
}

// What keys do is never cut: on a narrow terminal it takes more lines, of a dialog, a list and the line below
// the input alike.
func TestNoLineThatNamesAKeyIsCut(t *testing.T) {
	t.Parallel()
	asks := func(c *scene) *question {
		c.begin("set it up")
		c.says("", call("c_1", "ask", `{"question":"Which one?","options":["sqlite","postgres"]}`))
		c.ends(run.Ended{End: run.Asked})
		c.passes(calm)
		return c.question
	}
	decides := func(c *scene) {
		c.begin("make it")
		one := call("c_1", "shell", `{"command":"make all"}`)
		c.says("", one)
		c.asks(map[run.CallID]permission.Request{"c_1": {Command: "make all"}}, one)
		c.passes(calm)
	}
	for name, of := range map[string]struct {
		play func(c *scene)
		want []string // what keys do, beside what the line below the input says
	}{
		"start":   {func(*scene) {}, []string{"/help for keys and commands"}},
		"works":   {func(c *scene) { c.begin("go") }, nil},
		"steered": {func(c *scene) { c.begin("go"); c.words("look") }, nil},
		"waits": {func(c *scene) {
			c.begin("go")
			c.events(run.Said{ID: "m", Delivery: run.Steer, Parts: []run.Part{run.Text("look")}})
		}, nil},
		"armed":   {func(c *scene) { c.presses("esc", "") }, nil},
		"leaving": {func(c *scene) { c.presses("ctrl+c", "") }, nil},
		"list":    {func(c *scene) { c.pickMode() }, []string{"type to search", "enter: select", "esc: close"}},
		"key":     {func(c *scene) { c.pane = &secret{provider: "openrouter", at: "https://openrouter.ai/settings/keys"} }, []string{"https://openrouter.ai/settings/keys", "enter: store", "esc: cancel"}},
		"call": {func(c *scene) {
			c.view(viewed{calls: []view.Item{{Kind: view.KindCall, Final: true, Call: &view.Call{ID: "c_1", Tool: "read", Subject: "a.txt"}}}})
		}, []string{"ctrl+o: the call before", "left, right", "up, down", "enter: print it", "esc: close"}},
		"question":         {func(c *scene) { asks(c) }, []string{"type an answer, or choose with a number or the arrows, then enter"}},
		"chosen":           {func(c *scene) { asks(c); c.presses("2", "2") }, nil},
		"nothing chosen":   {func(c *scene) { asks(c); c.presses("enter", "") }, nil},
		"answer":           {func(c *scene) { asks(c); c.words("neither") }, nil},
		"answer before it": {func(c *scene) { asks(c).before = true; c.words("neither") }, nil},
		"answer held back": {func(c *scene) { asks(c).before = true; c.words("neither"); c.presses("enter", "") }, nil},
		"answer too late": {func(c *scene) {
			asks(c)
			c.words("neither")
			c.events(run.Prompted{Answers: "c_1", Parts: []run.Part{run.Text("sqlite")}})
		}, nil},
		"answer too late, held back": {func(c *scene) {
			asks(c)
			c.words("neither")
			c.events(run.Prompted{Answers: "c_1", Parts: []run.Part{run.Text("sqlite")}})
			c.presses("enter", "")
		}, nil},
		"decision":           {decides, []string{"a key or the arrows, then enter", "d: show all"}},
		"nothing decided":    {func(c *scene) { decides(c); c.presses("enter", "") }, nil},
		"decision chosen":    {func(c *scene) { decides(c); c.presses("y", "y") }, nil},
		"decision and words": {func(c *scene) { decides(c); c.words("look") }, nil},
		"decision in a moment": {func(c *scene) {
			decides(c)
			c.ask.begin()
		}, nil},
		"key too soon": {func(c *scene) { decides(c); c.ask.begin(); c.presses("y", "y") }, nil},
		"key too soon, held back": {func(c *scene) {
			decides(c)
			c.ask.begin()
			c.presses("y", "y")
			c.presses("enter", "")
		}, nil},
		"rule":             {func(c *scene) { decides(c); c.chooses("a") }, []string{"a number or the arrows, then enter", "esc: back"}},
		"rule and a place": {func(c *scene) { decides(c); c.chooses("a"); c.presses("2", "2") }, nil},
		"rule edited": {func(c *scene) {
			decides(c)
			c.chooses("a")
			c.passes(standing)
			c.chooses("4")
		}, []string{"enter: use this rule", "esc: back"}},
		"rule unread": {func(c *scene) { decides(c); c.chooses("a"); c.chooses("1") }, nil},
		"long call": {func(c *scene) {
			command := strings.Repeat("echo building\n", 60)
			c.begin("make it")
			one := call("c_1", "shell", fmt.Sprintf(`{"command":%q}`, command))
			c.says("", one)
			c.asks(map[run.CallID]permission.Request{"c_1": {Command: command}}, one)
		}, []string{"d shows all", "d show all"}},
		"no mode":    {func(c *scene) { c.modeCommand("strict") }, nil},
		"no command": {func(c *scene) { c.words("/nosuch"); c.presses("enter", "") }, nil},
	} {
		for _, width := range []int{40, 60, 80} {
			c := newScene(t, width, 24, render.Style{})
			of.play(c)
			c.draw()
			said := strings.Join(strings.Fields(c.terminal.Text()), " ")
			for _, want := range append(slices.Clone(of.want), cmp.Or(c.hint, c.keysNow())) {
				if want = strings.Join(strings.Fields(want), " "); !strings.Contains(said, want) {
					t.Errorf("%s at %d columns: there is no %q:\n%s", name, width, want, c.terminal.Text())
				}
			}
		}
	}
}

// The list of modes begins with the one that the run is in.
func TestTheListOfModesBeginsWithThePresentOne(t *testing.T) {
	t.Parallel()
	for _, mode := range allModes {
		c := newScene(t, 80, 24, render.Style{})
		c.wish.Mode = mode
		c.words("/mode")
		c.presses("enter", "")
		c.shows("Permission mode", "› "+mode)
	}
}
