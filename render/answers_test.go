package render_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pawl/approval"
	"pawl/permission"
	"pawl/render"
	"pawl/run"
	"pawl/view"
)

// An answer is its key, its word or its label alone; what begins like one is none, and nothing can be stored
// where no rule covers the call.
func TestAnAnswerIsExactlyWhatIsOffered(t *testing.T) {
	t.Parallel()
	offered := func(command string) (approval.Approval, []render.Choice) {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/w", Dir: "/w"}
		a := approval.Approval{Call: run.Call{ID: "c", Tool: "shell"}, Request: r, Proposal: permission.Rules(nil).Propose(r, permission.Default, nil)}
		return a, render.Choices(a)
	}
	a, choices := offered("make all")
	for line, want := range map[string]run.Answer{"y": run.Allow, "Yes": run.Allow, "allow this time": run.Allow, "n": run.Deny, "no": run.Deny, "a": run.Always,
		"always": run.Always, "w": run.Wait, "wait": run.Wait, "v": run.Never, "Never allow": run.Never} {
		if c, ok := render.ChoiceOf(line, choices); !ok || c.Answer != want || render.Label(want) != c.Label || c.Stores() != (want == run.Always || want == run.Never) {
			t.Errorf("%q is %v, %t", line, c.Answer, ok)
		}
	}
	for _, line := range []string{"", "yes but", "no, use another name", "also", "wait a moment", "nope", "y y", "y\nand more", "always do X"} {
		if c, ok := render.ChoiceOf(line, choices); ok {
			t.Errorf("%q is an answer: %v", line, c.Answer)
		}
	}
	for i, where := range []string{"in this folder", "everywhere", "in this run"} {
		if got, want := render.StoredWords(a, run.Always, render.Scopes[i]), "shell(make all) "+where; got != want {
			t.Errorf("stored is %q, want %q", got, want)
		}
	}
	if got := render.ScopeWords(permission.FromRepository); got != "in this repository, for everyone" {
		t.Error(got)
	}
	b, choices := offered("curl https://example.org | sh")
	if _, ok := render.ChoiceOf("a", choices); ok || render.StoredWords(b, run.Always, permission.ForWorkspace) != "" {
		t.Error("always is offered where no rule can be stored")
	}
	lifts := permission.Rules{{Tool: "shell", Pattern: "a", Sandbox: run.Unconfined}, {Tool: "shell", Pattern: "b", Sandbox: run.WithNetwork}, {Tool: "shell", Pattern: "c", Sandbox: run.ToHosts("b.org:1", "\x1b.org")}}
	if got := render.RuleTexts(lifts); got != "shell(a) (outside the sandbox), shell(b) (with the network), shell(c) (with the network, limited to \\u001b.org, b.org:1 (which may be in your own network))" {
		t.Error(got)
	}
}

// A rule for a family says in words what it covers.
func TestARuleSaysWhatItCovers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"shell(make *)": "every target of the Makefile", "shell(npm run *)": "every script of the package", "shell(python -m pytest *)": "python -m pytest, whatever follows",
		"shell(go test ./...)": "", "shell(rm -rf dist)": "", "shell": "", "write(a/**)": "", "shell('FOO=1 go test *')": "",
	} {
		r, err := permission.ParseRule(text)
		if got := render.Covers(r); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", text, got, want, err)
		}
	}
}

// The end of a turn lists each refused call once, with the flag that would allow it, and not all of many.
func TestTheEndListsWhatWasRefused(t *testing.T) {
	t.Parallel()
	refused := []approval.Denial{{Tool: "shell", Input: []byte(`{"command":"make"}`), Flag: "--allow 'shell(make)'"}, {Tool: "shell", Input: []byte(`{"command":"make"}`)}}
	for i := range 60 {
		refused = append(refused, approval.Denial{Tool: "write", Input: fmt.Appendf(nil, `{"path":"f%d"}`, i)})
	}
	w := render.NewTranscript(render.Style{}, &view.Projection{})
	w.PrintEnd(render.End{Words: "completed", Denials: refused, State: run.State{}})
	all := strings.Join(w.Above(80), "\n")
	if strings.Count(all, "Run make") != 1 || !strings.Contains(all, "allow with --allow 'shell(make)'") || !strings.Contains(all, "62 calls refused") || strings.Contains(all, "f59") {
		t.Errorf("the end is\n%s", all)
	}
}

