package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/permission"
	"pawl/policy"
	"pawl/run"
)

// A rig is a machine with one user and one workspace.
type rig struct {
	t                        *testing.T
	workspace, config, state string
	system                   string // the administrator's file
}

func newRig(t *testing.T) *rig {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, workspace: base + "/w", config: base + "/config", state: base + "/state", system: base + "/etc/permissions.json"}
	for _, dir := range []string{r.workspace, base + "/etc"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rig) options() policy.Options {
	return policy.Options{
		Workspace: r.workspace, ConfigDir: r.config, StateDir: r.state,
		// The tests are their own administrator: root's files cannot be made by everybody.
		System: r.system, AdminUID: os.Getuid(),
		By:  "ann",
		Now: func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) },
	}
}

// open opens the workspace as a new process would.
func (r *rig) open() *policy.Policy {
	r.t.Helper()
	p, err := policy.Open(r.options())
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// write puts a file into the workspace, or elsewhere if the name is absolute.
func (r *rig) write(name, content string) {
	r.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.workspace, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// rules writes a file of rules: "allow shell(make)", one an argument.
func (r *rig) rules(name string, rules ...string) {
	r.t.Helper()
	var all []string
	for _, rule := range rules {
		effect, text, _ := strings.Cut(rule, " ")
		all = append(all, `{"rule": "`+text+`", "effect": "`+effect+`"}`)
	}
	r.write(name, `{"rules": [`+strings.Join(all, ",\n")+`]}`)
}

func (r *rig) trust(p *policy.Policy) {
	r.t.Helper()
	changes, err := p.Pending()
	if err == nil {
		err = p.Trust(changes)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// verdict is what becomes of a shell command in a run.
func verdict(p *policy.Policy, command string) permission.Verdict {
	return decide(p, command).Verdict
}

func decide(p *policy.Policy, command string) permission.Decision {
	return p.Decide("r1", permission.Default, permission.Request{Tool: "shell", Command: command, Class: run.Writes, Workspace: "/work"})
}

// expect compares what becomes of commands: "make" → ask.
func (r *rig) expect(p *policy.Policy, when string, want map[string]permission.Verdict) {
	r.t.Helper()
	for command, v := range want {
		if d := decide(p, command); d.Verdict != v {
			r.t.Errorf("%s: %q: %s, want %s (%s)", when, command, d.Verdict, v, d.Reason)
		}
	}
}

// has fails unless the error says all of that.
func (r *rig) has(err error, texts ...string) {
	r.t.Helper()
	if err == nil {
		r.t.Errorf("there is no error, want one with %q", texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			r.t.Errorf("the error does not say %q: %v", text, err)
		}
	}
}

func rule(t *testing.T, effect permission.Verdict, text string, scope permission.Scope) permission.Rule {
	t.Helper()
	r, err := permission.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	r.Effect, r.Scope = effect, scope
	return r
}
