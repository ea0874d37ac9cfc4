package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/render"
	"pawl/run"
	"pawl/runlog"
	"pawl/tool"
	"pawl/tool/changes"
)

// Files are offered after @, by what of their names was typed; one with a blank is quoted.
func TestFilesAreCompleted(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "I was told: {{prompt}}", "repeat": true}`, setting{files: map[string]string{
		"cart/cart.go": "package cart\n", "cart/order.go": "package cart\n", "my notes.txt": "tea\n"}})
	p.types("look at @order")
	p.sees("cart/order.go")
	p.presses("tab")
	p.types("and @notes")
	p.sees("my notes.txt")
	p.presses("enter", "enter")
	p.sees(`▌ look at @cart/order.go and @"my notes.txt"`, "I was told: look at")
	p.rests()
	p.types("not @cart")
	p.sees("cart/cart.go")
	p.presses("esc")
	p.rests()
	p.types(" @nothing.like.it")
	p.rests()
	p.presses("enter")
	p.sees("▌ not @cart @nothing.like.it")
	p.rests()
	p.leaves()
}

// Esc with words in the input clears it, and with none goes back to a prompt; each is asked for twice.
func TestEscapeAsksBeforeItClears(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "Hello.", "repeat": true}`, setting{})
	p.presses("esc", "esc")
	p.sees("there is no earlier prompt to go back to")
	p.types("some words")
	p.presses("esc")
	p.sees("esc again clears the input")
	p.presses("esc")
	p.rests()
	p.says("other words")
	p.sees("▌ other words", "Hello.")
	p.rests()
	p.presses("esc", "esc")
	p.sees("other words", "prompt 1")
	p.passes(standing)
	p.presses("enter")
	p.sees("Conversation and files", "Conversation only", "Files only")
	p.presses("esc")
	p.types("draft")
	p.presses("ctrl+c")
	p.rests()
	p.presses("ctrl+c")
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatal("it did not leave")
	}
}

// A mode that is chosen while the first prompt is on its way is that of the run which it begins.
func TestAModeThatIsChosenAsARunBeginsHolds(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "Hello.", "repeat": true}`, setting{})
	defer p.leaves()
	for _, chooses := range []func(c *scene) []effect{
		func(c *scene) []effect { return c.command("/mode plan") },
		func(c *scene) []effect { return append(c.key("shift+tab", ""), c.key("shift+tab", "")...) },
	} {
		c := newScene(t, 80, 24, render.Style{})
		b := &backend{ws: p.ws, post: func(message) {}}
		for _, e := range append(c.send("hello"), chooses(c)...) {
			if err := e.do(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		open, _ := b.current()
		if mode := configOf(open).Mode; mode != "plan" {
			t.Errorf("the run is in mode %q", mode)
		}
		if err := b.leave(""); err != nil {
			t.Error(err)
		}
	}
}

// A run that the first prompt is about to begin is not left without a word: what is said next would go to it.
func TestARunThatBeginsIsNotLeft(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"/clear", "/fork", "/resume last"} {
		c := newScene(t, 80, 24, render.Style{})
		c.send("hello")
		if effects := c.command(command); len(effects) > 0 {
			t.Errorf("%s does something", command)
		}
		c.draw()
		c.shows("the agent is at work: interrupt it first, with esc")
	}
}

// The model of a run is chosen by name or from a list, and a name that no provider has is an error.
func TestAModelIsChosen(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "Hello.", "repeat": true}`, setting{vars: map[string]string{"ANTHROPIC_API_KEY": "sk-ant-x"}})
	p.says("/model")
	p.sees("Choose a model", "anthropic/claude")
	p.presses("esc")
	p.says("/model no/such")
	p.sees(`unknown provider "no"`)
	p.says("/model anthropic/claude-haiku-4-5")
	p.sees("claude-haiku-4-5 · mode default")
	p.leaves()
}

