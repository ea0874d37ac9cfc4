//go:build unix

package external

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/run"
)

// scripted returns a turn of a program that is a shell script.
func scripted(t *testing.T, model, script string) Turn {
	t.Helper()
	k, _, _ := Split(model)
	return Turn{Kind: k, Program: filepath.Join(program(t, k.Program, script), k.Program), Env: os.Environ(), Run: "r", Workspace: t.TempDir(),
		State: filepath.Join(t.TempDir(), "external"), Model: DefaultModel, Message: []run.Part{run.Text("Repair it.")}}
}

// told returns the events of a turn, a line each.
func told(events iter.Seq2[run.Payload, error]) string {
	var b strings.Builder
	for p, err := range events {
		switch p := p.(type) {
		case run.Observed:
			if p.Conversation != "" {
				fmt.Fprintf(&b, "conversation %s\n", p.Conversation)
			}
			for _, part := range p.Parts {
				fmt.Fprintf(&b, "%s %s\n", part.Type, part.Text)
			}
			if p.Usage != (run.Usage{}) {
				fmt.Fprintf(&b, "used %d tokens, $%v\n", p.Usage.Total(), p.Usage.Cost)
			}
		case run.Replied:
			fmt.Fprintf(&b, "replied %s\n", run.PlainText(p.Parts))
		case run.RequestFailed:
			fmt.Fprintf(&b, "failed %s %s\n", p.Kind, p.Reason)
		default:
			fmt.Fprintf(&b, "error %v\n", err)
		}
	}
	return b.String()
}

// What an interrupt or a kill cuts off has been counted: the finished requests of OpenCode are
// reported as they end.
func TestUsageIsReportedWhileAProgramWorks(t *testing.T) {
	t.Parallel()
	turn := scripted(t, "opencode/default", `
		echo '{"type":"text","sessionID":"o1","part":{"text":"I look."}}'
		echo '{"type":"step_finish","sessionID":"o1","part":{"reason":"tool-calls","tokens":{"input":3,"output":4},"cost":0.5}}'
		echo '{"type":"text","sessionID":"o1","part":{"text":"Half"}}'
		kill -9 $$`)
	want := "conversation o1\nused 7 tokens, $0.5\ntext I look.\nfailed broken_stream OpenCode ended before its turn was over (signal: killed)\n"
	if got := told(turn.Events(t.Context())); got != want {
		t.Errorf("it told %s", got)
	}
}

// Two runs take up one conversation at the same time, by the id that the program itself reports.
func TestAConversationThatAProgramNamesIsLocked(t *testing.T) {
	t.Parallel()
	const begun = `echo '{"type":"thread.started","thread_id":"th1"}'; `
	first, second := scripted(t, "codex/default", begun+"exec sleep 60"), scripted(t, "codex/default", begun+`echo '{"type":"turn.completed"}'`)
	second.State, second.Run = first.State, "fork"
	got := ""
	for p, err := range first.Events(t.Context()) {
		if o, ok := p.(run.Observed); !ok || err != nil || o.Conversation != "th1" {
			t.Fatalf("%v, %v: the conversation is not told first", p, err)
		}
		got = told(second.Events(t.Context()))
		break
	}
	if want := "error the conversation th1 of Codex is in use by another run: wait for it, or stop it\n"; got != want {
		t.Errorf("during the first turn: %s", got)
	}
	if got := told(second.Events(t.Context())); got != "conversation th1\nreplied \n" {
		t.Errorf("after the first turn: %s", got)
	}
}

// A caller may stop at each event of a turn: the program has ended then, however much it still
// prints, and the conversation is free.
func TestATurnEndsWhenNoOneTakesItsEvents(t *testing.T) {
	t.Parallel()
	for n := range 3 {
		turn := scripted(t, "opencode/default", `
			trap 'head -c 1000000 /dev/zero; echo >ended; exit' INT
			echo '{"type":"text","sessionID":"o1","part":{"text":"I look."}}'
			echo '{"type":"step_finish","sessionID":"o1","part":{"reason":"tool-calls","tokens":{"input":3}}}'
			echo '{"type":"text","sessionID":"o1","part":{"text":"Done."}}'
			sleep 60 & wait`)
		turn.Patience = time.Minute
		taken := 0
		for _, err := range turn.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if taken++; taken > n {
				break
			}
		}
		if _, err := os.Stat(turn.Workspace + "/ended"); err != nil || taken != n+1 {
			t.Errorf("after %d events: the program did not end by itself: %v", taken, err)
		}
		unlock, err := turn.lock("o1")
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	}
	turn := scripted(t, "claude-code/default", "echo >started")
	for range turn.Events(t.Context()) {
		break
	}
	if _, err := os.Stat(turn.Workspace + "/started"); err == nil {
		t.Error("the program was started although no one has taken the id of its conversation")
	}
}

