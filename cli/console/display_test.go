package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pawl/approval"
	"pawl/internal/golden"
	"pawl/internal/screen"
	"pawl/internal/screen/screentest"
	"pawl/render"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
)

// A watching is a display on a terminal of the tests, with a clock that stands still.
type watching struct {
	*display
	terminal *screentest.Terminal
	seq      int64

	clock sync.Mutex // of at: a display that was started reads the clock beside the test
	at    time.Time
}

func watch(t *testing.T, width int, s render.Style) *watching {
	m := screentest.New(t, width, 24)
	w := &watching{terminal: m, at: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
	w.display = newDisplay(m, m.Size, render.NewTranscript(s, &view.Projection{}))
	w.screen = screen.New(m, true)
	w.shown.Streams, w.shown.Answers = true, true
	w.shown.Began, w.now = w.at, func() time.Time { return w.after(0) }
	return w
}

// after moves the clock by d and returns what it then shows.
func (w *watching) after(d time.Duration) time.Time {
	w.clock.Lock()
	defer w.clock.Unlock()
	w.at = w.at.Add(d)
	return w.at
}

// events shows events, a second apart.
func (w *watching) events(payloads ...run.Payload) {
	for _, p := range payloads {
		w.seq++
		w.update(view.Update{Event: &run.Event{Seq: w.seq, At: w.after(time.Second), Payload: p}})
	}
	w.draw()
}

func (w *watching) delta(d view.Delta) {
	w.update(view.Update{Delta: &d})
	w.draw()
}

func callPart(id, tool, args string) run.Part {
	return run.Part{Type: run.CallPart, Call: &run.Call{ID: run.CallID(id), Tool: tool, Arguments: args}}
}

// allowed are the events of a call from its inspection to its start.
func allowed(id string) []run.Payload {
	c := run.CallID(id)
	return []run.Payload{run.CallInspected{Call: c, Class: run.Writes}, run.CallDecided{Call: c, Decision: run.Decision{Answer: run.Allow, Source: "mode"}}, run.CallStarted{Call: c, Attempt: 1}}
}

func settled(id, result string, files ...run.FileChange) run.CallSettled {
	return run.CallSettled{Call: run.CallID(id), Outcome: run.OK, Content: []run.Part{run.Text(result)}, Files: files}
}

func exited(id string, code int, result string) run.CallSettled {
	f := settled(id, result)
	f.ExitCode = &code
	return f
}

// work shows a turn with everything that a display knows, and returns what the terminal had
// on the way.
func (w *watching) work() string {
	var frames strings.Builder
	frame := func(what string) {
		fmt.Fprintf(&frames, "== %s\n%s", what, w.terminal.Text())
	}
	w.events(run.Created{Run: "r", Config: run.Config{Model: "p/m"}}, run.Prompted{Parts: []run.Part{run.Text("repair it")}},
		run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	frame("the model is asked")
	w.events(run.RequestFailed{Kind: run.ErrOverloaded, Reason: "overloaded (HTTP 529)", RetryAfter: 8 * time.Second})
	frame("it is overloaded")
	w.events(run.RequestStarted{Purpose: run.ForStep, Attempt: 2})
	w.delta(view.Delta{Thinking: "Tests first.\nThen the code."})
	frame("it thinks")
	w.delta(view.Delta{Text: "# Plan\n\nI look at the **tests** first, then at `cart.go`, and repair what I "})
	w.delta(view.Delta{Text: "find."})
	frame("it writes")
	w.delta(view.Delta{Tool: "shell"})
	w.delta(view.Delta{Arguments: `{"command":"go test`})
	frame("it writes a call")
	w.events(run.Replied{Stop: run.StopToolUse, Parts: []run.Part{
		{Type: run.ThinkingPart, Text: "Tests first.\nThen the code."},
		run.Text("# Plan\n\nI look at the **tests** first, then at `cart.go`, and repair what I find."),
		callPart("c_1", "shell", `{"command":"go test ./..."}`),
		callPart("c_2", "todo", `{"items":[{"text":"find the bug","status":"done"},{"text":"repair it","status":"active"},{"text":"日本語のとても長い行が折り返されるかどうかを確かめるための文章です","status":"pending"}]}`),
		callPart("c_3", "edit", `{"path":"cart.go","edits":[{"old":"1","new":"0"}]}`),
		callPart("c_4", "shell", `{"command":"git push origin HEAD"}`),
	}})
	w.events(allowed("c_1")...)
	w.update(view.Update{Progress: &view.Progress{Call: "c_1", Text: "=== RUN TestTotal\n\x1b[31m日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語\n"}})
	w.draw()
	frame("a command runs")
	w.events(exited("c_1", 1, "--- FAIL: TestTotal\n\tcart_test.go:8: Total = 1200, want 2100\nFAIL\n[exit code 1]"))
	w.events(allowed("c_2")...)
	w.events(settled("c_2", "1 of 3 done"))
	w.events(allowed("c_3")...)
	w.events(settled("c_3", "Edited cart.go: 1 line added, 1 line removed.\n@@ -7,3 +7,3 @@\n \ttotal := 0\n-\tfor i := 1; i < n; i++ {\n+\tfor i := 0; i < n; i++ {\n \t\ttotal += i", run.FileChange{Path: "cart.go", Before: "1", After: "2"}))
	w.events(run.CallInspected{Call: "c_4", Class: run.Writes}, run.CallDecided{Call: "c_4", Decision: run.Decision{Answer: run.Deny, Source: "default", Reason: "no rule covers `git push origin HEAD`"}})
	w.events(run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	w.delta(view.Delta{Text: "It works:\n\n```go\nfor i := 0; i < n; i++ {\n```\n\n- one\n- two"})
	frame("it answers")
	w.events(run.Replied{Stop: run.StopEndTurn, Parts: []run.Part{run.Text("It works:\n\n```go\nfor i := 0; i < n; i++ {\n```\n\n- one\n- two")}},
		run.Ended{Driven: 20 * time.Second, End: run.Completed})
	w.mu.Lock()
	w.shown.Streams = false
	w.mu.Unlock()
	w.summary(run.State{Created: run.Created{Run: "r"}, Turn: run.Turn{TurnSummary: run.TurnSummary{N: 1, End: run.Ended{End: run.Completed}, Tally: run.Tally{Steps: 2}}}}, Result{Steps: 2},
		[]approval.Denial{{Call: "c_4", Tool: "shell", Input: json.RawMessage(`{"command":"git push origin HEAD"}`), Flag: "--allow 'shell(git push *)'"}}, "")
	w.draw()
	frame("the turn has ended")
	return frames.String()
}

// What a person sees, at widths from a phone's to a large screen's, with the characters of
// a UTF-8 locale and with ASCII alone.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80, 120} {
		w := watch(t, width, render.Style{})
		golden.Compare(t, fmt.Sprintf("frames/width_%d.txt", width), []byte(w.work()))
		if w.terminal.Styled {
			t.Errorf("width %d: styles were sent without colours", width)
		}
	}
	golden.Compare(t, "frames/ascii.txt", []byte(watch(t, 80, render.Style{ASCII: true}).work()))
}

// With colours the same words stand in the same places, but for the marks of Markdown.
func TestColoursChangeNoWords(t *testing.T) {
	t.Parallel()
	w := watch(t, 80, render.Style{Color: true})
	golden.Compare(t, "frames/color.txt", []byte(w.work()))
	if !w.terminal.Styled {
		t.Error("no styles were sent")
	}
}

// A live part is erased with all that was drawn, also when the terminal became narrower or
// wider meanwhile, and with wide characters; what is finished stays.
func TestALivePartIsErasedAfterAResize(t *testing.T) {
	t.Parallel()
	for _, width := range []int{20, 37, 53, 80, 160} {
		w := watch(t, 80, render.Style{})
		w.events(run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("x")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
		w.terminal.Resize(80, 60)                         // no row of the live part scrolls off
		before := strings.Repeat("finished before\n", 80) // the screen is full
		fmt.Fprint(w, before)
		w.delta(view.Delta{Text: strings.Repeat("日本語 words 👩‍👩‍👧 ❤️ ", 20)})
		w.terminal.Resize(width, 60)
		w.shown.Streams = false
		fmt.Fprintln(w, "finished after")
		w.draw()
		if got, want := w.terminal.Text(), before+"finished after\n"; got != want {
			t.Errorf("to %d columns: the terminal has\n%s", width, got)
		}
	}
}

// An answer that broke off is requested again; what was printed of it is marked.
func TestAnAnswerThatBrokeOffIsMarked(t *testing.T) {
	t.Parallel()
	w := watch(t, 60, render.Style{})
	w.events(run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("x")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	w.delta(view.Delta{Text: "The first line.\nThe sec"})
	w.update(view.Update{Drop: true})
	w.delta(view.Delta{Text: "Another first line.\nAnd "})
	w.events(run.Replied{Stop: run.StopEndTurn, Parts: []run.Part{run.Text("Another first line.\nAnd a second.")}})
	w.close0()
	want := "\n• The first line.\n  the answer was cut off; it is requested again\n\n• Another first line.\n  And a second.\n"
	if got := w.terminal.Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// close0 ends a display that was not started.
func (w *watching) close0() {
	w.shown.Streams = false
	w.draw()
}

// Where standard output is not this terminal, the answer goes there alone: it is seen as it
// streams, and is not left on standard error.
func TestTheAnswerGoesToStandardOutputAlone(t *testing.T) {
	t.Parallel()
	w := watch(t, 60, render.Style{})
	w.shown.Answers = false
	w.events(run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("x")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	w.delta(view.Delta{Text: "The first line.\nThe second"})
	if got := w.terminal.Text(); !strings.Contains(got, "The first line.") {
		t.Errorf("while it streams the terminal has\n%s", got)
	}
	w.events(run.Replied{Stop: run.StopEndTurn, Parts: []run.Part{run.Text("The first line.\nThe second line.")}}, run.Ended{End: run.Completed})
	w.close0()
	if got := w.terminal.Text(); got != "" {
		t.Errorf("at the end the terminal has\n%s", got)
	}
}

// A terminal that takes nothing any more does not keep updates waiting.
func TestASlowTerminalDelaysNoUpdate(t *testing.T) {
	t.Parallel()
	w := watch(t, 80, render.Style{})
	stuck := &stuckWriter{began: make(chan struct{}), free: make(chan struct{})}
	w.screen = screen.New(stuck, true)
	w.start()
	w.update(view.Update{Notice: "one"})
	<-stuck.began
	for range 10_000 {
		w.update(view.Update{Delta: &view.Delta{Text: "word "}})
	}
	close(stuck.free)
	w.close()
}

// A stuckWriter blocks until it is freed.
type stuckWriter struct {
	once        sync.Once
	began, free chan struct{}
}

func (s *stuckWriter) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.began) })
	<-s.free
	return len(p), nil
}

// A display whose terminal is gone says nothing of it, and nothing waits for it.
func TestATerminalThatIsGoneHarmsNothing(t *testing.T) {
	t.Parallel()
	w := watch(t, 80, render.Style{})
	w.screen = screen.New(brokenWriter{}, true)
	w.start()
	w.events(run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("x")}})
	w.close()
	w.erase()
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("input/output error") }

