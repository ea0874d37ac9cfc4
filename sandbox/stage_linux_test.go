package sandbox_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/proc"
	"pawl/run"
	"pawl/sandbox"
)

// A stage is a home with a workspace in it, and things around them that commands
// must not touch.
type stage struct {
	home, workspace, state, runtime string
	policy                          *sandbox.Policy
	env                             []string
	withoutNamespaces               bool
	folders                         []string // further ones
}

// newStage makes one. With namespaces commands see a /tmp of their own, in which
// they may make what has the same name as something out here: what counts is what
// became of that.
func newStage(t testing.TB) *stage {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{home: filepath.Join(dir, "home")}
	s.workspace = filepath.Join(s.home, "project")
	s.state = filepath.Join(s.home, ".local/state/pawl")
	s.runtime = filepath.Join(dir, "runtime/pawl")
	for _, d := range []string{s.workspace, s.state, s.runtime} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	for _, name := range []string{"PYENV_ROOT", "GOFLAGS", "GOPROXY"} {
		if v := os.Getenv(name); v != "" {
			s.env = append(s.env, name+"="+v)
		}
	}
	s.plan(t)
	return s
}

// plan makes the policy, as at the beginning of a run.
func (s *stage) plan(t testing.TB) {
	t.Helper()
	var err error
	if s.policy, err = sandbox.For(s.workspace, s.options()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.policy.Close)
}

func (s *stage) options() sandbox.Options {
	return sandbox.Options{StateDir: filepath.Join(s.home, ".local/state/pawl"), RuntimeDir: s.runtime, Getenv: s.getenv, IsSecret: isSecret, IsObeyed: isObeyed, Folders: s.folders}
}

// isSecret stands for filenames.Secret.
func isSecret(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(name, ".env") || strings.HasSuffix(name, ".pem") || name == "secrets" || name == "credentials.json" {
			return true
		}
	}
	return false
}

func (s *stage) getenv(name string) string {
	for _, v := range s.env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func (s *stage) needsSandbox(t testing.TB) {
	t.Helper()
	r := sandbox.Probe()
	if s.withoutNamespaces && (r.Abilities.Landlock == 0 || !r.Abilities.Filter) {
		t.Skip("needs Landlock and seccomp filters")
	}
	if !r.Confines() {
		t.Skipf("needs a machine where commands can be confined: %+v", r.Parts)
	}
}

func (s *stage) needsTree(t testing.TB) {
	t.Helper()
	if a := sandbox.Probe().Abilities; !a.Tree || !a.Network {
		t.Skip("needs namespaces: root, or unprivileged user namespaces")
	}
}

// unprivileged are the levels at which a command has nothing but the sandbox, and may be one that nobody knows.
func (s *stage) unprivileged(tree bool) []run.Confinement {
	if tree && s.policy.Contains() {
		return []run.Confinement{run.Confined, run.Trial, run.Inside}
	}
	return []run.Confinement{run.Confined}
}

// An outcome is what came of a command.
type outcome struct {
	status  proc.Status
	printed string
	told    []string
	refusal string
}

// run runs a program under the policy.
func (s *stage) run(t testing.TB, level run.Confinement, argv ...string) outcome {
	t.Helper()
	return s.fenced(t, level, sandbox.Fence{}, argv...)
}

// fenced runs a program under the policy and the rules of a run.
func (s *stage) fenced(t testing.TB, level run.Confinement, f sandbox.Fence, argv ...string) outcome {
	t.Helper()
	var out bytes.Buffer
	c, session, err := s.policy.Start(proc.Command{Argv: argv, Dir: s.workspace, Env: s.env, Output: &out}, level, f)
	if err != nil {
		t.Fatal(err)
	}
	defer session.End()
	p, err := proc.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return outcome{status, out.String(), session.End(), session.Refusal(status, out.String())}
}

func command(argv ...string) proc.Command { return proc.Command{Argv: argv} }

// sh runs a script in the whole sandbox.
func (s *stage) sh(t testing.TB, script string) outcome {
	t.Helper()
	return s.run(t, run.Confined, "sh", "-c", script)
}

// write makes a file below the stage's home.
func (s *stage) write(t testing.TB, path, content string) string {
	t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.home, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// git runs git outside of any sandbox.
func (s *stage) git(t testing.TB, args ...string) {
	t.Helper()
	needs(t, "git")
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
	cmd.Dir = s.workspace
	cmd.Env = append([]string{"GIT_CONFIG_NOSYSTEM=1"}, s.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("needs %s", p)
		}
	}
}
