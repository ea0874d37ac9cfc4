package external_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/external"
	"pawl/run"
)

// fake returns a turn of the fake agent, as Claude Code, that does what do says.
func fake(t *testing.T, do string) external.Turn {
	k, _, _ := external.Split("claude-code/x")
	// Built for coverage, a program without that folder says so on standard error.
	return external.Turn{Kind: k, Program: os.Args[0], Env: []string{"EXTERNAL_TEST_ROLE=agent", "EXTERNAL_TEST_DO=" + do, "HOME=/home/x", "GOCOVERDIR=" + t.TempDir()}, Run: "r",
		Workspace: t.TempDir(), State: filepath.Join(t.TempDir(), "external"), Model: external.DefaultModel, Message: []run.Part{run.Text("Repair it.")}}
}

// alive reports whether a process has not ended: one that waits to be collected, or is being
// collected, has.
func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !bytes.Contains(b, []byte(") Z ")) && !bytes.Contains(b, []byte(") X "))
}

// ends waits until a process has ended that was told to: one that ends has no environment a moment before.
func ends(pid int) bool {
	for late := time.Now().Add(10 * time.Second); alive(pid); runtime.Gosched() {
		if time.Now().After(late) {
			return false
		}
	}
	return true
}

// said is what the fake agent has been given.
type said struct {
	Args  []string `json:"args"`
	Stdin string   `json:"stdin"`
	Env   []string `json:"env"`
}

func heard(t *testing.T, o outcome) said {
	t.Helper()
	f, ok := o.final.(run.Replied)
	var s said
	if !ok || json.Unmarshal([]byte(run.PlainText(f.Parts)), &s) != nil {
		t.Fatalf("got %s", o)
	}
	return s
}

func TestATurnHasItsFlagsItsPromptAndAnEnvironmentWithoutPawlsKeys(t *testing.T) {
	t.Parallel()
	turn := fake(t, "")
	turn.Model, turn.System, turn.Mode = "sonnet", "Be brief.", "default"
	turn.Keys = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}
	turn.Env = append(turn.Env, "ANTHROPIC_API_KEY=its-own", "OPENAI_API_KEY=pawls", "PAWL_MODE=bypass", "CLAUDECODE=1", "PWD=/elsewhere")
	turn.Server = external.Server{Command: []string{"/bin/pawl", "mcp"}, Env: map[string]string{"PAWL_RUN_TOKEN": "secret-1"}, Tools: []string{"ask", "permission"}, Permission: "permission",
		Hook: []string{"/bin/it's pawl", "mcp", "hook"}}
	turn.Server.Env["PAWL_STATE_DIR"] = "/s t"
	o := perform(t.Context(), t, turn)
	s := heard(t, o)
	if s.Stdin != "Repair it." || o.usage != (run.Usage{Input: 3, Output: 4, Cost: 0.5, Priced: true}) {
		t.Errorf("stdin %q, usage %+v", s.Stdin, o.usage)
	}
	args := strings.Join(s.Args, " ")
	for _, want := range []string{"-p --output-format stream-json --verbose", "--session-id " + o.conversation, "--model sonnet", "--setting-sources user",
		"--append-system-prompt-file ", "--mcp-config ", "--allowedTools mcp__pawl__ask --permission-prompt-tool mcp__pawl__permission"} {
		if !strings.Contains(args, want) {
			t.Errorf("the command line %q has no %q", args, want)
		}
	}
	if strings.Contains(args, "secret-1") || strings.Contains(args, "Repair") {
		t.Errorf("the command line, which everyone can see, is %q", args)
	}
	for _, want := range []string{"ANTHROPIC_API_KEY=its-own", "HOME=/home/x", "PWD=" + turn.Workspace, "CLAUDE_CODE_MAX_RETRIES=2"} {
		if !slices.Contains(s.Env, want) {
			t.Errorf("the environment has no %s", want)
		}
	}
	for _, v := range s.Env {
		if strings.Contains(v, "pawls") || strings.HasPrefix(v, "PAWL_MODE") || strings.HasPrefix(v, "CLAUDECODE=") || v == "PWD=/elsewhere" {
			t.Errorf("the environment has %s", v)
		}
	}
}

func TestAConversationIsResumedWithItsFlagsOrBegunAnewWithASummary(t *testing.T) {
	t.Parallel()
	turn := fake(t, "")
	turn.Conversation, turn.Summary = "conv-1", "It was half done."
	o := perform(t.Context(), t, turn)
	if s := heard(t, o); !strings.Contains(strings.Join(s.Args, " "), "--resume conv-1") || s.Stdin != "Repair it." || o.conversation != "" {
		t.Errorf("args %q, stdin %q", s.Args, s.Stdin)
	}
	turn.Env[1] = "EXTERNAL_TEST_DO=unknown"
	o = perform(t.Context(), t, turn)
	s := heard(t, o)
	if o.conversation == "" || o.conversation == "conv-1" || !strings.Contains(strings.Join(s.Args, " "), "--session-id "+o.conversation) {
		t.Errorf("conversation %q, args %q", o.conversation, s.Args)
	}
	if !strings.Contains(s.Stdin, "It was half done.") || !strings.HasSuffix(s.Stdin, "Repair it.") {
		t.Errorf("stdin %q", s.Stdin)
	}
	turn.Env[1], turn.Conversation = "EXTERNAL_TEST_DO=in use", ""
	o = perform(t.Context(), t, turn)
	if s := heard(t, o); !strings.Contains(strings.Join(s.Args, " "), "--resume "+o.conversation) {
		t.Errorf("conversation %q, args %q", o.conversation, s.Args)
	}
}