func TestATurnThatCannotBegin(t *testing.T) {
	t.Parallel()
	turn := scripted(t, "codex/default", "exit 1")
	turn.Conversation = "th1"
	for name, c := range map[string]struct {
		change func(*Turn)
		want   string
	}{
		"no program":   {func(t *Turn) { t.Program += "-gone" }, "error Codex cannot be started: "},
		"no workspace": {func(t *Turn) { t.Workspace += "/gone" }, "error Codex cannot be started: "},
		"no state":     {func(t *Turn) { t.State = t.Program }, "error mkdir "},
		"no locks": {func(turn *Turn) {
			turn.State = t.TempDir()
			if err := os.WriteFile(locks(turn.State), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "error mkdir "},
		"no lock": {func(turn *Turn) {
			turn.State = t.TempDir()
			unlock, err := turn.lock("th1")
			if err != nil {
				t.Fatal(err)
			}
			unlock()
			found, err := filepath.Glob(locks(turn.State) + "/*")
			if err = errors.Join(err, os.Remove(found[0]), os.Mkdir(found[0], 0o700)); err != nil {
				t.Fatal(err)
			}
		}, "error open "},
	} {
		other := turn
		c.change(&other)
		if got := told(other.Events(t.Context())); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := told(turn.Events(t.Context())); !strings.HasPrefix(got, "failed broken_stream ") {
		t.Errorf("after that: %s", got)
	}
}

// A program that uses a tool and has not run the hook is stopped, whatever it says after that.
func TestAProgramThatDoesNotAskIsStopped(t *testing.T) {
	t.Parallel()
	const use = `echo '{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"ls","exit_code":0,"status":"completed"}}'; `
	const end = `echo '{"type":"turn.completed","usage":{}}'`
	for script, want := range map[string]string{
		use + end:                       "failed invalid Codex was stopped: it has used a tool without asking pawl",
		`true >"$HOOKED"; ` + use + end: "replied",
		end:                             "replied",
	} {
		turn := scripted(t, "codex/default", script)
		turn.Server, turn.Env = Server{Hook: []string{"true"}}, append(turn.Env, "HOOKED="+turn.hooked())
		if got := told(turn.Events(t.Context())); !strings.Contains(got, want) {
			t.Errorf("%s: %s", script, got)
		}
	}
}

// Instructions, settings with variables of the server, and locks: no one else can read them.
func TestWhatIsKeptOfATurnIsTheUsersAlone(t *testing.T) {
	t.Parallel()
	for model, files := range map[string]int{"claude-code/default": 4, "gemini-cli/default": 2, "opencode/default": 2} {
		turn := scripted(t, model, "exit 1")
		turn.Env, turn.System, turn.Conversation = append(turn.Env, "HOME="+t.TempDir()), "Be brief.", "c1"
		turn.Server = Server{Command: []string{"/bin/pawl"}, Env: map[string]string{"PAWL_RUN_TOKEN": "secret-1"}, Hook: []string{"/bin/pawl"}}
		if got := told(turn.Events(t.Context())); !strings.HasPrefix(got, "failed ") {
			t.Errorf("%s: %s", model, got)
		}
		err := filepath.WalkDir(turn.State, func(path string, e fs.DirEntry, err error) error {
			info, ierr := e.Info()
			if err == nil && e.Type() == fs.ModeSymlink {
				return ierr // into the person's home
			}
			if err = errors.Join(err, ierr); err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %s is open to others: %v", model, path, info.Mode())
			}
			if !e.IsDir() {
				files--
			}
			return err
		})
		if err != nil || files != 0 {
			t.Errorf("%s: %v, %d files are missing", model, err, files)
		}
	}
}

// A program that neither knows a conversation nor begins it is not started for ever, and one that
// has worked is not started again.
func TestAConversationIsBegunAnewOnceAtMost(t *testing.T) {
	t.Parallel()
	turn := scripted(t, "claude-code/default", `
		echo started >>starts
		case "$*" in
		*--resume*) echo "No conversation found with session ID: x" >&2 ;;
		*) echo "Error: Session ID x is already in use." >&2 ;;
		esac
		exit 1`)
	turn.Conversation = "c1"
	got := told(turn.Events(t.Context()))
	if !strings.HasSuffix(got, "failed invalid Claude Code ended before its turn was over (exit code 1): No conversation found with session ID: x\n") {
		t.Errorf("it told %s", got)
	}
	if b, err := os.ReadFile(turn.Workspace + "/starts"); strings.Count(string(b), "started\n") != 3 || err != nil {
		t.Errorf("it was started %q, %v", b, err)
	}
	turn = scripted(t, "claude-code/default", `
		case "$*" in
		*--resume*) echo '{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: x"]}' ;;
		*) echo '{"type":"result","subtype":"success","result":"Done."}' ;;
		esac`)
	turn.Conversation = "c1"
	if got := told(turn.Events(t.Context())); !strings.HasPrefix(got, "conversation ") || !strings.HasSuffix(got, "\nreplied Done.\n") {
		t.Errorf("a conversation that its stream does not know: %s", got)
	}
	turn = scripted(t, "claude-code/default", `
		echo '{"type":"system","subtype":"init","session_id":"c2"}'
		case "$*" in
		*--resume*) echo "No conversation found with session ID: x" >&2; exit 1 ;;
		*) echo '{"type":"result","subtype":"success","result":"Done."}' ;;
		esac`)
	turn.Conversation = "c1"
	if got := told(turn.Events(t.Context())); !strings.HasSuffix(got, "\nreplied Done.\n") {
		t.Errorf("a conversation that it does not know after it has begun: %s", got)
	}
	turn = scripted(t, "claude-code/default", `
		echo "The file x already exists." >&2
		echo '{"type":"result","subtype":"success","result":"Done."}'`)
	if got := told(turn.Events(t.Context())); strings.Count(got, "\n") != 2 || !strings.HasSuffix(got, "\nreplied Done.\n") {
		t.Errorf("a turn that has succeeded: %s", got)
	}
	turn = scripted(t, "claude-code/default", `
		echo '{"type":"assistant","session_id":"c1","message":{"content":[{"type":"text","text":"I look."}]}}'
		echo "No conversation found with session ID: x" >&2
		exit 1`)
	turn.Conversation = "c1"
	if got := told(turn.Events(t.Context())); got != "failed broken_stream Claude Code ended before its turn was over (exit code 1): No conversation found with session ID: x\n" {
		t.Errorf("after work it told %s", got)
	}
}

// The file of a lock that is held stays, also where no process of the turn is there yet.
func TestLocksThatAreHeldAreKept(t *testing.T) {
	t.Parallel()
	turn := scripted(t, "codex/default", "")
	if unlock, err := turn.lock(""); err != nil { // a conversation without an id needs none
		t.Error(err)
	} else {
		unlock()
	}
	unlock, err := turn.lock("th1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if err := RemoveLocks(turn.State); err != nil {
			t.Error(err)
		}
		if found, _ := filepath.Glob(locks(turn.State) + "/*"); len(found) != want {
			t.Errorf("the locks are %q, want %d", found, want)
		}
		if want == 1 {
			unlock()
		}
	}
}

// What is recorded of the arguments of a call is a JSON object, whatever the program says.
func TestArgumentsOfCallsAreBoundedObjects(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxPart-len(`{"a":""}`))
	const mark = `\n[cut here by pawl; the agent has all of it]"}`
	for in, want := range map[string]string{
		`{"a": 1}`:              `{"a":1}`,
		` [1]`:                  `{"arguments":" [1]"}`,
		``:                      `{"arguments":""}`,
		`{"a":`:                 `{"arguments":"{\"a\":"}`,
		`{"a":"` + long + `"}`:  `{"a":"` + long + `"}`,
		`{"a":"` + long + `x"}`: `{"arguments":"{\"a\":\"` + long + `x\"` + mark,
	} {
		r := newReport()
		r.call("t1", "shell", false, []byte(in))
		if got := r.take()[0].Parts[0].Call.Arguments; got != want {
			t.Errorf("%.30s… of %d bytes is recorded as %.60s… of %d, want %d", in, len(in), got, len(got), len(want))
		}
	}
}
