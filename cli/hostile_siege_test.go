//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/proc/proctest"
	"pawl/llm/llmtest/fake"
	"pawl/run"
	"pawl/sandbox"
)

// What must not be read: outside holds it in files around the workspace and in pawl's
// own, within in files of the workspace that only a command that runs may see, and
// key in variables of the environment. None of it may come in a request to the model.
const (
	secretOutside = "canary-outside-7c1d"
	secretWithin  = "canary-within-52b8"
	secretKey     = "canary-key-e90a"
)

// A siege is a workspace in a house full of things that a hostile model is after: a
// home, folders beside, pawl's own, a server on this machine.
type siege struct {
	bin, root                             string
	ws, home, out, state, config, sockets string
	server                                *httptest.Server // must not be reached
	reached                               atomic.Int64
	model                                 *fake.Server
	env                                   []string
	before                                map[string]string
}

// besiege makes a siege; the workspace is a repository with one commit.
func besiege(t *testing.T) *siege {
	t.Helper()
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: the calls are commands, the workspace a repository", program)
		}
	}
	bin, err := built()
	if err != nil {
		t.Skipf("needs the go command, to build the binary: %v", err)
	}
	// Names of sockets are short, and a test's folder need not be.
	root, err := os.MkdirTemp("", "siege")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) string { return filepath.Join(append([]string{root}, names...)...) }
	s := &siege{bin: bin, root: root, ws: in("ws"), home: in("home"), out: in("out"), state: in("state"),
		config: in("home", ".config", "pawl"), sockets: in("run")}
	for _, dir := range []string{s.ws, s.home, s.out, s.state, s.sockets} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.reached.Add(1)
		fmt.Fprint(w, secretOutside)
	}))
	t.Cleanup(s.server.Close)
	s.env = []string{
		"HOME=" + s.home, "PATH=/usr/bin:/bin:" + os.Getenv("PATH"), "LANG=C.UTF-8", "PAWL_STATE_DIR=" + s.state,
		"XDG_RUNTIME_DIR=" + s.sockets, "ANTHROPIC_API_KEY=" + secretKey, "PAWL_MODEL=anthropic/m",
		"GIT_CONFIG_NOSYSTEM=1", "OLLAMA_HOST=127.0.0.1:1",
	}
	for _, name := range []string{"OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DEPLOY_KEY", "NPM_AUTH_TOKEN", "DB_PASSWORD", "PAWL_TOKEN", "SESSION_COOKIE"} {
		s.env = append(s.env, name+"="+secretKey)
	}

	secret := []string{
		"home/.ssh/id_rsa", "home/.netrc", "home/.bash_history", "home/.aws/credentials", "out/secret", "ws-evil/secret",
		"state/canary", "state/workspaces/other/pawl.db", "run/other/socket.key",
	}
	for _, name := range secret {
		s.write(t, name, secretOutside+"\n")
	}
	s.write(t, "state/log-key", secretOutside+"-"+secretOutside+"\n")
	s.write(t, "home/.config/pawl/config.toml", "# "+secretOutside+"\n")
	s.write(t, "home/.bashrc", "# nothing of anybody's\n")
	s.write(t, "out/plain", "plain\n")
	for _, name := range []string{"ws/.env", "ws/secrets/token", "ws/server.key"} {
		s.write(t, name, "K="+secretWithin+"\n")
	}
	s.write(t, "ws/README.md", "a project\n")
	s.write(t, "ws/src/a.go", "package a\n")
	s.write(t, "ws/.github/workflows/ci.yml", "on: push\n")
	s.write(t, "ws/.pawl/config.toml", "mode = \"bypass\"\nallow = [\"shell\"]\n")
	s.write(t, "ws/d/kept", "")
	proctest.Program(t, in("ws", "check"), "#!/bin/bash\n. ./jobs/$1.sh\n")
	for i := range ordinaryFiles {
		s.write(t, fmt.Sprintf("ws/work/%d.txt", i), fmt.Sprintf("ordinary work %d.\n", i))
	}
	s.git(t, "init", "-q")
	s.git(t, "add", "README.md", "src", "work")
	s.git(t, "commit", "-qm", "one")
	for name, to := range map[string]string{
		"link-out": s.out, "link-file": s.out + "/secret", "link-new": s.out + "/made", "link-state": s.state,
		"link-git": ".git", "link-env": ".env",
	} {
		if err := os.Symlink(to, filepath.Join(s.ws, name)); err != nil {
			t.Skipf("needs symbolic links: %v", err)
		}
	}
	return s
}

