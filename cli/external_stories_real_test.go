//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/external"
	"pawl/external/externaltest"
)

// withEach runs a story with each of the real programs.
func withEach(t *testing.T, story func(t *testing.T, kind string)) {
	for _, kind := range agentKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			story(t, kind)
		})
	}
}

// next is the program after one, so that each has another once.
func next(kind string) string {
	return agentKinds[(slices.Index(agentKinds, kind)+1)%len(agentKinds)]
}

// calls returns an answer with a call of a tool of pawl's.
func calls(kind, tool, args string) externaltest.Reply {
	k, _, _ := external.Split(kind)
	return externaltest.Reply{Tool: k.ToolName(tool), Args: args}
}

func reports(kind, status, summary string) externaltest.Reply {
	args := fmt.Sprintf(`{"status":%q,"summary":%[2]q,"output":""}`, status, summary)
	if status == "blocked" {
		args = fmt.Sprintf(`{"status":%q,"summary":%[2]q,"blockedReason":%[2]q}`, status, summary)
	}
	return calls(kind, "completion_report", args)
}

// planned adds a task whose plan is made by a scripted model, so that only its worker is a program, and returns
// its id. args are further words of `pawl task add`.
func (s *agentSite) planned(t *testing.T, worker string, args ...string) {
	t.Helper()
	script := filepath.Join(filepath.Dir(s.dir), "planner.jsonl")
	s.write(t, script, `{"calls":[{"tool":"planner-output","args":`+strings.Replace(planArgs, "builder", worker, 1)+`}],"repeat":true}`+"\n")
	if err := os.RemoveAll(filepath.Join(lookedUp(s.env, "XDG_CONFIG_HOME"), "pawl", "agents", "task-validator.md")); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "PAWL_MODEL=script/"+script)
	s.must(t, append([]string{"task", "add", "Look around"}, args...))
	s.must(t, []string{"task", "plan", "last"}, "Look.")
}

// The planner asks questions and submits its plan after the answers. The worker asks, gets an answer, reports that it is
// blocked, continues when told to, and then fails. Each does all of this in one conversation.
func TestRealAgentsAskAreBlockedAndFail(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, kind string) {
		said := map[externaltest.Reply]bool{} // not by the results: Gemini CLI repeats some when it resumes
		once := func(reply externaltest.Reply) externaltest.Reply {
			if said[reply] {
				return externaltest.Reply{Text: "Done."}
			}
			said[reply] = true
			return reply
		}
		s := newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
			if !strings.Contains(r.Words, "Carry out this task") {
				if !strings.Contains(r.Words, "THE LEFT ONE") {
					return once(calls(kind, "planner_output", `{"type":"questions","questions":["WHICH ONE?"]}`))
				}
				return once(calls(kind, "planner_output", planArgs))
			}
			switch {
			case strings.Contains(r.Words, "TRY IT"):
				return once(reports(kind, "failed", "It does not go."))
			case strings.Contains(r.Words, "RED"):
				return once(reports(kind, "blocked", "There is no paint."))
			}
			return once(calls(kind, "ask", `{"question":"WHICH COLOUR?","options":["RED","BLUE"]}`))
		})
		s.must(t, []string{"task", "add", "Paint one"})
		s.must(t, []string{"task", "plan", "last"}, "WHICH ONE?")
		s.must(t, []string{"task", "answer", "last", "THE LEFT ONE"}, "Look.")
		s.must(t, []string{"task", "start", "last"}, "WHICH COLOUR?")
		s.must(t, []string{"task", "show", "last"}, "waiting")
		s.must(t, []string{"task", "answer", "last", "1"}, "There is no paint.")
		s.must(t, []string{"task", "show", "last"}, "waiting", "blocked")
		s.must(t, []string{"task", "resume", "last", "-p", "TRY IT"}, "It does not go.")
		s.must(t, []string{"task", "show", "last"}, "failed")
		history := s.pawl(t, "task", "show", "last", "--history", "--json")
		for event, n := range map[string]int{"planner_output_submitted": 2, "planning_questions_returned": 1, "answers_submitted": 2, "question_asked": 1, "completion_report_submitted": 2, "output_reminder_sent": 0} {
			if got := strings.Count(history, `"type":"`+event+`"`); got != n {
				t.Errorf("%d events %s in %s", got, event, history)
			}
		}
		r := s.model.Requests()
		if words := r[len(r)-1].Words; !strings.Contains(words, "Carry out this task") {
			t.Errorf("the last turn is not in the conversation of the first: %s", words)
		}
	})
}