func TestTheEndOfTheStreamIsTheSuccessAndNotTheExitCode(t *testing.T) {
	t.Parallel()
	for do, want := range map[string]string{
		"lies":  "replied end_turn Done.\n",
		"crash": "text half\nfailed broken_stream Claude Code ended before its turn was over (exit code 3): something broke\n",
		"error": "failed auth Claude Code: API Error: no key; log in with `claude auth login`, or set a valid key\n",
	} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			if got := perform(t.Context(), t, fake(t, do)).String(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestATurnEndsWithItsProgramWhateverHoldsItsOutput(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid of util-linux")
	}
	for _, prints := range []string{"", "yes"} {
		turn := fake(t, "orphan")
		file := filepath.Join(t.TempDir(), "pid")
		turn.Env = append(turn.Env, "EXTERNAL_TEST_FILE="+file, "EXTERNAL_TEST_PRINTS="+prints, "PATH="+os.Getenv("PATH"))
		if got := perform(t.Context(), t, turn).String(); got != "replied end_turn Done.\n" {
			t.Errorf("got %q", got)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		if prints == "" { // what prints ends when no one reads it any more
			if !alive(pid) {
				t.Errorf("the orphan %d has ended, so nothing held the output", pid)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestATurnThatHasSucceededIsNotReportedAsStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turn := fake(t, "lingers")
	turn.Patience = time.Millisecond
	for p, err := range turn.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		switch p := p.(type) {
		case run.Observed:
			if len(p.Parts) > 0 { // what it said before its end
				cancel()
			}
		case run.Replied:
			return
		default:
			t.Errorf("got %+v", p)
		}
	}
	t.Error("the turn is not reported as done")
}

func TestAStoppedAgentIsInterruptedThenTerminated(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var texts []string
	for p, err := range fake(t, "polite").Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		switch p := p.(type) {
		case run.Observed:
			text := run.PlainText(p.Parts)
			if texts = append(texts, text); text == "ready" {
				cancel(errors.New("the person has stopped it"))
			}
		case run.RequestFailed:
			if p.Kind != run.ErrAborted || !strings.Contains(p.Reason, "the person has stopped it") {
				t.Errorf("ended %+v", p)
			}
		default:
			t.Errorf("ended %+v", p)
		}
	}
	got := strings.Join(texts, ", ")
	if !strings.Contains(got, "got interrupt") || !strings.Contains(got, "got terminated") {
		t.Errorf("it said %s", got)
	}
}

// What an agent started in a session of its own ends with it, whether it has kept the environment or
// not, and whether the agent has to be killed or ends first.
func TestAStoppedAgentEndsWithItsTree(t *testing.T) {
	t.Parallel()
	for _, do := range []string{"stubborn", "bare", "obedient"} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			turn := fake(t, do)
			turn.Patience = time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			child := 0
			for p := range turn.Events(ctx) {
				if o, ok := p.(run.Observed); ok {
					if pid, ok := strings.CutPrefix(run.PlainText(o.Parts), "child "); ok {
						child, _ = strconv.Atoi(pid)
						cancel()
					}
				}
			}
			cancel()
			if child == 0 || alive(child) {
				t.Errorf("its child, process %d, is alive: %v", child, alive(child))
			}
		})
	}
}

func TestWhatAnAgentLeavesEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	for _, do := range []string{"leave", "leave in its session"} {
		o := perform(t.Context(), t, fake(t, do))
		f, ok := o.final.(run.Replied)
		if !ok {
			t.Fatalf("%s: got %s", do, o)
		}
		pid, err := strconv.Atoi(strings.TrimPrefix(run.PlainText(f.Parts), "child "))
		if err != nil || alive(pid) {
			t.Errorf("%s: %v, process %d is alive: %v", do, err, pid, alive(pid))
		}
	}
}

func TestASilentAgentIsStopped(t *testing.T) {
	t.Parallel()
	turn := fake(t, "silent")
	turn.Silence = time.Millisecond
	f, ok := perform(t.Context(), t, turn).final.(run.RequestFailed)
	if !ok || f.Kind != run.ErrTimeout || !strings.Contains(f.Reason, "printed nothing for 1ms") {
		t.Errorf("got %+v", f)
	}
}

// left starts a process that a killed pawl left: it carries the mark of a run.
func left(t *testing.T, turn external.Turn, id run.ID) int { return leftDoing(t, "child", turn, id) }

