//go:build linux || darwin

package tui_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl/app"
	"pawl/cli"
	"pawl/cli/command"
	_ "pawl/internal/helper"
	"pawl/render"
	"pawl/tui"
)

// asProgram is set for a process of this test that is to be pawl ("pawl"), or a terminal
// agent in which an effect panics ("panic").
const asProgram = "PAWL_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "pawl":
		os.Exit(cli.Main(os.Args[1:], command.System()))
	case "panic":
		if err := panics(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// panics shows a terminal agent whose command /doctor panics.
func panics() error {
	ws, err := app.Open(app.Options{Dir: ".", Env: os.LookupEnv, Drives: true})
	if err != nil {
		return err
	}
	defer ws.Close() // nothing is recorded
	_, err = tui.Run(context.Background(), ws, tui.Options{Dir: ws.Dir, Style: render.Style{}, Getenv: os.Getenv,
		CommandLine: func(context.Context, int, ...string) (string, int) { panic("a mistake in an effect") }}, os.Stdin, os.Stdout, nil)
	return err
}

// A window is pawl in tmux, a real terminal.
type window struct {
	*testing.T
	socket, dir, home string
	env               []string
}

// open starts pawl in tmux, with a script of the model.
func open(t *testing.T, script string, width, height int, env ...string) *window {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("this test needs tmux")
	}
	w := prepare(t, script, env...)
	config := filepath.Join(w.home, "tmux.conf")
	options := "set -g status off\nset -g history-limit 100000\nset -s escape-time 0\nset -g default-terminal tmux-256color\n"
	if err := os.WriteFile(config, []byte(options), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-u", "-S", w.socket, "-f", config, "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-c", w.dir}
	cmd := exec.Command("tmux", append(args, w.shell()...)...)
	cmd.Env = w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("this test needs a tmux that starts: %v\n%s", err, out)
	}
	t.Cleanup(func() { exec.Command("tmux", "-S", w.socket, "kill-server").Run() }) // it may have ended
	return w
}

// shell returns a command that runs pawl, says with which code it has ended, and how the terminal
// is then.
func (w *window) shell(args ...string) []string {
	return append([]string{"sh", filepath.Join(w.home, "shell"), filepath.Join(w.home, "pid"), os.Args[0]}, args...)
}

