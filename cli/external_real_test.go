//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/external"
	"pawl/external/externaltest"
	"pawl/forms"
)

const (
	planArgs   = `{"type":"plan","summary":"Look.","requirements":["r"],"acceptanceCriteria":["a"],"plan":["look"],"assignedAgent":"builder"}`
	reportArgs = `{"status":"complete","summary":"Looked.","output":""}`
)

// An agentSite is a workspace in which all agents are a real program, whose model is a function.
type agentSite struct {
	bin, dir string
	env      []string
	kind     external.Kind
	model    *externaltest.Model
}

// newAgentSite returns a site of a program. Others that are named are there too.
func newAgentSite(t *testing.T, kind string, answer func(externaltest.Request) externaltest.Reply, others ...string) *agentSite {
	t.Helper()
	kinds := append([]string{kind}, others...)
	for _, kind := range kinds {
		externaltest.Program(t, kind)
	}
	bin, err := built()
	if err != nil {
		t.Skipf("needs the go command, to build the binary: %v", err)
	}
	top := t.TempDir()
	s := &agentSite{bin: bin, dir: filepath.Join(top, "w"), model: externaltest.NewModel(t, answer)}
	s.kind, _, _ = external.Split(kind)
	s.env = append(s.model.Env(t, kinds...), "PAWL_STATE_DIR="+filepath.Join(top, "s"), "XDG_RUNTIME_DIR="+filepath.Join(top, "r"))
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.agent(t, "task-validator", kind, "kind: planner")
	s.agent(t, "builder", kind)
	s.agent(t, "chooser", kind, `output:
  tool: choice
  schema:
    type: object
    oneOf:
      - {type: object, properties: {kind: {const: one}, n: {type: integer}}, required: [kind, n], additionalProperties: false}
      - {type: object, properties: {kind: {const: none}, why: {type: string}}, required: [kind, why], additionalProperties: false}`)
	return s
}

// agent writes the file of an agent that is a program, or a model of one; more are further lines of it.
func (s *agentSite) agent(t *testing.T, name, program string, more ...string) {
	t.Helper()
	if program == "gemini-cli" { // by itself it asks a model first which model to ask, and for a minute and a half if the answer is none
		program = agentModels[program]
	}
	kind, model, given := strings.Cut(program, "/")
	if given {
		more = append(more, "model: "+model)
	}
	s.write(t, filepath.Join(lookedUp(s.env, "XDG_CONFIG_HOME"), "pawl", "agents", name+".md"),
		strings.Join(append([]string{"---\ndescription: It is for " + name + ".\nprovider: " + kind}, more...), "\n")+"\n---\n\nDo it.\n")
}

func lookedUp(env []string, name string) (value string) {
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest
		}
	}
	return value
}

func (s *agentSite) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// pawl runs a command and returns what it printed. Whether it failed is not of interest.
func (s *agentSite) pawl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.bin, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("pawl %q: %v", args, err)
	}
	return string(out)
}

// must runs a command whose output has to hold some texts.
func (s *agentSite) must(t *testing.T, args []string, texts ...string) {
	t.Helper()
	out := s.pawl(t, args...)
	for _, text := range texts {
		if !strings.Contains(out, text) {
			var asked []string
			for _, r := range s.model.Requests() {
				if len(r.Tools) > 0 {
					asked = append(asked, strings.Join(r.Tools, " ")+" | "+strings.Join(r.Results, " | "))
				}
			}
			t.Fatalf("there is no %q in what pawl %q printed:\n%s\nThe model was asked:\n%s", text, args, out, strings.Join(asked, "\n"))
		}
	}
}

var agentKinds = []string{"claude-code", "codex", "gemini-cli", "opencode"}

