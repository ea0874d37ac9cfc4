package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/app"
	"pawl/cli/command"
	"pawl/internal/screen/screentest"
	"pawl/run"
)

// A sitting is a pawl in a terminal of its own, before which a person sits.
type sitting struct {
	t      *testing.T
	dir    string
	env    []string
	master *os.File
	cmd    *exec.Cmd
	ended  chan struct{}

	mu    sync.Mutex
	shown bytes.Buffer
	read  int // of shown, by see
	more  chan struct{}
}

// sit starts pawl in a new terminal, with a scripted model.
func sit(t *testing.T, replies string, env []string, args ...string) *sitting {
	t.Helper()
	top := t.TempDir()
	script, dir := filepath.Join(top, "model.jsonl"), filepath.Join(top, "w")
	if err := os.WriteFile(script, []byte(replies), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &sitting{t: t, dir: dir, more: make(chan struct{}, 1),
		env: append([]string{"HOME=" + top, "PATH=" + os.Getenv("PATH"), "PAWL_STATE_DIR=" + filepath.Join(top, "state"), "PAWL_MODEL=script/" + script,
			"XDG_RUNTIME_DIR=" + top, "LANG=C.UTF-8", "TERM=xterm", "NO_COLOR=1"}, env...)}
	s.starts(args...)
	return s
}

// starts starts pawl in a new terminal.
func (s *sitting) starts(args ...string) {
	t := s.t
	t.Helper()
	pty := screentest.NewPty(t, 80, 24)
	defer pty.Tty.Close()
	s.master = pty.Master
	s.cmd = s.command(args...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = pty.Tty, pty.Tty, pty.Tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go s.watch(pty.Master)
	go func() {
		cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
}

func (s *sitting) command(args ...string) *exec.Cmd {
	cmd := exec.Command("pawl", args...) // testscript.Main has put it into PATH
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

func (s *sitting) watch(master *os.File) {
	b := make([]byte, 4096)
	for {
		n, err := master.Read(b)
		s.mu.Lock()
		s.shown.Write(b[:n])
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
		if err != nil {
			return // EIO: pawl has ended
		}
	}
}

// see waits until the terminal shows text after what was seen before.
func (s *sitting) see(text string) {
	s.t.Helper()
	timeout := time.After(patience)
	for {
		s.mu.Lock()
		rest := s.shown.String()[s.read:]
		i := strings.Index(rest, text)
		if i >= 0 {
			s.read += i + len(text)
		}
		s.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-s.more:
		case <-timeout:
			s.t.Fatalf("the terminal never showed %q; it has after what was seen before:\n%s", text, rest)
		}
	}
}

func (s *sitting) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

func (s *sitting) typed(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// exits waits until pawl has ended, with an exit code.
func (s *sitting) exits(code int) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("pawl has not ended; the terminal has:\n%s", s.all())
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, want %d; the terminal has:\n%s", got, code, s.all())
	}
}

func (s *sitting) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

const askingModel = `{"text":"I make three files.","calls":[{"tool":"write","args":{"path":"one","content":"first line\n"}},{"tool":"write","args":{"path":"two","content":"x\n"}},{"tool":"shell","args":{"command":"touch three"}}]}
{"when":{"contains":"The person refused"},"text":"I ask.","calls":[{"tool":"ask","args":{"question":"Red or blue?","options":["red","blue"]}}]}
{"when":{"contains":"blue"},"text":"It is **blue** then."}
{"text":"Done.","repeat":true}
`

// A person allows one call, denies another with words for the agent, allows a third for
// always, and answers a question; the run continues after each.
func TestAPersonIsAskedAtTheTerminal(t *testing.T) {
	t.Parallel()
	s := sit(t, askingModel, nil, "run", "-p", "make files")
	s.see("I make three files.")
	s.see("? Write one  (2 more)")
	s.see("no rule covers write one")
	s.see("+first line")
	s.see("Allow this time")
	s.see("Always allow  write(one) in this folder")
	s.see("y, n, a, w, v or d: ")
	if s.exists("one") {
		t.Error("the file was written before the answer")
	}
	for _, words := range []string{"maybe", "yes, but use b.txt", "no wait", "actually...", "always do X", "wait a moment", "never mind", "y n", "n use another name", "", "y\nand more"} {
		s.typed(words + "\n")
		s.see("nothing was decided")
		s.see("y, n, a, w, v or d: ")
	}
	if s.exists("one") {
		t.Error("words that are no answer have allowed the call")
	}
	if words := "waiting for the model"; strings.Contains(s.all()[strings.Index(s.all(), "y, n, a, w, v or d: "):], words) {
		t.Errorf("after a line that has decided nothing it says %q", words)
	}
	s.typed("y\n")
	s.see("Write two")
	s.see("y, n, a, w, v or d: ")
	s.typed("n\n")
	s.see("Run this command?")
	s.see("touch three")
	s.see("y, n, a, w, v or d: ")
	s.typed("a\n")
	s.see("Always allow:")
	s.see("shell(touch *)")
	s.see("2  everywhere")
	s.see("a number stores it, enter goes back: ")
	for _, words := range []string{"also two", "y", "yes", "s", "a", "1y", "4", "1 more thing", "", "1\nand more"} {
		s.typed(words + "\n")
		s.see("nothing was stored")
		s.see("y, n, a, w, v or d: ")
		s.typed("a\n")
		s.see("enter goes back: ")
	}
	s.typed("2\n")
	s.see("Red or blue?")
	s.see("2  blue")
	s.see("or your own words): ")
	s.typed("2\n")
	s.see("It is **blue** then.")
	s.see("completed")
	s.see("2 files changed")
	s.exits(command.ExitDone)
	for name, want := range map[string]bool{"one": true, "two": false, "three": true} {
		if got := s.exists(name); got != want {
			t.Errorf("file %s exists: %t, want %t", name, got, want)
		}
	}
	rules, err := s.command("permissions", "list").CombinedOutput()
	if err != nil || !strings.Contains(string(rules), "touch") || strings.Contains(string(rules), "write(one)") {
		t.Errorf("the rules are %s, %v; want one for touch alone", rules, err)
	}
}

const bookingModel = `{"calls":[{"tool":"mcp__hotel__book","args":{}}]}
{"when":{"contains":"accept {\"name\":\"Ada\",\"nights\":3,\"room\":\"double\"}"},"text":"It is booked."}
{"text":"It is not booked.","repeat":true}
`

// What a server needs to know is asked while its call runs, a field at a time. Of a run below it is asked too.
func TestTheQuestionsOfAServerAreAskedAtTheTerminal(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]string{"its own": bookingModel, "of a run below": `{"when":{"first":"book it"},"calls":[{"tool":"agent","args":{"prompt":"go below"}}]}
{"when":{"first":"book it"},"text":"It is booked below."}
` + bookingModel} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sit(t, model, nil, "mcp", "add", "hotel", "--no-sandbox", "--", "hotel-server")
			s.exits(command.ExitDone)
			s.starts("run", "-p", "book it", "--allow", "mcp__hotel__*")
			s.see("The server hotel asks: Who comes?")
			s.see("1 of 3: Your name")
			s.see("answer: ")
			s.typed("Ada\n")
			s.see("2 of 3: nights")
			s.see("answer: ")
			s.typed("0\n")
			s.see("That does not fit")
			s.see("answer: ")
			s.typed("3\n")
			s.see("3 of 3: room")
			s.see("2  double")
			s.see("or your own words): ")
			s.typed("2\n")
			s.see("It is booked")
			s.see("completed")
			s.exits(command.ExitDone)
			log, err := s.command("runs", "show", "last").CombinedOutput()
			if err != nil || name == "its own" && !strings.Contains(string(log), "asks: The server hotel asks") {
				t.Errorf("the run is shown as %s, %v", log, err)
			}
		})
	}
}

