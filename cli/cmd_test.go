package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"pawl/cli/command"
	"pawl/internal/text"
	"pawl/run"
)

func TestEveryEndHasItsExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end  run.Ended
		open bool
		want int
	}{
		{end: run.Ended{End: run.Completed}, want: 0},
		{end: run.Ended{End: run.EndFailed, Reason: "auth"}, want: 1},
		{end: run.Ended{End: run.EndRefused}, want: 1},
		{end: run.Ended{End: run.GuardrailStopped}, want: 1},
		{end: run.Ended{End: run.Asked}, want: 3},
		{end: run.Ended{End: run.EndFailed, Reason: "permission_required"}, want: 3},
		{open: true, want: 3},
		{end: run.Ended{End: run.LimitReached, Reason: "wall_clock"}, want: 4},
		{end: run.Ended{End: run.LoopStopped}, want: 5},
		{end: run.Ended{End: run.EndInterrupted, Reason: string(run.ByPerson)}, want: 130},
		{end: run.Ended{End: run.EndInterrupted, Reason: string(run.ByWait)}, want: 130},
		{end: run.Ended{End: run.EndInterrupted, Reason: string(run.ByShutdown)}, want: 143},
	} {
		s := run.State{Turn: run.Turn{TurnSummary: run.TurnSummary{N: 1, End: c.end}}}
		if c.open {
			s.Turn.Phase = run.Calling
		}
		if got := command.ExitCode(s); got != c.want {
			t.Errorf("%+v (open: %t): exit code %d, want %d", c.end, c.open, got, c.want)
		}
	}
}

func TestAReaderThatLeavesIsNoFailure(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := func(name string) (string, bool) {
		if name == "HOME" || name == "PAWL_STATE_DIR" {
			return home, true
		}
		return "", false
	}
	for _, line := range []string{"config", "version", "controller schema", "controller prompt", "models"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var stderr bytes.Buffer
		code := Main(append([]string{"-C", home}, strings.Fields(line)...), command.Process{
			Stdin: strings.NewReader(""), Stdout: w, Stderr: &stderr, Env: env, Exit: func(int) {},
		})
		w.Close()
		if code != command.ExitDone || stderr.Len() > 0 {
			t.Errorf("pawl %s | true: exit code %d, %q", line, code, &stderr)
		}
	}
	// What cannot be written for another reason is told.
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("needs /dev/full: ", err)
	}
	defer full.Close()
	var stderr bytes.Buffer
	if code := Main([]string{"version"}, command.Process{Stdin: strings.NewReader(""), Stdout: full, Stderr: &stderr, Env: env, Exit: func(int) {}}); code != command.ExitFailed || stderr.Len() == 0 {
		t.Errorf("pawl version > /dev/full: exit code %d, %q", code, &stderr)
	}
}

func TestWhatAModelWroteCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\n":          "plain\ttext\n",
		"\x1b[2Jgone":            "\\u001b[2Jgone",
		"a\x9bm":                 "a\uFFFDm",
		"rm \u202etxt.exe":       "rm \\u202etxt.exe",
		"progress 1\rprogress 2": "progress 1progress 2",
		"größer 漢字 👍":            "größer 漢字 👍",
	} {
		if got := command.Visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := command.OneLine("a\n  b\tc "+strings.Repeat("x", 200), 10); got != "a b c xxx…" {
		t.Errorf("one line: %q", got)
	}
}

func TestASlipIsAnsweredWithWhatWasMeant(t *testing.T) {
	t.Parallel()
	names := []string{"default", "accept-edits", "plan", "bypass"}
	for got, want := range map[string]string{"plam": "plan", "acceptedits": "accept-edits", "bypas": "bypass", "elephant": "", "": ""} {
		if near := text.Typo(got, names); near != want {
			t.Errorf("Typo(%q) = %q, want %q", got, near, want)
		}
	}
}