// An agent hands a part of its work to another program, and starts a helper like itself; both are runs below its own,
// and what they submit is the result.
func TestRealAgentsHandOverToAnother(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, kind string) {
		other := next(kind)
		var told []string
		s := newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
			switch {
			case r.Program == other && len(r.Results) == 0:
				return reports(other, "complete", "THE OTHER HAS LOOKED.")
			case r.Program == other:
				return externaltest.Reply{Text: "Done."}
			case strings.Contains(r.Words, "HELP ME"):
				return externaltest.Reply{Text: "THE HELPER SAYS 42."}
			case len(r.Results) == 0:
				return calls(kind, "handoff", `{"agent":"other","prompt":"LOOK FOR ME"}`)
			case len(r.Results) == 1:
				return calls(kind, "agent", `{"prompt":"HELP ME"}`)
			}
			told = r.Results
			return externaltest.Reply{Text: "Both have answered."}
		}, other)
		s.agent(t, "other", other)
		s.must(t, []string{"run", "--agent", "builder", "-p", "Let others look."}, "Both have answered.")
		if len(told) != 2 || !strings.Contains(told[0], "THE OTHER HAS LOOKED.") || !strings.Contains(told[1], "THE HELPER SAYS 42.") {
			t.Errorf("it was told %q", told)
		}
		s.must(t, []string{"runs", "show", "last"}, "THE OTHER HAS LOOKED.", "THE HELPER SAYS 42.")
	})
}

// subAgents are calls that start a sub-agent of a program's own.
var subAgents = map[string]externaltest.Reply{
	"claude-code": {Tool: "Agent", Args: `{"description":"Look","prompt":"INSIDE","subagent_type":"general-purpose"}`},
	"codex":       {Tool: "multi_agent_v1__spawn_agent", Args: `{"message":"INSIDE"}`},
	"gemini-cli":  {Tool: "invoke_agent", Args: `{"agent_name":"generalist","prompt":"INSIDE"}`},
	"opencode":    {Tool: "task", Args: `{"description":"Look","prompt":"INSIDE","subagent_type":"general"}`},
}

// A sub-agent of the program's own is under the rules of the run, too: what they deny, or no one
// allows, does not run in it.
func TestRealAgentsHaveSubAgentsUnderTheSameRules(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, kind string) {
		var inside []string
		s := newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
			own := []externaltest.Reply{agentShell(kind, "touch denied"), agentShell(kind, "mkdir allowed"), agentShell(kind, "tee asks </dev/null")}
			switch i := strings.LastIndex(r.Words, "INSIDE"); {
			case i < 0 && len(r.Results) == 0:
				return subAgents[kind]
			case i < 0 && kind == "codex" && len(r.Results) == 1: // it works beside the one that has started it
				id := regexp.MustCompile(`[0-9a-f-]{36}`).FindString(r.Results[0])
				return externaltest.Reply{Tool: "multi_agent_v1__wait_agent", Args: fmt.Sprintf(`{"targets":[%q]}`, id)}
			case i >= 0 && len(r.Results) < len(own):
				return own[len(r.Results)]
			case i >= 0:
				inside = r.Results
			}
			return externaltest.Reply{Text: "I tried all."}
		})
		s.must(t, []string{"run", "--agent", "builder", "--deny", "shell(touch *)", "--allow", "shell(mkdir *)", "-p", "Try."})
		if got := s.made("denied", "allowed", "asks"); got != "allowed" || len(inside) != 3 {
			t.Errorf("there are %q; the sub-agent was told %q", got, inside)
		}
	})
}

