package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pawl/internal/proc"
	"pawl/internal/proc/proctest"
	"pawl/run"
	"pawl/sandbox"
)

// isObeyed stands for filenames.Obeyed.
func isObeyed(path string) bool {
	switch name := filepath.Base(path); name {
	case ".vscode", ".github", "package.json", ".envrc", ".husky":
		return true
	case ".bin":
		return strings.HasSuffix(path, "node_modules/.bin")
	}
	return false
}

// unasked runs a script as one that runs unasked whatever it does.
func (s *stage) unasked(t testing.TB, level run.Confinement, script string) outcome {
	t.Helper()
	return s.run(t, level, "bash", "-c", script)
}

// containing makes a stage with a repository and with files that programs obey.
func containing(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.needsTree(t)
	needs(t, "bash", "git")
	for name, text := range map[string]string{
		"main.go": "package main\n", ".env": "canary\n", "package.json": `{"scripts":{}}`, "sub/.vscode/tasks.json": "{}", "node_modules/x/package.json": "{}", "node_modules/.bin/tool": "#!/bin/sh\n",
	} {
		s.write(t, filepath.Join(s.workspace, name), text)
	}
	s.sh(t, "git init -q . && git add main.go && git -c user.name=a -c user.email=a@b commit -qm x")
	s.plan(t)
	if !s.policy.Contains() {
		t.Fatal("commands are not contained here")
	}
	return s
}

func TestATrialChangesNothingInTheWorkspace(t *testing.T) {
	t.Parallel()
	s := containing(t)
	before := picture(t, s.workspace) + picture(t, s.home+"/.npm")
	o := s.unasked(t, run.Trial, strings.Join([]string{
		"echo x > made", "echo x >> main.go", "rm -rf sub", "mv main.go gone", "ln main.go hard", "mkdir d", "git add -A", "git commit -qm x --allow-empty", "git config a.b c", "echo x > .git/hooks/pre-commit",
		"cat .env", "setsid sh -c 'sleep 0.1; echo x > late' &", "python3 -c 'open(\"x\",\"w\")'", "echo x > /proc/self/cwd/x", "truncate -s0 main.go", "chmod 777 main.go", "touch main.go", "echo x > ~/.npm/x", "echo x > ~/.bashrc", "mount -o remount,rw . ",
		"echo kept > /tmp/kept", "wait", "echo done",
	}, "\n"))
	if after := picture(t, s.workspace) + picture(t, s.home+"/.npm"); after != before {
		t.Errorf("something was changed:\n%s\nbefore:\n%s", after, before)
	}
	if strings.Contains(o.printed, "canary") || !strings.Contains(o.printed, "done") {
		t.Errorf("it printed %q", o.printed)
	}
	if o := s.unasked(t, run.Trial, "cat /tmp/kept; echo x | cat > /dev/tcp/127.0.0.1/1"); !strings.HasPrefix(o.printed, "kept") {
		t.Errorf("its temporary folder is not kept: %q", o.printed)
	}
	if o := s.unasked(t, run.Trial, "touch made"); !strings.Contains(o.refusal, `repeat the call with "sandbox": "write"`) {
		t.Errorf("it is not told how to ask: %q", o.refusal)
	}
}

// temp returns where outside the temporary folder is of commands that were allowed.
func (s *stage) temp(tree bool) string {
	if !tree {
		return s.policy.Temp
	}
	return s.policy.Temp + "/allowed"
}

// Compilers and runtimes keep code in the temporary folder and run it the next time: commands that were allowed have one of
// their own, which the others read.
func TestWhatRunsUnaskedLeavesNothingInTheTemporaryFolderOfWhatWasAllowed(t *testing.T) {
	t.Parallel()
	s := containing(t)
	if o := s.sh(t, "mkdir $TMPDIR/cache && echo compiled > $TMPDIR/cache/x && echo $TMPDIR"); o.status.Code != 0 {
		t.Fatalf("it printed %q", o.printed)
	}
	for _, level := range []run.Confinement{run.Trial, run.Inside} {
		o := s.unasked(t, level, strings.Join([]string{"dir=$(dirname $(dirname $(ls -d /tmp/*/cache/x)))", "cat $dir/cache/x", "echo evil > $dir/cache/x", "rm -rf $dir/cache", "mv $dir /tmp/moved", "echo evil > /var/tmp/${dir##*/}/cache/x",
			"mv /var/tmp/${dir##*/} /var/tmp/moved", "mkdir $dir/other", "ln -s / $dir/link", "chmod 777 $dir", "echo evil > $TMPDIR/x; mkdir -p $TMPDIR/cache; echo evil > $TMPDIR/cache/x", "echo shown > /tmp/shown"}, "\n"))
		if !strings.Contains(o.printed, "compiled") {
			t.Errorf("at %s what is there is not read: %q", level, o.printed)
		}
		if o := s.sh(t, "cat $TMPDIR/cache/x /tmp/shown; ls $TMPDIR"); o.printed != "compiled\nshown\ncache\n" {
			t.Errorf("after one at %s: %q", level, o.printed)
		}
	}
	// It is kept from them as well when it was removed and made anew.
	s.unasked(t, run.Trial, "true")
	s.sh(t, "rm -rf /tmp/allowed")
	s.sh(t, "echo compiled > $TMPDIR/x")
	s.unasked(t, run.Trial, "echo evil > /tmp/allowed/x; echo evil > /var/tmp/allowed/x")
	if o := s.sh(t, "cat $TMPDIR/x"); o.printed != "compiled\n" {
		t.Errorf("after it was removed: %q", o.printed)
	}
	// What stands in its place does not lead elsewhere.
	s.sh(t, "mv /tmp/allowed /tmp/was; ln -s . /tmp/allowed")
	s.unasked(t, run.Trial, "echo evil > $TMPDIR/evil; echo evil > /tmp/allowed/evil")
	if o := s.sh(t, "ls $TMPDIR"); o.printed != "" {
		t.Errorf("in the place of a link: %q", o.printed)
	}
}

