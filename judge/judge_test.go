package judge

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pawl/permission"
	"pawl/run"
	"pawl/sandbox"
	"pawl/tool"
)

// counted are rules that count how often they are asked.
type counted struct {
	permission.Rules
	asked int
}

func (c *counted) Decide(_ run.ID, m permission.Mode, r permission.Request) permission.Decision {
	c.asked++
	return c.Rules.Decide(r, m)
}

func (c *counted) Explain(_ run.ID, m permission.Mode, r permission.Request) (permission.Explanation, error) {
	return c.Rules.Explain(r, m), nil
}

func (c *counted) Propose(_ run.ID, m permission.Mode, r permission.Request) permission.Proposal {
	return c.Rules.Propose(r, m, nil)
}

// asked returns how rules look at a call.
func asked(env tool.Env, name string, class run.Class, in tool.Intent) permission.Request {
	return (&Judge{}).Of(Call{Tool: name, Class: class, Intent: in, Env: env}).Request
}

// A call is judged once, and everything that is said of it is of the same mode and rules.
func TestAJudgementIsMadeOnce(t *testing.T) {
	t.Parallel()
	rules := &counted{}
	dir := t.TempDir()
	env := tool.Env{Workspace: dir, Session: tool.NewSession(dir, run.ToolState{})}
	call := Call{Mode: permission.AcceptEdits, Tool: "edit", Class: run.Writes, Intent: tool.Intent{Paths: []string{"a.go"}}, Args: json.RawMessage(`{}`), Env: env}
	j := (&Judge{Rules: rules}).Of(call)
	for range 3 {
		if d := j.Decision(); d.Verdict != permission.Allow {
			t.Errorf("decided %+v", d)
		}
	}
	if rules.asked != 1 {
		t.Errorf("the rules were asked %d times", rules.asked)
	}
	if e, err := j.Explain(); err != nil || e.Decision.Verdict != permission.Allow {
		t.Errorf("explained %+v, %v", e, err)
	}
	call.Mode = permission.Default
	j = (&Judge{Rules: rules}).Of(call)
	if e, err := j.Explain(); err != nil || e.Decision.Verdict != permission.Ask || j.Decision().Verdict != permission.Ask {
		t.Errorf("in mode default: %+v, %v", e, err)
	}
	if p := j.Propose(); len(p.Rules) != 1 || p.Rules[0].String() != "edit(a.go)" {
		t.Errorf("proposed %+v", p)
	}
}

// What is approved is what the call would do to the files as they were.
func TestTheDigestIsOfTheFilesAsTheyAre(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := tool.Env{Workspace: dir, Session: tool.NewSession(dir, run.ToolState{})}
	digest := func(class run.Class, args string) string {
		return (&Judge{}).Of(Call{Tool: "edit", Class: class, Intent: tool.Intent{Paths: []string{"a.go"}}, Args: json.RawMessage(args), Env: env}).Digest()
	}
	before, other, read := digest(run.Writes, `{}`), digest(run.Writes, `{"x":1}`), digest(run.Reads, `{}`)
	if before != digest(run.Writes, `{}`) || before == other {
		t.Errorf("digests %s, %s", before, other)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if digest(run.Writes, `{}`) == before || digest(run.Reads, `{}`) != read {
		t.Error("the content of a file counts where it is edited, and nowhere else")
	}
}

// What an external agent asks for is judged as the tool of pawl's that does the same, and without a sandbox.
func TestTheUseOfAnotherProgramsToolIsNotConfined(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	policy, err := sandbox.For(dir, sandbox.Options{StateDir: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer policy.Close()
	env := tool.Env{Workspace: dir, Session: tool.NewSession(dir, run.ToolState{}), Sandbox: policy}
	q := asked(env, "permission", run.Reads, tool.Intent{As: "edit", Class: run.Writes, Paths: []string{"a.go"}})
	if q.Tool != "edit" || q.Class != run.Writes || !q.Edits || q.Sandboxed {
		t.Errorf("asked about %+v", q)
	}
	if q := asked(env, "edit", run.Writes, tool.Intent{Paths: []string{"a.go"}}); !q.Sandboxed {
		t.Errorf("asked about %+v", q)
	}
}

// A result from outside is what a person was shown: what a file was when it was approved.
func TestTheContentOfAFileIsPartOfWhatIsApproved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if got := contentHash(file); got != "none" {
		t.Errorf("of nothing: %s", got)
	}
	if got := contentHash(dir); got != "no file" {
		t.Errorf("of a folder: %s", got)
	}
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := contentHash(file); got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("of abc: %s", got)
	}
}

func TestWhatRulesAreToldOfACall(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := tool.Env{Workspace: dir, Session: tool.NewSession(dir, run.ToolState{})}
	r := (&Judge{Own: []string{"/own"}, Root: true}).Of(Call{Tool: "edit", Class: run.Writes, Intent: tool.Intent{Paths: []string{"a.go"}, Below: []string{"sub"}}, Env: env}).Request
	if !r.Edits || r.Outside || !r.Root || len(r.Resolved) != 1 || len(r.Below) != 2 || r.Dir != dir && r.Dir != "" || r.Own[0] != "/own" || r.Sandboxed || r.EnforcesReadOnly {
		t.Errorf("an edit is %+v", r)
	}
	for _, in := range []tool.Intent{{Paths: []string{"a\x00"}}, {Below: []string{"a\x00"}}} {
		if r := asked(env, "edit", run.Writes, in); !r.Outside {
			t.Errorf("a path that is none is inside: %+v", r)
		}
	}
	if r := asked(env, "read", run.Reads, tool.Intent{Paths: []string{"a"}}); r.Edits {
		t.Errorf("a read edits: %+v", r)
	}
	if r := asked(env, "shell", run.Writes, tool.Intent{Command: "x > a", Paths: []string{"a"}}); r.Edits || r.Command != "x > a" {
		t.Errorf("a command is %+v", r)
	}
	if got := absolute(env, "a/b"); got != filepath.Join(dir, "a/b") {
		t.Errorf("a/b is %s", got)
	}
	if got := absolute(env, "/x"); got != "/x" {
		t.Errorf("/x is %s", got)
	}
}

func TestWhatLeadsNowhereOrOutsideIsToldToTheRules(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	env := tool.Env{Workspace: dir, Session: tool.NewSession(dir, run.ToolState{})}
	q := asked(env, "edit", run.Writes, tool.Intent{Paths: []string{"loop"}})
	if !q.Outside || !q.Edits {
		t.Errorf("a link that leads to itself: %+v", q)
	}
	if q := asked(env, "read", run.Reads, tool.Intent{Paths: []string{"a.go"}}); q.Outside || q.Edits || !slices.Equal(q.Resolved, []string{"a.go"}) {
		t.Errorf("a file of the workspace: %+v", q)
	}
}

// Files that programs outside obey are named to the rules, if the call edits them.
func TestRulesAreToldWhichFilesProgramsObey(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	policy, err := sandbox.For(dir, sandbox.Options{StateDir: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer policy.Close()
	env := tool.Env{Workspace: dir, Session: tool.NewSession(dir, run.ToolState{}), Sandbox: policy}
	in := tool.Intent{Paths: []string{".hg/hgrc", "a.go"}}
	if q := asked(env, "edit", run.Writes, in); !slices.Equal(q.Obeyed, []string{".hg/hgrc"}) || !q.Sandboxed {
		t.Errorf("of an edit: %+v", q)
	}
	if q := asked(env, "read", run.Reads, in); len(q.Obeyed) > 0 {
		t.Errorf("of a read: %q", q.Obeyed)
	}
}
