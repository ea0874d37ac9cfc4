package permission_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/permission"
	"pawl/permission/cases"
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
			report, err := cases.Run(file, func(path string) (string, error) {
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
