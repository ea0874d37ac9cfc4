package policy_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/policy"
	"pawl/run"
)

func TestRulesOfEveryScopeCountTogetherAndSayWhereTheyAreFrom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules(r.system, "deny shell(rm *)")
	r.rules(r.config+"/permissions.json", "allow shell(make *)")
	r.rules(r.state+"/permissions.json", "allow shell(frob *)")
	r.rules(r.state+"/rules/r1.json", "allow shell(knit *)")
	r.rules(r.state+"/rules/r2.json", "allow shell(purl *)")
	r.rules(".pawl/permissions.json", "deny shell(deploy *)", "allow shell(grind *)")
	o := r.options()
	o.Given = permission.Rules{{Effect: permission.Allow, Tool: "shell", Pattern: "rm *", Source: "flag"}}
	p, err := policy.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"make all": "allow user", "frob x": "allow workspace", "knit x": "allow run",
		"purl x": "ask default", "deploy x": "deny repository", "grind x": "ask default", "rm x": "deny managed",
	} {
		d := decide(p, command)
		if got := string(d.Verdict) + " " + d.Source; got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
	r.trust(p)
	if d := decide(p, "grind x"); d.Verdict != permission.Allow || d.Source != "repository" {
		t.Errorf("trusted, the repository's rule does not count: %+v", d)
	}
	var got []string
	for _, l := range p.List() {
		got = append(got, fmt.Sprintf("%s %s %s %s %s", l.Scope, l.Effect, l.Rule, l.Run, l.Idle))
	}
	want := []string{
		"managed deny shell(rm *)  ", "user allow shell(make *)  ", "workspace allow shell(frob *)  ",
		"repository deny shell(deploy *)  ", "repository allow shell(grind *)  ",
		"run allow shell(knit *) r1 ", "run allow shell(purl *) r2 ", " allow shell(rm *)  ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAChangeOfAFileCountsAtTheNextDecision(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	r.expect(p, "at first", map[string]permission.Verdict{"make": permission.Ask})
	file := r.config + "/permissions.json"
	r.rules(file, "allow shell(make)")
	r.expect(p, "with a rule", map[string]permission.Verdict{"make": permission.Allow})
	// The same length and the same times: only the clock of the file system tells.
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	r.rules(file, "allow shell(fake)")
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	r.expect(p, "changed in secret", map[string]permission.Verdict{"make": permission.Ask, "fake": permission.Allow})
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	r.expect(p, "removed", map[string]permission.Verdict{"fake": permission.Ask})
}

func TestAddedRulesAreThereForTheNextProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	for _, scope := range []permission.Scope{permission.ForUser, permission.ForWorkspace, permission.ForRun, permission.FromRepository} {
		q := rule(t, permission.Allow, "shell("+string(scope)+" *)", scope)
		q.Why = "because of " + string(scope)
		q.Matches = []string{string(scope) + " x"}
		if err := p.Add(q, "r1"); err != nil {
			t.Fatal(err)
		}
		if err := p.Add(q, "r1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*policy.Policy{p, r.open()} {
		r.expect(p, "added", map[string]permission.Verdict{
			"user x": permission.Allow, "workspace x": permission.Allow, "run x": permission.Allow, "repository x": permission.Allow})
		if !trusted(p) {
			t.Error("the person's own addition to the repository is not trusted")
		}
		rules := p.List()
		if len(rules) != 4 {
			t.Errorf("%d rules are listed, want each once: %v", len(rules), rules)
		}
		for _, l := range rules {
			if l.By != "ann" || l.When.IsZero() || l.Why != "because of "+string(l.Scope) || l.File == "" {
				t.Errorf("it is not said who, when and why: %+v", l)
			}
		}
	}
	for _, name := range []string{r.config + "/permissions.json", r.state + "/permissions.json", r.state + "/rules/r1.json", r.config + "/trust.json"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want it for its user alone", name, info.Mode(), err)
		}
	}
	for _, l := range p.List() {
		if err := p.Remove(l.Rule, l.Run); err != nil {
			t.Fatal(err)
		}
	}
	if left := r.open().List(); len(left) > 0 {
		t.Errorf("after removing all, there are %v", left)
	}
	err := p.Remove(rule(t, permission.Allow, "shell(user *)", permission.ForUser), "")
	if !errors.Is(err, policy.ErrNoRule) {
		t.Errorf("removing what is not there: %v", err)
	}
}

