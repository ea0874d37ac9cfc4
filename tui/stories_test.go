package tui

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
	"pawl/run"
)

func TestATurnWorksOnUntilItIsDone(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "I look.", "calls": [{"tool": "read", "args": {"path": "a.txt"}}]}
{"text": "I look again.", "calls": [{"tool": "read", "args": {"path": "b.txt"}}, {"tool": "glob", "args": {"pattern": "*"}}]}
{"text": "All is well."}`, setting{files: map[string]string{"a.txt": "one\n", "b.txt": "two\n"}})
	p.says("look at the files")
	p.sees("▌ look at the files", "I look.", "Read a.txt", "Read b.txt", "All is well.", "completed", "3 steps")
	p.rests()
	p.leaves()
}

func TestACallIsAllowedAtTheDialogAndTheTurnContinues(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "I write.", "calls": [{"tool": "write", "args": {"path": "new.txt", "content": "hello\n"}}]}
{"text": "Written."}`, setting{})
	p.says("write it")
	p.sees("Write new.txt", "+hello", "Allow this time", "Always allow", "Wait and tell the agent", "Never allow")
	if p.file("new.txt") != "" {
		t.Error("the file was written before it was allowed")
	}
	p.answers("y")
	p.sees("Written.", "completed")
	if p.file("new.txt") != "hello\n" {
		t.Errorf("the file has %q", p.file("new.txt"))
	}
	p.leaves()
}

// An edit is judged by the lines around it.
func TestAnEditThatWaitsIsShownAtItsPlaceInTheFile(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "edit", "args": {"path": "a.txt", "edits": [{"old": "three", "new": "3"}]}}]}
{"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "one\ntwo\n   3\nfive\n"}}]}
{"text": "Edited."}`, setting{files: map[string]string{"a.txt": "one\ntwo\n   three\nfour\n"}})
	p.says("edit it")
	p.sees("2 │  two", "3 │ -   three", "3 │ +   3", "4 │  four", "Allow this time")
	p.answers("y")
	p.sees("? Write a.txt", "4 │ -four", "4 │ +five")
	p.answers("y")
	p.sees("Edited.")
	p.leaves()
}

// What was written is seen after it was written too, whether or not the person was asked before, and
// when the run is resumed.
func TestAFileThatIsWrittenIsShownAsADifferenceOrByItsFirstLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 30)
	home := t.TempDir()
	p := sit(t, `{"calls": [{"tool": "read", "args": {"path": "a.txt"}}]}
{"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "one\n2\nthree\n"}}, {"tool": "write", "args": {"path": "new.txt", "content": "`+strings.ReplaceAll(long, "\n", `\n`)+`"}}]}
{"text": "Written."}`, setting{home: home, files: map[string]string{"a.txt": "one\ntwo\nthree\n"}, height: 50, width: 80,
		vars: map[string]string{"PAWL_MODE": "accept-edits"}})
	p.says("write them")
	p.sees("Written.")
	p.rests()
	seen := []string{"Write a.txt", "1 │  one", "2 │ -two", "2 │ +2", "3 │  three", "Write new.txt", " 1 │ +line", "12 │ +line", "18 more lines"}
	p.sees(seen...)
	p.leaves()

	again := sit(t, "", setting{home: home, dir: p.dir, height: 50, width: 80, options: func(o *Options) { o.Resume = "last" }})
	again.sees(seen...)
	again.leaves()
}

func TestAlwaysStoresTheRuleThatWasShownAndTheNextCallRunsUnasked(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "shell", "args": {"command": "touch one"}}]}
{"calls": [{"tool": "shell", "args": {"command": "touch two"}}]}
{"text": "Both are there."}`, setting{})
	p.says("make two files")
	p.sees("touch one", "shell(touch *)", "in this folder")
	p.answers("a")
	p.sees("stored: allow shell(touch", "Both are there.")
	p.leaves()
}

// What was allowed in this conversation counts for what the next dialog proposes.
func TestAlwaysProposesTheFolderAfterFilesInItWereAllowed(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	for i := range 4 {
		fmt.Fprintf(&script, `{"calls": [{"tool": "write", "args": {"path": "src/f%d.go", "content": "x"}}]}`+"\n", i)
	}
	p := sit(t, script.String()+`{"text": "Written."}`, setting{})
	p.says("write four files")
	for i := range 3 {
		p.sees(fmt.Sprintf("? Write src/f%d.go", i))
		p.answers("y")
	}
	p.sees("? Write src/f3.go", "write(src/*) in this folder")
	p.answers("a")
	p.sees("Written.")
	p.leaves()
}

func TestWaitStopsTheTurnAndTheNextWordsContinueIt(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "I write.", "calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}, {"tool": "write", "args": {"path": "b.txt", "content": "x"}}]}
{"text": "Then not."}`, setting{})
	p.says("write two files")
	p.answers("w")
	p.rests()
	p.sees("say what to do differently")
	p.says("do nothing")
	p.sees("▌ do nothing", "Then not.")
	if p.file("a.txt")+p.file("b.txt") != "" {
		t.Error("something was written")
	}
	p.leaves()
}

func TestNeverIsAnErrorForTheModelAndTheTurnContinues(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}]}
{"text": "It said: {{last_result}}"}`, setting{})
	p.says("write it")
	p.answers("v")
	p.sees("stored: deny", "It said:", "completed")
	if p.file("a.txt") != "" {
		t.Error("it was written")
	}
	p.leaves()
}

func TestEscStopsAnAnswerThatStreams(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "word after word ", "endless": true}
{"text": "I have stopped."}`, setting{})
	p.says("talk")
	p.sees("word after word word")
	p.presses("esc")
	p.rests()
	p.sees("interrupted")
	p.says("and now?")
	p.sees("I have stopped.")
	p.leaves()
}

func TestEscStopsATreeOfCommands(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "shell", "args": {"command": "sleep 1000 & echo begun; sleep 1000; touch late"}}]}
{"text": "Well."}`, setting{options: func(o *Options) { o.Mode = "default" }})
	p.says("wait")
	p.answers("y")
	p.sees("begun")
	p.presses("esc")
	p.rests()
	p.sees("Run sleep 1000", "interrupted")
	if p.file("late") != "" {
		t.Error("the command went on")
	}
	p.leaves()
}

func TestWordsWhileItWorksAreDeliveredWithTheNextResults(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}]}
{"text": "You said: {{prompt}}"}`, setting{})
	p.says("write it")
	p.reads()
	p.hand(pasted{text: "also look at b"})
	p.presses("enter")
	p.sees("also look at b")
	p.answers("y")
	p.sees("You said: also look at b")
	p.leaves()
}

func TestAMessageThatWaitsCanBeTakenBack(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}]}
{"text": "Done with {{prompt}}"}`, setting{})
	p.says("write it")
	p.reads()
	p.hand(pasted{text: "wrong words"})
	p.presses("enter")
	p.until("the message as one that waits", func(all string) bool { return p.last.pending == 1 })
	p.presses("up")
	p.until("the message in the input", func(all string) bool { return p.last.pending == 0 && p.last.input == "wrong words" })
	p.presses("ctrl+u")
	p.answers("y")
	p.sees("Done with write it")
	p.leaves()
}

// A message that is queued begins the next turn at once: the end of the one before stands above it,
// with its own words and figures.
func TestTheEndOfATurnStandsBeforeAQueuedPrompt(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}]}
{"text": "The first is done."}
{"text": "The second is done."}`, setting{})
	p.says("the first")
	p.reads()
	p.hand(pasted{text: "the second"})
	p.presses("tab")
	p.until("the message as one that waits", func(string) bool { return p.last.pending == 1 })
	p.answers("n")
	p.sees("The first is done.", "The second is done.")
	p.rests()
	all := p.text()
	at := 0
	for _, want := range []string{"The first is done.", "completed · 2 steps", "▌ the second", "The second is done.", "completed · 1 step"} {
		n := strings.Index(all[at:], want)
		if n < 0 {
			t.Fatalf("%q is not there, or not in its place:\n%s", want, all)
		}
		at += n
	}
	p.leaves()
}

func TestAQuestionIsAnsweredWithANumber(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "ask", "args": {"question": "Which one?", "options": ["sqlite", "postgres"]}}]}
{"text": "So {{last_result}}."}`, setting{})
	p.says("choose")
	p.sees("Which one?", "2  postgres", "choose with a number")
	p.answers("2")
	p.sees("So postgres.")
	p.leaves()
}

