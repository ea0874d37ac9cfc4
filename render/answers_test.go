package render_test

import (
	"fmt"
	"strings"
	"testing"

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
	if got := render.RuleTexts(lifts); got != "shell(a) (outside the sandbox), shell(b) (with the network), shell(c) (with the network, limited to \\u001b.org, b.org:1)" {
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
