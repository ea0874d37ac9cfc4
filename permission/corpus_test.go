package permission_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/permission"
)

// rules makes rules for the shell tool, or for the tool a text names.
func rules(t testing.TB, effect permission.Verdict, texts ...string) permission.Rules {
	t.Helper()
	var rs permission.Rules
	for _, text := range texts {
		if !strings.Contains(text, "(") {
			text = "shell(" + text + ")"
		}
		r, err := permission.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Effect, r.Source = effect, "test"
		rs = append(rs, r)
	}
	return rs
}

// ask decides about a shell command as the worker does, where no file is a link and
// there is no sandbox.
func ask(rs permission.Rules, command, workspace string) permission.Decision {
	return rs.Decide(permission.Request{Tool: "shell", Command: command, Workspace: workspace,
		Class: permission.Classify(command).Class, EnforcesReadOnly: true}, permission.Default)
}

var strictness = map[permission.Verdict]int{permission.Allow: 0, permission.Ask: 1, permission.Deny: 2}

// A corpus of the project's own is kept here, a hold-out set beside the repository:
// published bypasses, advisories and tests of other agents.
const holdOut = "../../shared/cases/shell/cases.json"

func TestNothingOfTheCorpusRunsThatShouldNot(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"own": "testdata/cases.json", "hold-out": holdOut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := os.Open(path)
			if err != nil && name == "hold-out" {
				t.Skipf("the hold-out set of shell commands is not here; it belongs at %s", path)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			workspace, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			// One case is about a link that leads out.
			if err := os.Symlink("/etc", filepath.Join(workspace, "link-to-etc")); err != nil {
				t.Fatal(err)
			}
			report, err := permission.RunCases(file, func(path string) (string, error) {
				real, err := filepath.EvalSymlinks(filepath.Join(workspace, path))
				if err != nil || strings.HasPrefix(real, workspace) {
					return path, nil // it is not there, or in the workspace
				}
				return real, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if report.Cases < 150 {
				t.Errorf("there are %d cases, want 150", report.Cases)
			}
			if len(report.Differences) > 0 {
				t.Error(report)
			}
			t.Logf("%d cases; met %v of %v", report.Cases, report.Met, report.Expected)
		})
	}
}

// lines returns the lines of a file of testdata that are no comments.
func lines(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "#") && !strings.Contains(line, "\t")
	})
}

// attacks returns the rules and the commands of testdata/attacks.txt.
func attacks(t testing.TB) (rs permission.Rules, commands []string) {
	unescape := strings.NewReplacer("<LF>", "\n", "<ZW>", "\u200b")
	for _, line := range lines(t, "attacks.txt") {
		if pattern, ok := strings.CutPrefix(line, "allow: "); ok {
			rs = append(rs, rules(t, permission.Allow, "shell("+pattern+")")...)
			continue
		}
		commands = append(commands, unescape.Replace(line))
	}
	return rs, commands
}

func TestNoWildcardCoversWhatExecutesOrWrites(t *testing.T) {
	t.Parallel()
	rs, commands := attacks(t)
	for _, command := range commands {
		if d := ask(rs, command, "/work"); d.Verdict == permission.Allow {
			t.Errorf("%q runs by %q: %s", command, d.Rule, d.Reason)
		}
	}
	t.Logf("%d commands under %d rules that allow: none runs", len(commands), len(rs))
}