func TestAQuestionStandsOnceAboveItsAnswer(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "ask", "args": {"question": "Which one?", "options": ["sqlite", "postgres"]}}]}
{"text": "So {{last_result}}."}`, setting{})
	p.says("choose")
	p.sees("Which one?", "choose with a number")
	p.reads()
	p.presses("down", "enter")
	p.sees("So sqlite.", "completed")
	p.rests()
	for _, text := range []string{"Which one?", "2  postgres", "completed"} {
		if n := strings.Count(p.text(), text); n != 1 {
			t.Errorf("%q is there %d times:\n%s", text, n, p.text())
		}
	}
	p.leaves()
}

func TestATextThatEndsWithALineEndStandsOnce(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "As follows:\n\n- one\n- two\n", "split": 8, "calls": [{"tool": "glob", "args": {"pattern": "*"}}]}
{"text": "The end.\n\n"}`, setting{})
	p.says("go")
	p.sees("The end.", "completed")
	for _, text := range []string{"As follows:", "• two", "The end."} {
		if n := strings.Count(p.text(), text); n != 1 {
			t.Errorf("%q is there %d times:\n%s", text, n, p.text())
		}
	}
	p.leaves()
}

func TestALongCommandIsShownToItsEndBeforeItIsAllowed(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "shell", "args": {"command": "touch `+strings.Repeat("a-file-with-a-long-name ", 6)+`the-last-one"}}]}
{"text": "Made."}`, setting{width: 50, height: 24})
	p.says("go")
	p.sees("Allow this time")
	if all := strings.ReplaceAll(strings.ReplaceAll(p.text(), "\n", ""), " ", ""); !strings.Contains(all, "touch"+strings.Repeat("a-file-with-a-long-name", 6)+"the-last-one") {
		t.Errorf("a part of the command is not shown:\n%s", p.text())
	}
	p.answers("n")
	p.sees("Made.")
	p.leaves()
}

func TestACallThatThePersonHasDeniedIsNotCountedAsRefused(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}]}
{"text": "So be it."}`, setting{})
	p.says("write it")
	p.answers("n")
	p.sees("So be it.", "completed")
	p.rests()
	if strings.Contains(p.text(), "1 call refused") {
		t.Errorf("the person is told what they have done:\n%s", p.text())
	}
	p.leaves()
}

// In controller mode an answer that is no action is asked for again: that is said once, with how often,
// and by the end alone if no action comes.
func TestAnswersWithoutAnActionAreOneLine(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "no object"}
{"text": "{broken"}
{"text": "{\"action\":\"complete\",\"message\":\"Now it is one.\"}"}
{"text": "no object"}
{"text": "no object"}
{"text": "no object"}`, setting{vars: map[string]string{"PAWL_CONTROL": "controller"}})
	p.says("go")
	p.sees("↻ the model did not answer with an action; asked again 2 times", "Now it is one.", "completed")
	p.rests()
	p.says("and now")
	p.sees("could not be used 3 times in a row")
	p.rests()
	if all := p.text(); strings.Count(all, "did not answer with an action") != 1 || strings.Contains(all, "cannot be used") {
		t.Errorf("it is told again:\n%s", all)
	}
	p.leaves()
}

func TestRetriesAreOneLine(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"error": {"status": 529}, "times": 3}
{"text": "At last."}`, setting{})
	p.says("go")
	p.sees("attempt 1 failed", "retrying in")
	p.sees("requested again 3 times", "At last.")
	p.rests()
	if n := strings.Count(p.text(), "Overloaded"); n != 1 {
		t.Errorf("the failure is there %d times:\n%s", n, p.text())
	}
	p.leaves()
}

func TestARunWhoseProcessWasKilledSaysHowToResumeIt(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := sit(t, `{"text": "Working.", "calls": [{"tool": "shell", "args": {"command": "sleep 1000"}}]}
{"text": "The command was cut: {{last_result}}"}`, setting{home: home})
	p.says("go")
	p.sees("Run sleep 1000")
	p.leaves() // the turn is interrupted by the shutdown
	again := sit(t, "", setting{home: home, dir: p.dir, options: func(o *Options) { o.Resume = "last" }})
	again.sees("Working.", "/continue")
	again.leaves()
}

func TestACallThatFailsShowsWhatItHasPrinted(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "shell", "args": {"command": "cat nothing-there"}}]}
{"text": "Gone."}`, setting{})
	p.says("look")
	p.sees("Gone.", "exit 1", "nothing-there: No such file")
	p.leaves()
}

func TestARunIsResumedWhereItWas(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := sit(t, `{"text": "My name is Otto."}
{"text": "You asked twice."}`, setting{home: home})
	p.says("who are you?")
	p.sees("My name is Otto.", "completed")
	p.leaves()

	again := sit(t, "", setting{home: home, dir: p.dir, options: func(o *Options) { o.Pick = true }})
	again.sees("Resume a run", "completed", "who are you?")
	again.passes(standing)
	again.presses("enter")
	again.sees("▌ who are you?", "My name is Otto.")
	again.says("and again?")
	again.sees("You asked twice.")
	again.leaves()
}

// A run is found by what was said in it, not by its title alone, and by its folder.
func TestARunIsFoundByWhatWasSaidInIt(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := sit(t, `{"text": "Reply to: {{prompt}}", "repeat": true}`, setting{home: home})
	for _, words := range [][]string{{"first title", "something about marmalade"}, {"second title", "something about honey"}} {
		for _, w := range words {
			p.says(w)
			p.sees("Reply to: " + w)
			p.rests()
		}
		p.says("/clear")
		p.sees("is kept")
	}
	p.leaves()

	again := sit(t, "", setting{home: home, dir: p.dir, options: func(o *Options) { o.Pick = true }})
	finds := func(query string, want ...string) {
		again.until(fmt.Sprintf("%q by %q", want, query), func(all string) bool {
			list := all[strings.LastIndex(all, "Resume a run"):]
			return strings.Contains(list, query) && strings.Contains(list, "first title") == slices.Contains(want, "first title") &&
				strings.Contains(list, "second title") == slices.Contains(want, "second title")
		})
	}
	again.sees("first title", "second title")
	again.types("marmalade")
	finds("marmalade", "first title")
	again.presses("ctrl+u")
	again.types(filepath.Base(p.dir))
	finds(filepath.Base(p.dir), "first title", "second title")
	again.presses("ctrl+u")
	again.types("honey")
	finds("honey", "second title")
	again.passes(standing)
	again.presses("enter")
	again.sees("Reply to: something about honey")
	again.leaves()
}

func TestARunOfAnotherProcessIsShownAndAnsweredHere(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := sit(t, `{"text": "I write.", "calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}]}
{"text": "I was told: {{prompt}}"}
{"text": "And then: {{prompt}}"}`, setting{home: home})
	p.says("write it")
	p.sees("Allow this time")

	other := sit(t, "", setting{home: home, dir: p.dir, options: func(o *Options) { o.Resume = "last" }})
	other.sees("▌ write it", "I write.", "is driven by another process", "Allow this time")
	other.hand(pasted{text: "be quick"})
	other.presses("enter")
	other.sees("be quick")
	other.answers("y")
	p.sees("I was told: be quick", "completed")
	other.sees("I was told: be quick", "completed")

	p.leaves() // and the run is driven by the other one
	other.until("the run as its own", func(string) bool { return !other.last.attached })
	other.says("more")
	other.sees("And then: more")
	other.leaves()
}

// What an interrupt keeps from being delivered goes back to the person who has written it.
func TestAMessageThatWasNotDeliveredComesBackWhereItWasWritten(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := sit(t, `{"text": "I write.", "calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}]}
{"text": "unused: the account of the interrupt has its place"}`, setting{home: home})
	p.says("write it")
	p.reads()
	other := sit(t, "", setting{home: home, dir: p.dir, options: func(o *Options) { o.Resume = "last" }})
	other.until("a dialog that takes keys", func(string) bool { return other.last.asks })

	p.hand(pasted{text: "from the first"})
	p.presses("enter")
	other.hand(pasted{text: "from the second"})
	other.presses("enter")
	p.until("both messages as ones that wait", func(string) bool { return p.last.pending == 2 })
	p.answers("w")
	for who, want := range map[*person]string{p: "from the first", other: "from the second"} {
		who.sees("not delivered: from the first", "not delivered: from the second")
		who.until("its own message in its input, "+want, func(string) bool { return who.last.input == want })
	}
	p.leaves()
	other.leaves()
}

func TestWhatScrollsOffIsThereOnceWhateverTheSizes(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	for i := range 30 {
		fmt.Fprintf(&script, `{"text": "Step %02d is a line that is long enough to be broken on a narrow terminal, 世界.", "calls": [{"tool": "glob", "args": {"pattern": "*.%02d"}}]}`+"\n", i, i)
	}
	script.WriteString(`{"text": "The end of all."}`)
	p := sit(t, script.String(), setting{})
	p.says("walk")
	for i := range 40 {
		p.size(30+(i*37)%90, 8+(i*13)%30)
	}
	p.rests()
	p.sees("The end of all.")
	p.size(100, 30)
	p.leaves()
	all := strings.Join(strings.Fields(p.text()), " ")
	for i := range 30 {
		if n := strings.Count(all, fmt.Sprintf("Step %02d is a line", i)); n != 1 {
			t.Errorf("step %d is there %d times", i, n)
		}
	}
}

func TestPlanModeEndsWithTheChoiceToCarryThePlanOut(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "1. write a.txt"}
{"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "planned\n"}}]}
{"text": "Carried out."}`, setting{})
	p.presses("shift+tab", "shift+tab")
	p.sees("mode plan")
	p.says("plan it")
	p.sees("1. write a.txt", "Carry out this plan?")
	p.presses("enter") // of a message, and no answer
	p.reads()
	p.presses("down", "down", "enter")
	p.sees("Carried out.", "mode accept-edits")
	if p.file("a.txt") != "planned\n" {
		t.Errorf("the file has %q", p.file("a.txt"))
	}
	p.leaves()
}

