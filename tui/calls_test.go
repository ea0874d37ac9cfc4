package tui

import (
	"os/exec"
	"strings"
	"testing"

	"pawl/render"
	"pawl/run"
	"pawl/view"
)

// Each call is found by its id, and seen whole in a pane that leaves nothing in the scrollback.
func TestEveryCallCanBeSeenWhole(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "read", "args": {"path": "a.txt"}}]}
{"calls": [{"tool": "todo", "args": {"items": [{"text": "look", "status": "active"}, {"text": "say", "status": "pending"}]}}]}
{"calls": [{"tool": "list", "args": {}}]}
{"calls": [{"tool": "todo", "args": {"items": [{"text": "look", "status": "done"}, {"text": "say", "status": "done"}]}}]}
{"text": "Seen."}`, setting{files: map[string]string{"a.txt": strings.Repeat("one line\n", 60) + "the last line\n"}})
	p.presses("ctrl+o")
	p.sees("no call has been made yet")
	p.says("/todo")
	p.sees("there is no list of tasks")
	p.says("look")
	p.sees("c_1", "Seen.", "completed")
	p.says("/outputs c_1")
	p.sees("call 1 of 4", "Read a.txt", "allowed by", "lines 1 to")
	p.presses("end")
	p.sees("the last line")
	p.presses("up", "home", "pgdown", "pgup", "down", "right")
	p.sees("call 2 of 4")
	p.presses("ctrl+o")
	p.sees("call 1 of 4")
	p.presses("left", "right", "right", "right", "right")
	p.sees("call 4 of 4", "status")
	p.presses("esc")
	p.until("no pane", func(all string) bool { return !strings.Contains(all, "call 4 of 4") })
	p.presses("ctrl+o")
	p.sees("call 4 of 4")
	p.presses("enter")
	p.until("the call in the scrollback", func(all string) bool {
		return !strings.Contains(all, "call 4 of 4") && strings.Contains(all, "Arguments")
	})
	p.presses("ctrl+o")
	p.sees("call 4 of 4")
	p.types("x")
	p.sees("› x")
	p.presses("ctrl+c")
	p.says("/outputs c_9")
	p.sees("there is no call c_9")
	p.says("/todo")
	p.sees("✓ say\n\n›")
	p.presses("ctrl+t")
	p.until("no list", func(all string) bool { return !strings.Contains(all, "✓ say\n\n›") })
	p.says("/context")
	p.sees("context: about", "tool results", "system prompt, instructions")
	p.says("/theme")
	p.sees("unknown command /theme: the colours are those of the terminal")
	p.presses("ctrl+c")
	p.says("/memory")
	p.sees("unknown command /memory: type in a shell: pawl memory")
	p.presses("ctrl+c")
	p.says("/nosuch")
	p.sees("unknown command /nosuch; /help lists the commands")
	p.presses("ctrl+c")
	p.leaves()
}

// What is printed while the agent writes code comes after the code.
func TestNothingIsPrintedIntoCode(t *testing.T) {
	t.Parallel()
	c := newScene(t, 80, 24, render.Style{})
	c.begin("write it")
	c.events(run.RequestStarted{Purpose: run.ForStep, Attempt: 1})
	c.live(view.Update{Delta: &view.Delta{Text: "Here:\n```go\nfunc a() {\n"}})
	c.take(notice{"a notice"})
	if all := c.terminal.Text(); strings.Contains(all, "a notice") || !strings.Contains(all, "func a()") {
		t.Errorf("it is printed into the code:\n%s", all)
	}
	c.live(view.Update{Delta: &view.Delta{Text: "}\n```\nDone.\nAnd"}})
	c.shows("func a() {", "a notice")
	if all := c.terminal.Text(); strings.Index(all, "a notice") < strings.Index(all, "Done.") {
		t.Errorf("it is before the end of the code:\n%s", all)
	}
}

// The list of tasks stands above the input while the agent works on it, from the task that is open.
func TestTheListOfTasksStandsAboveTheInput(t *testing.T) {
	t.Parallel()
	c := newScene(t, 80, 24, render.Style{})
	c.begin("do it")
	c.says("", call("c_1", "todo", `{"items":[{"text":"one","status":"done"},{"text":"two","status":"done"},{"text":"three","status":"done"},{"text":"four","status":"active"},{"text":"five","status":"pending"},{"text":"six","status":"pending"},{"text":"seven","status":"pending"},{"text":"eight","status":"pending"}]}`))
	c.runs("c_1", "stored")
	all := c.terminal.Text()
	if _, below, _ := strings.Cut(all, "☐ eight"); !strings.Contains(below, "✓ three\n    ▸ four\n    ☐ five") || strings.Contains(below, "✓ one") {
		t.Errorf("the list is not above the input:\n%s", all)
	}
	c.presses("ctrl+t", "")
	if n := strings.Count(c.terminal.Text(), "▸ four"); n != 1 {
		t.Errorf("four is there %d times:\n%s", n, c.terminal.Text())
	}
}

// A file that git does not know yet is part of what has changed.
func TestADiffHasNewFiles(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	p := sit(t, "", setting{files: map[string]string{"a.txt": "old\n", ".gitignore": "*.log\n"}})
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = p.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	p.sees("pawl needs a model")
	p.presses("esc")
	p.says("!printf 'new\\n' > made.txt; printf x > x.log; printf '\\0\\377' > made.bin; echo writ''ten")
	p.sees("written")
	p.says("/diff")
	p.sees("diff --git a/made.txt b/made.txt", "new file", "+++ b/made.txt", "+new", "made.bin")
	if strings.Contains(p.text(), "x.log b/") {
		t.Error("a file that is ignored is shown")
	}
	p.leaves()
}
