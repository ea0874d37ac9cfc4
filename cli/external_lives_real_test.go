//go:build unix

package cli

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl/external"
	"pawl/external/externaltest"
	"pawl/internal/proc/proctest"
	tasks "pawl/task"
)

// A task planned by Claude Code, carried out by Codex, reviewed by OpenCode and summed up by Gemini CLI is one history
// that a person can read, and the same one if pawl was killed twice on the way.
func TestRealAgentsShareATask(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string][]string{"undisturbed": nil, "killed": {"codex", "opencode"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := make(chan string)
			left := slices.Clone(killed)
			summaries := map[string]string{"codex": "THE CART ADDS UP.", "opencode": "REVIEWED: IT IS RIGHT.", "gemini-cli": "IN SHORT: ALL IS WELL."}
			told := map[string]string{}
			s := newAgentSite(t, "claude-code", func(r externaltest.Request) externaltest.Reply {
				done := strings.Join(r.Results, " ")
				switch {
				case strings.Contains(done, "was accepted"):
					return externaltest.Reply{Text: "Done."}
				case r.Program == "claude-code":
					return calls(r.Program, "planner_output", planArgs)
				case !strings.Contains(done, "EFFECT"):
					return agentShell(r.Program, "echo "+r.Program+" >>effects; echo EFF''ECT")
				}
				if len(left) > 0 && left[0] == r.Program {
					left = left[1:]
					reached <- r.Program
					<-r.Gone
				}
				told[r.Program] = r.Words
				return reports(r.Program, "complete", summaries[r.Program])
			}, "codex", "opencode", "gemini-cli")
			for agent, kind := range map[string]string{"task-validator": "claude-code", "builder": "codex", "reviewer": "opencode", "writer": "gemini-cli"} {
				more := []string{"permissions: {mode: bypass}"}
				if agent == "task-validator" {
					more = []string{"kind: planner"}
				}
				s.agent(t, agent, kind, more...)
			}
			// work lets an agent work on the task. pawl is killed at the moments in the list, and another pawl continues.
			work := func(kind string, args ...string) {
				t.Helper()
				if slices.Contains(killed, kind) {
					cmd := exec.CommandContext(t.Context(), s.bin, args...)
					cmd.Dir, cmd.Env = s.dir, s.env
					if err := cmd.Start(); err != nil {
						t.Fatal(err)
					}
					if got := <-reached; got != kind {
						t.Errorf("%s is at work", got)
					}
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
					args = []string{"task", "watch", "last"}
				}
				s.must(t, args, summaries[kind])
			}
			s.must(t, []string{"task", "add", "Does the cart add up?"})
			s.must(t, []string{"task", "plan", "last"}, "Look.")
			work("codex", "task", "start", "last")
			s.must(t, []string{"task", "reopen", "last"})
			work("opencode", "task", "handoff", "last", "reviewer", "-p", "Review it.")
			s.must(t, []string{"task", "reopen", "last"})
			work("gemini-cli", "task", "handoff", "last", "writer", "-p", "Sum it up.")
			if !strings.Contains(told["opencode"], summaries["codex"]) || !strings.Contains(told["opencode"], "Review it.") || !strings.Contains(told["gemini-cli"], summaries["opencode"]) {
				t.Errorf("they were not told what the ones before have reported: %q", told)
			}
			history := s.pawl(t, "task", "show", "last", "--history")
			t.Logf("the history is\n%s", history)
			rest := history
			for _, words := range []string{"task-validator", "claude-code/default", "Look.", "builder", "codex/default", summaries["codex"], "reviewer", "opencode/default", summaries["opencode"],
				"writer", agentModels["gemini-cli"], summaries["gemini-cli"]} {
				_, after, found := strings.Cut(rest, words)
				if !found {
					t.Fatalf("there is no %q where it has to be in the history:\n%s", words, history)
				}
				rest = after
			}
			effects, err := os.ReadFile(filepath.Join(s.dir, "effects"))
			if err != nil || string(effects) != "codex\nopencode\ngemini-cli\n" {
				t.Errorf("what they did is %q, %v", effects, err)
			}
			for event, n := range map[string]int{"planner_output_submitted": 1, "completion_report_submitted": 3, "agent_started": 3, "output_reminder_sent": 0} {
				if got := strings.Count(s.pawl(t, "task", "show", "last", "--history", "--json"), `"type":"`+event+`"`); got != n {
					t.Errorf("%d events %s", got, event)
				}
			}
			if left := s.leftOf(t); len(left) > 0 {
				t.Errorf("there are still\n%s", strings.Join(left, "\n"))
			}
		})
	}
}