func TestGoingBackToAPromptPutsFilesBack(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "First."}
{"calls": [{"tool": "read", "args": {"path": "a.txt"}}]}
{"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "changed\n"}}]}
{"text": "Second."}
{"text": "After going back I was asked: {{prompt}}"}`, setting{files: map[string]string{"a.txt": "as it was\n"}})
	p.presses("shift+tab")
	p.says("one")
	p.sees("First.", "completed")
	p.says("two")
	p.sees("Second.")
	p.rests()
	p.presses("esc", "esc")
	p.sees("Go back to an earlier prompt")
	p.passes(standing)
	p.presses("enter")
	p.sees("Conversation and files")
	p.passes(standing)
	p.presses("enter")
	p.sees("a.txt: restored", "a copy of")
	if p.file("a.txt") != "as it was\n" {
		t.Errorf("the file has %q", p.file("a.txt"))
	}
	p.until("the prompt in the input", func(all string) bool { return strings.HasSuffix(strings.TrimSpace(p.last.input), "two") })
	p.leaves()
}

// What a run had changed before it was resumed or copied is not said at the end of the next turn.
func TestTheEndOfATurnSaysWhatThatTurnHasChanged(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"when": {"contains": "write it"}, "calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x\n"}}]}
{"text": "Reply to: {{prompt}}", "repeat": true}`, setting{options: func(o *Options) { o.Mode = "accept-edits" }, vars: map[string]string{"PAWL_MODE": "accept-edits"}})
	p.says("write it")
	p.sees("Reply to: write it", "1 file changed")
	p.says("/fork")
	p.sees("a copy of")
	p.says("and now")
	p.sees("Reply to: and now")
	p.until("a second end", func(all string) bool { return strings.Count(all, "completed") == 2 })
	p.count(1, "1 file changed")
	p.leaves()
}

// What the command line said is for the run that it began with: afterwards only the person makes a
// mode wider.
func TestAModeThatThePersonTightenedIsNotWidenedByAnotherRun(t *testing.T) {
	t.Parallel()
	const script = `{"when": {"contains": "write it"}, "calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x\n"}}], "repeat": true}
{"text": "Reply to: {{prompt}}", "repeat": true}`
	home := t.TempDir()
	p := sit(t, script, setting{home: home, flags: map[string][]string{"mode": {"accept-edits"}}, options: func(o *Options) { o.Mode = "accept-edits" }})
	refuses := func(p *person, which string) {
		t.Helper()
		p.says("write it " + which)
		p.until("a dialog of "+which, func(all string) bool {
			at := strings.LastIndex(all, "▌ write it "+which)
			return at >= 0 && strings.Contains(all[at:], "Allow this time")
		})
		p.answers("w")
		p.rests()
	}
	p.says("first run")
	p.sees("Reply to: first run", "mode accept-edits")
	p.rests()
	runs, err := p.ws.Runs(t.Context(), 1)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	p.says("/clear")
	p.says("second run")
	p.sees("Reply to: second run")
	p.rests()
	p.says("/mode default")
	p.sees("mode default")
	p.says("/fork")
	p.sees("a copy of")
	refuses(p, "in the fork")
	p.says("/resume " + string(runs[0].ID))
	refuses(p, "in the first run")
	p.says("/clear")
	refuses(p, "in a new run")
	p.leaves()

	again := sit(t, script, setting{home: home, dir: p.dir, options: func(o *Options) { o.Resume = string(runs[0].ID) }})
	again.sees("Reply to: first run")
	refuses(again, "in another process")
	again.leaves()
	if p.file("a.txt") != "" {
		t.Error("a file was written without a question")
	}
}

