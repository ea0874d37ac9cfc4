//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pawl/external"
	"pawl/external/externaltest"
	"pawl/store/postgres/pgtest"
	"pawl/task"
)

// The machine on which Claude Code works is lost, with what the program has kept of its conversation. On another machine the agent
// begins anew, with an account of what was done, in what was saved of its copy.
func TestRealClaudeCodeOutlivesItsMachine(t *testing.T) {
	t.Parallel()
	kind, _, _ := external.Split("claude-code")
	externaltest.Program(t, "claude-code")
	s := newSite(t, pgtest.Shared(t).Address(t))
	git := s.share()
	s.programs = map[string]string{"node": build(t)}
	hangs, again := make(chan struct{}), make(chan string, 1)
	model := externaltest.NewModel(t, func(r externaltest.Request) externaltest.Reply {
		report := externaltest.Reply{Tool: kind.ToolName("completion_report"), Args: `{"status":"complete","summary":"Both.","output":""}`}
		switch {
		case slices.Contains(r.Tools, kind.ToolName("planner_output")):
			if len(r.Results) > 0 {
				return externaltest.Reply{Text: "Planned."}
			}
			return externaltest.Reply{Tool: kind.ToolName("planner_output"), Args: `{"type":"plan","summary":"Write.","requirements":[],"acceptanceCriteria":[],"plan":["write"],"assignedAgent":"builder"}`}
		case !slices.Contains(r.Tools, kind.ToolName("completion_report")):
			return externaltest.Reply{Text: "A title."}
		case strings.Contains(r.Words, "half > beta"): // it is told what was done
			select {
			case again <- r.Words:
			default:
			}
			if len(r.Results) > 0 {
				return externaltest.Reply{Text: "Done."}
			}
			return report
		case len(r.Results) == 0:
			return externaltest.Reply{Tool: "Bash", Args: `{"command":"echo half > beta","description":"Write it"}`}
		default:
			select {
			case <-hangs:
			default:
				close(hangs)
			}
			<-r.Gone
			return externaltest.Reply{Text: "nobody hears it"}
		}
	})
	live := func() {
		env := model.Env(t, "claude-code")
		s.env = map[string][]string{"node": env}
		for _, v := range env {
			if config, is := strings.CutPrefix(v, "XDG_CONFIG_HOME="); is {
				agents := filepath.Join(config, "pawl", "agents")
				ok(t, os.MkdirAll(agents, 0o700))
				for name, more := range map[string]string{"task-validator": "kind: planner\n", "builder": ""} {
					ok(t, os.WriteFile(filepath.Join(agents, name+".md"), []byte("---\ndescription: It is for tests.\nprovider: claude-code\n"+more+"---\n\nDo it.\n"), 0o600))
				}
			}
		}
		s.worker("node", "")
	}
	office := *s
	office.folder = "office"
	live()
	id := office.add("write both files")
	<-hangs
	until(t, "its first command is saved", func() bool {
		return exec.Command("git", "-C", s.repository, "cat-file", "-e", "refs/pawl/saved/"+id+":beta").Run() == nil
	})
	until(t, "its result is recorded", func() bool { // after it is saved
		return strings.Contains(office.pawl("runs", "log", string(office.status(id).Run), "--json"), `"type":"result"`)
	})
	s.lose("node")
	s.endAgents("node")
	live()
	until(t, "the task is completed", func() bool { return office.status(id).Status == task.Completed })
	s.machines["node"][1].end(syscall.SIGTERM)
	if told := <-again; !strings.Contains(told, "write both files") || !strings.Contains(told, "- done: ") {
		t.Errorf("on the other machine the agent was told\n%s", told)
	}
	if got := git("-C", s.repository, "show", "refs/pawl/saved/"+id+":beta"); got != "half" {
		t.Errorf("what was saved is %q", got)
	}
}

// endAgents kills the programs of external agents that the workers of a machine have left, which end with a machine.
func (s *site) endAgents(machine string) {
	s.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	ok(s.t, err)
	for _, file := range all {
		env, _ := os.ReadFile(file) // it may have ended
		if strings.Contains(string(env), "PAWL_EXTERNAL_AGENT="+filepath.Join(s.dir, machine)+"/") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			ok(s.t, err)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
