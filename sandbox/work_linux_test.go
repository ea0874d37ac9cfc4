package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pawl/run"
	"pawl/sandbox"
)

func TestOrdinaryWorkFlows(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.write(t, s.workspace+"/file", "text\n")
		for name, script := range map[string]string{
			"files":              "mkdir -p a/b && cp file a/b/c && mv a/b/c a/d && ln a/d a/e && ln -s d a/f && cat a/f && rm -r a",
			"temporary files":    "f=$(mktemp) && echo x > $f && cat $f && d=$(mktemp -d) && mv $f $d/ && test -n \"$TMPDIR\"",
			"a here-document":    "cat <<E | tr a-z A-Z\ntext\nE",
			"null and random":    "head -c 8 /dev/urandom > /dev/null && echo x > /dev/stdout",
			"a pipe":             "mkfifo p && (echo x > p & cat p) && rm p",
			"the processors":     "nproc && cat /proc/cpuinfo > /dev/null",
			"who one is":         "id -un",
			"children":           "for i in 1 2 3 4 5; do (sleep 0.01; echo $i) & done; wait",
			"a tree of packages": "mkdir -p node_modules/.x node_modules/a/bin && touch node_modules/.x/f && mv node_modules/.x/f node_modules/a/bin/f && mv node_modules/a node_modules/b && rm -r node_modules",
			"a terminal of its own": "command -v script > /dev/null || exit 0; " +
				map[bool]string{true: "script -qec true /dev/null", false: "true"}[tree],
		} {
			if o := s.sh(t, script); o.status.Code != 0 || len(o.told) > 0 {
				t.Errorf("%s: %+v", name, o)
			}
		}
		if o := s.sh(t, "echo kept > $TMPDIR/note"); o.status.Code != 0 {
			t.Errorf("%+v", o)
		}
		if o := s.sh(t, "cat $TMPDIR/note"); o.printed != "kept\n" {
			t.Errorf("temporary files are not there for the next command: %+v", o)
		}
	})
}

func TestGitCommits(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.git(t, "init", "-q", "-b", "main")
		s.git(t, "config", "user.name", "x")
		s.git(t, "config", "user.email", "x@example.org")
		o := s.sh(t, `echo one > a && git add -A && git commit -qm one && git checkout -qb topic && echo two > a && git commit -qam two &&
			git checkout -q main && git merge -q topic && git tag v1 && git stash list && git gc -q && git clone -q . ../project/copy && rm -rf copy && git log --oneline && git status --porcelain`)
		if lines := strings.Split(strings.TrimSpace(o.printed), "\n"); o.status.Code != 0 || len(o.told) > 0 || len(lines) != 2 {
			t.Errorf("%+v", o)
		}
		// A worktree's repository is outside it.
		s.git(t, "worktree", "add", "-q", "../tree", "-b", "other")
		main := s.workspace
		s.workspace = filepath.Join(s.home, "tree")
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		if o := s.sh(t, "echo three > a && git commit -qam three && git log --oneline other"); o.status.Code != 0 || !strings.Contains(o.printed, "three") {
			t.Errorf("in a worktree: %+v", o)
		}
		for _, script := range []string{"git config core.pager evil", "echo '[core] pager = evil' >> " + main + "/.git/config", "echo 'gitdir: evil' > .git", "echo evil > " + main + "/.git/worktrees/tree/commondir", "echo evil > " + main + "/a"} {
			o := s.sh(t, script)
			for _, path := range []string{main + "/.git/config", main + "/.git/worktrees/tree/commondir", s.workspace + "/.git", main + "/a"} {
				if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "evil") {
					t.Errorf("%s: %s is %q, %v; %+v", script, path, text, err, o)
				}
			}
		}
	})
}