// ownCommand writes a command into the folder of a person.
func ownCommand(t *testing.T, home, name, text string) {
	t.Helper()
	file := filepath.Join(home, ".claude", "commands", name+".md")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestACommandInAFileIsSentAsAPrompt(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	ownCommand(t, home, "review", "---\ndescription: looks for mistakes\n---\nReview $1 with care.\n")
	p := sit(t, `{"text": "I was told: {{prompt}}"}`, setting{home: home})
	p.types("/rev")
	p.sees("looks for mistakes")
	p.presses("tab")
	p.types("a.go")
	p.presses("enter")
	p.sees("I was told: Review a.go with care.")
	p.leaves()
}

// Enter carries out the command that alone can be meant, unless it takes arguments.
// What a folder brings along counts when the person has seen it and said so, in the terminal as with
// `pawl trust`: what was changed after it was shown does not.
func TestWhatAFolderBringsAlongIsReviewedAndTrusted(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "I was asked: {{prompt}}", "repeat": true}`, setting{files: map[string]string{".pawl/commands/hello.md": "Say hello.\n"}})
	p.sees("commands in .pawl/commands are not loaded: review them with /trust")
	review := func() {
		p.says("/trust")
		p.until("the question", func(string) bool { return strings.Contains(p.terminal.Text(), "Trust 1 file as shown?") })
		p.passes(standing)
	}
	review()
	p.sees("new: .pawl/commands/hello.md", "Say hello.")
	p.presses("enter") // no
	p.says("/hello")
	p.sees("unknown command /hello")
	p.presses("ctrl+u")

	review()
	name := filepath.Join(p.dir, ".pawl/commands/hello.md")
	if err := os.WriteFile(name, []byte("Say something else.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.presses("down", "enter")
	p.sees("trusted: 1 file")
	p.says("/hello")
	p.sees("unknown command /hello")
	p.presses("ctrl+u")
	if err := os.WriteFile(name, []byte("Say hello.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.says("/trust")
	p.sees("nothing in this folder waits for your review")
	p.says("/hello")
	p.sees("I was asked: Say hello.")
	p.leaves()
}

func TestEnterCarriesOutTheOnlyCommandThatCanBeMeant(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	ownCommand(t, home, "greet", "Say hello.")
	ownCommand(t, home, "verify", "Verify $ARGUMENTS.")
	p := sit(t, `{"text": "I was told: {{prompt}}"}
{"text": "I was told: {{prompt}}"}`, setting{home: home})
	p.types("/gre")
	p.sees("Say hello.")
	p.presses("enter")
	p.sees("I was told: Say hello.", "completed")
	p.rests()

	for typed, completed := range map[string]string{"/verif": "/verify ", "/effo": "/effort ", "/co": "/cost "} { // takes arguments; takes some; not alone
		p.types(typed)
		p.until("the menu", func(string) bool { return p.last.input == typed })
		p.presses("enter")
		p.until("the completed command "+completed, func(string) bool { return p.last.input == completed })
		p.presses("ctrl+u")
	}
	p.types("/hel")
	p.presses("enter")
	p.sees("Commands", "what runs without a question")
	p.types("/qui")
	p.presses("enter")
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}

func TestADifferenceThatGitCannotMakeIsSaidInWords(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	p := sit(t, `{"text": "unused"}`, setting{})
	p.says("/diff")
	p.sees("✗ this folder is not in a git repository")
	if out, err := exec.Command("git", "init", "-q", p.dir).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	p.says("/diff")
	p.sees("✗ there is no commit yet to compare with")
	p.leaves()
}

func TestACommandOfThePersonIsContextOfTheNextPrompt(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "I was told: {{prompt}}"}`, setting{})
	p.says("!echo out; echo err >&2; exit 4")
	p.sees("! echo out", "  out", "  err", "exit 4")
	p.says("what was that?")
	p.sees("▌ [attached: output of echo out; echo err >&2; exit 4]", "▌ what was that?", "I was told: I ran `echo out; echo err >&2; exit 4`", "code 4). It printed:")
	if strings.Contains(p.text(), "▌ I ran") {
		t.Error("what it printed is shown again")
	}
	p.leaves()
}

func TestWithoutAModelThereIsAChoiceAndAKeyCanBePasted(t *testing.T) {
	t.Parallel()
	p := sit(t, "", setting{})
	p.sees("pawl needs a model", "Paste an API key")
	p.passes(standing)
	p.presses("enter")
	p.sees("Which provider?", "anthropic")
	p.passes(standing)
	p.presses("enter")
	p.sees("Paste your anthropic API key")
	p.hand(pasted{text: "sk-secret-123\n"})
	p.sees("*************")
	p.presses("enter")
	p.sees("is stored in", "readable only by you")
	if strings.Contains(p.text(), "sk-secret") {
		t.Error("the key is on the screen")
	}
	p.leaves()
}

func TestWhatIsTypedWhenADialogComesUpIsNoAnswer(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"delay_ms": 50, "calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}]}
{"text": "Done."}`, setting{})
	p.says("write it")
	p.types("yyyyyyyyyyyyyyyyyyyy")
	p.sees("Allow this time")
	p.passes(calm)
	if p.file("a.txt") != "" {
		t.Error("what was typed before the dialog came up has allowed the call")
	}
	p.presses("ctrl+u")
	p.answers("n")
	p.sees("Done.")
	p.leaves()
}

// smallPicture is the content of a PNG file.
func smallPicture(t *testing.T) string {
	t.Helper()
	var picture strings.Builder
	if err := png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	return picture.String()
}

func TestAPictureThatIsDroppedIsAttached(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "I was told: {{prompt}}"}`, setting{})
	path := filepath.Join(p.dir, "a picture.png")
	if err := os.WriteFile(path, []byte(smallPicture(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	p.hand(pasted{text: strings.ReplaceAll(path, " ", `\ `)})
	p.sees("[Image #1]")
	p.hand(pasted{text: "/not/there.png"})
	p.sees("/not/there.png")
	p.says(" what is this?")
	p.sees("I was told: [Image #1]/not/there.png what is this?")
	p.leaves()
}

// A message that comes back into the input has its pictures, whatever has kept it from being sent; and they go with a
// command of the person's own too.
func TestAMessageThatComesBackHasItsPictures(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	ownCommand(t, home, "compare", "Compare with !`touch made.txt && echo this`: $ARGUMENTS\n")
	p := sit(t, `{"text": "Compared."}`, setting{home: home, files: map[string]string{"a.png": smallPicture(t)}})
	p.types("/compare ")
	p.hand(pasted{text: filepath.Join(p.dir, "a.png")})
	p.sees("[Image #1]")
	p.presses("enter")
	p.sees("Run the command of the prompt?")
	p.until("what was typed in the input", func(string) bool { return p.last.input == "/compare [Image #1]" })
	p.presses("esc")
	p.sees("enter: send")
	p.presses("enter")
	p.until("the question again, and what was typed in the input", func(all string) bool {
		return strings.Count(all, "the prompt runs:") == 2 && strings.Contains(all, "Run the command of the prompt?") && p.last.input != ""
	})
	p.passes(standing)
	p.presses("down", "enter")
	p.sees("Compared.")
	said := func() {
		t.Helper()
		last, err := p.ws.Find(t.Context(), "last")
		if err != nil {
			t.Fatal(err)
		}
		_, state, err := p.ws.Load(t.Context(), last.ID)
		if err != nil {
			t.Fatal(err)
		}
		if said := state.Messages[0].Parts; said[0].Text != "Compare with this: [Image #1]" || !slices.ContainsFunc(said, func(p run.Part) bool { return p.Type == run.ImagePart }) {
			t.Errorf("the message was %+v", said)
		}
	}
	p.rests()
	said()
	p.presses("esc", "esc") // back to it
	for _, asked := range []string{"Go back to an earlier prompt", "Conversation only"} {
		p.sees(asked)
		p.passes(standing)
		p.presses("enter")
	}
	p.until("the prompt in the input", func(string) bool { return p.last.input == "Compare with this: [Image #1]" })
	p.presses("enter")
	p.until("another answer", func(all string) bool { return strings.Count(all, "Compared.") == 2 })
	p.rests()
	said()
	p.leaves()
}

// The commands of a prompt are asked about in one question, and one answer runs them and sends it.
func TestTheCommandsOfAPromptAreOneQuestion(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	ownCommand(t, home, "state", "Made: !`touch a.txt && echo one` !`touch b.txt && echo two` !`touch a.txt && echo one`\n")
	p := sit(t, `{"text": "I was told: {{prompt}}"}`, setting{home: home})
	p.types("/state")
	p.presses("enter")
	p.sees("Run all 2 commands of the prompt?")
	p.sees("the prompt runs: touch a.txt && echo one (")
	p.sees("the prompt runs: touch b.txt && echo two (")
	p.sees("/state was not sent: answer Yes to the question about what it runs to send it")
	p.passes(standing)
	p.presses("down", "enter")
	p.sees("I was told: Made: one two one")
	p.leaves()
}

// The flaws of the agent that this one replaces. Each had its own name.

func TestFlawStopsAfterOneTool(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	for i := range 5 {
		fmt.Fprintf(&script, `{"calls": [{"tool": "glob", "args": {"pattern": "*.%d"}}]}`+"\n", i)
	}
	p := sit(t, script.String()+`{"text": "After five tools."}`, setting{})
	p.says("go")
	p.sees("Find *.0", "Find *.4", "After five tools.", "completed · 6 steps")
	p.rests()
	p.leaves()
}

func TestFlawWaitDoesNotCancel(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}, {"tool": "write", "args": {"path": "b.txt", "content": "x"}}]}
{"calls": [{"tool": "read", "args": {"path": "c.txt"}}]}
{"text": "Only c was looked at."}`, setting{files: map[string]string{"c.txt": "c\n"}})
	p.says("write")
	p.answers("w")
	p.rests() // no call of that message waits or runs any more
	p.until("the dialog gone", func(string) bool { return !p.last.asks })
	p.says("look at c instead")
	p.sees("Only c was looked at.", "completed")
	if p.file("a.txt")+p.file("b.txt") != "" {
		t.Error("a call ran after Wait")
	}
	p.leaves()
}

func TestFlawResultsInAssistantMessages(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "I look.", "calls": [{"tool": "read", "args": {"path": "a.txt"}}]}
{"text": "Seen."}`, setting{files: map[string]string{"a.txt": "the content of the file\n"}})
	p.says("look")
	p.sees("Seen.", "completed")
	p.rests()
	p.leaves()
	last, err := p.ws.Find(t.Context(), "last")
	if err != nil {
		t.Fatal(err)
	}
	_, state, err := p.ws.Load(t.Context(), last.ID)
	if err != nil {
		t.Fatal(err)
	}
	results := 0
	for _, m := range state.Messages {
		for _, part := range m.Parts {
			if part.Result != nil {
				results++
				if m.Role != run.User {
					t.Errorf("a result is in a message of the %s", m.Role)
				}
			}
			if m.Role == run.Assistant && strings.Contains(part.Text, "the content of the file") {
				t.Errorf("the text of a result is in the agent's words: %q", part.Text)
			}
		}
	}
	if results != 1 {
		t.Errorf("%d results, want 1", results)
	}
}