// prepare makes the folders and the environment of a pawl.
func prepare(t *testing.T, script string, env ...string) *window {
	t.Helper()
	short, err := os.MkdirTemp("", "pawl") // paths of sockets are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	w := &window{T: t, socket: filepath.Join(short, "tmux"), dir: t.TempDir(), home: t.TempDir()}
	path := filepath.Join(w.home, "script.jsonl")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := `pid=$1; shift; sh -c 'echo $$ > "$0"; exec "$@"' "$pid" "$@"` + "\necho code $?.\nstty -a\necho ready\nexec cat -v\n"
	if err := os.WriteFile(filepath.Join(w.home, "shell"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = append([]string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.Getenv("TMPDIR"), "LC_ALL=C.UTF-8", "SHELL=/bin/sh",
		"XDG_RUNTIME_DIR=" + short, "PAWL_MODEL=script/" + path, asProgram + "=pawl"}, env...)
	return w
}

func (w *window) tmux(args ...string) string {
	w.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", w.socket}, args...)...).CombinedOutput()
	if err != nil {
		w.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// text returns what is on the screen and what has scrolled off. Lines that tmux has broken are
// one line.
func (w *window) text() string { return w.tmux("capture-pane", "-p", "-J", "-S", "-") }

// format returns what tmux knows of the window.
func (w *window) format(name string) string {
	return strings.TrimSpace(w.tmux("display-message", "-p", "#{"+name+"}"))
}

// patience is how long a test waits for what must come.
var patience = tui.Patience

// until looks at the window until a condition holds. It leaves the processor to others between
// two looks: each starts a process.
func (w *window) until(what string, holds func() bool) {
	w.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-look.C:
		case <-deadline:
			w.Fatalf("there is no %s:\n%s", what, w.text())
		}
	}
}

// sees waits until all texts are on the screen or have scrolled off.
func (w *window) sees(texts ...string) {
	w.Helper()
	for _, text := range texts {
		w.until(fmt.Sprintf("%q", text), func() bool { return strings.Contains(w.text(), text) })
	}
}

// rests waits until the input waits for the person.
func (w *window) rests() {
	w.Helper()
	w.until("agent at rest", func() bool {
		screen := w.tmux("capture-pane", "-p")
		return strings.Contains(screen, "enter: send") && !strings.Contains(screen, "esc: interrupt")
	})
}

func (w *window) presses(keys ...string) {
	w.Helper()
	w.tmux(append([]string{"send-keys"}, keys...)...)
}

func (w *window) says(text string) {
	w.Helper()
	w.tmux("send-keys", "-l", text)
	w.sees(text)
	w.presses("Enter")
}

// begins waits until a command prints a text, and allows it if it needs that.
func (w *window) begins(text string) {
	w.Helper()
	asked := false
	w.until("command that prints "+text, func() bool {
		all := w.text()
		if !asked && strings.Contains(all, "press a key, then enter, to answer") {
			asked = true
			w.presses("y")
			w.sees("enter: allow")
			w.presses("Enter")
		}
		return strings.Contains(all, "│ "+text)
	})
}

// drags changes the size in steps, as one who drags the edge of a window: the last follows when pawl has
// noticed one before. (At rest one step to a narrower window, while the frame of a key is on its way, can
// leave rows of it: see package screen.) That it has noticed is seen for a moment only, which this test can
// miss on a busy machine: then it drags on.
func (w *window) drags(width, height int) {
	w.Helper()
	before, err := strconv.Atoi(w.format("window_width"))
	if err != nil {
		w.Fatal(err)
	}
	looks, step := 0, 0
	w.until("cursor at the first row of the frame", func() bool {
		if looks%100 == 0 {
			step++
			w.tmux("resize-window", "-x", fmt.Sprint(before+step))
		}
		looks++
		return w.format("cursor_x") == "0"
	})
	w.tmux("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
}

var endLines = regexp.MustCompile(`(?s)code (\d+)\.\s.*\bspeed\b.*\bready\b`)

// ended waits until pawl has ended with an exit code.
func (w *window) ended(code int) {
	w.Helper()
	// One after the other: what pawl has written, such as a panic, can have these words too.
	w.until("end of pawl", func() bool { return endLines.MatchString(w.text()) })
	if got := endLines.FindStringSubmatch(w.text())[1]; got != strconv.Itoa(code) {
		w.Errorf("it has ended with %s, want %d:\n%s", got, code, w.text())
	}
}

// leaves leaves pawl by its key.
func (w *window) leaves() {
	w.Helper()
	w.presses("C-u", "C-d")
	w.ended(0)
}

// once reports texts that are not on the terminal exactly once.
func (w *window) once(texts ...string) {
	w.Helper()
	all := strings.Join(strings.Fields(w.text()), " ")
	for _, text := range texts {
		if n := strings.Count(all, text); n != 1 {
			w.Errorf("%q is there %d times:\n%s", text, n, w.text())
		}
	}
}

func TestInTmuxFinishedTextStandsOnceWhateverTheSizes(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	fmt.Fprintf(&script, `{"text": "%sFilled."}`+"\n", strings.Repeat("a line\\n\\n", 40))
	for i := range 20 {
		fmt.Fprintf(&script, `{"delay_ms": 60, "text": "Step %02d is a line that is long enough to be broken on a narrow terminal, 世界.", "calls": [{"tool": "glob", "args": {"pattern": "*.%02d"}}]}`+"\n", i, i)
	}
	script.WriteString(`{"text": "word after word ", "endless": true}` + "\n")
	w := open(t, script.String(), 80, 24)
	w.sees("enter: send")
	w.says("fill") // with blank rows below, tmux 3.3 scrolls off rows that would have room
	w.sees("Filled.", "completed")
	w.rests()
	w.says("walk")
	for i := range 16 {
		w.drags(40+(i*37)%100, 12+(i*13)%30)
		w.sees(fmt.Sprintf("Step %02d", i))
	}
	w.sees("word after word word after word")
	for i := range 10 {
		w.drags(40+(i*37)%100, 12+(i*13)%30)
	}
	w.drags(100, 30)
	w.sees("word after word word after word")
	w.presses("Escape")
	w.sees("[Conversation interrupted]")
	w.rests()
	w.leaves()
	var texts []string
	for i := range 20 {
		texts = append(texts, fmt.Sprintf("Step %02d is a line", i), fmt.Sprintf("● Find *.%02d", i)) // without the mark it can be a row of a dead frame
	}
	w.once(append(texts, "[Conversation interrupted]")...)
}

func TestInTmuxResizesAtRestLeaveNothingOfDeadFrames(t *testing.T) {
	t.Parallel()
	w := open(t, fmt.Sprintf(`{"text": "%sFilled."}`, strings.Repeat("a line\\n\\n", 40)), 80, 24)
	w.sees("enter: send")
	w.says("fill") // with blank rows below, tmux 3.3 scrolls off rows that would have room
	w.sees("Filled.", "completed")
	w.rests()
	for i := range 12 {
		w.drags(40+(i*37)%100, 12+(i*13)%30)
		w.sees("enter: send")
	}
	w.drags(100, 30)
	w.leaves()
	for _, dead := range []string{"enter: send", "esc: interrupt", "mode default", "◐"} {
		if strings.Contains(w.text(), dead) {
			t.Errorf("%q is left of a dead frame:\n%s", dead, w.text())
		}
	}
}

// numbers is a model that says numbers in ascending order, until the client goes.
func numbers(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(kind, data string) {
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
			w.(http.Flusher).Flush()
		}
		event("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`)
		event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-tick.C:
			case <-q.Context().Done():
				return
			}
			text := fmt.Sprintf("n%06d ", i)
			if i%50 == 49 {
				text = fmt.Sprintf("n%06d.\\n\\n", i)
			}
			event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+text+`"}}`)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

// While text streams the window is made narrower and wider, lower and higher, at once and not in
// steps: each number stands there once.
func TestInTmuxResizesWhileTextStreamsLeaveNothingOfDeadFrames(t *testing.T) {
	t.Parallel()
	w := open(t, "", 100, 30, "PAWL_MODEL=anthropic/m", "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+numbers(t))
	w.sees("enter: send")
	w.says("count")
	number := regexp.MustCompile(`n(\d{6})`)
	last := func() int {
		all := number.FindAllStringSubmatch(w.text(), -1)
		if len(all) == 0 {
			return 0
		}
		n, _ := strconv.Atoi(all[len(all)-1][1])
		return n
	}
	w.until("window that is full", func() bool { return last() > 600 }) // with blank rows below, tmux 3.3 scrolls off rows that would have room
	for i := range 20 {
		w.tmux("resize-window", "-x", fmt.Sprint(60+(i*37)%50), "-y", fmt.Sprint(20+(i*13)%16))
		from, more := last(), 1
		if i%5 == 0 {
			more = 400 // until pawl takes the size for settled
		}
		w.until("number that was drawn since", func() bool { return last() >= from+more })
	}
	w.presses("Escape")
	w.sees("[Conversation interrupted]")
	w.rests()
	w.leaves()
	next := 0
	for _, n := range number.FindAllStringSubmatch(w.text(), -1) {
		if n[1] != fmt.Sprintf("%06d", next) {
			t.Fatalf("%s comes where %06d should:\n%s", n[0], next, w.text())
		}
		next++
	}
	for _, dead := range []string{"enter: send", "esc: interrupt", "mode default"} {
		if strings.Contains(w.text(), dead) {
			t.Errorf("%q is left of a dead frame:\n%s", dead, w.text())
		}
	}
}

func TestInTmuxTenThousandPastedLinesArrive(t *testing.T) {
	t.Parallel()
	w := open(t, `{"when": {"contains": "line 9999\n"}, "text": "All of it has arrived."}
{"text": "A part is missing."}`, 80, 24)
	var text strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	file := filepath.Join(w.home, "paste")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	w.sees("enter: send")
	w.tmux("load-buffer", file)
	w.tmux("paste-buffer", "-p")
	w.sees("lines]")
	w.presses("Enter")
	w.sees("All of it has arrived.")
	if strings.Contains(w.text(), "line 5000") {
		t.Error("the paste is on the screen in full")
	}
	w.rests()
	w.leaves()
}

func TestInTmuxWideCharactersAreTypedAndShown(t *testing.T) {
	t.Parallel()
	w := open(t, `{"text": "答え: {{prompt}} 🎉"}`, 40, 16)
	w.sees("enter: send")
	w.tmux("send-keys", "-l", "日本語 é")
	w.sees("日本語 é")
	w.until("cursor behind the text", func() bool { return w.format("cursor_x") == fmt.Sprint(2+6+1+1) })
	w.presses("Left", "Left", "BSpace")
	w.sees("日本 é")
	w.presses("Enter")
	w.sees("▌ 日本 é", "答え: 日本 é 🎉")
	w.rests()
	w.leaves()
}

// In a locale whose language is written with an input method the terminal's cursor is where text is edited,
// from the first character on and while text streams.
func TestInTmuxTheCursorOfAnInputMethodIsWhereTextIsEdited(t *testing.T) {
	t.Parallel()
	w := open(t, "", 100, 30, "LC_ALL=ja_JP.UTF-8", "PAWL_MODEL=anthropic/m", "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+numbers(t))
	w.sees("enter: send")
	w.says("count")
	w.sees("n000100")
	at := func(before string, col int) {
		t.Helper()
		w.until(fmt.Sprintf("cursor that is seen after %q", before), func() bool {
			row, err := strconv.Atoi(w.format("cursor_y"))
			lines := strings.Split(w.tmux("capture-pane", "-p"), "\n")
			return err == nil && row < len(lines) && strings.HasPrefix(lines[row], before) &&
				w.format("cursor_x") == fmt.Sprint(col) && w.format("cursor_flag") == "1"
		})
	}
	at("›", 2)
	w.tmux("send-keys", "-l", "日本")
	at("› 日本", 6)
	w.sees("n001000")
	at("› 日本", 6)
	w.presses("Escape")
	w.sees("[Conversation interrupted]")
	w.rests()
	w.leaves()
}

func TestInTmuxEscEndsAStreamAndTheAgentGoesOn(t *testing.T) {
	t.Parallel()
	w := open(t, `{"text": "word after word ", "endless": true}
{"text": "Then briefly."}`, 80, 24)
	w.sees("enter: send")
	w.says("talk")
	w.sees("word after word word")
	w.presses("Escape")
	w.sees("[Conversation interrupted]", "say what to do next")
	w.says("be brief")
	w.sees("▌ be brief", "Then briefly.")
	w.rests()
	w.leaves()
	w.once("[Conversation interrupted]", "Then briefly.")
}

func TestInTmuxEscEndsATreeOfCommands(t *testing.T) {
	t.Parallel()
	// A number of seconds that no other process sleeps.
	seconds := fmt.Sprintf("%d.%d", 100_000+os.Getpid(), time.Now().UnixNano())
	w := open(t, fmt.Sprintf(`{"calls": [{"tool": "shell", "args": {"command": "sleep %[1]s & (sleep %[1]s; true) & setsid sleep %[1]s & echo begun; sleep %[1]s"}}]}
{"text": "Well."}`, seconds), 80, 24)
	w.sees("enter: send")
	w.says("wait")
	w.begins("begun")
	if sleeping(t, seconds) == 0 {
		t.Error("the processes of the command were not found: the test sees nothing")
	}
	w.presses("Escape")
	w.sees("[Conversation interrupted]")
	w.until("end of the tree", func() bool { return sleeping(t, seconds) == 0 })
	w.rests()
	w.leaves()
}

// sleeping returns how many processes have arg as their last argument.
func sleeping(t *testing.T, arg string) int {
	t.Helper()
	out, err := exec.Command("ps", "-e", "-o", "args=").Output()
	if err != nil {
		t.Skipf("this test needs ps: %v", err)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) == "sleep "+arg {
			n++
		}
	}
	return n
}

func TestInTmuxAKilledRunContinues(t *testing.T) {
	t.Parallel()
	w := open(t, `{"text": "First I write.", "calls": [{"tool": "write", "args": {"path": "a.txt", "content": "x\n"}}]}
{"text": "Then I wait.", "calls": [{"tool": "shell", "args": {"command": "echo begun; sleep 1000; touch late"}}]}
{"text": "I was cut off and have continued."}`, 80, 24, "PAWL_MODE=accept-edits")
	w.sees("enter: send")
	w.says("work")
	w.begins("begun")
	w.signal("KILL")
	w.ended(137)
	w.tmux("clear-history")
	w.tmux(append([]string{"respawn-pane", "-k"}, w.shell("--continue")...)...)
	w.sees("▌ work", "First I write.", "Then I wait.", "/continue resumes it")
	w.says("/continue")
	w.sees("unknown", "I was cut off and have continued.", "completed")
	w.rests()
	w.leaves()
	w.once("First I write.", "Then I wait.", "I was cut off and have continued.")
}

func TestInTmuxNoColorMeansNoColour(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		env     []string
		colours bool
	}{{"with NO_COLOR", []string{"NO_COLOR=1"}, false}, {"without", nil, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := open(t, `{"text": "It is **done**.", "calls": [{"tool": "list", "args": {}}]}
{"text": "Over."}`, 80, 24, c.env...)
			w.sees("enter: send")
			w.says("go")
			w.sees("Over.", "completed")
			w.rests()
			styled := w.tmux("capture-pane", "-p", "-e")
			if got := strings.Contains(styled, "\x1b[3") || strings.Contains(styled, "\x1b[1m"); got != c.colours {
				t.Errorf("styles: %v, want %v:\n%q", got, c.colours, styled)
			}
			w.leaves()
		})
	}
}

func TestWithoutATerminalPawlNamesTheCommandThatNeedsNone(t *testing.T) {
	t.Parallel()
	t.Run("in a pipe", func(t *testing.T) {
		t.Parallel()
		w := prepare(t, "")
		cmd := exec.Command(os.Args[0])
		cmd.Dir, cmd.Env = w.dir, w.env
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "pawl run -p") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	for name, term := range map[string]string{"on a dumb terminal": "dumb", "on a terminal without a name": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, "", 80, 24)
			w.tmux(append([]string{"respawn-pane", "-k", "env", "TERM=" + term}, w.shell()...)...)
			w.sees("pawl run -p", fmt.Sprintf("TERM is %q", term))
			w.ended(2)
		})
	}
}

