package permission_test

import (
	"encoding/json"
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

// ask decides about a shell command as the worker does: links among the files it
// names are looked at.
func ask(rs permission.Rules, command, workspace string) permission.Decision {
	r := permission.Request{Tool: "shell", Command: command, Workspace: workspace}
	c := permission.Classify(command)
	r.Class = c.Class
	for _, p := range c.Paths {
		if workspace == "" || filepath.IsAbs(p) {
			continue
		}
		if real, err := filepath.EvalSymlinks(filepath.Join(workspace, p)); err == nil && !strings.HasPrefix(real, workspace) {
			r.Outside = true
		}
	}
	return rs.Decide(r, permission.Default)
}

var strictness = map[permission.Verdict]int{permission.Allow: 0, permission.Ask: 1, permission.Deny: 2}

// The corpus is kept beside the repository: published bypasses, advisories and
// tests of other agents.
const corpus = "../../shared/cases/shell/cases.json"

func TestNothingOfTheCorpusRunsThatShouldNot(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(corpus)
	if err != nil {
		t.Skipf("the corpus of shell commands is not here; it belongs at %s", corpus)
	}
	var file struct {
		Cases []struct {
			ID, Command, Expected, Why string
			Rule                       struct{ Allow, Ask, Deny []string }
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// One case is about a link that leads out.
	if err := os.Symlink("/etc", filepath.Join(workspace, "link-to-etc")); err != nil {
		t.Fatal(err)
	}
	met, allows := 0, 0
	for _, c := range file.Cases {
		rs := slices.Concat(rules(t, permission.Allow, c.Rule.Allow...), rules(t, permission.Ask, c.Rule.Ask...), rules(t, permission.Deny, c.Rule.Deny...))
		got := ask(rs, c.Command, workspace)
		want := permission.Verdict(c.Expected)
		if want == permission.Allow {
			allows++
			if got.Verdict == permission.Allow {
				met++
			} else {
				t.Errorf("%s: %q is %s (%s), want allow: %s", c.ID, c.Command, got.Verdict, got.Reason, c.Why)
			}
		} else if strictness[got.Verdict] < strictness[want] {
			t.Errorf("%s: %q is %s (%s), want %s: %s", c.ID, c.Command, got.Verdict, got.Reason, want, c.Why)
		}
	}
	t.Logf("%d cases; %d of %d that should be allowed are", len(file.Cases), met, allows)
}