// Where a list of runs stands beside each, in words.
func TestRunsAreListedInWords(t *testing.T) {
	t.Parallel()
	for past, want := range map[time.Duration]string{
		0: "just now", 59 * time.Second: "just now", time.Minute: "1 min ago", 59 * time.Minute: "59 min ago",
		time.Hour: "1 h ago", 47 * time.Hour: "47 h ago", 48 * time.Hour: "2 days ago", 200 * time.Hour: "8 days ago",
	} {
		if got := ago(past); got != want {
			t.Errorf("%v: %q, want %q", past, got, want)
		}
	}
	var damaged, ended, waiting runlog.Run
	damaged.Damage = "event 3"
	ended.Condition, ended.End = runlog.Ended, run.LimitReached
	waiting.Condition = runlog.Waiting
	for want, r := range map[string]runlog.Run{"damaged": damaged, "limit reached": ended, string(runlog.Waiting): waiting} {
		if got := runState(r); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
	for want, u := range map[string]run.Usage{"": {Cost: 2}, "$0.04": {Cost: 0.041, Priced: true}} {
		if got := money(u); got != want {
			t.Errorf("%+v: %q, want %q", u, got, want)
		}
	}
}

// The branch is read from the repository that a folder is in: its name, or the commit of a detached head.
func TestTheBranchOfAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	below := filepath.Join(dir, "a", "b")
	head := filepath.Join(dir, ".git", "HEAD")
	for _, d := range []string{below, filepath.Dir(head)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := branchOf(below); got != "" {
		t.Errorf("a repository without HEAD is on %q", got)
	}
	for text, want := range map[string]string{"ref: refs/heads/fix/cart\n": "fix/cart", "0123456789abcdef\n": "01234567", "short": "short"} {
		if err := os.WriteFile(head, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := branchOf(below); got != want {
			t.Errorf("HEAD is %q: on %q, want %q", text, got, want)
		}
	}
	// A worktree has a file: reading where that leads is git's business.
	if err := os.WriteFile(filepath.Join(below, ".git"), []byte("gitdir: elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := branchOf(below); got != "" {
		t.Errorf("a worktree is on %q", got)
	}
}

// Without the focus of the terminal a person hears that something waits.
func TestWhoLooksElsewhereIsNotified(t *testing.T) {
	t.Parallel()
	m := &model{}
	m.notify("approve shell; now")
	if got, want := m.takeBell(), "\a\x1b]9;pawl: approve shell, now\a"; got != want {
		t.Errorf("the terminal is sent %q, want %q", got, want)
	}
	m.focus = true
	if m.notify("approve"); m.takeBell() != "" {
		t.Error("a terminal with the focus rings")
	}
}

// Where the terminal's cursor is hidden, it is drawn as a character: in colour the one that it is on, also a wide one.
func TestTheCursorIsDrawn(t *testing.T) {
	t.Parallel()
	plain, color := &model{}, &model{}
	color.Color = true
	const on, off = "\x1b[7m", "\x1b[m"
	for _, c := range []struct {
		m    *model
		line string
		col  int
		want string
	}{
		{plain, "abc", 1, "a_bc"}, {plain, "abc", 3, "abc_"},
		{color, "abc", 1, "a" + on + "b" + off + "c"}, {color, "abc", 3, "abc" + on + " " + off}, {color, "a東c", 1, "a" + on + "東" + off + "c"},
	} {
		if got := c.m.caret(c.line, c.col); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.line, c.col, got, c.want)
		}
	}
}

// Of what a command prints the end is kept, in bounded memory.
func TestTheEndOfALongOutputIsKept(t *testing.T) {
	t.Parallel()
	var kept tail
	block := strings.Repeat("x", maxShellOutput)
	for range 5 {
		if n, err := kept.Write([]byte(block)); n != len(block) || err != nil {
			t.Fatalf("%d bytes written: %v", n, err)
		}
		if kept.Len() > 2*maxShellOutput {
			t.Fatalf("%d bytes are kept", kept.Len())
		}
	}
	_, _ = kept.Write([]byte("the end"))
	if text := kept.String(); len(text) != maxShellOutput || !strings.HasSuffix(text, "xthe end") {
		t.Errorf("%d bytes, the last %q", len(text), text[len(text)-10:])
	}
}

func TestWhatUndoingDidIsSaid(t *testing.T) {
	t.Parallel()
	if got := strings.Join(undoWords(tool.UndoReport{}), "\n"); got != "no files were changed" {
		t.Errorf("of nothing: %q", got)
	}
	report := tool.UndoReport{Changes: []run.FileChange{{Path: "a.txt", Before: "1"}}, Skipped: []changes.Skipped{{Reason: "b.txt has changed since"}}}
	if got := undoWords(report); len(got) != 2 || !strings.HasPrefix(got[0], "a.txt: ") || got[1] != "not undone: b.txt has changed since" {
		t.Errorf("of one and one that was left: %q", got)
	}
}

// A mode in which not only the person says yes is chosen by its name: shift+tab leads to none, and out of one.
func TestShiftTabLeadsToNoModeInWhichOthersDecide(t *testing.T) {
	t.Parallel()
	c := newScene(t, 80, 24, render.Style{})
	for range 2 * len(allModes) {
		c.nextMode()
		if mode := c.mode(); mode == "auto" || mode == "bypass" {
			t.Errorf("shift+tab leads to %s", mode)
		}
	}
	for _, mode := range []string{"auto", "bypass"} {
		if c.command("/mode " + mode); c.mode() != mode {
			t.Errorf("/mode %s leads to %s", mode, c.mode())
		}
		if c.nextMode(); c.mode() != "default" {
			t.Errorf("from %s shift+tab leads to %s", mode, c.mode())
		}
	}
}

// In mode auto no dialog opens for what a model judges, and what it said is on the screen.
func TestWhatAModelJudgesIsShown(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"when":{"system":"You decide whether"},"text":"{\"reason\":\"nobody spoke of it\",\"allow\":false}"}
{"calls":[{"tool":"fetch","args":{"url":"https://example.invalid/"}}]}
{"text":"Then not."}`, setting{})
	p.says("/mode auto")
	p.sees("mode auto")
	p.says("look it up")
	p.sees("refused", "judged by", "nobody spoke of it", "Then not.")
	p.leaves()
}