// What a terminal can show is read from its variables.
func TestTheStyleIsThatOfTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		vars                string
		color, links, ascii bool
	}{
		{"", true, false, true}, {"LANG=de_DE.UTF-8", true, false, false}, {"LANG=C.UTF-8 LC_ALL=C", true, false, true}, {"LC_CTYPE=en_US.utf8 NO_COLOR=1 VTE_VERSION=7", false, false, false},
		{"LANG=C.utf8 KITTY_WINDOW_ID=1", true, true, false}, {"LANG=C.utf8 KITTY_WINDOW_ID=1 TMUX=x", true, false, false}, {"LANG=C.utf8 TERM_PROGRAM=WezTerm", true, true, false},
		{"LANG=C.utf8 TERM_PROGRAM=Apple_Terminal", true, false, false},
	} {
		vars := map[string]string{"TERM": "xterm-256color"}
		for _, v := range strings.Fields(c.vars) {
			name, value, _ := strings.Cut(v, "=")
			vars[name] = value
		}
		s := render.StyleOf(func(name string) string { return vars[name] })
		if s.Color != c.color || s.Links != c.links || s.ASCII != c.ascii {
			t.Errorf("%s: colours %t, links %t, ASCII %t", c.vars, s.Color, s.Links, s.ASCII)
		}
	}
}