// What a command says of itself cannot take the place of what the dialog says.
func TestALongCommandHidesNothingOfTheDialog(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("echo module\\n", 30) + "  y  Allow this time\\ntouch end"
	s := sit(t, `{"text":"I build.","calls":[{"tool":"shell","args":{"command":"`+line+`","sandbox":"none"}}]}
{"text":"Done."}
`, nil, "run", "-p", "build")
	s.see("? Run this command?")
	s.see("runs outside the sandbox")
	s.see("    touch end")
	s.see("runs outside the sandbox, with your own authority")
	s.see("n  No, not this time")
	s.see("v  Never allow  shell('echo module\\necho")
	s.see("module…")
	s.see("y, n, a, w, v or d: ")
	s.typed("v\n")
	s.see("Never allow:")
	s.see("\\ntouch end')")
	s.see("enter goes back: ")
	s.typed("1\n")
	s.see("Done.")
	s.exits(command.ExitDone)
}

// What was typed before a question does not answer it, nor does a line that was begun before.
func TestWhatWasTypedBeforeAPromptIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := sit(t, askingModel, nil, "run", "-p", "make files")
	s.typed("y\nwh")
	s.see("Write one")
	s.see("not taken, because it was typed before this was asked: y")
	s.see("y, n, a, w, v or d: ")
	s.typed("y\n")
	s.see("not taken, because it was typed before this was asked: why")
	s.see("y, n, a, w, v or d: ")
	if s.exists("one") {
		t.Error("it was an answer")
	}
	s.typed("\x03")
	s.exits(command.ExitInterrupted)
}