// With each real program: planner and worker are offered the tool of their result, with its
// true schema, and not the other's. They forget it, are reminded in the same conversation,
// submit, and submit another result, which does not count.
func TestRealAgentsPlanAndCarryOutATask(t *testing.T) {
	t.Parallel()
	for _, kind := range agentKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			k, _, _ := external.Split(kind)
			var refused []string
			s := newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
				tool, other, first, second := "planner_output", "completion_report", planArgs, `{"type":"error","error":"Another."}`
				if strings.Contains(r.Words, "Carry out this task") {
					tool, other, first, second = other, tool, reportArgs, `{"status":"failed","summary":"Another."}`
				}
				if !slices.Contains(r.Tools, k.ToolName(tool)) || slices.Contains(r.Tools, k.ToolName(other)) {
					t.Errorf("the model was offered %q", r.Tools)
				}
				switch reminders := strings.Count(r.Words, "tool before finishing. Please call it now."); {
				case reminders == 0:
					return externaltest.Reply{Text: "I FORGOT."}
				case !strings.Contains(r.Body, "I FORGOT."):
					t.Error("the reminder is not in the same conversation")
				case len(r.Results) == 0:
					return externaltest.Reply{Tool: k.ToolName(tool), Args: first}
				case len(r.Results) == 1:
					return externaltest.Reply{Tool: k.ToolName(tool), Args: second}
				case len(r.Results) == 2:
					refused = append(refused, r.Results[1])
				}
				return externaltest.Reply{Text: "Submitted."}
			})
			s.must(t, []string{"task", "add", "Look around"})
			s.must(t, []string{"task", "plan", "last"}, "Look.")
			s.must(t, []string{"task", "start", "last"})
			s.must(t, []string{"task", "show", "last"}, "completed", "Looked.", "builder")
			if len(refused) != 2 || !strings.Contains(refused[0], "409") || !strings.Contains(refused[1], "409") {
				t.Errorf("the second results were answered %q", refused)
			}
			history := s.pawl(t, "task", "show", "last", "--history", "--json")
			for event, n := range map[string]int{"planner_output_submitted": 1, "completion_report_submitted": 1, "output_reminder_sent": 2} {
				if got := strings.Count(history, `"type":"`+event+`"`); got != n {
					t.Errorf("%d events %s in %s", got, event, history)
				}
			}
		})
	}
}

// A program that never submits is reminded twice, and then the task has failed.
func TestRealAgentsThatNeverSubmitHaveFailed(t *testing.T) {
	t.Parallel()
	for _, kind := range agentKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newAgentSite(t, kind, func(externaltest.Request) externaltest.Reply { return externaltest.Reply{Text: "No."} })
			s.must(t, []string{"task", "add", "Look around"})
			s.must(t, []string{"task", "plan", "last"})
			s.must(t, []string{"task", "show", "last"}, "failed", "task-validator ended without calling planner-output, after 2 reminders; it said last: \"No.\"")
		})
	}
}

// A result of a schema of the user's own that is a union at the top, as authored: what the
// program's provider takes instead is not what is checked.
func TestRealAgentsSubmitAResultOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	for _, kind := range agentKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			k, _, _ := external.Split(kind)
			var answers []string
			s := newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
				switch len(r.Results) {
				case 0:
					return externaltest.Reply{Tool: k.ToolName("choice"), Args: `{"kind":"one","why":"of the other branch"}`}
				case 1:
					answers = append(answers, r.Results[0])
					return externaltest.Reply{Tool: k.ToolName("choice"), Args: `{"kind":"one","n":7}`}
				}
				return externaltest.Reply{Text: "Submitted."}
			})
			s.must(t, []string{"run", "--agent", "chooser", "-p", "choose"}, `{"kind":"one","n":7}`)
			want := "wrong arguments for choice"
			if kind == "gemini-cli" { // it validates arguments itself, with the schema that it was given
				want = "must have required property 'n'"
			}
			if len(answers) != 1 || !strings.Contains(answers[0], want) {
				t.Errorf("a payload that does not fit was answered %q", answers)
			}
		})
	}
}

// A task fails of what the requests of its agent fail of, also where the program would make them again for minutes or for
// ever: then people see that while it does. A limit is said with the time after which it may continue, but by Codex, which has
// words of its own.
func TestRealAgentsFailOfWhatTheProviderSays(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, kind string) {
		for status, words := range map[int]string{429: "Too many requests. Try again in 3 hours.", 500: "Internal server error: BOOM"} {
			t.Run(fmt.Sprint(status), func(t *testing.T) {
				t.Parallel()
				s := newAgentSite(t, kind, func(externaltest.Request) externaltest.Reply { return externaltest.Reply{Status: status, Text: words} })
				s.env = append(s.env, "PAWL_RETRY=10s")
				s.agent(t, "builder", agentModels[kind])
				s.planned(t, "builder")
				want := []string{words}
				switch {
				case kind == "codex" && status == 429:
					want = []string{"429 Too Many Requests"}
				case kind == "codex":
					want = []string{"high demand"}
				case status == 429:
					want = append(want, "continue after 20", " UTC")
				}
				told := s.pawl(t, "task", "start", "last")
				if again := !(kind == "codex" && status == 429); again && !strings.Contains(told, "a request to its provider has failed, and it tries again") {
					t.Errorf("no one was told that it tries again:\n%s", told)
				}
				s.must(t, []string{"task", "show", "last"}, append(want, "failed")...)
			})
		}
	})
}