// pawl is killed with -9 at random moments of a task that a program plans and carries out, again and again: there is
// one plan and one report, what was accepted is not lost, no effect happens twice, and at no moment do two programs work
// in the folder. PAWL_AGENT_LIVES says how many tasks each program works on.
func TestRealAgentsOutliveAPawlThatIsKilled(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("needs flock")
	}
	lives := 1
	if v := os.Getenv("PAWL_AGENT_LIVES"); v != "" {
		var err error
		if lives, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	withEach(t, func(t *testing.T, kind string) {
		kills := 0
		for life := range lives {
			kills += live(t, kind)
			t.Logf("life %d of %d; %d kills so far", life+1, lives, kills)
		}
	})
}

// live is one such task. It returns how often pawl was killed.
func live(t *testing.T, kind string) (killed int) {
	t.Helper()
	var s *agentSite
	s = newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
		switch done := strings.Join(r.Results, " "); {
		case strings.Contains(r.Words, "SAY HELLO"):
			return externaltest.Reply{Text: "Hello."}
		case strings.Contains(done, "was accepted"), strings.Contains(done, "output_already_submitted"):
			return externaltest.Reply{Text: "Done."}
		case !strings.Contains(r.Words, "Carry out this task"):
			return calls(kind, "planner_output", planArgs)
		case s.made("effects") == "": // of a call that was cut short a model is told that, or nothing: it looks
			if strings.Contains(done, "EFFECT") {
				t.Errorf("the effect was told as done and is not there: %q", r.Results)
			}
			return agentShell(kind, "echo x >>effects; echo EFF''ECT")
		}
		return reports(kind, "complete", "Looked.")
	})
	s.agent(t, "builder", kind, "permissions: {mode: bypass}")
	// In front of the program stands one that holds a lock for as long as any process of it is there, and says which
	// have it when they should not: pawl's own server and hook end by themselves when the program is gone.
	k, _, _ := external.Split(kind)
	top := filepath.Dir(s.dir)
	shim := filepath.Join(top, "bin", k.Program)
	proctest.Program(t, shim, strings.NewReplacer("TOP", top, "PROGRAM", externaltest.Program(t, kind)).Replace(`#!/bin/sh
case $* in *--version*) exec 'PROGRAM' "$@" ;; esac
exec 9>>'TOP/lock'
flock -n 9 || for p in /proc/[0-9]*; do
	if [ "$p" != /proc/$$ ] && ls -l "$p/fd" 2>/dev/null | grep -q 'TOP/lock$'; then
		line=$(tr '\0' ' ' <"$p/cmdline")
		[ -z "$line" ] || echo "$line" >>'TOP/twice' # without one it was killed, and its memory is gone: only its files are still open
	fi
done
exec 'PROGRAM' "$@"
`))
	s.env = append(s.env, "PATH="+filepath.Dir(shim)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	env := func(name string) (string, bool) { v := lookedUp(s.env, name); return v, v != "" }
	look := func() tasks.State { return checkedTask(t, s.dir, env) }
	s.must(t, []string{"task", "add", "Look around"})
	began := time.Now()
	s.must(t, []string{"run", "--agent", "builder", "-p", "SAY HELLO"}, "Hello.") // how long a turn takes here
	turn := time.Since(began)
	kills := map[bool]int{} // while it is planned, and after that
	for {
		state := look()
		if state.Status.Name == tasks.Completed && !state.Owes() {
			break
		}
		args := []string{"task", "watch", "last"}
		switch {
		case state.Owes():
		case state.Status.Name == tasks.Pending:
			args[1] = "plan"
		case state.Status.Name == tasks.Planned:
			args[1] = "start"
		default:
			t.Fatalf("the task is %+v", state.Status)
		}
		cmd := exec.Command(s.bin, args...)
		cmd.Dir, cmd.Env = s.dir, s.env
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stop := func() bool { return false }
		planned := state.Status.Name != tasks.Pending && state.Status.Name != tasks.Planning
		if kills[planned] < 2 /* a third death during one request ends the run */ {
			kills[planned]++
			killed++
			stop = time.AfterFunc(rand.N(turn), func() { _ = cmd.Process.Kill() }).Stop
		}
		err := cmd.Wait()
		if stop(); err != nil && cmd.ProcessState.Exited() {
			t.Fatalf("pawl %q: %v\n%s", args, err, &said)
		}
	}
	s.must(t, []string{"task", "watch", "last"}) // ends what a kill has left
	if left := s.leftOf(t); len(left) > 0 {
		t.Errorf("there are still\n%s", strings.Join(left, "\n"))
	}
	twice, _ := os.ReadFile(filepath.Join(top, "twice")) // it is not there: there were never two
	for line := range strings.Lines(string(twice)) {
		t.Errorf("two programs were at work in one folder: beside the one that began there was %s", line)
	}
	if b, err := os.ReadFile(filepath.Join(s.dir, "effects")); err != nil || string(b) != "x\n" {
		t.Errorf("the effects are %q, %v", b, err)
	}
	return killed
}
