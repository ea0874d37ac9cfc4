package permission

import (
	"strings"
	"testing"

	"pawl/permission/spelling"
)

var typedTools = []string{"ask", "edit", "fetch", "glob", "list", "read", "search", "shell", "shell_output", "shell_stop", "todo", "write"}

func TestRulesInTheSpellingOfOtherAgentsNameOurs(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"Bash":                        "write shell",
		"Bash(*)":                     "write shell",
		"Bash(:*)":                    "write shell",
		"Bash(go test:*)":             "write shell(go test *)",
		"Bash(go test *)":             "write shell(go test *)",
		"Bash(npm run build)":         "write shell(npm run build)",
		"shell(git log:*)":            `write shell(git log *); for a word that begins with "log:", quote that: 'log:'*`,
		"shell(git:*)":                "write shell(git *)",
		"Read":                        "write read",
		"Read(//etc/hosts)":           "write read(/etc/hosts)",
		"Read(./docs/**)":             "write read(docs/**)",
		"Read(~/.zshrc)":              "write read($HOME/.zshrc), in double quotes",
		"Edit":                        "write edit and write",
		"Edit(/src/**)":               "write edit(src/**) and write(src/**)",
		"Write(src/**)":               "write write(src/**)",
		"Glob":                        "write glob",
		"Grep":                        "write search",
		"WebFetch":                    "write fetch",
		"WebFetch(domain:a.com)":      "write fetch(a.com)",
		"fetch(domain:a.com)":         "write fetch(a.com)",
		"WebSearch":                   "pawl has no tool that does what WebSearch does",
		"run_shell_command(git diff)": "write shell(git diff *)",
		"mcp__x":                      "mcp__SERVER__TOOL",
		"todo(x)":                     "a rule for todo has no pattern; write todo",
		"read(~/x)":                   "write the absolute path",
		"read(../x)":                  "has to be absolute",
		"wriet":                       `there is no tool "wriet"; did you mean "write"`,
		"Bash(a":                      "no closing parenthesis",
	} {
		_, err := ParseTyped(given, typedTools)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", given, err, want)
		}
	}
	for _, given := range []string{"shell", "shell(*)", "shell( go test * )", "shell(npm run 'test:'*)", "shell(npm run test:*:fast)", "fetch(localhost:3000)",
		"fetch(*)", "edit(src/**)", "read(/etc/hosts)", "edit(//tmp/x)", "mcp__house__bell", "todo"} {
		if _, err := ParseTyped(given, typedTools); err != nil {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// Files of rules, agents and the API read rules with ParseRule.
func TestASpellingOfAnotherAgentIsRefusedWhereverARuleIsRead(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"Bash(ls)": "write shell(ls)", "shell(rm:*)": "write shell(rm *)", "WebSearch": "no tool that does what WebSearch does", "Task(reviewer)": "write agent: a rule for agent has no pattern", "Skill": "write skill"} {
		if _, err := ParseRule(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", given, err, want)
		}
		_, err := Load(strings.NewReader(`{"rules": [{"rule": "`+given+`", "effect": "allow"}]}`), ForUser, "rules.json")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a file with %s: %v, want %q", given, err, want)
		}
	}
}

// What an error suggests is accepted, and matches what was meant.
func TestTheRuleThatIsSuggestedMatches(t *testing.T) {
	t.Parallel()
	for given, command := range map[string]string{"Bash(git log:*)": "git log --oneline", "shell(npm run:*)": "npm run build", "Bash(make)": "make"} {
		ours, _ := spelling.Translate(given)
		if len(ours) != 1 {
			t.Errorf("%s: %q", given, ours)
			continue
		}
		r, err := ParseTyped(ours[0], typedTools)
		r.Effect = Allow
		if _, ok := r.decides(command); err != nil || !ok {
			t.Errorf("%s: %s does not allow %s: %v", given, ours[0], command, err)
		}
	}
	quoted, err := ParseTyped("shell(npm run 'test:'*)", typedTools)
	quoted.Effect = Allow
	if _, ok := quoted.decides("npm run test:unit"); err != nil || !ok {
		t.Errorf("a quoted colon does not stand for itself: %v", err)
	}
}

// Each tool of another agent has one of pawl's, or none.
func TestEachToolOfAnotherAgentIsNamed(t *testing.T) {
	t.Parallel()
	for want, names := range map[string]string{
		"":               "agent google_web_search skill task websearch",
		"edit and write": "apply_patch edit patch",
		"ask":            "askuserquestion",
		"shell":          "bash exec_command local_shell run_shell_command shell shelltool",
		"shell_output":   "bashoutput taskoutput",
		"fetch":          "fetch web_fetch webfetch",
		"glob":           "glob",
		"search":         "grep grep_search search search_file_content",
		"shell_stop":     "killbash killshell taskstop",
		"list":           "list list_directory ls",
		"edit":           "multiedit notebookedit replace",
		"read":           "notebookread read read_file read_many_files",
		"todo":           "todoread todowrite update_plan",
		"write":          "write write_file",
	} {
		for name := range strings.FieldsSeq(names) {
			same, known := spelling.Same(strings.ToUpper(name), typedTools)
			if got := strings.Join(same, " and "); got != want || !known {
				t.Errorf("%s is %q (known: %v), want %q", name, got, known, want)
			}
		}
	}
	if same, known := spelling.Same("frobnicate", typedTools); same != nil || known {
		t.Errorf("a name of no tool is %q", same)
	}
	if same, _ := spelling.Same("bash", []string{"read"}); len(same) > 0 {
		t.Errorf("without shell, bash is %q", same)
	}
}