func TestWhatRunsInsideChangesFilesAndNothingThatIsObeyed(t *testing.T) {
	t.Parallel()
	s := containing(t)
	s.unasked(t, run.Inside, "echo 'package x' > main.go; mkdir -p dist && echo '{\"type\":\"module\"}' > dist/package.json; mkdir a && mv a b")
	if got := s.read1(t, "main.go"); got != "package x\n" {
		t.Errorf("a file is %q", got)
	}
	if got := s.read1(t, "dist/package.json"); got == "" {
		t.Error("a package.json that says only what kind of modules there are was taken away")
	}
	config := s.read1(t, ".git/config")
	for name, script := range map[string]string{
		".vscode/tasks.json":         "mkdir .vscode && echo x > .vscode/tasks.json",
		"new/.vscode/settings.json":  "mkdir -p a/b && echo x > a/b/settings.json && mv a/b a/.vscode && mv a new",
		".github/workflows/ci.yml":   "python3 -c 'import os; os.makedirs(\".github/workflows\"); open(\".github/workflows/ci.yml\",\"w\").write(\"x\")'",
		".husky":                     "ln -s main.go .husky",
		"bin/package.json":           "mkdir -p bin; echo '{\"scripts\":{\"postinstall\":\"x\"}}' > bin/package.json",
		".git/hooks/pre-commit":      "echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
		".git/refs/heads/evil":       "git branch evil; echo x > .git/refs/heads/evil",
		"node_modules/.bin/evil":     "echo x > node_modules/.bin/evil",
		"sub/.vscode/launch.json":    "echo x > sub/.vscode/launch.json; mv sub/.vscode sub/x; rm -rf sub/.vscode",
		"late/.vscode":               "mkdir late; setsid sh -c 'sleep 0.2; mkdir late/.vscode' & exit",
		"deep/.git/hooks/pre-commit": "mkdir deep && cd deep && git init -q && echo x > .git/hooks/pre-commit",
	} {
		o := s.unasked(t, run.Inside, script)
		if _, err := os.Lstat(filepath.Join(s.workspace, name)); err == nil {
			t.Errorf("%s: %s is there; told %q", script, name, o.told)
		}
	}
	// What stood there is what it was, also where its folder was moved and made anew.
	o := s.unasked(t, run.Inside, "echo x > package.json; rm -f package.json; mv package.json y; sed -i s/s/t/ package.json; mv sub sub2; mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json")
	if got := s.read1(t, "package.json"); got != `{"scripts":{}}` {
		t.Errorf("package.json is %q", got)
	}
	if got := s.read1(t, "sub/.vscode/tasks.json"); got != "" {
		t.Errorf("in the place of a folder that was moved away: %q; told %q", got, o.told)
	}
	if got := s.read1(t, "sub2/.vscode/tasks.json"); got != "{}" {
		t.Errorf("what was moved is %q", got)
	}
	if got := s.read1(t, ".git/config"); got != config {
		t.Errorf("the configuration is %q", got)
	}
	if o := s.unasked(t, run.Inside, "cat .env; cat .en*; python3 -c 'print(open(\".env\").read())'"); strings.Contains(o.printed, "canary") {
		t.Errorf("a secret was read: %q", o.printed)
	}
	if o := s.unasked(t, run.Inside, "mkdir -p .vscode"); len(o.told) != 1 || !strings.Contains(o.told[0], `"sandbox": "write"`) {
		t.Errorf("told %q", o.told)
	}
	if o := s.unasked(t, run.Inside, "for i in $(seq 30); do mkdir many$i; echo x > many$i/.envrc; done"); len(o.told) != 21 || !strings.Contains(o.told[20], "10 more things") {
		t.Errorf("of 30 files it tells %d: %q", len(o.told), o.told)
	}
	if o := s.fenced(t, run.Inside, sandbox.Fence{Repository: true}, "bash", "-c", "git add -A && git ls-files .env && git -c user.name=a -c user.email=a@b commit -qm second && git log --oneline | wc -l"); strings.TrimSpace(o.printed) != "2" {
		t.Errorf("git's own work: %q", o.printed)
	}
	// Where git runs others, such as a hook that runs a script of the workspace, it is not git's alone.
	proctest.Program(t, filepath.Join(s.workspace, ".git/hooks/pre-commit"), "#!/bin/sh\ngit branch -m gone\n")
	s.plan(t)
	head := s.read1(t, ".git/HEAD")
	o = s.fenced(t, run.Inside, sandbox.Fence{Repository: true}, "bash", "-c", "git -c user.name=a -c user.email=a@b commit --allow-empty -m third")
	if got := s.read1(t, ".git/HEAD"); got != head || o.status.Code == 0 {
		t.Errorf("what git runs changed the repository: %q, %q", got, o.printed)
	}
}