// What the model or a tool says cannot control the terminal: the terminal of the tests fails
// at every sequence that is not the display's own.
func TestNothingOfTheModelReachesTheTerminalRaw(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]0;title\x07\x1b[2J\r\u202e\u009b2J\x00"
	w := watch(t, 80, render.Style{Color: true})
	w.events(run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("x")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	w.delta(view.Delta{Thinking: evil})
	w.delta(view.Delta{Text: evil + "\n`" + evil + "`\n" + evil})
	w.delta(view.Delta{Tool: "shell" + evil})
	w.delta(view.Delta{Arguments: `{"command":"` + evil})
	todo := `{"items":[{"text":"\u001b[2J","status":"active"}]}`
	w.events(run.Replied{Stop: run.StopToolUse, Parts: []run.Part{{Type: run.ThinkingPart, Text: evil}, run.Text(evil),
		callPart("c_1", evil, `{"path":"\u001b[2J"}`), callPart("c_2", "todo", todo), callPart("c_3", "edit", `{}`)}})
	for _, id := range []string{"c_1", "c_2", "c_3"} {
		w.events(allowed(id)...)
		w.update(view.Update{Progress: &view.Progress{Call: run.CallID(id), Text: evil}})
		w.draw()
	}
	bad := exited("c_1", 1, evil+"\n[exit code 1]")
	bad.IsError = true
	w.events(bad, settled("c_2", evil), settled("c_3", "Edited "+evil+": 1 line added, 1 line removed.\n@@ -1 +1 @@\n-"+evil+"\n+"+evil, run.FileChange{Path: evil, After: "1"}))
	w.update(view.Update{Notice: evil})
	w.events(run.Interrupted{Cause: run.ByPerson}, run.Synthesized{Text: evil}, run.Ended{End: run.EndInterrupted, Detail: evil})
	w.summary(run.State{Turn: run.Turn{TurnSummary: run.TurnSummary{N: 1, End: run.Ended{End: run.EndFailed, Detail: evil, Jobs: []run.Job{{ID: "j", Command: evil}}}}}},
		Result{Question: &runlog.Question{Text: evil, Options: []string{evil}}}, []approval.Denial{{Tool: evil, Flag: evil}}, evil)
	w.close0()
}

// A line that was typed before a prompt appeared, or before it could have been read, does not answer it, even
// if only its beginning was typed before. Such lines are returned separately.
func TestALineTypedBeforeAPromptAnswersNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := NewLineReader(r)
		settles := func(want ...string) {
			t.Helper()
			if early, ok := l.settle(nil); !ok || !slices.Equal(early, want) {
				t.Errorf("before the prompt there was %q, %t; want %q", early, ok, want)
			}
		}
		settles()
		fmt.Fprintln(w, "first")
		if got := <-l.lines; got != (typed{"first", false}) {
			t.Errorf("got %+v", got)
		}
		fmt.Fprint(w, "y\nwh")
		go func() {
			for range 3 {
				time.Sleep(standing - time.Millisecond)
				fmt.Fprint(w, "y\nn")
			}
		}()
		began := time.Now()
		settles("y", "why", "ny", "ny", "n")
		if took := time.Since(began); took != 3*(standing-time.Millisecond)+standing {
			t.Errorf("it has waited %v", took)
		}
		fmt.Fprintln(w, "o thanks")
		if got := <-l.lines; got != (typed{"no thanks", true}) {
			t.Errorf("got %+v: it was begun before", got)
		}
		gone := make(chan struct{})
		close(gone)
		if _, ok := l.settle(gone); ok {
			t.Error("it asks although there is nothing to answer any more")
		}
		w.Close()
		if _, ok := l.settle(nil); ok || !l.ended() {
			t.Error("it asks after the end of the input")
		}
	})
}