// However the terminal agent ends, the terminal is as it was: it reads lines and shows what is
// typed, pastes are not marked, and the cursor is seen.
func TestInTmuxTheTerminalIsAsBeforeHoweverItEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(w *window)
		code int
		says string
	}{
		{"by its key", func(w *window) { w.presses("C-d") }, 0, ""},
		{"by its command", func(w *window) { w.says("/quit") }, 0, ""},
		{"by SIGTERM", func(w *window) { w.signal("TERM") }, 143, ""},
		{"by a panic in an effect", func(w *window) { w.says("/doctor") }, 2, "a mistake in an effect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := open(t, `{"text": "Hello."}`, 80, 24)
			role := "pawl"
			if strings.Contains(c.name, "panic") {
				role = "panic"
			}
			w.sees("/ command")
			first := w.pid()
			w.tmux(append([]string{"respawn-pane", "-k", "env", asProgram + "=" + role}, w.shell()...)...)
			w.until("another pawl", func() bool { return w.pid() != first })
			w.sees("/ command")
			c.end(w)
			w.sees(c.says)
			w.ended(c.code)
			if all := w.text(); strings.Contains(all, "-icanon") || strings.Contains(all, "-echo ") || strings.Contains(all, "-opost") {
				t.Errorf("the terminal is raw:\n%s", all)
			}
			if w.format("cursor_flag") != "1" {
				t.Error("the cursor is hidden")
			}
			w.tmux("set-buffer", "pasted")
			w.tmux("paste-buffer", "-p")
			w.sees("pasted")
			if strings.Contains(w.text(), "^[[200~") {
				t.Error("pastes are marked")
			}
		})
	}
}