func TestFlawNoStreamCancellation(t *testing.T) {
	t.Parallel()
	s, err := script.Parse(strings.NewReader(`{"text": "word after word ", "endless": true}`))
	if err != nil {
		t.Fatal(err)
	}
	server := fake.New(s, true)
	url, stop, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	p := sit(t, "", setting{vars: map[string]string{"PAWL_MODEL": "anthropic/m", "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k"}})
	p.says("talk")
	p.sees("word after word word")
	p.presses("esc")
	select {
	case <-server.Left():
	case <-time.After(patience):
		t.Fatal("the connection to the model is still open")
	}
	p.sees("[Conversation interrupted]")
	p.rests()
	p.leaves()
}

func TestFlawNoSynthesisOrContinuation(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	for i := range 3 {
		fmt.Fprintf(&script, `{"calls": [{"tool": "glob", "args": {"pattern": "*.%d"}}]}`+"\n", i)
	}
	p := sit(t, script.String()+`{"text": "Account: three looks were taken."}
{"text": "Continued and done."}`, setting{vars: map[string]string{"PAWL_MAX_STEPS": "3"}})
	p.says("go")
	p.sees("Account: three looks were taken.", "limit", "/continue")
	p.rests()
	p.says("/continue")
	p.sees("Continued and done.", "completed")
	p.leaves()
}

func TestAMessageThatIsTakenBackIsWhatWasTypedWithoutTheFilesThatItNames(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}]}
{"text": "Done."}`, setting{files: map[string]string{"c.txt": "the content of c\n"}})
	p.says("write it")
	p.reads()
	p.hand(pasted{text: "look at @c.txt too"})
	p.presses("enter")
	p.until("the message as one that waits", func(string) bool { return p.last.pending == 1 })
	p.presses("up")
	p.until("what was typed in the input", func(string) bool { return p.last.input == "look at @c.txt too" })
	p.presses("ctrl+u")
	p.answers("n")
	p.sees("Done.")
	p.leaves()
}

// A terminal that reads nothing, because ctrl+s has stopped it or its line is slow, does not
// keep Esc from ending a stream.
func TestEscEndsAStreamWhileTheTerminalReadsNothing(t *testing.T) {
	t.Parallel()
	server := fake.New(script.Script{{Text: "word after word ", Endless: true}}, true)
	url, stop, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	p := sit(t, "", setting{vars: map[string]string{"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k", "PAWL_MODEL": "anthropic/m"}})
	p.says("talk")
	p.sees("word after word")
	stuck := make(chan struct{})
	p.mu.Lock()
	p.stuck = stuck
	p.mu.Unlock()
	for range 3 { // a frame is stuck
		p.hand(tick{})
	}
	p.presses("esc")
	select {
	case <-server.Left():
	case <-time.After(patience):
		t.Fatal("the connection is open")
	}
	p.mu.Lock()
	p.stuck = nil
	p.mu.Unlock()
	close(stuck)
	p.sees("[Conversation interrupted]")
	p.rests()
	p.leaves()
}

// After a turn without edits, the files of the one before can still be put back.
func TestUndoPutsBackTheFilesThatWereChangedLast(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "write", "args": {"path": "new.txt", "content": "x"}}]}
{"text": "Written."}
{"text": "You are welcome."}`, setting{})
	p.says("write it")
	p.answers("y")
	p.sees("Written.", "undo: /undo")
	p.says("thank you")
	p.sees("You are welcome.")
	p.rests()
	p.says("/undo")
	p.sees("changed after the prompt: write it", "new.txt: removed")
	if p.file("new.txt") != "" {
		t.Error("the file is still there")
	}
	p.leaves()
}

// A prompt without a model is not lost: the person chooses a model, and sends it.
func TestAPromptWithoutAModelWaitsForTheChoiceOfOne(t *testing.T) {
	t.Parallel()
	p := sit(t, "", setting{})
	p.sees("pawl needs a model")
	p.presses("esc")
	p.until("input without the choice", func(all string) bool { return !strings.Contains(all, "Paste an API key") })
	p.says("fix it")
	p.sees("Paste an API key", "› fix it")
	p.presses("esc")
	p.leaves()
}

// A mode in which less runs without a question stays when another run is opened, whatever the process was
// started with.
func TestATightenedModeStays(t *testing.T) {
	t.Parallel()
	writes := `{"when":{"contains":"write"},"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}],"repeat":true}` + "\n"
	s := setting{flags: map[string][]string{"mode": {"bypass"}}, home: t.TempDir(), dir: t.TempDir()}
	p := sit(t, writes+`{"text": "Hello.","repeat":true}`, s)
	p.says("one")
	p.sees("Hello.", "mode bypass")
	p.rests()
	p.says("/mode default")
	p.sees("mode default")
	p.says("/resume last")
	p.sees("is the one that is open")
	for _, opens := range []struct{ command, sees string }{{"/fork", "a copy of"}, {"/clear", "is kept"}, {"/resume last", "▌ write it"}} {
		p.rests()
		p.says(opens.command)
		p.sees(opens.sees)
		p.says("write it")
		p.sees("Write a.txt")
		p.answers("w")
		p.sees("mode default")
		p.rests()
		if p.file("a.txt") != "" {
			t.Fatalf("%s has loosened the mode:\n%s", opens.command, p.text())
		}
	}
	p.leaves()

	s.flags = nil
	p = sit(t, writes, s)
	p.says("/mode plan")
	p.sees("mode plan")
	p.says("/resume last")
	p.until("the run in the mode that was chosen here", func(all string) bool {
		return strings.Contains(all, "▌ write it") && strings.Contains(all, "mode plan")
	})
	p.says("go on")
	p.sees("  mode: plan")
	p.leaves()
}

// Of modes that were chosen one after the other, the last is told, when something happens in it.
func TestTheModeIsToldWithWhatComesNext(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "Hello.","repeat":true}`, setting{})
	p.says("one")
	p.sees("Hello.")
	p.rests()
	for _, mode := range []string{"accept-edits", "plan", "default", "accept-edits"} {
		p.presses("shift+tab")
		p.sees("mode " + mode)
	}
	p.rests()
	if strings.Contains(p.text(), "mode: ") {
		t.Errorf("it is told before:\n%s", p.text())
	}
	p.says("two")
	p.sees("  mode: accept-edits\n\n▌ two")
	p.rests()
	p.count(1, "mode: ")
	p.leaves()
}

// What would cut off a turn without a word waits until the person has interrupted it.
func TestARunIsNotLeftWhileTheAgentIsAtWork(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"text": "word after word ", "endless": true}`, setting{})
	p.says("talk")
	p.sees("word after word")
	for _, command := range []string{"/fork", "/clear", "/resume last", "/resume", "/undo"} {
		p.says(command)
		p.sees("interrupt it first, with esc")
		p.types("x")
		p.until("no hint", func(all string) bool { return !strings.Contains(all, "interrupt it first") })
		p.presses("backspace")
	}
	p.presses("esc")
	p.sees("[Conversation interrupted]")
	p.rests()
	p.says("/fork")
	p.sees("a copy of")
	p.leaves()
}