func TestAFolderOfALargerRepositoryCommitsToIt(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.git(t, "init", "-q")
		s.git(t, "config", "user.name", "x")
		s.git(t, "config", "user.email", "x@example.org")
		config := s.write(t, s.workspace+"/.git/config", "[core]\n[user]\nname = x\nemail = x@example.org\n")
		s.write(t, s.workspace+"/sub/a", "")
		s.workspace += "/sub"
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		if o := s.sh(t, "git add a && git commit -qm one && git log --oneline"); o.status.Code != 0 || !strings.Contains(o.printed, "one") {
			t.Errorf("%+v", o)
		}
		// A repository of its own does not take the protection from the other.
		for _, script := range []string{"echo evil >> ../.git/config", "git init -q; echo evil >> ../.git/config", "echo evil >> ../.git/config; echo evil > ../.git/hooks/pre-commit"} {
			o := s.sh(t, script)
			text, err := os.ReadFile(config)
			if _, hookErr := os.Lstat(filepath.Dir(config) + "/hooks/pre-commit"); err != nil || strings.Contains(string(text), "evil") || hookErr == nil {
				t.Errorf("%s: the configuration is %q, %v; the hook: %v; %+v", script, text, err, hookErr, o)
			}
		}
	})
}

// The .git file of a workspace is the workspace's own word: it must not open any
// folder it names.
func TestAForgedGitFileOpensNothing(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		victim := s.write(t, "other/.git/HEAD", "ref: refs/heads/main")
		for _, name := range []string{"other/.git/objects/x", "other/.git/refs/x", "other/.git/config"} {
			s.write(t, name, "[core]\n")
		}
		s.write(t, s.workspace+"/.git", "gitdir: "+filepath.Dir(victim)+"\n")
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		if o := s.sh(t, "echo x > "+victim); o.status.Code == 0 {
			t.Errorf("%+v", o)
		}
		if text, _ := os.ReadFile(victim); string(text) != "ref: refs/heads/main" {
			t.Errorf("HEAD of the other repository is %q", text)
		}
	})
}

func TestGoBuildsWithItsCache(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		needs(t, "go")
		if testing.Short() {
			t.Skip("builds a Go program, which takes seconds")
		}
		for _, name := range []string{"GOCACHE", "GOROOT", "GOMODCACHE"} {
			value, err := exec.Command("go", "env", name).Output()
			if err != nil {
				t.Fatal(err)
			}
			s.env = append(s.env, name+"="+strings.TrimSpace(string(value)))
		}
		s.env = append(s.env, "GOTOOLCHAIN=local")
		s.write(t, s.workspace+"/go.mod", "module example.org/x\n\ngo 1.21\n")
		s.write(t, s.workspace+"/main.go", "package main\n\nfunc main() { println(\"built\") }\n")
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		if o := s.sh(t, "go build -o x . && ./x && go vet ."); o.status.Code != 0 || !strings.HasPrefix(o.printed, "built") {
			t.Errorf("%+v", o)
		}
	})
}

func TestPythonRuns(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		needs(t, "python3")
		if out, err := exec.Command("python3", "-c", "print(1)").Output(); err != nil || string(out) != "1\n" {
			t.Skip("needs a python3 that works")
		}
		script := "import json, subprocess, tempfile, os\n" +
			"with tempfile.NamedTemporaryFile('w', delete=False) as f: json.dump([1], f)\n" +
			"print(subprocess.check_output(['cat', f.name]).decode())\n"
		if tree { // named semaphores are in /dev/shm, which without a tree is everybody's
			script += "import multiprocessing\n" +
				"if __name__ == '__main__':\n    with multiprocessing.Pool(2) as p: print(p.map(abs, [-2]))\n"
		}
		s.write(t, s.workspace+"/x.py", script)
		if o := s.sh(t, "python3 x.py"); o.status.Code != 0 || !strings.Contains(o.printed, "[1]") {
			t.Errorf("%+v", o)
		}
	})
}

// The number of processes is the command's own affair, and bounded there alone.
func TestTheNumberOfProcessesIsBoundedInsideAndNotOutside(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	before, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		t.Fatal(err)
	}
	o := s.sh(t, "cat /proc/sys/kernel/pid_max; ulimit -c")
	after, _ := os.ReadFile("/proc/sys/kernel/pid_max")
	if string(before) != string(after) {
		t.Errorf("the machine's limit was %s, is %s", before, after)
	}
	inside, core, _ := strings.Cut(o.printed, "\n")
	if inside != "4096" && inside != strings.TrimSpace(string(before)) || core != "0\n" {
		t.Errorf("inside: %q", o.printed)
	}
}