// Ctrl-Z gives the shell a terminal that is as before, and fg the person the terminal agent.
func TestInTmuxCtrlZGivesTheTerminalToTheShell(t *testing.T) {
	t.Parallel()
	w := open(t, `{"text": "I was told: {{prompt}}"}`, 80, 24)
	w.sees("/ command")
	script := filepath.Join(w.home, "jobs")
	lines := "set -m\n" + os.Args[0] + "\nstty -a\necho stopped\nread line\nfg\necho ended\nexec cat\n"
	if err := os.WriteFile(script, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	w.tmux("respawn-pane", "-k", "sh", script)
	w.sees("/ command")
	w.tmux("send-keys", "-l", "half of")
	w.sees("half of")
	w.presses("C-z")
	w.until("stopped pawl", func() bool { return regexp.MustCompile(`speed(?s:.*)\nstopped`).MatchString(w.text()) })
	if all := w.text(); strings.Contains(all, "-icanon") || strings.Contains(all, "-echo ") || strings.Contains(all, "-opost") {
		t.Errorf("the terminal is raw:\n%s", all)
	}
	w.presses("Enter")
	w.until("pawl after fg", func() bool { return strings.Contains(w.tmux("capture-pane", "-p"), "› half of") })
	w.says(" a sentence")
	w.sees("I was told: half of a sentence")
	w.rests()
	w.presses("C-d")
	w.sees("ended")
}

// As git does, pawl runs the editor as a command line of the shell.
func TestInTmuxTheEditorIsACommandLineOfTheShell(t *testing.T) {
	t.Parallel()
	w := open(t, `{"text": "I was told: {{prompt}}"}`, 80, 24, `EDITOR=FROM='the editor' sh -c 'printf "%s and %s" "$(cat "$0")" "$FROM" > "$0.new"; mv "$0.new" "$0"'`)
	w.sees("/ command")
	w.tmux("send-keys", "-l", "typed")
	w.sees("typed")
	w.presses("C-g")
	w.sees("› typed and the editor")
	w.presses("Enter")
	w.sees("I was told: typed and the editor")
	w.rests()
	w.leaves()
}

// signal sends a signal to pawl, which a shell of the window has started.
func (w *window) signal(name string) {
	w.Helper()
	if out, err := exec.Command("kill", "-"+name, w.pid()).CombinedOutput(); err != nil {
		w.Fatalf("%v: %s", err, out)
	}
}

// pid returns the id of the process that was started last.
func (w *window) pid() string {
	w.Helper()
	pid, err := os.ReadFile(filepath.Join(w.home, "pid"))
	if err != nil {
		w.Fatal(err)
	}
	return strings.TrimSpace(string(pid))
}