// A call that a stored rule denies says which rule that is, of which day, and how to remove it.
func TestADenialNamesItsRule(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "shell", "args": {"command": "touch a"}}]}
{"text": "First."}
{"calls": [{"tool": "shell", "args": {"command": "touch a"}}]}
{"text": "Second."}`, setting{width: 120, height: 30})
	p.says("touch it")
	p.answers("v")
	p.sees("First.", "stored: deny shell(touch a)")
	p.rests()
	p.says("again")
	p.sees("denied by the rule `shell(touch a)` of ", "remove the rule with pawl permissions rm 'shell(touch a)'", "Second.")
	p.leaves()
}

func TestTheServersOfTheFolderAreListed(t *testing.T) {
	t.Parallel()
	servers := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(servers, []byte(`{"mcpServers":{"away":{"command":"no-such-program"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := sit(t, `{"text": "Hello."}`, setting{width: 120, height: 30, flags: map[string][]string{"mcp_config": {servers}}})
	p.says("/mcp")
	p.sees("away: 0 tools; has not listed its tools yet")
	p.says("hello")
	p.sees("Hello.", "completed")
	p.rests()
	p.says("/mcp")
	p.sees(`away: 0 tools; the server away cannot be used: there is no program "no-such-program" in PATH`)
	p.leaves()
}

// What commands of the terminal agent say and do, one after the other.
func TestCommandsSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	var ran []string
	var mu sync.Mutex
	p := sit(t, `{"text": "Hello.","repeat":true}`, setting{width: 100, height: 30, options: func(o *Options) {
		o.CommandLine = func(_ context.Context, _ int, args ...string) (string, int) {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, strings.Join(args, " "))
			return "it ran " + strings.Join(args[:2], " "), 0
		}
	}})
	for _, c := range [][2]string{
		{"/outputs", "nothing has been stored yet"}, {"/export", "there is nothing to export yet"}, {"/compact", "there is nothing to compact yet"},
		{"/fork", "there is nothing to fork yet"}, {"/undo", "there is nothing to undo"}, {"/continue", "there is nothing to continue"},
		{"/effort high", "send a prompt first"}, {"/rename it", "once it has begun"}, {"/mode yolo", "is not a mode"}, {"/mode plan", "mode plan"},
		{"/mode default", "mode default"}, {"/permissions", "it ran permissions list"}, {"/agents", "it ran agents list"}, {"/tasks", "it ran task list"}, {"/mcp", "no MCP servers: `pawl mcp add`"},
	} {
		p.says(c[0])
		p.sees(c[1])
		p.presses("ctrl+u")
	}
	p.says("hello")
	p.sees("Hello.", "completed")
	p.rests()
	for _, c := range [][2]string{
		{"/outputs", "it ran outputs list"}, {"/outputs stats c_1", "it ran outputs stats"}, {"/effort huge", "choose "}, {"/effort high", "effort: high"},
		{"/rename the first", `name: "the first"`}, {"/compact", "compacted before the next request"}, {"/cost", "input tokens"},
		{"/export run.html", "written to"}, {"/export run.html", "exists"}, {"/model nothing/here", "unknown"}, {"/login", "Which provider?"},
	} {
		p.says(c[0])
		p.sees(c[1])
	}
	p.presses("esc")
	p.says("/model")
	p.sees("Choose a model", "tokens")
	p.presses("esc")
	p.says("/resume")
	p.sees("Resume a run", "just now")
	p.presses("esc", "esc", "esc")
	p.sees("Go back to an earlier prompt")
	p.passes(standing)
	p.presses("enter")
	p.sees("Go back to: hello")
	p.passes(standing)
	p.presses("down", "enter")
	p.until("the prompt in the input", func(string) bool { return p.last.input == "hello" })
	if got := p.file("run.html"); !strings.HasPrefix(got, "it ran runs export") {
		t.Errorf("the file has %q", got)
	}
	p.leaves()
	if all := strings.Join(ran, "\n"); !strings.Contains(all, "--format html") {
		t.Errorf("what ran is\n%s", all)
	}
}

// A run that a call has started is shown below the call while it works, and ends with its parent.
func TestAChildRunIsShownBelowItsCall(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"when":{"first":"look left"},"calls":[{"tool":"list","args":{}}]}
{"when":{"first":"look left"},"text":"word after word ","endless":true}
{"calls":[{"tool":"agent","args":{"prompt":"look left"}}]}
{"text":"unused","repeat":true}`, setting{})
	p.says("split it")
	p.sees("agent look left", "List", "word after word")
	p.presses("esc")
	p.sees("[Conversation interrupted]")
	p.rests()
	runs, err := p.ws.Runs(t.Context(), 0)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for id, want := range map[run.ID]run.Cause{runs[0].ID: run.ByPerson, run.ChildID(runs[0].ID, "c_1"): run.ByParent} {
		if _, s, err := p.ws.Load(t.Context(), id); err != nil || s.Turn.Interrupt.Cause != want {
			t.Errorf("run %s was interrupted by %q, want %q (%v)", id, s.Turn.Interrupt.Cause, want, err)
		}
	}
	p.leaves()
}

// All that the runs below do is shown, however soon they have ended.
func TestAllOfWhatRunsBelowDoIsShown(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"when":{"first":"look left"},"calls":[{"tool":"agent","args":{"prompt":"look deeper"}}]}
{"when":{"first":"look left"},"text":"Left seen."}
{"when":{"first":"look deeper"},"calls":[{"tool":"write","args":{"path":"first","content":"x"}}]}
{"when":{"first":"look deeper"},"calls":[{"tool":"write","args":{"path":"second","content":"x"}}]}
{"when":{"first":"look deeper"},"text":"Seen."}
{"calls":[{"tool":"agent","args":{"prompt":"look left"}}]}
{"text":"Both done."}`, setting{height: 40, width: 80, vars: map[string]string{"PAWL_MODE": "accept-edits"}})
	p.says("split it")
	p.sees("Both done.")
	p.rests()
	for _, line := range []string{"agent look left", "agent look deeper", "Write first", "Write second", "Left seen."} {
		if text := p.terminal.Text(); !strings.Contains(text, line) {
			t.Errorf("%q is not shown:\n%s", line, text)
		}
	}
	p.leaves()
}