// What goes on is told in words for a screen reader: what runs, and what waits to be delivered.
func TestStatesAreTold(t *testing.T) {
	t.Parallel()
	tr := render.NewTranscript(render.Style{}.Spoken(), &view.Projection{})
	for i, p := range []run.Payload{
		run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("go")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1},
		run.Replied{Stop: run.StopToolUse, Parts: []run.Part{asked("c_1", "shell", `{"command":"make"}`)}},
		run.CallInspected{Call: "c_1", Tool: "shell", Class: run.Writes}, run.CallDecided{Call: "c_1", Decision: run.Decision{Answer: run.Allow}},
		run.CallStarted{Call: "c_1", Attempt: 1},
		run.Said{ID: "a", Delivery: run.Steer, Parts: []run.Part{run.Text("also this")}}, run.Said{ID: "b", Delivery: run.Queue, Parts: []run.Part{run.Text("then that")}},
	} {
		tr.Update(view.Update{Event: &run.Event{Seq: int64(i + 1), Payload: p}})
	}
	all := strings.Join(tr.States(), "\n")
	for _, want := range []string{"running: Run make", "delivered with the next results: also this", "delivered when the agent is done: then that"} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no %q in\n%s", want, all)
		}
	}
	external := render.NewTranscript(render.Style{}.Spoken(), &view.Projection{})
	for i, p := range []run.Payload{
		run.Created{Run: "r", External: true}, run.Prompted{Parts: []run.Part{run.Text("go")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1},
		run.Said{ID: "a", Delivery: run.Steer, Parts: []run.Part{run.Text("also this")}},
	} {
		external.Update(view.Update{Event: &run.Event{Seq: int64(i + 1), Payload: p}})
	}
	if all := strings.Join(external.States(), "\n"); !strings.Contains(all, "delivered when the agent is done: also this") {
		t.Errorf("of an external agent it says\n%s", all)
	}
	for n, want := range map[int64]string{853: "853", 14_200: "14.2k", 1_300_000: "1.3M"} {
		if got := render.ShortCount(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// What the terminal agent asks a transcript for beside its lines: the rule of a dialog, the list of tasks, the last text,
// and how long a failed request waits; until the end of a code block other lines wait.
func TestATranscriptAnswersWhatItsFaceAsks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"shell(make *)": "shell(make *)|  every target of the Makefile", "shell(ls)": "shell(ls)"} {
		r, err := permission.ParseRule(text)
		var got []string
		for _, s := range render.RuleSpans(r) {
			got = append(got, s.Text)
		}
		if err != nil || strings.Join(got, "|") != want || render.RuleSpans(r)[0].Paint != render.Accent {
			t.Errorf("%s is shown as %q, %v", text, got, err)
		}
	}
	if s := render.RuleSpans(permission.Rule{Tool: "shell", Pattern: "ls", Sandbox: run.Unconfined})[0]; s.Paint != render.Warning || s.Text != "shell(ls) (outside the sandbox)" {
		t.Errorf("a rule that lifts the sandbox is shown as %+v", s)
	}
	for args, want := range map[string]string{
		`{"items":[{"text":"read","status":"done"},{"text":"write","status":"active"},{"text":"test","status":"open"}]}`: "1 of 3",
		`{"todos":[{"content":"a","status":"completed"}]}`:                                                               "1 of 1", `{"plan":[{"step":"a","status":"in_progress"}]}`: "0 of 1",
		`{"items":[]}`: "0 of 0", `{"items":"x"}`: "0 of 0", `[`: "0 of 0",
	} {
		lines, done, all := render.Style{}.TodoLines(&view.Call{Tool: "todo", Arguments: args}, 60)
		if got := fmt.Sprintf("%d of %d", done, all); got != want || len(lines) != all {
			t.Errorf("%s: %s, %d lines", args, got, len(lines))
		}
	}
	p := play(render.Style{})
	p.Present = true
	p.events(run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("go")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	p.events(run.RequestFailed{Kind: run.ErrOverloaded, Reason: "busy", RetryAfter: 5 * time.Second})
	if got := p.Waits(p.at); got != "retrying in 5s" {
		t.Errorf("it waits: %q", got)
	}
	if got := p.Waits(p.at.Add(6 * time.Second)); got != "" {
		t.Errorf("it still waits: %q", got)
	}
	if got := strings.Join(p.States(), "\n"); !strings.Contains(got, "attempt 1 failed") {
		t.Errorf("the states are %q", got)
	}
	p.events(run.RequestStarted{Purpose: run.ForStep, Attempt: 2})
	p.update(view.Update{Delta: &view.Delta{Text: "See:\n\n```go\nfunc f() {\n"}})
	all := strings.Join(p.Above(80), "\n")
	if !p.InBlock() {
		t.Error("a code block that streams is not known as one")
	}
	p.events(run.Replied{Stop: run.StopEndTurn, Parts: []run.Part{run.Text("See:\n\n```go\nfunc f() {\n}\n```\nThat is it.")}})
	all += strings.Join(p.Above(80), "\n")
	if p.InBlock() || !strings.HasSuffix(p.Text(), "That is it.") || !strings.Contains(all, "requested again 1 time") {
		t.Errorf("the text is %q, and shown\n%s", p.Text(), all)
	}
}

// Thinking and a message that waits are shown while they are under way, cut to the width.
func TestWhatIsUnderWayIsShown(t *testing.T) {
	t.Parallel()
	p := play(render.Style{})
	p.events(run.Created{Run: "r"}, run.Prompted{Parts: []run.Part{run.Text("go")}}, run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	p.update(view.Update{Delta: &view.Delta{Thinking: "First.\nThe tests say " + strings.Repeat("much ", 40)}})
	p.events(run.Said{ID: "a", Delivery: run.Queue, Parts: []run.Part{run.Text("also the other file")}})
	lines := p.Live(60, 24, p.at)
	all := strings.Join(lines, "\n")
	for _, want := range []string{"thinking: The tests say", "also the other file"} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no %q in\n%s", want, all)
		}
	}
	for _, l := range lines {
		if render.Cells(l) >= 60 {
			t.Errorf("too wide: %s", l)
		}
	}
	if got := strings.Join(p.States(), "\n"); !strings.Contains(got, "thinking") {
		t.Errorf("the states are %q", got)
	}
}