func TestADenyRuleFindsItsProgramInEveryDress(t *testing.T) {
	t.Parallel()
	rs := slices.Concat(rules(t, permission.Allow, "*"), rules(t, permission.Deny, "rm *"))
	for _, line := range lines(t, "evasions.txt") {
		want, command, _ := strings.Cut(line, "\t")
		if d := ask(rs, command, "/work"); string(d.Verdict) != want {
			t.Errorf("%q: %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// However many words a command has, those that cannot name what is denied are passed over.
func TestManyWordsThatNameNothingDeniedRun(t *testing.T) {
	t.Parallel()
	rs := slices.Concat(rules(t, permission.Allow, "*"), rules(t, permission.Deny, "rm *"))
	if d := ask(rs, "frob"+strings.Repeat(" a.go", 500), "/work"); d.Verdict != permission.Allow {
		t.Errorf("%s (%s)", d.Verdict, d.Reason)
	}
}

// Of a word with very many texts that programs may run, not all are read: it asks.
func TestAWordOfManyTextsAsks(t *testing.T) {
	t.Parallel()
	rs := slices.Concat(rules(t, permission.Allow, "*"), rules(t, permission.Deny, "rm *"))
	d := ask(rs, "frob '"+strings.Repeat("sudo arm;", 500)+"'", "/work")
	if d.Verdict != permission.Ask || !strings.Contains(d.Reason, "it may run its many words") {
		t.Errorf("%s (%s)", d.Verdict, d.Reason)
	}
}

func TestCasesAreReportedThatDiffer(t *testing.T) {
	t.Parallel()
	const file = `{"note": "x", "cases": [
		{"id": "a", "command": "ls", "rule": {"default": "ask"}, "expected": "allow"},
		{"id": "b", "command": "make", "rule": {"allow": ["make"]}, "expected": "ask", "why": "it differs"},
		{"id": "c", "command": "make", "rule": {}, "expected": "allow"},
		{"id": "d", "command": "make", "rule": {"deny": ["make *"]}, "expected": "ask"},
		{"id": "e", "command": "make", "rule": {"default": "deny"}, "expected": "deny"},
		{"id": "f", "command": "frob x", "rule": {"default": "allow"}, "expected": "allow"},
		{"id": "g", "command": "cat /etc/hosts", "rule": {"allow": ["read(/etc/hosts)"]}, "expected": "allow"}
	]}`
	report, err := permission.RunCases(strings.NewReader(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, d := range report.Differences {
		ids = append(ids, d.ID)
	}
	if !slices.Equal(ids, []string{"b", "c"}) {
		t.Errorf("%v differ, want b and c:\n%s", ids, report)
	}
	text := report.String()
	if !strings.Contains(text, `"got":"allow"`) || !strings.HasSuffix(text, "2 of 7 cases differ\n") {
		t.Errorf("the report reads:\n%s", text)
	}
	report, err = permission.RunCases(strings.NewReader(` [{"command": "ls", "expected": "allow"}, {"command": "ls", "expected": "deny"}]`), nil)
	if err != nil || report.Cases != 2 || len(report.Differences) != 1 {
		t.Errorf("of a bare list: %v, %v", report, err)
	}
	for _, bad := range []string{"", "{", "{}", `{"cases":[{"command":"ls","expected":"maybe"}]}`, `{"cases":[{"command":"ls","expected":"ask","rule":{"allow":["a '"]}}]}`} {
		if _, err := permission.RunCases(strings.NewReader(bad), nil); err == nil {
			t.Errorf("%q is taken for a file of cases", bad)
		}
	}
}

// A path of a case is judged by where it leads; where that is not known it asks.
func TestTheFilesOfCasesAreResolved(t *testing.T) {
	t.Parallel()
	const file = `{"cases": [
		{"id": "in the workspace", "command": "cat a", "rule": {}, "expected": "allow"},
		{"id": "out of it", "command": "cat out", "rule": {}, "expected": "ask"},
		{"id": "to a secret", "command": "cat secret", "rule": {}, "expected": "ask"},
		{"id": "to what is denied", "command": "cat secret", "rule": {"deny": ["read(.env)"]}, "expected": "deny"},
		{"id": "not known", "command": "cat unknown", "rule": {}, "expected": "ask"},
		{"id": "a rule covers it, and it is not known", "command": "touch unknown", "rule": {"allow": ["touch *"]}, "expected": "ask"},
		{"id": "by its spelling", "command": "cat ../a /a", "rule": {}, "expected": "ask"}
	]}`
	report, err := permission.RunCases(strings.NewReader(file), func(path string) (string, error) {
		switch path {
		case "out":
			return "/etc/hosts", nil
		case "secret":
			return ".env", nil
		case "unknown":
			return "", errors.New("it cannot be read")
		case "../a", "/a":
			t.Errorf("%s is outside by its spelling and was looked for", path)
		}
		return path, nil
	})
	if err != nil || len(report.Differences) > 0 {
		t.Errorf("%v\n%s", err, report)
	}
}