// What a run that a call has started needs a person for is asked in the conversation that has started it,
// and that one goes on with the answer.
func TestWhatAChildRunNeedsIsAskedInTheConversation(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"when":{"first":"write left"},"calls":[{"tool":"write","args":{"path":"left.txt","content":"left\n"}}]}
{"when":{"first":"write left"},"calls":[{"tool":"write","args":{"path":"right.txt","content":"right\n"}}]}
{"when":{"first":"write left"},"calls":[{"tool":"ask","args":{"question":"And up?","options":["yes, up","no, not up"]}}]}
{"when":{"first":"write left"},"text":"Written, {{last_result}}."}
{"calls":[{"tool":"agent","args":{"prompt":"write left"}}]}
{"text":"It said: {{last_result}}"}`, setting{height: 40, width: 80})
	p.says("split it")
	p.sees("? Write left.txt", "asked by the sub-agent", "+left")
	if p.file("left.txt") != "" {
		t.Error("the file was written before it was allowed")
	}
	p.answers("y")
	p.sees("? Write right.txt")
	p.answers("n")
	p.sees("? And up?", "asked by the sub-agent", "no, not up")
	p.answers("2")
	p.sees("It said: Written, no, not up", "completed")
	if left, right := p.file("left.txt"), p.file("right.txt"); left != "left\n" || right != "" {
		t.Errorf("the files have %q and %q", left, right)
	}
	p.leaves()
}

// What a run below needs can be answered as soon as the run is opened again: that continues it.
func TestWhatAChildRunNeedsIsAnsweredAfterARestart(t *testing.T) {
	t.Parallel()
	s := setting{home: t.TempDir(), dir: t.TempDir(), height: 40, width: 80}
	p := sit(t, `{"when":{"first":"write left"},"calls":[{"tool":"write","args":{"path":"left.txt","content":"left\n"}}]}
{"when":{"first":"write left"},"text":"Written."}
{"calls":[{"tool":"agent","args":{"prompt":"write left"}}]}
{"text":"It said: {{last_result}}"}`, s)
	p.says("split it")
	p.sees("? Write left.txt")
	p.leaves()
	s.options = func(o *Options) { o.Resume = "last" }
	p = sit(t, "", s)
	p.sees("? Write left.txt", "asked by the sub-agent")
	p.answers("y")
	p.sees("It said: Written.", "completed")
	if p.file("left.txt") != "left\n" {
		t.Error("the call that was allowed did not run")
	}
	p.leaves()
}

// On the way to plan mode lies accept-edits: it would answer what the dialog asks.
func TestTheModeIsNotWidenedWhileADialogIsOpen(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls":[{"tool":"write","args":{"path":"a.txt","content":"x"}}]}
{"text":"Then not."}`, setting{})
	p.says("write it")
	p.sees("? Write a.txt")
	p.presses("shift+tab", "shift+tab")
	p.sees("answer first")
	for _, mode := range []string{"bypass", "accept-edits"} {
		p.presses("x", "backspace")
		p.until("no hint", func(all string) bool { return !strings.Contains(all, "answer first") })
		p.says("/mode " + mode)
		p.sees("answer first")
	}
	p.says("/mode plan") // a stricter one allows nothing
	p.sees("Then not.", "mode plan")
	if p.file("a.txt") != "" {
		t.Error("a change of the mode has allowed the call")
	}
	p.leaves()
}

// To stop a call of a run that a call has started stops the turn of the conversation.
func TestWaitAtACallOfAChildRunStopsTheTurn(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"when":{"first":"write left"},"calls":[{"tool":"write","args":{"path":"left.txt","content":"left\n"}}]}
{"calls":[{"tool":"agent","args":{"prompt":"write left"}}]}
{"text":"Then not."}`, setting{height: 40, width: 80})
	p.says("split it")
	p.sees("? Write left.txt")
	p.answers("w")
	p.rests()
	p.sees("say what to do differently")
	p.says("do nothing")
	p.sees("▌ do nothing", "Then not.")
	if p.file("left.txt") != "" {
		t.Error("something was written")
	}
	p.leaves()
}

// A mode that is given with --mode counts for the run that is resumed before anything is said to it: it is
// shown, and copies of the run and the next conversation are in no wider one.
func TestAModeOfTheCommandLineCountsAtOnce(t *testing.T) {
	t.Parallel()
	s := setting{home: t.TempDir(), dir: t.TempDir()}
	const replies = `{"when":{"contains":"write it"},"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}],"repeat":true}` + "\n" + `{"text":"Hello.","repeat":true}`
	p := sit(t, replies, s)
	p.says("one")
	p.sees("Hello.")
	p.rests()
	p.leaves()

	s.flags, s.options = map[string][]string{"mode": {"plan"}}, func(o *Options) { o.Resume = "last" }
	for _, command := range []string{"/fork", "/clear"} {
		p = sit(t, replies, s)
		p.sees("▌ one", "mode plan")
		p.says(command)
		p.rests()
		p.says("write it")
		p.sees("Write a.txt")
		p.rests()
		if p.file("a.txt") != "" || !strings.Contains(p.text(), "mode plan") {
			t.Errorf("%s: a file was written, or the mode is another:\n%s", command, p.text())
		}
		p.leaves()
	}
}

// A mode that was chosen here holds for a run that another process drives too: it is told to that process.
func TestAChosenModeTightensARunOfAnotherProcess(t *testing.T) {
	t.Parallel()
	const replies = `{"when":{"contains":"write it"},"calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x"}}],"repeat":true}` + "\n" + `{"text":"Hello.","repeat":true}`
	s := setting{home: t.TempDir(), dir: t.TempDir(), vars: map[string]string{"PAWL_MODE": "accept-edits"}}
	drives := sit(t, replies, s)
	drives.says("one")
	drives.sees("Hello.", "mode accept-edits")
	drives.rests()
	runs, err := drives.ws.Runs(t.Context(), 1)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}

	s.vars = nil
	chosen := sit(t, replies, s)
	chosen.says("/mode plan")
	chosen.sees("mode plan")
	chosen.says("/resume " + string(runs[0].ID))
	chosen.sees("▌ one")
	chosen.until("the run in the mode that was chosen here", func(all string) bool { return strings.Contains(all, "mode plan") })
	chosen.says("please write it")
	chosen.sees("Write a.txt")
	drives.sees("mode plan")
	if chosen.file("a.txt") != "" {
		t.Error("the file was written in plan mode")
	}
	chosen.leaves()
	drives.leaves()
}

// Words that stood in the input when a question came up are meant for the agent at work: enter sends them as
// the answer only when the person has been told.
func TestWordsFromBeforeAQuestionAreNotItsAnswerAtOnce(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "shell", "args": {"command": "until [ -e typed ]; do sleep 0.01; done"}}]}
{"calls": [{"tool": "ask", "args": {"question": "Which one?", "options": ["sqlite", "postgres"]}}]}
{"text": "So {{last_result}}."}`, setting{vars: map[string]string{"PAWL_MODE": "bypass"}})
	p.says("choose")
	p.sees("until [ -e typed ]")
	p.hand(pasted{text: "also run the linter"})
	p.until("the words in the input", func(string) bool { return p.last.input == "also run the linter" })
	if err := os.WriteFile(filepath.Join(p.dir, "typed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.sees("Which one?", "choose with a number")
	p.presses("enter")
	p.sees("a question has come up")
	p.rests()
	if strings.Contains(p.text(), "So also") {
		t.Fatalf("it was the answer:\n%s", p.text())
	}
	p.passes(standing)
	p.presses("enter")
	p.sees("So also run the linter.")
	p.leaves()
}

// A question that does not fit the window is printed before an answer to it is taken.
func TestAQuestionIsShownWholeBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls": [{"tool": "ask", "args": {"question": "Shall I?`+strings.Repeat(`\nand a line`, 40)+`\nTHE END", "options": ["yes", "no"]}}]}
{"text": "So {{last_result}}."}`, setting{height: 20, width: 80})
	p.says("choose")
	p.sees("Shall I?", "choose with a number")
	if strings.Contains(p.text(), "THE END") {
		t.Fatal("it fits")
	}
	p.says("/mode") // a command is no answer
	p.sees("Permission mode")
	p.presses("esc")
	p.sees("choose with a number")
	p.reads()
	p.presses("2")
	p.sees("THE END", "the whole question is printed above")
	p.presses("2", "enter")
	p.sees("So no.")
	p.count(1, "THE END")
	p.leaves()
}