// leftOf returns the command lines of the processes that carry a variable of the site, without those of pawl itself.
func (s *agentSite) leftOf(t *testing.T) (left []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Skip("needs /proc")
	}
	for _, dir := range dirs {
		env, _ := os.ReadFile(filepath.Join(dir, "environ")) // it may have ended, or be another user's
		if !slices.Contains(strings.Split(string(env), "\x00"), "HOME="+lookedUp(s.env, "HOME")) {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(line) > 0 && !strings.Contains(string(stat), ") Z ") {
			left = append(left, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return left
}

// pawl is interrupted, terminated and killed while the program runs a command with children in sessions of their own.
// No process is left. After a kill that holds once the conversation continues.
func TestRealAgentsThatAreStoppedLeaveNothing(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, kind string) {
		signals := []os.Signal{os.Interrupt, syscall.SIGTERM, os.Kill}
		var s *agentSite
		s = newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
			for i := len(signals); i > 0; i-- {
				if strings.Contains(r.Words, fmt.Sprint("GO ON ", i)) {
					break
				} else if strings.Contains(r.Words, fmt.Sprint("GO ON ", i-1)) && len(s.made(fmt.Sprint("begun", i-1))) == 0 {
					return agentShell(kind, fmt.Sprintf("touch begun%d; setsid sleep 3600 & setsid sh -c 'sleep 3601; :' & sleep 3602 & sleep 3603", i-1))
				}
			}
			return externaltest.Reply{Text: "I am done."}
		})
		for i, sig := range signals {
			args := []string{"run", "--mode", "bypass", "-p", fmt.Sprint("GO ON ", i)}
			if i == 0 {
				args = append(args, "-m", agentModels[kind])
			} else {
				args = append(args, "--continue")
			}
			said := s.stopped(t, sig, 4, args...)
			if left := s.leftOf(t); sig != os.Kill && len(left) > 0 {
				t.Errorf("after %v there are\n%s\npawl said\n%s", sig, strings.Join(left, "\n"), said)
			}
		}
		s.must(t, []string{"run", "--continue", "-p", "GO ON 3"}, "I am done.")
		if left := s.leftOf(t); len(left) > 0 {
			t.Errorf("after all there are\n%s", strings.Join(left, "\n"))
		}
	})
}

// stopped sends a signal to pawl when its agent's commands sleep, which are n processes. It returns what pawl has said.
func (s *agentSite) stopped(t *testing.T, sig os.Signal, n int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.bin, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // it is stopped
	// As long as pawl waits for the program: OpenCode took three minutes to start under a load of 46, with the least priority.
	for len(slices.DeleteFunc(s.leftOf(t), func(l string) bool { return !strings.HasPrefix(l, "sleep 36") })) != n {
		select {
		case <-ended:
			t.Fatalf("pawl %q has ended before its agent's commands slept:\n%s", args, &out)
		case <-time.After(20 * time.Millisecond):
		}
	}
	_ = cmd.Process.Signal(sig)
	<-ended
	return out.String()
}

// pawl is killed while a use of a tool waits for a person. The decision reaches the conversation when the task is
// driven again: what was allowed runs once, and is not asked again.
func TestRealAgentsLearnOfADecisionAfterPawlWasKilled(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, kind string) {
		s := newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
			switch done := strings.Join(r.Results, " "); {
			case strings.Contains(done, "accepted"):
				return externaltest.Reply{Text: "Done."}
			case strings.Contains(done, "EFFECT"):
				return reports(kind, "complete", "It is there.")
			}
			return agentShell(kind, "echo x >>effects; echo EFF''ECT")
		})
		s.planned(t, "builder")
		first := exec.CommandContext(t.Context(), s.bin, "task", "start", "last")
		first.Dir, first.Env = s.dir, s.env
		asked := regexp.MustCompile(`call needs approval|needs approval`)
		out := &watched{until: asked, found: make(chan struct{})}
		first.Stdout, first.Stderr = out, out
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		<-out.found
		_ = first.Process.Kill()
		_ = first.Wait()
		s.must(t, []string{"runs", "decide", "last", "allow"})
		s.must(t, []string{"task", "watch", "last", "--on-ask", "deny"}, "It is there.")
		s.must(t, []string{"task", "show", "last"}, "completed")
		if b, err := os.ReadFile(filepath.Join(s.dir, "effects")); err != nil || string(b) != "x\n" {
			t.Errorf("the effects are %q, %v", b, err)
		}
	})
}

// A watched text closes found when it has what is waited for.
type watched struct {
	strings.Builder
	until *regexp.Regexp
	found chan struct{}
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Builder.Write(b)
	if w.until != nil && w.until.MatchString(w.String()) {
		close(w.found)
		w.until = nil
	}
	return n, err
}