// If the user is not logged in to a program, the error comes before a task begins. A Codex with a provider of the person's
// own, which has no login, works.
func TestRealAgentsSayThatNobodyIsLoggedIn(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, kind string) {
		s := newAgentSite(t, kind, func(externaltest.Request) externaltest.Reply { return externaltest.Reply{Text: "Hello."} })
		s.env = append(s.env, "ANTHROPIC_API_KEY=", "CODEX_API_KEY=", "GEMINI_API_KEY=", "GOOGLE_GEMINI_BASE_URL=")
		home := lookedUp(s.env, "HOME")
		config := filepath.Join(home, ".codex", "config.toml")
		own, _ := os.ReadFile(config)
		s.write(t, config, "")
		s.write(t, filepath.Join(home, ".gemini", "settings.json"), "{}")
		model := agentModels[kind]
		if kind == "opencode" {
			s.must(t, []string{"run", "-m", "opencode/mock/m", "-p", "Hello"}, "Hello.") // which needs none
			model = "opencode/anthropic/claude-sonnet-4-5"
		}
		s.agent(t, "task-validator", model, "kind: planner")
		s.must(t, []string{"task", "add", "Look around"})
		s.must(t, []string{"task", "plan", "last"}, "not logged in to "+s.kind.Title+": log in with `"+s.kind.Login+"`")
		s.must(t, []string{"task", "show", "last"}, "pending")
		if kind == "codex" {
			s.write(t, config, strings.ReplaceAll(string(own), "env_key=\"CODEX_API_KEY\"\n", ""))
			if got := s.pawl(t, "run", "-m", model, "-p", "Hello"); !strings.Contains(got, "Hello.") || strings.Contains(got, "pawl was tested with") {
				t.Errorf("it says\n%s", got)
			}
		}
	})
}

// A person takes a conversation over in the program itself, with what pawl prints but in its headless form, and hands it back: what
// was said there is in the conversation in which the run goes on.
func TestRealAgentsAreTakenOverAndHandedBack(t *testing.T) {
	t.Parallel()
	headless := map[string][2]string{
		"claude-code": {"claude ", "claude -p 'BY HAND' "},
		"codex":       {"codex resume ", "codex exec resume --skip-git-repo-check "},
		"gemini-cli":  {"gemini ", "gemini --skip-trust -m gemini-2.5-flash -p 'BY HAND' "},
		"opencode":    {"opencode ", "opencode run 'BY HAND' "},
	}
	withEach(t, func(t *testing.T, kind string) {
		s := newAgentSite(t, kind, func(externaltest.Request) externaltest.Reply { return externaltest.Reply{Text: "Hello."} })
		s.must(t, []string{"run", "-m", agentModels[kind], "-p", "FIRST WORDS"}, "Hello.")
		_, command, found := strings.Cut(s.pawl(t, "runs", "show", "last"), "— to go on in "+s.kind.Title+" itself: ")
		if command = strings.TrimSpace(command); !found {
			t.Fatal("pawl does not say how")
		}
		var shown forms.ShownRun
		if err := json.Unmarshal([]byte(s.pawl(t, "runs", "show", "last", "--json")), &shown); err != nil || shown.ByHand != command {
			t.Errorf("as JSON it says %q, %v", shown.ByHand, err)
		}
		command = strings.Replace(command, "&& "+headless[kind][0], "&& "+headless[kind][1], 1)
		if kind == "codex" {
			command += " 'BY HAND'"
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Env = s.env
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Hello.") {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		s.must(t, []string{"run", "--continue", "-p", "HANDED BACK"}, "Hello.")
		all := s.model.Requests()
		words := all[len(all)-1].Words
		for _, want := range []string{"FIRST WORDS", "BY HAND", "HANDED BACK"} {
			if !strings.Contains(words, want) {
				t.Errorf("in the conversation there is no %q: %s", want, words)
			}
		}
	})
}