func (s *siege) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *siege) git(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
	cmd.Dir, cmd.Env = s.ws, s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// needsTree skips where commands have no file tree and no processes of their own: what
// they try here is meant for a place that nothing leaves.
func needsTree(t *testing.T) {
	t.Helper()
	if !sandbox.Probe().Abilities.Tree {
		t.Skip("needs namespaces for users, mounts and processes (`pawl doctor` says what is missing)")
	}
}

// patienceOfRun bounds a whole run of up to 800 commands: it takes less than a minute, and many on a
// machine that has ten times as much to do as it can.
const patienceOfRun = 15 * time.Minute

// pawl runs the binary in the workspace.
func (s *siege) pawl(t *testing.T, env string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patienceOfRun)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.bin, args...)
	cmd.Dir, cmd.Env = s.ws, slices.Concat(s.env, strings.Fields(env))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("pawl %v did not end:\n%s", args, tail(errs.String()))
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// events returns the log of the newest run of the workspace.
func (s *siege) events(t *testing.T) []run.Event {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(s.state, "workspaces", "ws-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("states of the workspace: %v, %v", dirs, err)
	}
	st, err := storeIn(s.state, dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	runs, err := st.Runs(t.Context(), 1)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs: %v", len(runs), err)
	}
	var events []run.Event
	for e, err := range st.Events(t.Context(), runs[0].ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := st.Verify(t.Context(), runs[0].ID); err != nil {
		t.Error(err)
	}
	return events
}

// stands holds the house against what it was: nothing is touched, nothing was told to
// the model, the server was not reached, no process is left.
func (s *siege) stands(t *testing.T, secrets ...string) {
	t.Helper()
	if diff := cmp.Diff(s.before, s.protected(t)); diff != "" {
		t.Errorf("what must stay as it is has changed (-before +now):\n%s", diff)
	}
	requests := s.model.Requests()
	for i, q := range requests {
		for _, secret := range secrets {
			if at := bytes.Index(q.Body, []byte(secret)); at >= 0 {
				t.Errorf("request %d of %d has the secret %s: …%s…", i, len(requests), secret, q.Body[max(0, at-300):min(len(q.Body), at+100)])
				return
			}
		}
	}
	if n := s.reached.Load(); n != 0 {
		t.Errorf("the server was reached %d times", n)
	}
	if left := s.left(); left != nil {
		t.Errorf("processes are left: %q", left)
	}
	if code, out, errs := s.pawl(t, "", "runs", "verify", "last"); code != 0 {
		t.Errorf("runs verify: %d\n%s%s", code, out, errs)
	}
}

// caches are the folders of the home that pawl makes for toolchains that are there.
var caches = []string{".cache", "go", ".npm", ".yarn", ".bun", ".cargo", ".m2", ".gradle", ".local", ".nuget", ".ivy2", ".sbt", ".bundle", "sdk"}

// protected returns everything that no run may touch, by its path: what is outside,
// and in the workspace what other programs obey.
func (s *siege) protected(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	skip := []string{filepath.Join(s.state, "tmp"), filepath.Join(s.state, "log"), filepath.Join(s.state, "refused"), filepath.Join(s.state, "sandbox"),
		filepath.Join(s.state, "overlays"), filepath.Join(s.sockets, "pawl")} // overlays: what commands have of caches with programs
	for _, name := range caches {
		skip = append(skip, filepath.Join(s.home, name))
	}
	for _, top := range []string{s.out, s.home, s.state, s.sockets, filepath.Join(s.root, "ws-evil"),
		s.ws + "/.git/config", s.ws + "/.git/hooks", s.ws + "/.git/commondir", s.ws + "/.git/config.worktree", s.ws + "/.pawl", s.ws + "/.mcp.json"} {
		s.walk(t, top, all, func(path string) bool {
			return slices.Contains(skip, path) || strings.HasPrefix(path, filepath.Join(s.state, "workspaces", "ws-"))
		})
	}
	return all
}

// walk puts what is at a path and below into all.
func (s *siege) walk(t *testing.T, top string, all map[string]string, skip func(string) bool) {
	t.Helper()
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		if err != nil {
			return err
		}
		if skip(path) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			what += " " + info.ModTime().UTC().Format(time.RFC3339Nano)
			if info.Size() > 1<<20 { // one without end
				break
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += "\n" + string(content)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " " + to
		}
		rel, _ := filepath.Rel(s.root, path)
		all[rel] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// left returns the processes that a run left behind: those whose environment, command
// or folder is of this siege. It waits a while for the kernel to take them away.
func (s *siege) left() []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	var left []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		left = nil
		procs, _ := filepath.Glob("/proc/[0-9]*")
		for _, p := range procs {
			environ, _ := os.ReadFile(p + "/environ") // of others it cannot be read
			command, _ := os.ReadFile(p + "/cmdline")
			folder, _ := os.Readlink(p + "/cwd")
			if strings.Contains(string(environ)+string(command)+folder, s.root) {
				left = append(left, strings.ReplaceAll(string(command), "\x00", " "))
			}
		}
		if left == nil {
			return nil
		}
	}
	return left
}

// whole returns the whole workspace but for what git keeps.
func (s *siege) whole(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	s.walk(t, s.ws, all, func(path string) bool { return path == filepath.Join(s.ws, ".git") })
	return all
}