func leftDoing(t *testing.T, do string, turn external.Turn, id run.ID) int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"EXTERNAL_TEST_ROLE=agent", "EXTERNAL_TEST_DO=" + do, "PAWL_EXTERNAL_AGENT=" + turn.State + ":" + string(id)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }() // it is killed
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd.Process.Pid
}

func TestWhatAKilledPawlLeftIsEndedBeforeTheConversationGoesOn(t *testing.T) {
	t.Parallel()
	turn := fake(t, "")
	turn.Patience = time.Millisecond
	turn.Conversation = "conv-1"
	heard(t, perform(t.Context(), t, turn))
	mine, others := left(t, turn, "r"), left(t, turn, "another-run")
	heard(t, perform(t.Context(), t, turn))
	if !ends(mine) || !alive(others) {
		t.Errorf("alive: of this run %v, of another %v", alive(mine), alive(others))
	}
	// A fork has the conversation of its original.
	mine = left(t, turn, "r")
	turn.Run = "fork"
	heard(t, perform(t.Context(), t, turn))
	if !ends(mine) || !alive(others) {
		t.Errorf("alive: of the original %v, of another run %v", alive(mine), alive(others))
	}
}

func TestTheAgentsAtWorkAreThoseOfTheirRuns(t *testing.T) {
	t.Parallel()
	turn := fake(t, "")
	turn.Conversation, turn.System = "conv-1", "Be brief."
	heard(t, perform(t.Context(), t, turn))
	if ids := external.AtWork(turn.State); len(ids) != 0 {
		t.Errorf("after the turn, at work are %q", ids)
	}
	mine, others := leftDoing(t, "mild child", turn, "r"), leftDoing(t, "mild child", turn, "r2")
	if ids := external.AtWork(turn.State); !slices.Equal(ids, []run.ID{"r", "r2"}) {
		t.Errorf("at work are %q", ids)
	}
	for m := external.Memory(turn.State); m["r"] < 100e3 || m["r2"] < 100e3; m = external.Memory(turn.State) { // each is two processes, which have just begun
		if len(m) != 2 {
			t.Fatalf("they take %v", m)
		}
		time.Sleep(time.Millisecond)
	}
	external.End(turn.State, "r")
	if !ends(mine) || !alive(others) {
		t.Errorf("alive: the agent of the run that was ended %v, another %v", alive(mine), alive(others))
	}
	if ids := external.AtWork(turn.State); !slices.Equal(ids, []run.ID{"r2"}) {
		t.Errorf("at work are %q", ids)
	}
}

func TestAPawlThatAnAgentHasStartedIsNoAgent(t *testing.T) {
	t.Parallel()
	turn := fake(t, "")
	turn.System = "Be brief."
	heard(t, perform(t.Context(), t, turn))
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(turn.Env, "EXTERNAL_TEST_DO=nested", "EXTERNAL_TEST_STATE="+turn.State, "PAWL_EXTERNAL_AGENT="+turn.State+":r")
	if out, err := cmd.CombinedOutput(); string(out) != "at work are []" || err != nil {
		t.Errorf("it says %q, %v", out, err)
	}
}

// The file of a lock stays while its turn lasts, and while processes of the turn are there.
func TestLocksOfNoTurnAreRemoved(t *testing.T) {
	t.Parallel()
	turn := fake(t, "")
	turn.Patience = time.Millisecond
	turn.Conversation = "conv-1"
	remain := func(what string, want int) {
		t.Helper()
		if err := external.RemoveLocks(turn.State); err != nil {
			t.Fatal(err)
		}
		found, err := filepath.Glob(filepath.Join(turn.State, "locks", "*"))
		if err != nil || len(found) != want {
			t.Errorf("%s: the locks are %q, want %d; %v", what, found, want, err)
		}
	}
	if err := external.RemoveLocks(turn.State); err != nil {
		t.Errorf("before the first turn: %v", err)
	}
	for p := range turn.Events(t.Context()) {
		if _, replied := p.(run.Replied); !replied {
			remain("during the turn", 1)
		}
	}
	left(t, turn, "r")
	remain("with a process of the turn", 1)
	turn.Run = "fork"
	heard(t, perform(t.Context(), t, turn))
	remain("after all turns", 0)
	heard(t, perform(t.Context(), t, turn))
}

func TestTwoRunsDoNotWorkOnOneConversation(t *testing.T) {
	t.Parallel()
	first := fake(t, "stubborn")
	first.Conversation, first.Patience = "conv-1", time.Millisecond
	second := first
	second.Run = "fork"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for p := range first.Events(ctx) {
		o, ok := p.(run.Observed)
		if !ok || !strings.HasPrefix(run.PlainText(o.Parts), "child ") {
			continue
		}
		for _, err := range second.Events(ctx) {
			if err == nil || !strings.Contains(err.Error(), "in use by another run") {
				t.Errorf("the second run: %v", err)
			}
		}
		cancel()
	}
}