// What follows the rest of a line that was begun before a prompt was not meant for it either: however soon it
// comes, the prompt is asked again first, and stands as long as at first.
func TestALineThatWasBegunBeforeAPromptOpensNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		typed []string // each after a pause
		pause time.Duration
		want  string
	}{
		{"together", []string{"st\ny\n", "n\n"}, 2 * standing, "n"},
		{"no rest", []string{"\ny\n", "n\n"}, 2 * standing, "n"},
		{"many", []string{"st\na\ny\nyes\n", "n\n"}, 2 * standing, "n"},
		{"soon after", []string{"st\n", "y\n", "y\n"}, standing / 2, ""},
		{"a key at a time", []string{"s", "t", "\n", "y", "\n", "y", "\n"}, standing / 3, ""},
		{"again begun before", []string{"st\n", "ye", "s\n"}, standing * 4 / 5, ""},
		{"read and answered", []string{"st\n", "y\n"}, 2 * standing, "y"},
		{"several lines", []string{"st\n", "y\n1\n"}, 2 * standing, "y\n1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				l := NewLineReader(r)
				l.push = func() {}
				go func() {
					fmt.Fprint(w, "use the fir")
					time.Sleep(3 * standing)
					for _, part := range c.typed {
						fmt.Fprint(w, part)
						time.Sleep(c.pause)
					}
					w.Close()
				}()
				var told []string
				got, ok := l.answer(func(early []string, _ bool) { told = append(told, early...) }, nil)
				if got != c.want || ok != (c.want != "") {
					t.Errorf("answered %q, %t; want %q; told %q", got, ok, c.want, told)
				}
				if first, rest := c.typed[0], "use the fir"; len(told) == 0 || told[0] != rest {
					t.Errorf("of %q it told %q", first, told)
				}
				_, _ = io.Copy(io.Discard, r)
			})
		})
	}
}

// BenchmarkASecondOfStreaming is what a second costs in which 50 tokens arrive and the live
// part is drawn as often as it is at most: the bar is 30 ms, 3 % of a CPU.
func BenchmarkASecondOfStreaming(b *testing.B) {
	w := &watching{at: time.Now()}
	w.display = newDisplay(io.Discard, func() (int, int) { return 120, 40 }, render.NewTranscript(render.Style{Color: true}, &view.Projection{}))
	w.screen = screen.New(io.Discard, true)
	w.shown.Streams, w.shown.Answers = true, true
	w.events(run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("x")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	tokens := 0
	for b.Loop() {
		for i := range 50 {
			token := "word "
			if tokens++; tokens%200 == 0 {
				token = "`code`.\n\n"
			}
			w.update(view.Update{Delta: &view.Delta{Text: token}})
			if i%3 == 0 {
				w.draw()
			}
		}
	}
}
