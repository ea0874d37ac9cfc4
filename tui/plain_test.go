package tui

import (
	"strings"
	"testing"

	"pawl/internal/golden"
	"pawl/render"
)

// listens sits down at a terminal that a screen reader reads aloud.
func listens(t *testing.T, script string, s setting) *person {
	s.options = func(o *Options) { o.Style = render.Style{Color: true}.Spoken() }
	return sit(t, script, s)
}

// count reports texts that are not written exactly n times.
func (p *person) count(n int, texts ...string) {
	p.t.Helper()
	all := p.text()
	for _, text := range texts {
		if got := strings.Count(all, text); got != n {
			p.t.Errorf("%q is written %d times, want %d:\n%s", text, got, n, all)
		}
	}
}

func TestAScreenReaderReadsEachStateOnce(t *testing.T) {
	t.Parallel()
	p := listens(t, `{"text": "First line.\n\nSecond line.", "calls": [{"tool": "read", "args": {"path": "a.txt"}}, {"tool": "shell", "args": {"command": "touch b"}}]}
{"text": "Done **here**."}`, setting{files: map[string]string{"a.txt": "one\n"}})
	p.sees("status: ", "mode default")
	p.says("look and touch")
	p.sees("you: look and touch", "agent: First line.", "Second line.", "question: Run this command?", "touch b", "y  Allow this time", "v  Never allow  shell(touch b) in this folder")
	p.reads()
	p.presses("a", "enter")
	p.sees("Always allow:", "shell(touch *)", "2  everywhere")
	p.reads()
	p.presses("2")
	p.sees("selected: 2  everywhere")
	p.presses("enter")
	p.sees("agent: Done here.", "completed")
	p.count(1, "working, esc interrupts", "done: Read a.txt", "done: Run touch b", "First line.", "question: Run this command?", "y  Allow this time", "agent: Done here.")
	all := p.text()
	for _, sign := range "●◐○•›│└✗⊘" {
		if strings.ContainsRune(all, sign) {
			t.Errorf("%q is not a word:\n%s", sign, all)
		}
	}
	p.mu.Lock()
	styled, hidden := p.terminal.Styled, p.terminal.Hidden
	p.mu.Unlock()
	if styled || hidden {
		t.Errorf("styles %t, hidden cursor %t", styled, hidden)
	}
	p.leaves()
}

// While nothing happens nothing is written, also while a call runs.
func TestForAScreenReaderNothingIsDrawnAgain(t *testing.T) {
	t.Parallel()
	for _, s := range scenes {
		c := newScene(t, 80, 24, render.Style{}.Spoken())
		s.play(c)
		before, frames := c.terminal.Text(), c.terminal.Frames
		for range 8 { // two seconds
			c.take(tick{})
		}
		if after := c.terminal.Text(); after != before || c.terminal.Frames != frames {
			t.Errorf("%s: time alone has changed\n%s\nto\n%s", s.name, before, after)
		}
		golden.Compare(t, s.name+"_spoken.frame", []byte(before))
	}
}

func TestAScreenReaderReadsTheEntryThatIsSelected(t *testing.T) {
	t.Parallel()
	p := listens(t, `{"text": "Hello."}`, setting{})
	p.says("/mode")
	p.sees("Permission mode", "selected: default", "plan")
	p.presses("down")
	p.sees("selected: accept-edits")
	p.passes(standing)
	p.presses("enter")
	p.sees("mode accept-edits")
	p.count(1, "selected: default", "selected: accept-edits", "Permission mode")
	p.leaves()
}