// Words that the agent was sent and did not read before it asked are delivered with the answer.
func TestWordsThatAQuestionCameBeforeAreNotLost(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"delay_ms":1500,"calls": [{"tool": "ask", "args": {"question": "Which one?", "options": ["sqlite", "postgres"]}}]}
{"text": "So {{last_result}}, and {{prompt}}."}`, setting{})
	p.says("choose")
	p.sees("type to steer")
	p.says("also run the linter")
	p.sees("› also run the linter", "Which one?")
	p.answers("2")
	p.sees("▌ postgres", "▌ also run the linter", "So postgres, and also run the linter.")
	p.leaves()
}

// They are shown as what waits, and can be taken back.
func TestWordsThatWaitForAnAnswerAreTakenBack(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"delay_ms":1500,"calls": [{"tool": "ask", "args": {"question": "Which one?"}}]}
{"text": "So be it."}`, setting{})
	p.says("choose")
	p.sees("type to steer")
	p.says("also run the linter")
	p.sees("› also run the linter", "Which one?")
	p.presses("up")
	p.until("the words in the input", func(string) bool { return p.last.input == "also run the linter" && p.last.pending == 0 })
	p.presses("ctrl+u")
	p.until("an empty input", func(string) bool { return p.last.input == "" })
	p.reads()
	p.says("the second")
	p.sees("▌ the second", "So be it.")
	if text := p.terminal.Text(); strings.Contains(text, "▌ also run the linter") || strings.Contains(text, "✗") {
		t.Errorf("what was taken back was delivered, or something failed:\n%s", text)
	}
	p.leaves()
}

// The question of a run below is not asked any more when the turn was interrupted: what is typed then is a
// prompt.
func TestAQuestionFromBelowEndsWithTheTurn(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"when":{"first":"look left"},"calls":[{"tool":"ask","args":{"question":"Up?","options":["yes","no"]}}]}
{"when":{"contains":"rather"},"text":"As you like."}
{"calls":[{"tool":"agent","args":{"prompt":"look left"}}]}`, setting{height: 40, width: 80})
	p.says("split it")
	p.sees("? Up?", "asked by the sub-agent")
	p.presses("esc")
	p.sees("[Conversation interrupted]", "enter: send")
	if text := p.terminal.Text(); strings.Contains(text, "? Up?") {
		t.Errorf("it is still asked:\n%s", text)
	}
	p.says("rather not")
	p.sees("▌ rather not", "As you like.")
	p.leaves()
}

// Sub-agents that ask at the same time are answered one after the other.
func TestTheNextQuestionFromBelowIsShownWhenOneWasAnswered(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"when":{"first":"look left"},"calls":[{"tool":"ask","args":{"question":"Left?","options":["near","far"]}}]}
{"when":{"first":"look right"},"calls":[{"tool":"ask","args":{"question":"Right?","options":["near","far"]}}]}
{"when":{"first":"look up"},"calls":[{"tool":"ask","args":{"question":"Up?","options":["near","far"]}}]}
{"when":{"first":"look left"},"text":"Left is {{last_result}}."}
{"when":{"first":"look right"},"text":"Right is {{last_result}}."}
{"when":{"first":"look up"},"text":"Up is {{last_result}}."}
{"calls":[{"tool":"agent","args":{"prompt":"look left"}},{"tool":"agent","args":{"prompt":"look right"}},{"tool":"agent","args":{"prompt":"look up"}}]}
{"text":"That is all."}`, setting{height: 40, width: 80})
	p.says("split it")
	p.sees("asked by the sub-agent")
	runs, err := p.ws.Runs(t.Context(), 1)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	split, err := p.ws.Attach(t.Context(), runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	p.until("three questions", func(string) bool {
		open, err := split.Questions()
		return err == nil && len(open) == 3
	})
	p.rests()
	for n := range 3 {
		p.until("another question", func(all string) bool {
			return strings.Count(all, "asked by the sub-agent") == n+1 && p.last.shown.guard != nil
		})
		p.answers("2")
	}
	p.sees("That is all.")
	p.leaves()
}

// What the person opens stands before a question, which is there again when that is closed. Before a dialog
// nothing opens: what is behind it would take keys unseen.
func TestAQuestionIsThereWhenAPickerIsClosed(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"calls":[{"tool":"write","args":{"path":"a.txt","content":"x"}}]}
{"calls":[{"tool":"ask","args":{"question":"Which one?","options":["sqlite","postgres"]}}]}
{"text":"So {{last_result}}."}`, setting{height: 40, width: 80})
	p.says("choose")
	p.sees("? Write a.txt")
	p.says("/mode")
	p.sees("answer first")
	p.answers("n")
	p.sees("Which one?")
	for command, shown := range map[string]string{"/mode": "Permission mode", "/outputs c_1": "call 1 of"} {
		p.says(command)
		p.sees(shown)
		p.presses("esc")
		p.sees("Which one?", "2  postgres")
	}
	p.answers("2")
	p.sees("So postgres.")
	p.leaves()
}

// A dialog does not hide that something else is at work, which leaving the run would cut off.
func TestARunIsNotLeftWhileSomethingWorksBesideADialog(t *testing.T) {
	t.Parallel()
	for name, right := range map[string]string{
		"a command": `{"when":{"first":"look right"},"calls":[{"tool":"shell","args":{"command":"sleep 1000"}}]}`,
		"an answer": `{"when":{"first":"look right"},"text":"word after word ","endless":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := sit(t, right+`
{"when":{"first":"write left"},"calls":[{"tool":"write","args":{"path":"left.txt","content":"left\n"}}]}
{"calls":[{"tool":"agent","args":{"prompt":"look right"}},{"tool":"agent","args":{"prompt":"write left"}}]}
{"text":"unused","repeat":true}`, setting{height: 40, width: 80})
			p.says("split it")
			p.sees("? Write left.txt", "agent look right")
			if name == "a command" {
				p.sees("Run sleep 1000")
			}
			for _, command := range []string{"/fork", "/clear", "/resume last"} {
				p.says(command)
				p.sees("interrupt it first, with esc")
				p.types("x")
				p.until("no hint", func(all string) bool { return !strings.Contains(all, "interrupt it first") })
				p.presses("backspace")
			}
			p.presses("esc")
			p.sees("interrupted: say what to do next")
			p.rests()
			p.leaves()
		})
	}
}

// A run that waits for the person is left so, which is said with how to continue it.
func TestARunThatOnlyWaitsIsLeftWaiting(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"/clear", "/fork"} {
		p := sit(t, `{"when":{"first":"write left"},"calls":[{"tool":"write","args":{"path":"left.txt","content":"left\n"}}]}
{"when":{"first":"write left"},"text":"Left it."}
{"calls":[{"tool":"agent","args":{"prompt":"write left"}}]}
{"text":"It said: {{last_result}}"}`, setting{height: 40, width: 120})
		p.says("split it")
		p.sees("? Write left.txt")
		runs, err := p.ws.Runs(t.Context(), 1)
		if err != nil || len(runs) != 1 {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
		id := string(runs[0].ID)
		p.says(command)
		p.sees(fmt.Sprintf("run %s is left waiting: /resume %s continues it", id, id))
		p.count(0, "is kept")
		p.says("/resume " + id)
		p.until("the dialog again", func(all string) bool { return strings.Count(all, "? Write left.txt") == 1 && p.last.shown.guard != nil })
		p.answers("y")
		p.sees("It said: Left it.", "completed")
		p.leaves()
	}
}

// So is one in which a sub-agent only asks.
func TestARunWhoseSubAgentAsksIsLeftWaiting(t *testing.T) {
	t.Parallel()
	p := sit(t, `{"when":{"first":"look left"},"calls":[{"tool":"ask","args":{"question":"Up?","options":["yes","no"]}}]}
{"calls":[{"tool":"agent","args":{"prompt":"look left"}}]}`, setting{height: 40, width: 120})
	p.says("split it")
	p.sees("? Up?")
	p.rests()
	p.says("/clear")
	p.sees("is left waiting: /resume ")
	p.rests()
	p.leaves()
}

// What is wrong with the model that was named is said before others are offered.
func TestWhatIsWrongWithANamedModelIsSaid(t *testing.T) {
	t.Parallel()
	p := sit(t, "", setting{vars: map[string]string{"PAWL_MODEL": "script/nothing.jsonl"}})
	p.sees("✗ ", "the script cannot be read", "Paste an API key")
	p.presses("esc")
	p.leaves()
	p = sit(t, "", setting{})
	p.sees("Paste an API key")
	p.count(0, "no model is configured")
	p.presses("esc")
	p.leaves()
}