// With wait everything stops at once - also what runs beside the call - and the next turn begins with the
// person's words.
func TestWaitStopsTheTurnAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := sit(t, `{"when":{"contains":"rather not"},"text":"As you like.","repeat":true}
{"text":"I write.","calls":[{"tool":"write","args":{"path":"one","content":"x\n"}},{"tool":"shell","args":{"command":"sleep 1000; touch late"}}],"repeat":true}
`, nil, "run", "-p", "go", "--allow", "shell(sleep *)", "--allow", "shell(touch *)")
	s.see("Write one")
	s.see("y, n, a, w, v or d: ")
	s.typed("w\n")
	s.see("what should it do instead? ")
	log, err := s.command("runs", "log", "last").CombinedOutput()
	if err != nil || !strings.Contains(string(log), "interrupted") || !strings.Contains(string(log), "turn_ended") {
		t.Errorf("the turn has not ended when the words are asked for: %v\n%s", err, log)
	}
	s.typed("rather not\n")
	s.see("As you like.")
	s.exits(command.ExitDone)
	if s.exists("one") || s.exists("late") {
		t.Error("something ran")
	}
}

// Without words the turn stays stopped, and what is printed next has a place for them.
func TestWaitWithoutWordsSaysHowToSayThemLater(t *testing.T) {
	t.Parallel()
	s := sit(t, `{"text":"I write.","calls":[{"tool":"write","args":{"path":"one","content":"x\n"}},{"tool":"write","args":{"path":"two","content":"x\n"}}],"repeat":true}
`, nil, "run", "-p", "go")
	s.see("y, n, a, w, v or d: ")
	s.typed("w\n")
	s.see("what should it do instead? ")
	s.typed("\n")
	s.see("say what to do instead with `pawl run --resume")
	s.see(`-p "…"`)
	s.exits(command.ExitInterrupted)
	if strings.Contains(s.all(), "--allow") || s.exists("one") || s.exists("two") {
		t.Errorf("it advises to allow the call, or a file was written:\n%s", s.all())
	}
}

// Ctrl-C at the prompt interrupts the turn.
func TestCtrlCAtThePromptInterrupts(t *testing.T) {
	t.Parallel()
	s := sit(t, askingModel, nil, "run", "-p", "make files")
	s.see("y, n, a, w, v or d: ")
	s.typed("\x03")
	s.see("interrupted")
	s.exits(command.ExitInterrupted)
	if s.exists("one") {
		t.Error("the file was written")
	}
}

// Ctrl-D leaves the call waiting, and the question open.
func TestCtrlDLeavesItOpen(t *testing.T) {
	t.Parallel()
	s := sit(t, askingModel, nil, "run", "-p", "make files")
	s.see("y, n, a, w, v or d: ")
	s.typed("\x04")
	s.see("approval required: write one")
	s.see("runs decide")
	s.exits(command.ExitPerson)
}