// Two names that are exchanged at once are seen as what they are then, with all that is below them.
func TestWhatIsExchangedIsSeen(t *testing.T) {
	t.Parallel()
	s := containing(t)
	attacker := s.attacker(t)
	s.plan(t)
	for name, c := range map[string]struct {
		level  run.Confinement
		script string
		gone   string // what must not say evil
	}{
		"a folder with what programs obey":    {run.Inside, "mkdir -p e/v && echo evil > e/v/tasks.json && mv e/v e/.vscode && " + attacker + " attack exchange e sub", "sub/.vscode/tasks.json"},
		"a folder with a repository":          {run.Inside, "mkdir f g && cd g && git init -q && git config core.fsmonitor evil && cd .. && " + attacker + " attack exchange g f", "f/.git/config"},
		"a repository of an allowed command":  {run.Confined, "mkdir h i && cd i && git init -q && cd .. && " + attacker + " attack exchange i h && sleep 0.3 && git -C h config core.fsmonitor evil", "h/.git/config"},
		"the name of a file that git obeys":   {run.Confined, "mkdir -p j/k && echo \"gitdir: $PWD/evil\" > j/x && echo x > j/.git && " + attacker + " attack exchange j/x j/.git", "j/.git"},
		"a file that is exchanged for a link": {run.Inside, "mkdir l && echo evil > l/evil && ln -s l/evil n && echo x > m && mkdir o && " + attacker + " attack exchange n m && mv m .envrc", ".envrc"},
	} {
		o := s.unasked(t, c.level, c.script)
		if got := s.read1(t, c.gone); strings.Contains(got, "evil") || o.status.Code != 0 {
			t.Errorf("%s: %s is %q; it printed %q and is told %q", name, c.gone, got, o.printed, o.told)
		}
	}
}

// A readyWriter says when the first output comes.
type readyWriter struct {
	once  sync.Once
	ready chan struct{}
}

func (w *readyWriter) Write(b []byte) (int, error) {
	w.once.Do(func() { close(w.ready) })
	return len(b), nil
}

// Over something that is put in the place of what a command is kept from, there is no mount: the command ends.
func TestACommandInsideEndsWhenWhatItIsKeptFromIsReplaced(t *testing.T) {
	t.Parallel()
	s := containing(t)
	s.write(t, s.workspace+"/dist/package.json", `{"type":"module"}`)
	s.plan(t)
	at := func(name string) string { return filepath.Join(s.workspace, name) }
	put := func(name, text string) func() error {
		return func() error {
			return errors.Join(os.WriteFile(at("t"), []byte(text), 0o644), os.Rename(at("t"), at(name)))
		}
	}
	for _, c := range []struct {
		name    string
		replace func() error
		ends    bool
	}{
		{"by another file", put("package.json", `{"scripts":{"a":"b"}}`), true},
		{"after it was removed", func() error {
			return errors.Join(os.Remove(at("package.json")), put("package.json", `{"scripts":{}}`)())
		}, true},
		{"a folder", func() error {
			return errors.Join(os.Rename(at("sub/.vscode"), at("sub/old")), os.Mkdir(at("sub/.vscode"), 0o755))
		}, true},
		{"in place", func() error { return os.WriteFile(at("package.json"), []byte(`{}`), 0o644) }, false},
		{"by one that says little", put("dist/package.json", `{"type":"commonjs"}`), false},
	} {
		out := &readyWriter{ready: make(chan struct{})}
		command, session, err := s.policy.Start(proc.Command{Argv: []string{"bash", "-c", "echo; for i in {1..2000}; do [ -e end ] && break; sleep 0.01; done"}, Dir: s.workspace, Env: s.env, Output: out}, run.Inside, sandbox.Fence{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := proc.Start(t.Context(), command)
		if err != nil {
			t.Fatal(err)
		}
		session.StopOn(p.Stop)
		<-out.ready
		err = c.replace()
		if !c.ends {
			err = errors.Join(err, os.WriteFile(at("end"), nil, 0o644))
		}
		status, waited := p.Wait()
		if told := session.End(); err != nil || waited != nil || strings.Contains(status.Stopped, "something else removed or replaced") != c.ends || len(told) > 0 {
			t.Errorf("%s: %+v, told %q, %v %v", c.name, status, told, err, waited)
		}
	}
}

// read1 returns the content of a file of the workspace; empty if there is none.
func (s *stage) read1(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.workspace, name))
	if err != nil {
		return ""
	}
	return string(text)
}