// A command that runs unasked because it reads has a bound of memory, and where memory runs out
// any command ends before the programs of the person do.
func TestACommandThatReadsHasABoundOfMemory(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsReadOnly(t)
	const look = "ulimit -d; cat /proc/self/oom_score_adj"
	o := s.read(t, look)
	bound, score, _ := strings.Cut(o.printed, "\n")
	if n, err := strconv.Atoi(bound); err != nil || n < 1<<20 || n > 4<<20 { // KiB
		t.Errorf("a process of a reading command may take %q KiB", bound)
	}
	if score != "500\n" {
		t.Errorf("its score is %q", score)
	}
	if o := s.read(t, "ulimit -d unlimited; ulimit -d 8000000"); !strings.Contains(o.printed, "ulimit") {
		t.Errorf("it lifts the bound: %q", o.printed)
	}
	if o := s.sh(t, look); o.printed != "unlimited\n500\n" {
		t.Errorf("a command that may write: %q", o.printed)
	}
}

// Of what the kernel lets a user watch files with, commands take at most half. Root has no
// user namespace in which that could be said, and the machine's settings stay.
func TestCommandsLeaveHalfOfTheWatchesToOthers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	number := func(text string) int {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for of, inside := range map[string]string{"fs/inotify/max_user_instances": "user/max_inotify_instances", "fs/inotify/max_user_watches": "user/max_inotify_watches"} {
		machine, err := os.ReadFile("/proc/sys/" + of)
		if err != nil {
			t.Skip("needs inotify")
		}
		before, err := os.ReadFile("/proc/sys/" + inside)
		if err != nil {
			t.Skip("needs limits of user namespaces")
		}
		want := number(string(machine)) / 2
		if os.Geteuid() == 0 {
			want = number(string(before))
		}
		if o := s.sh(t, "cat /proc/sys/"+inside); number(o.printed) != want {
			t.Errorf("%s: %q inside, want %d", inside, o.printed, want)
		}
		if after, _ := os.ReadFile("/proc/sys/" + inside); string(after) != string(before) {
			t.Errorf("%s outside was %s, is %s", inside, before, after)
		}
	}
}