func TestTrustIsAskedForWhatWasShown(t *testing.T) {
	t.Parallel()
	s := sit(t, "", nil, "version")
	s.exits(command.ExitDone)
	if err := os.Mkdir(filepath.Join(s.dir, ".pawl"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, ".pawl/config.toml"), []byte("max_steps = 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.starts("trust")
	s.see("max_steps = 5")
	s.see("[y/N] ")
	s.typed("y\n")
	s.see("trusted: 1 file")
	s.exits(command.ExitDone)
}

// What is being typed when the question goes away is read to its end, so that the shell does not run the rest.
func TestALineThatWasBegunAtAPromptIsNotLeftForTheShell(t *testing.T) {
	t.Parallel()
	s := sit(t, `{"when":{"contains":"go"},"calls":[{"tool":"write","args":{"path":"one","content":"x\n"}}]}
{"text":"Written.","repeat":true}
`, nil, "run", "-p", "go")
	s.see("y, n, a, w, v or d: ")
	s.typed("always ")
	if out, err := s.command("runs", "decide", "last", "allow").CombinedOutput(); err != nil {
		t.Fatalf("decide: %v\n%s", err, out)
	}
	s.see("Written.")
	s.see("nothing is asked any more: what you type is not sent")
	s.typed("use tabs\n")
	s.see("not taken: always use tabs")
	s.exits(command.ExitDone)
}

// Lines that are typed after the last prompt, while the agent works, are named: nothing takes them, and the shell does
// not get them either.
func TestLinesThatNothingTakesAreNamed(t *testing.T) {
	t.Parallel()
	s := sit(t, `{"calls":[{"tool":"write","args":{"path":"one","content":"x\n"}}]}
{"calls":[{"tool":"shell","args":{"command":"cat gate"}}]}
{"text":"Written.","repeat":true}
`, nil, "run", "-p", "go", "--allow", "shell(cat *)")
	gate := filepath.Join(s.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	s.see("y, n, a, w, v or d: ")
	s.typed("y\n")
	s.see("cat gate")
	for i := range 20 {
		s.typed(fmt.Sprintf("line %d of many\n", i))
	}
	s.see("line 19 of many")
	if err := os.WriteFile(gate, []byte("open"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.see("Written.")
	for i := range 20 {
		s.see(fmt.Sprintf("not taken: line %d of many", i))
	}
	s.exits(command.ExitDone)
}

// An answer from another process takes the prompt away, and is named.
func TestAnAnswerFromElsewhereTakesThePromptAway(t *testing.T) {
	t.Parallel()
	s := sit(t, `{"when":{"contains":"go"},"calls":[{"tool":"write","args":{"path":"one","content":"x\n"}}]}
{"text":"Written.","repeat":true}
`, nil, "run", "-p", "go")
	s.see("y, n, a, w, v or d: ")
	if out, err := s.command("runs", "decide", "last", "allow").CombinedOutput(); err != nil {
		t.Fatalf("decide: %v\n%s", err, out)
	}
	s.see("answered elsewhere: allowed by ")
	s.see("Written.")
	s.exits(command.ExitDone)
	if !s.exists("one") {
		t.Error("the file was not written")
	}
}

// Where it is set what happens to such calls, no one is asked.
func TestNoOneIsAskedWhereOnAskIsSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ env, flag string }{{flag: "--on-ask=deny"}, {env: "PAWL_ON_ASK=deny"}} {
		args := []string{"run", "-p", "make files"}
		if c.flag != "" {
			args = append(args, c.flag)
		}
		s := sit(t, `{"when":{"contains":"make"},"calls":[{"tool":"write","args":{"path":"one","content":"x\n"}}]}
{"text":"It was refused.","repeat":true}
`, []string{c.env}, args...)
		s.see("It was refused.")
		s.see("1 call refused:")
		s.see("--allow 'write(one)'")
		s.exits(command.ExitDone)
		if strings.Contains(s.all(), "y, n, a") {
			t.Errorf("%s%s: a person was asked:\n%s", c.env, c.flag, s.all())
		}
	}
}

// A terminal that can only print, or that TERM does not name, gets plain lines, and is asked all the same.
func TestADumbTerminalGetsPlainLines(t *testing.T) {
	t.Parallel()
	for _, term := range []string{"TERM=dumb", "TERM="} {
		t.Run(term, func(t *testing.T) {
			t.Parallel()
			s := sit(t, askingModel, []string{term}, "run", "-p", "make files")
			s.see("y, n, a, w, v or d: ")
			s.typed("y\n")
			s.see("write one · ok")
			s.see("y, n, a, w, v or d: ")
			s.typed("\x03")
			s.exits(command.ExitInterrupted)
			if strings.Contains(s.all(), "\x1b") {
				t.Errorf("a control sequence was sent:\n%q", s.all())
			}
		})
	}
}

// A second Ctrl-C leaves at once, and takes the live part away.
func TestASecondCtrlCLeavesNoLivePart(t *testing.T) {
	t.Parallel()
	s := sit(t, `{"text":"I begin","hang":true,"repeat":true}
`, nil, "run", "-p", "go")
	s.see("I begin")
	s.typed("\x03")
	s.see("interrupted")
	s.typed("\x03")
	<-s.ended
	m := screentest.New(t, 80, 24)
	fmt.Fprint(m, s.all())
	if text := m.Text(); strings.Contains(text, "ctrl+c interrupts") {
		t.Errorf("the terminal has\n%s", text)
	}
}

// TestATaskAsksAtTheTerminal: the planner's questions, a call that needs approval, and a
// question of the worker, each where the person sits.
func TestATaskAsksAtTheTerminal(t *testing.T) {
	t.Parallel()
	s := sit(t, `
{"when":{"first":"Plan this task","contains":"Hidden ones?\nYes"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"],"assignedAgent":"developer"}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Hidden ones?"]}}]}
{"when":{"first":"Carry out this task"},"text":"I count.","calls":[{"tool":"shell","args":{"command":"touch counted"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"ask","args":{"question":"Links too?","options":["No links","All of them"]}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three."}}]}
`, nil, "task", "add", "Count the files")
	s.see("t-")
	s.exits(0)
	s.starts("task", "plan", "last")
	s.see("1 of 1: Hidden ones?")
	s.see("answer: ")
	s.typed("\n")
	s.see("type an answer")
	s.see("answer: ")
	s.typed("Yes\n")
	s.see("answered by")
	s.see("Count.")
	s.exits(0)
	s.starts("task", "start", "last")
	s.see("I count.")
	s.see("touch counted")
	s.see("Allow this time")
	s.see("y, n, a, w, v or d: ")
	s.typed("y\n")
	s.see("Links too?")
	s.see("All of them")
	s.see("answer (a number, or your own words): ")
	s.typed("2\n")
	s.see("Three.")
	s.exits(0)
	if !s.exists("counted") {
		t.Error("the call that was allowed did not run")
	}
	s.starts("task", "show", "last", "--history")
	s.see("permission_decided")
	s.see("completion_report_submitted")
	s.exits(0)
}

// When a task is answered from another terminal, which has no model, the process that attends to the task
// continues it. What was typed at its prompt does not reach the shell afterwards.
func TestATaskThatIsAnsweredElsewhereGoesOnWhereAPersonSits(t *testing.T) {
	t.Parallel()
	s := sit(t, `
{"when":{"first":"Plan this task","contains":"Hidden ones?\nYes"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"]}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Hidden ones?"]}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three."}}]}
`, nil, "task", "add", "Count the files", "--start")
	s.see("answer: ")
	s.typed("half of an ans")
	answer := s.command("task", "answer", "last", "Yes")
	answer.Env = slices.DeleteFunc(slices.Clone(answer.Env), func(v string) bool { return strings.HasPrefix(v, "PAWL_MODEL=") })
	out, err := answer.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Three.") || strings.Contains(string(out), "failed") {
		t.Errorf("answer: %v\n%s", err, out)
	}
	s.see("answered elsewhere")
	s.see("Three.")
	s.exits(0)
}

// If no process attends to the task, a command that has no model stores the answer and does not fail the task.
func TestATaskIsNotFailedByACommandWithoutAModel(t *testing.T) {
	t.Parallel()
	s := sit(t, `
{"when":{"first":"Plan this task","contains":"Hidden ones?\nYes"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"]}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Hidden ones?"]}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three."}}]}
`, nil, "task", "add", "Count the files", "--start")
	s.see("answer: ")
	s.typed("\x04")
	s.exits(command.ExitPerson)
	answer := s.command("task", "answer", "last", "Yes")
	answer.Env = slices.DeleteFunc(slices.Clone(answer.Env), func(v string) bool { return strings.HasPrefix(v, "PAWL_MODEL=") })
	out, err := answer.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "pawl: no model is configured") || strings.Contains(string(out), "failed") {
		t.Errorf("answer: %v\n%s", err, out)
	}
	s.starts("task", "watch", "last")
	s.see("Three.")
	s.exits(0)
}

// What was answered at the terminal is not told there again - it would stand behind the next prompt -
// and a call that stopped the turn is told as that.
func TestAnAnswerAtTheTerminalIsNotToldAgain(t *testing.T) {
	t.Parallel()
	s := sit(t, `
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"]}}]}
{"when":{"first":"Carry out this task","contains":"use ls"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three."}}]}
{"when":{"first":"Carry out this task","contains":"The person refused"},"calls":[{"tool":"shell","args":{"command":"touch two"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"touch one"}}]}
`, nil, "task", "add", "Count the files")
	s.exits(0)
	s.starts("task", "plan", "last")
	s.exits(0)
	s.starts("task", "start", "last")
	s.see("touch one")
	s.see("y, n, a, w, v or d: ")
	s.typed("n\n")
	s.see("touch two")
	s.see("y, n, a, w, v or d: ")
	s.typed("w\n")
	s.see("what should it do instead? ")
	s.typed("use ls\n")
	s.see("Three.")
	s.exits(0)
	text := s.all()
	for _, want := range []string{"shell touch one · refused: denied by a person", "shell touch two · refused: the turn was stopped to say what to do instead", "interrupted by "} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	for _, no := range []string{": deny by", "[Request interrupted", "interrupted: wait"} {
		if strings.Contains(text, no) {
			t.Errorf("it says %q:\n%s", no, text)
		}
	}
}

// Where all tasks are watched, each line says of which task it is, a call is shown once, and a task
// that needs a person says how to continue it.
func TestWatchingAllTasksSaysWhatTheyNeed(t *testing.T) {
	t.Parallel()
	s := sit(t, `
{"when":{"first":"Plan this task","contains":"Hidden ones?\nYes"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"]}}]}
{"when":{"first":"Plan this task"},"text":"I look.","calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Hidden ones?"]}}]}
`, nil, "task", "add", "Count the files")
	s.exits(0)
	s.starts("task", "plan", "last", "--detach")
	s.exits(0)
	s.starts("task", "watch")
	s.see("  1. Hidden ones?")
	s.see("  next: pawl task answer t-")
	if out, err := s.command("task", "answer", "last", "Yes", "--detach").CombinedOutput(); err != nil {
		t.Fatalf("answer: %v\n%s", err, out)
	}
	s.see("  next: pawl task start t-")
	s.typed("\x03")
	s.exits(command.ExitInterrupted)
	text := s.all()
	if n := strings.Count(text, "planner-output · ok"); n != 2 {
		t.Errorf("two calls are shown %d times:\n%s", n, text)
	}
	if !strings.Contains(text, "  | I look.") {
		t.Errorf("what the agent says has no task:\n%s", text)
	}
}

// A task that another process drives is watched with its calls, and with what it waits for: nothing is
// asked here.
func TestATaskThatIsDrivenElsewhereIsWatched(t *testing.T) {
	t.Parallel()
	s := sit(t, `
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"]}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"list","args":{}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"touch one"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three."}}]}
`, nil, "task", "add", "Count the files")
	s.exits(0)
	s.starts("task", "plan", "last")
	s.exits(0)
	driver := s.command("task", "start", "last")
	told, err := driver.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(told); lines.Scan(); {
		if strings.Contains(lines.Text(), "answer with: pawl runs decide") {
			break
		}
	}
	s.starts("task", "watch", "last")
	s.see("  list · ok")
	s.see("needs approval: shell touch one")
	if out, err := s.command("runs", "decide", "last", "allow").CombinedOutput(); err != nil {
		t.Fatalf("decide: %v\n%s", err, out)
	}
	s.see("  shell touch one · ok")
	s.see("Three.")
	s.exits(0)
	_, _ = io.Copy(io.Discard, told)
	if err := driver.Wait(); err != nil {
		t.Errorf("the driver: %v", err)
	}
}

func TestATaskWithoutWordsSaysWhatToType(t *testing.T) {
	t.Parallel()
	s := sit(t, "", nil, "task", "add")
	s.see("the text of the task is missing: pawl task add")
	s.exits(2)
}

// What the run of a sub-agent needs a person for is asked where its parent is driven, of a task too.
func TestWhatASubAgentNeedsIsAskedAtTheTerminal(t *testing.T) {
	t.Parallel()
	child := `
{"when":{"first":"write left"},"calls":[{"tool":"write","args":{"path":"left.txt","content":"left\n"}}]}
{"when":{"first":"write left"},"calls":[{"tool":"shell","args":{"command":"touch right"}}]}
{"when":{"first":"write left"},"calls":[{"tool":"ask","args":{"question":"And up?","options":["yes, up","no, not up"]}}]}
{"when":{"first":"write left"},"text":"Written, {{last_result}}."}
`
	s := sit(t, child+`{"calls":[{"tool":"agent","args":{"prompt":"write left"}}]}
{"text":"It said: {{last_result}}"}`, nil, "run", "-p", "split it")
	s.see("? Write left.txt")
	s.see("asked by the sub-agent agent_1_")
	s.see("y, n, a, w, v or d: ")
	s.typed("y\n")
	s.see("touch right")
	s.see("y, n, a, w, v or d: ")
	why, err := s.command("runs", "why", "last").CombinedOutput()
	if err != nil || !strings.Contains(string(why), "may this run? shell touch right") || !strings.Contains(string(why), "decide with `pawl runs decide") {
		t.Errorf("why it waits: %v\n%s", err, why)
	}
	if list, err := s.command("runs", "list").CombinedOutput(); err != nil || !strings.Contains(string(list), "waiting") {
		t.Errorf("what it does: %v\n%s", err, list)
	}
	if decided, err := s.command("runs", "decide", "last", "no").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, decided)
	}
	s.see("answered elsewhere")
	s.see("And up?")
	s.see("asked by the sub-agent agent_1_")
	s.see("or your own words): ")
	s.typed("2\n")
	s.see("It said: Written, no, not up")
	s.exits(command.ExitDone)
	if !s.exists("left.txt") || s.exists("right") {
		t.Errorf("left.txt exists: %t, right: %t", s.exists("left.txt"), s.exists("right"))
	}

	s = sit(t, `{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Write.","requirements":[],"acceptanceCriteria":[],"plan":["write"],"assignedAgent":"developer"}}]}`+child+`
{"when":{"first":"Carry out this task"},"calls":[{"tool":"agent","args":{"prompt":"write left"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"{{last_result}}"}}]}
`, nil, "task", "add", "Write it", "--start")
	s.see("? Write left.txt")
	s.see("asked by the sub-agent agent_1_")
	s.see("y, n, a, w, v or d: ")
	s.typed("y\n")
	s.see("touch right")
	s.see("y, n, a, w, v or d: ")
	s.typed("n\n")
	s.see("The child run asks: And up?")
	s.exits(command.ExitDone)
	if !s.exists("left.txt") || s.exists("right") {
		t.Errorf("left.txt exists: %t, right: %t", s.exists("left.txt"), s.exists("right"))
	}
}

