//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pawl/external/externaltest"
)

// agentModels are, of each program, a model that has all its tools.
var agentModels = map[string]string{"claude-code": "claude-code/claude-sonnet-4-5", "codex": "codex/gpt-5.5", "gemini-cli": "gemini-cli/gemini-2.5-flash", "opencode": "opencode/mock/m"}

// agentShell and agentWrite are calls of a program's own tools.
func agentShell(kind, command string) externaltest.Reply {
	name := map[string]string{"claude-code": "Bash", "codex": "exec_command", "gemini-cli": "run_shell_command", "opencode": "bash"}[kind]
	member := "command"
	if kind == "codex" {
		member = "cmd"
	}
	return externaltest.Reply{Tool: name, Args: fmt.Sprintf(`{%q:%q}`, member, command)}
}

// scripted returns a call of a tool of Codex's as its newer models make it: in a script.
func scripted(r externaltest.Reply) externaltest.Reply {
	if !json.Valid([]byte(r.Args)) {
		r.Args = strconv.Quote(r.Args)
	}
	return externaltest.Reply{Tool: "exec", Args: "text(await tools." + r.Tool + "(" + r.Args + "))\n"}
}

func agentWrite(kind, file string) externaltest.Reply {
	switch kind {
	case "codex":
		return externaltest.Reply{Tool: "apply_patch", Args: "*** Begin Patch\n*** Add File: " + file + "\n+x\n*** End Patch\n"}
	case "opencode":
		return externaltest.Reply{Tool: "write", Args: fmt.Sprintf(`{"filePath":%q,"content":"x"}`, file)}
	case "gemini-cli":
		return externaltest.Reply{Tool: "write_file", Args: fmt.Sprintf(`{"file_path":%q,"content":"x"}`, file)}
	}
	return externaltest.Reply{Tool: "Write", Args: fmt.Sprintf(`{"file_path":%q,"content":"x"}`, file)}
}

// plays answers with calls, one after the other, and then with a text.
func plays(calls ...externaltest.Reply) func(externaltest.Request) externaltest.Reply {
	return func(r externaltest.Request) externaltest.Reply {
		if len(r.Results) < len(calls) {
			return calls[len(r.Results)]
		}
		return externaltest.Reply{Text: "I tried all."}
	}
}

// results returns the results of the calls of the model's last turn.
func (s *agentSite) results() []string {
	var last []string
	for _, r := range s.model.Requests() {
		if len(r.Tools) > 0 {
			last = r.Results
		}
	}
	return last
}

// made reports which of some files of the workspace there are.
func (s *agentSite) made(names ...string) string {
	var there []string
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(s.dir, name)); err == nil {
			there = append(there, name)
		}
	}
	return strings.Join(there, " ")
}

// The rules decide what a program does with its own tools, in each mode.
func TestRealAgentsDoWhatTheRulesAllow(t *testing.T) {
	t.Parallel()
	files := []string{"denied", "allowed", "asks", "edited", "secret"}
	models := slices.Collect(maps.Values(agentModels))
	for mode, want := range map[string]string{"default": "allowed", "accept-edits": "allowed edited", "plan": "", "bypass": "allowed asks edited"} {
		for _, model := range append(models, "codex/gpt-6-sol") {
			t.Run(model+"/"+mode, func(t *testing.T) {
				t.Parallel()
				kind, _, _ := strings.Cut(model, "/")
				var s *agentSite
				s = newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
					all := []externaltest.Reply{agentShell(kind, "touch denied"), agentShell(kind, "mkdir allowed"), agentShell(kind, "tee asks </dev/null"),
						agentWrite(kind, filepath.Join(s.dir, "edited")), agentWrite(kind, filepath.Join(s.dir, "secret"))}
					for i := range all {
						if slices.Contains(r.Tools, "exec") {
							all[i] = scripted(all[i])
						}
					}
					return plays(all...)(r)
				})
				s.must(t, []string{"run", "-m", model, "--mode", mode, "--deny", "shell(touch *)", "--deny", "write(secret)", "--deny", "edit(secret)",
					"--allow", "shell(mkdir *)", "-p", "Try."}, "I tried all.")
				if got := s.made(files...); got != want {
					t.Errorf("there are %q, want %q; the results were %q", got, want, s.results())
				}
				if r := s.results(); len(r) != 5 || mode != "plan" && (!strings.Contains(r[0], "touch") || !strings.Contains(r[4], "denied")) {
					t.Errorf("the agent was told %q", r)
				}
			})
		}
	}
}

// A person is asked for what no rule decides, once: what is always allowed runs without a question.
func TestRealAgentsAskAPerson(t *testing.T) {
	t.Parallel()
	for _, kind := range agentKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newAgentSite(t, kind, plays(agentShell(kind, "touch one"), agentShell(kind, "touch two"), agentShell(kind, "mkdir three"), agentShell(kind, "mkdir four")))
			cmd := exec.CommandContext(t.Context(), s.bin, "run", "-m", agentModels[kind], "--on-ask", "wait", "--ask", "shell(mkdir *)", "-p", "Try.")
			cmd.Dir, cmd.Env = s.dir, s.env
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var said []string
			answers := []string{"always", "allow", "no"}
			lines := bufio.NewScanner(stderr)
			for lines.Scan() {
				said = append(said, lines.Text())
				if strings.Contains(lines.Text(), "a call needs approval; answer with") && len(answers) > 0 {
					s.must(t, []string{"runs", "decide", "last", answers[0]})
					answers = answers[1:]
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, strings.Join(said, "\n"))
			}
			if got := s.made("one", "two", "three", "four"); got != "one two three" || len(answers) != 0 {
				t.Errorf("there are %q, and %q were not asked; it said\n%s\nthe results were %q", got, answers, strings.Join(said, "\n"), s.results())
			}
		})
	}
}