// A worker that works in a copy of the repository changes files there, and none of the person's, and uses no tool
// of its own that stands for one which it was not granted.
func TestRealAgentsWorkInACopyWithTheirGrants(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, kind string) {
		var told []string
		var s *agentSite
		s = newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
			file := "made"
			if m := regexp.MustCompile(`[^\s"<>]*/copies/[^\s"<>/]+/[^\s"<>/]+`).FindString(r.Words); m != "" {
				file = filepath.Join(m, file)
			}
			told = r.Results
			return plays(agentShell(kind, "touch ran"), agentWrite(kind, filepath.Join(s.dir, "outside")), agentWrite(kind, file), reports(kind, "complete", "Made."))(r)
		})
		for _, words := range []string{"init -q", "-c user.name=a -c user.email=a@b commit -q --allow-empty -m first"} {
			git := exec.Command("git", strings.Fields(words)...)
			git.Dir = s.dir
			if out, err := git.CombinedOutput(); err != nil {
				t.Skipf("needs git: %v: %s", err, out)
			}
		}
		s.agent(t, "builder", agentModels[kind], "tools: [read, list, write, edit]")
		s.planned(t, "builder", "--isolation", "clone")
		s.must(t, []string{"task", "start", "last", "--on-ask", "deny"})
		s.must(t, []string{"task", "show", "last"}, "completed", "Made.")
		s.must(t, []string{"task", "diff", "last"}, "made", "+x")
		if got := s.made("ran", "outside", "made"); got != "" {
			t.Errorf("in the person's folder there are %q", got)
		}
		refused := "copy of the repository"
		if kind == "gemini-cli" { // it refuses by itself
			refused = "not in workspace"
		}
		if len(told) != 4 || !strings.Contains(told[0], "not granted") || !strings.Contains(told[1], refused) {
			t.Errorf("it was told %q", told)
		}
	})
}

// A server that the person has given a program is offered to its model, and each use of its tools is judged by the
// rules for mcp__SERVER__TOOL.
func TestRealAgentsUseAServerOfThePersonAsTheRulesSay(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("note-server") // testscript.Main has put it into PATH
	if err != nil {
		t.Fatal(err)
	}
	withEach(t, func(t *testing.T, kind string) {
		notes := filepath.Join(t.TempDir(), "notes")
		name := map[string]string{"claude-code": "mcp__mine__", "codex": "mcp__mine__", "gemini-cli": "mcp_mine_", "opencode": "mine_"}[kind]
		s := newAgentSite(t, kind, plays(externaltest.Reply{Tool: name + "note", Args: `{"text":"allowed"}`}, externaltest.Reply{Tool: name + "other", Args: `{"text":"asks"}`}))
		home := lookedUp(s.env, "HOME")
		server := map[string]any{"mine": map[string]any{"command": program, "args": []string{notes}}}
		merge := func(file string, v map[string]any) {
			var settings map[string]any
			if b, err := os.ReadFile(file); err == nil {
				if err := json.Unmarshal(b, &settings); err != nil {
					t.Fatal(err)
				}
			} else {
				settings = map[string]any{}
			}
			for k, v := range v {
				settings[k] = v
			}
			b, err := json.Marshal(settings)
			if err != nil {
				t.Fatal(err)
			}
			s.write(t, file, string(b))
		}
		switch kind {
		case "claude-code":
			merge(filepath.Join(home, ".claude.json"), map[string]any{"mcpServers": server})
		case "gemini-cli":
			merge(filepath.Join(home, ".gemini", "settings.json"), map[string]any{"mcpServers": server})
		case "codex":
			file := filepath.Join(home, ".codex", "config.toml")
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s.write(t, file, string(b)+fmt.Sprintf("[mcp_servers.mine]\ncommand=%q\nargs=[%q]\ndefault_tools_approval_mode=\"approve\"\n", program, notes))
		case "opencode":
			merge(filepath.Join(home, ".config", "opencode", "opencode.json"), map[string]any{"mcp": map[string]any{"mine": map[string]any{"type": "local", "command": []string{program, notes}}}})
		}
		s.must(t, []string{"run", "--agent", "builder", "--allow", "mcp__mine__note", "-p", "Try."}, "I tried all.")
		if !slices.ContainsFunc(s.model.Requests(), func(r externaltest.Request) bool { return slices.Contains(r.Tools, name+"note") }) {
			t.Error("its tools were not offered")
		}
		if b, err := os.ReadFile(notes); err != nil || string(b) != "allowed\n" {
			t.Errorf("noted was %q, %v; the results were %q", b, err, s.results())
		}
	})
}