// Each connection that a command waits for takes a thread of its helper, which may have
// 10,000 before it ends with all commands of the workspace.
func TestConnectionsThatACommandWaitsForAreBounded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	attacker := s.attacker(t)
	for _, name := range []string{"begun", "end"} {
		if err := syscall.Mkfifo(filepath.Join(s.workspace, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan outcome)
	go func() { done <- s.run(t, run.Confined, attacker, "attack", "wait-for-connections") }()
	if _, err := os.ReadFile(filepath.Join(s.workspace, "begun")); err != nil { // when the command has begun them
		t.Fatal(err)
	}
	most := 0
	children, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range children {
		text, err := os.ReadFile(status)
		if err != nil || !strings.Contains(string(text), "\nPPid:\t"+strconv.Itoa(os.Getpid())+"\n") {
			continue // it has ended
		}
		_, threads, _ := strings.Cut(string(text), "\nThreads:\t")
		n, err := strconv.Atoi(strings.SplitN(threads, "\n", 2)[0])
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, n)
	}
	if most == 0 || most > 150 {
		t.Errorf("a helper has %d threads for %d connections", most, waitedFor)
	}
	if err := os.WriteFile(filepath.Join(s.workspace, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.status.Code != 0 {
		t.Errorf("%+v", o)
	}
}

const waitedFor = 1500

// waitForConnections begins connections that no listener accepts.
func waitForConnections([]string) error {
	listener, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := syscall.Bind(listener, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := syscall.Listen(listener, 0); err != nil {
		return err
	}
	var begun sync.WaitGroup
	begun.Add(waitedFor)
	for range waitedFor {
		go func() {
			at, _ := syscall.Getsockname(listener)
			socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
			begun.Done()
			if err == nil {
				syscall.Connect(socket, at)
			}
		}()
	}
	begun.Wait()
	if err := os.WriteFile("begun", nil, 0o600); err != nil {
		return err
	}
	_, err = os.ReadFile("end")
	return err
}

func TestACommandRunsWithoutASandboxOnlyIfThatWasDecided(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.policy.WithNothing()
	for _, level := range []run.Confinement{run.Confined, run.WithNetwork} {
		if _, _, err := s.policy.Start(command("true"), level, sandbox.Fence{}); err != sandbox.ErrNone {
			t.Errorf("level %q: %v, want %v", level, err, sandbox.ErrNone)
		}
	}
	if o := s.run(t, run.Unconfined, "true"); o.status.Code != 0 {
		t.Errorf("%+v", o)
	}
	var none *sandbox.Policy
	c, session, err := none.Start(command("true"), run.Confined, sandbox.Fence{})
	if err != nil || session != nil || c.Confine != nil {
		t.Errorf("without a policy: %v, %v, %v", c.Confine, session, err)
	}
}

func TestARefusalIsToldApartFromAFailure(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsTree(t)
	s.git(t, "init", "-q")
	hidden := s.write(t, "notes.txt", "")
	for _, cache := range []string{"go/pkg/mod/cache", "go/bin", ".cargo/registry", ".cache/pip", ".m2/repository"} {
		if err := os.MkdirAll(filepath.Join(s.home, cache), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.plan(t)
	attacker := s.attacker(t)
	for script, want := range map[string]string{
		attacker + " attack dial tcp 192.0.2.1:80":               `The sandbox refused the network: something of the command tried to reach it. If it is needed, repeat the call with "sandbox": "network"`,
		"echo 'curl: (6) Could not resolve host: x.org'; exit 6": "probably refused the network",
		"git config core.pager less":                             "probably refused this",
		"touch /usr/x":                                           "/usr may be read and not changed",
		"cat " + hidden:                                          "is not there for commands",
		attacker + " attack unshare-user":                        "",
		"unshare -U true":                                        "making namespaces",
		"cat nothing":                                            "",
		"cat /usr/nothing":                                       "",
		"echo 'permission denied: ./x'; exit 1":                  "",
		"exit 3":                                                 "",
		"echo network is unreachable":                            "", // it did not fail
	} {
		o := s.sh(t, script)
		if (want == "") != (o.refusal == "") || !strings.Contains(o.refusal, want) {
			t.Errorf("%s: %q, want %q; printed %q, %+v", script, o.refusal, want, o.printed, o.status)
		}
	}
	// What a toolchain would fetch into its cache needs the network, so that is what is asked for, and once.
	for _, level := range []run.Confinement{run.Trial, run.Inside} {
		for script, want := range map[string]string{
			"touch ~/go/pkg/mod/cache/x.lock":     `cannot change ` + s.home + `/go/pkg. If it is needed, repeat the call with "hosts": ["go"]`,
			"touch ~/.cargo/registry/index":       `repeat the call with "hosts": ["crates"]`,
			"touch ~/.cache/pip/x":                `repeat the call with "hosts": ["pypi"]`,
			"touch ~/.m2/repository/x":            `repeat the call with "sandbox": "write"`,
			"touch ~/go/bin/x":                    "may be read and not changed",
			"mkdir ~/.npm/y && touch .git/config": "",
		} {
			if o := s.unasked(t, level, script); want != "" && !strings.Contains(o.refusal, want) || strings.Contains(o.refusal, "hosts") && !strings.Contains(want, "hosts") {
				t.Errorf("%s at %s: %q, want %q; printed %q", script, level, o.refusal, want, o.printed)
			}
		}
	}
	// At a level that is without a sandbox nothing is its fault.
	if o := s.run(t, run.Unconfined, "sh", "-c", "echo network is unreachable; exit 1"); o.refusal != "" {
		t.Errorf("%q", o.refusal)
	}
}