// A sub-agent's question that is answered with a command, which then drives the sub-agent until it asks again, does
// not end the run that asks at the terminal: the next question is asked there.
func TestTheNextQuestionOfASubAgentIsAskedAfterOneWasAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	s := sit(t, `
{"when":{"first":"look around","contains":"go left"},"calls":[{"tool":"ask","args":{"question":"Right?"}}]}
{"when":{"first":"look around","contains":"go right"},"calls":[{"tool":"shell","args":{"command":"touch up; printf is; echo up"}}]}
{"when":{"first":"look around","contains":"isup"},"calls":[{"tool":"shell","args":{"command":"touch down"}}]}
{"when":{"first":"look around","contains":"refused"},"text":"Seen."}
{"when":{"first":"look around"},"calls":[{"tool":"ask","args":{"question":"Left?"}}]}
{"calls":[{"tool":"agent","args":{"prompt":"look around"}}]}
{"text":"It said: {{last_result}}"}`, nil, "run", "-p", "split it")
	s.see("? Left?")
	s.see("  answer: ")
	why, err := s.command("runs", "why", "last", "--json").Output()
	_, id, _ := bytes.Cut(why, []byte(`"run":`))
	if id, _, _ = bytes.Cut(bytes.TrimLeft(id, ` "`), []byte(`"`)); err != nil || len(id) == 0 {
		t.Fatalf("why: %v\n%s", err, why)
	}
	child := strings.TrimSuffix(string(id), "-c1") + "-c1"
	elsewhere := func(args ...string) {
		t.Helper()
		cmd := s.command(append([]string{"run", "--resume", child}, args...)...)
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != command.ExitPerson {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	elsewhere("go left")
	s.see("answered elsewhere")
	s.see("? Right?")
	s.see("  answer: ")
	s.typed("go right\n")
	s.see("touch up")
	s.see("y, n, a, w, v or d: ")
	elsewhere("--on-ask", "wait", "--allow", "shell(touch up)")
	s.see("answered elsewhere")
	s.see("touch down")
	s.see("y, n, a, w, v or d: ")
	s.typed("n\n")
	s.see("It said: Seen.")
	s.exits(command.ExitDone)
}

// A letter that was typed before a prompt appeared does not answer it, even if Enter is pressed later.
func TestALetterFromBeforeAPromptIsNotAnsweredWithEnter(t *testing.T) {
	t.Parallel()
	s := sit(t, `{"calls":[{"tool":"write","args":{"path":"one","content":"x\n"}},{"tool":"write","args":{"path":"two","content":"x\n"}}]}
{"calls":[{"tool":"ask","args":{"question":"Red or blue?","options":["red","blue"]}}]}
{"text":"It is {{last_result}} then."}
`, nil, "run", "-p", "make files")
	s.typed("y")
	s.see("Write one")
	s.see("not taken, because it was typed before this was asked: y")
	s.see("y, n, a, w, v or d: ")
	s.typed("\n")
	s.see("not taken, because it was typed before this was asked: y")
	s.see("y, n, a, w, v or d: ")
	s.typed("y\ny")
	s.see("Write two")
	s.see("not taken, because it was typed before this was asked: y")
	s.see("y, n, a, w, v or d: ")
	s.typed("\n")
	s.see("y, n, a, w, v or d: ")
	if s.exists("two") {
		t.Error("what was typed for the call before has answered the next one")
	}
	s.typed("n\n2")
	s.see("Red or blue?")
	s.see("or your own words): ")
	s.typed("\n")
	s.see("or your own words): ")
	s.typed("1\n")
	s.see("It is red then.")
	s.exits(command.ExitDone)
}

// The prompt for a question ends when it is answered elsewhere: what is typed after that is not taken as an
// answer, and the command keeps following the task.
func TestAQuestionOfATaskThatIsAnsweredElsewhereIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := sit(t, `
{"when":{"first":"Plan this task","contains":"Links too?"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"]}}]}
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Hidden ones?","Links too?"]}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"ask","args":{"question":"Really all?","options":["No","Yes"]}}]}
`, nil, "task", "add", "Count the files")
	s.exits(0)
	elsewhere := func(args ...string) {
		t.Helper()
		if out, err := s.command(append([]string{"task"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	s.starts("task", "plan", "last")
	s.see("1 of 2: Hidden ones?")
	s.see("answer: ")
	s.typed("No\n")
	s.see("2 of 2: Links too?")
	s.see("answer: ")
	elsewhere("answer", "last", "Yes", "No", "--detach")
	s.see("\n  answered elsewhere")
	s.see("answered by")
	s.see("Count.")
	s.exits(0)
	s.starts("task", "start", "last")
	s.see("answer (a number, or your own words): ")
	elsewhere("fail", "last")
	s.see("not asked any more: the task was changed elsewhere")
	s.see("waiting → failed")
	s.exits(1)
}

// What happens while a prompt is open is printed after the prompt has ended, not into its line.
func TestNothingIsPrintedIntoThePromptOfATask(t *testing.T) {
	t.Parallel()
	s := sit(t, `
{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"plan","summary":"Count.","requirements":[],"acceptanceCriteria":[],"plan":["count"]}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"touch one"}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Three."}}]}
`, nil, "task", "add", "Count the files")
	s.exits(0)
	s.starts("task", "plan", "last")
	s.exits(0)
	s.starts("task", "start", "last")
	s.see("y, n, a, w, v or d: ")
	if out, err := s.command("task", "say", "last", "be quick").CombinedOutput(); err != nil {
		t.Fatalf("say: %v\n%s", err, out)
	}
	time.Sleep(500 * time.Millisecond) // a line that is printed wrongly comes in this time
	s.typed("y\n")
	s.see("says: be quick")
	s.see("Three.")
	s.exits(0)
	if text := s.all(); !strings.Contains(text, "y, n, a, w, v or d: y\r\n") {
		t.Errorf("something stands in the line of the prompt:\n%s", text)
	}
}

// The same holds for the question of a run.
func TestAQuestionOfARunThatIsAnsweredElsewhereIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := sit(t, `{"when":{"contains":"go"},"calls":[{"tool":"ask","args":{"question":"Red or blue?","options":["red","blue"]}}]}
{"when":{"contains":"blue"},"text":"It is blue then."}
`, nil, "run", "-p", "go")
	s.see("or your own words): ")
	ws, err := app.Open(app.Options{Dir: s.dir, Env: func(name string) (string, bool) {
		for _, v := range s.env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	sum, err := ws.Find(t.Context(), "last")
	if err == nil {
		_, err = ws.Say(t.Context(), sum.ID, run.Steer, "", run.Text("blue"))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.see("answered elsewhere")
	s.see("It is blue then.")
	s.exits(command.ExitDone)
}