func TestARuleThatFailsItsOwnTestIsNotStored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	q := rule(t, permission.Allow, "shell(make *)", permission.ForUser)
	q.Not = []string{"make clean"}
	r.has(p.Add(q, ""), "should not match and does")
	r.has(p.Add(rule(t, permission.Allow, "shell", permission.FromRepository), ""), "the effect of mode bypass")
	r.has(p.Add(rule(t, permission.Allow, "shell(x)", permission.Managed), ""), "administrator")
	r.has(p.Add(rule(t, permission.Allow, "shell(x)", permission.Scope("task")), ""), "scope")
	r.has(p.Add(rule(t, permission.Allow, "shell(x)", permission.ForRun), "../../x"), "needs the run")
	if len(p.List()) > 0 {
		t.Errorf("something was stored: %v", p.List())
	}
}

func TestTwoWritersLoseNoRule(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const writers, each = 6, 8
	var group sync.WaitGroup
	for w := range writers {
		p := r.open() // as a process of its own: they share files and nothing else
		group.Go(func() {
			for i := range each {
				if err := p.Add(permission.Rule{Effect: permission.Allow, Tool: "shell", Pattern: fmt.Sprintf("make %d-%d", w, i), Scope: permission.ForUser}, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got := len(r.open().List()); got != writers*each {
		t.Errorf("%d rules are there, want %d", got, writers*each)
	}
	left, err := filepath.Glob(r.config + "/.*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRulesThatCannotBeReadAreKeptAsTheyAre(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(r.config+"/permissions.json", `{"rules": [
		{"rule": "shell(make *)", "effect": "allow", "matches": ["ls"]},
		{"rule": "shell(ls)", "effect": "allow"}]}`)
	p := r.open()
	if err := p.Check(); err != nil {
		t.Errorf("an allow rule that fails its test keeps pawl from starting: %v", err)
	}
	if notes := p.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "permissions.json:2:3") || !strings.Contains(notes[0], "is ignored") {
		t.Errorf("the notes are %q", notes)
	}
	if err := p.Add(rule(t, permission.Deny, "shell(rm *)", permission.ForUser), ""); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(r.config + "/permissions.json")
	if err != nil || !strings.Contains(string(content), `"matches":["ls"]`) {
		t.Errorf("%v: the rule that fails its test is gone:\n%s", err, content)
	}
}

// A file that may hold a rule which forbids and cannot be read keeps everything from
// being allowed.
func TestAGarbledFileAllowsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, says string }{
		"no JSON":           {"{\"rules\": [\n{\"rule\": \"shell(rm *)\", \"effect\": \"deny\"},,]}", ":2:"},
		"cut":               {`{"rules": [`, "ends too early"},
		"a slip in effect":  {`{"rules": [{"rule": "shell(rm *)", "effect": "dney"}]}`, `effect "dney"`},
		"a slip in a field": {`{"rules": [{"rule": "shell(rm *)", "effct": "deny"}]}`, `"effct"`},
		"both effects":      {`{"rules": [{"rule": "shell(rm *)", "effect": "deny", "effect": "allow"}]}`, "duplicate"},
		"other capitals":    {`{"rules": [{"rule": "shell(rm *)", "Effect": "deny", "effect": "allow"}]}`, `"Effect"`},
		"another scope":     {`{"rules": [{"rule": "shell(rm *)", "effect": "deny", "scope": "task"}]}`, "scope"},
		"a rule too many":   {`{"rules": [], "rules": []}`, "duplicate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, file := range []string{"user", "workspace", "repository", "managed"} {
				r := newRig(t)
				path := map[string]string{"user": r.config + "/permissions.json", "workspace": r.state + "/permissions.json",
					"repository": r.workspace + "/.pawl/permissions.json", "managed": r.system}[file]
				r.rules(path, "deny shell(rm *)", "deny shell(mv *)")
				o := r.options()
				o.Given = permission.Rules{{Effect: permission.Allow, Tool: "shell", Pattern: "make *"}, {Effect: permission.Allow, Tool: "shell", Pattern: "rm *"}}
				p, err := policy.Open(o)
				if err != nil {
					t.Fatal(err)
				}
				r.expect(p, "readable", map[string]permission.Verdict{"make": permission.Allow, "rm x": permission.Deny})
				r.write(path, c.content)
				r.has(p.Check(), path, c.says, "repair it")
				want := map[string]permission.Verdict{"make": permission.Ask, "ls": permission.Ask, "mv a b": permission.Deny}
				if file == "repository" {
					delete(want, "mv a b") // it was never trusted: who brought the rule may take it back
				}
				r.expect(p, file+" garbled", want)
				if rules, err := p.Rules("r1"); err == nil || len(rules) > 0 && rules[0].Effect == permission.Allow {
					t.Errorf("rules that allow are handed out: %v, %v", rules, err)
				}
				r.rules(path)
				r.expect(p, file+" repaired", map[string]permission.Verdict{"make": permission.Allow, "rm x": permission.Allow})
			}
		})
	}
}

func TestAFileThatCannotBeReadIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const garbled = "{\"rules\": [\n{\"rule\": \"shell(rm *)\""
	r.write(r.config+"/permissions.json", garbled)
	p := r.open()
	r.has(p.Add(rule(t, permission.Allow, "shell(ls)", permission.ForUser), ""), "permissions.json:2:", "repair it")
	content, err := os.ReadFile(r.config + "/permissions.json")
	if err != nil || string(content) != garbled {
		t.Errorf("%v: the file has become\n%s", err, content)
	}
}

func TestFilesOfOthersAreNobodysRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules(r.config+"/permissions.json", "allow shell(make)")
	if err := os.Chmod(r.config+"/permissions.json", 0o666); err != nil {
		t.Fatal(err)
	}
	p := r.open()
	r.has(p.Check(), "can be written by others", "chmod")
	r.expect(p, "writable by all", map[string]permission.Verdict{"make": permission.Ask})
	if err := os.Chmod(r.config+"/permissions.json", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Check(); err != nil {
		t.Error(err)
	}

	r.rules(r.system, "allow shell(frob)")
	for _, path := range []string{r.system, filepath.Dir(r.system)} {
		if err := os.Chmod(path, 0o775); err != nil {
			t.Fatal(err)
		}
		r.has(p.Check(), path, "can be written by others")
		r.expect(p, "managed and writable by a group", map[string]permission.Verdict{"frob": permission.Ask})
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.expect(p, "managed", map[string]permission.Verdict{"frob": permission.Allow})

	o := r.options()
	o.AdminUID = os.Getuid() + 1
	p, err := policy.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	r.has(p.Check(), r.system, "not to the administrator")
	o = r.options()
	o.Managed = filepath.Dir(r.system) + "/gone.json"
	if p, err = policy.Open(o); err != nil {
		t.Fatal(err)
	}
	r.has(p.Check(), "gone.json")
}

func TestAFileThatIsNoFileDoesNotHang(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := os.MkdirAll(r.config, 0o700); err != nil {
		t.Fatal(err)
	}
	pipe(t, r.config+"/permissions.json")
	r.has(r.open().Check(), "named pipe", "remove it")
}

func TestALinkedFileOfTheUserStaysLinked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	elsewhere := filepath.Join(filepath.Dir(r.config), "dotfiles.json")
	r.rules(elsewhere, "allow shell(make)")
	if err := os.MkdirAll(r.config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, r.config+"/permissions.json"); err != nil {
		t.Skipf("needs symbolic links: %v", err)
	}
	p := r.open()
	if err := p.Add(rule(t, permission.Deny, "shell(rm *)", permission.ForUser), ""); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(elsewhere)
	if err != nil || !strings.Contains(string(content), "shell(rm *)") {
		t.Errorf("%v: the file that is linked to has\n%s", err, content)
	}
	r.expect(p, "linked", map[string]permission.Verdict{"make": permission.Allow, "rm x": permission.Deny})
}

func TestWhatAPersonDecidedIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.options()
	o.History = func() []permission.Allowed {
		return []permission.Allowed{{Tool: "edit", Paths: []string{"src/a.go"}}, {Tool: "edit", Paths: []string{"src/b.go"}}}
	}
	p, err := policy.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	edit := permission.Request{Tool: "edit", Class: run.Writes, Edits: true, Paths: []string{"src/c.go"}, Workspace: "/work"}
	proposal := p.Propose("r1", permission.Default, edit)
	if len(proposal.Rules) != 1 || proposal.Rules[0].String() != "edit(src/*)" || proposal.Rules[0].Scope != permission.ForWorkspace {
		t.Fatalf("the proposal is %+v", proposal)
	}
	once := rule(t, permission.Allow, "shell(make)", permission.Once)
	never := rule(t, permission.Deny, "shell(rm *)", "")
	if err := p.AddRules("r1", append(proposal.Rules, once, never)); err != nil {
		t.Fatal(err)
	}
	next := r.open()
	if d := next.Decide("r2", permission.Default, edit); d.Verdict != permission.Allow {
		t.Errorf("what is always allowed asks again: %+v", d)
	}
	r.expect(next, "kept", map[string]permission.Verdict{"make": permission.Ask, "rm x": permission.Deny})
	if e, err := next.Explain("r1", permission.Default, edit); err != nil || e.Decision.Source != "workspace" {
		t.Errorf("explained as %+v, %v", e.Decision, err)
	}
}
