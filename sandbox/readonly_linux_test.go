package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/proc/proctest"
	"pawl/run"
	"pawl/sandbox"
)

// read runs a script at the level of commands that only read.
func (s *stage) read(t testing.TB, script string) outcome {
	t.Helper()
	return s.run(t, run.ReadOnly, "bash", "-c", script)
}

func (s *stage) needsReadOnly(t testing.TB) {
	t.Helper()
	s.needsSandbox(t)
	if !s.policy.EnforcesReadOnly() {
		t.Skip("needs namespaces, or Landlock from ABI 6 on; and a filter of system calls")
	}
}

// picture returns what a folder holds: names, modes, times and contents.
func picture(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v %v", path, info.Mode(), info.ModTime().Format(time.RFC3339Nano))
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", text)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestACommandThatOnlyReadsChangesNothingAndSeesNoSecret(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.needsReadOnly(t)
		needs(t, "bash")
		canary := strings.Repeat("9x", 4) // not as one text in the attacker
		for _, name := range []string{"file", "docs/d.txt", "sub/deep/x"} {
			s.write(t, filepath.Join(s.workspace, name), "text "+name+"\n")
		}
		for _, name := range []string{".env", "docs/.env.local", "sub/server.pem", "secrets/token", "sub/deep/credentials.json"} {
			s.write(t, filepath.Join(s.workspace, name), canary+"\n")
		}
		if err := os.Symlink("../.env", filepath.Join(s.workspace, "docs/notes")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(s.write(t, "outside/key", canary+"\n"), filepath.Join(s.workspace, "docs/far")); err != nil {
			t.Fatal(err)
		}
		cache := s.write(t, ".npm/x", "cached")
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		attacker := s.attacker(t)
		// What there was and is now hidden or made after the policy is hidden too.
		s.sh(t, "mkdir -p new/er && echo "+canary+" > new/er/.env && mv new moved")
		before := picture(t, s.workspace) + picture(t, s.home+"/.npm")

		if o := s.read(t, "cat file docs/d.txt && ls -a . docs > /dev/null && grep -c text docs/d.txt && head -c5 sub/deep/x"); o.status.Code != 0 || !strings.Contains(o.printed, "text docs/d.txt") {
			t.Errorf("it cannot read: %+v", o)
		}
		for _, script := range []string{
			"cat .env", "cat docs/.env.local sub/server.pem secrets/* sub/deep/credentials.json", "cat docs/notes docs/far", "grep -rh . .", "grep -Rh . .", "cat moved/er/.env", "cp -r . $TMPDIR/x; cat $TMPDIR/x/.env $TMPDIR/x/*/.e*", "ln .env $TMPDIR/y; cat $TMPDIR/y",
			"cat /proc/self/cwd/.env", "tar cf - . | strings", "exec 5<.env; cat <&5",
		} {
			if o := s.read(t, script); strings.Contains(o.printed, canary) {
				t.Errorf("%s: printed %.400q", script, o.printed)
			}
		}
		s.read(t, strings.Join([]string{
			"echo x > made", "echo x >> file", "truncate -s0 file", "rm -f file", "mv file gone", "ln file hard", "ln -s file soft", "mkdir d", "mkfifo p", "chmod 777 file", "chmod u+s file", "touch file", "touch -d 2001-01-01 file", "chown 1 file",
			"setfattr -n user.x -v y file", "chattr +i file", "chattr +d file", "cp /bin/true t", "sed -i s/t/x/ file", "git init -q", "rm -rf docs", "mknod n p", ": > file", "dd if=/dev/zero of=file count=1 conv=notrunc", "echo x > " + cache, "rm " + cache,
			"echo x > /proc/self/cwd/file", "exec 5<>file && echo x >&5", "perl -e 'truncate \"file\", 0'", "perl -e 'utime 1,1,\"file\"'", "mv docs .", "rmdir empty",
		}, "\n"))
		if after := picture(t, s.workspace) + picture(t, s.home+"/.npm"); after != before {
			t.Errorf("something was changed:\n%s\nbefore:\n%s", after, before)
		}
		top := strings.Split(s.workspace, "/")[2] // may be made in /tmp, to mount the workspace on
		// It has a temporary folder, and sees in /tmp what other commands left there.
		s.sh(t, "echo left > $TMPDIR/left; cp $TMPDIR/left /tmp/")
		if o := s.read(t, "f=$(mktemp) && echo mine > $f && cat $f && sort -o $TMPDIR/s file && cat <<E\nhere\nE\n"+map[bool]string{true: "cat /tmp/left; echo x > /tmp/left; cat /tmp/left"}[tree]); o.status.Code != 0 && tree == false || !strings.HasPrefix(o.printed, "mine\nhere\n") {
			t.Errorf("%+v", o)
		} else if tree && strings.Count(o.printed, "left\n") != 2 {
			t.Errorf("what others left in /tmp: %q", o.printed)
		}
		if o := s.sh(t, "cat $TMPDIR/left; ls $TMPDIR | grep -v -x -e left -e "+top); o.printed != "left\n" {
			t.Errorf("it has left something behind: %q", o.printed)
		}
		// No network, and no sockets of anyone, here or elsewhere.
		short, err := os.MkdirTemp("", "pawl")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(short) })
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		listenIn(t, s.workspace)
		me := strconv.Itoa(os.Getpid())
		for _, a := range [][]string{{"dial", "tcp", l.Addr().String()}, {"dial", "unix", "s.sock"}, {"kill", me}, {"kill-by-pidfd", me}, {"prlimit", me}, {"serve-and-dial"}} {
			if o := s.run(t, run.ReadOnly, append([]string{attacker, "attack"}, a...)...); o.status.Code != 1 {
				t.Errorf("%v: code %d, printed %q", a, o.status.Code, o.printed)
			}
		}
	})
}

// What is laid over a file goes when another is given its name, in the file trees of all
// commands. Landlock then keeps the one that runs from what came.
func TestASecretThatIsReplacedWhileACommandReadsIsNotSeen(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.needsReadOnly(t)
		needs(t, "bash")
		if sandbox.Probe().Abilities.Landlock == 0 {
			t.Skip("needs Landlock")
		}
		for _, name := range []string{"project/.env", "project/sub/deep/server.pem", "project/secrets/token", "project/sub/file"} {
			s.write(t, name, "text of "+name+"\n")
		}
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		for _, replaced := range []string{".env", "sub/deep/server.pem", "secrets"} {
			path := filepath.Join(s.workspace, replaced)
			wait := filepath.Join(s.workspace, "wait")
			if err := syscall.Mkfifo(wait, 0o600); err != nil {
				t.Fatal(err)
			}
			done := make(chan outcome, 1)
			go func() {
				done <- s.read(t, "read x < wait; cat "+replaced+" "+replaced+"/*; grep -rh 99 .; cat sub/file; ls sub")
			}()
			opened := make(chan *os.File, 1)
			go func() {
				f, err := os.OpenFile(wait, os.O_WRONLY, 0) // when the command has it open
				if err != nil {
					t.Error(err)
				}
				opened <- f
			}()
			var f *os.File
			select {
			case f = <-opened:
			case o := <-done:
				t.Fatalf("%s: the command has not waited: %+v", replaced, o)
			}
			if replaced == "secrets" {
				s.write(t, "new/token", "999\n")
				if err := os.Rename(path, filepath.Join(s.home, "old")); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(filepath.Join(s.home, "new"), path); err != nil {
					t.Fatal(err)
				}
			} else if err := os.Rename(s.write(t, "project/x", "999\n"), path); err != nil {
				t.Fatal(err)
			}
			f.Close()
			o := <-done
			if strings.Contains(o.printed, "999") {
				t.Errorf("%s: printed %q", replaced, o.printed)
			}
			if !strings.Contains(o.printed, "text of project/sub/file\n") || !strings.Contains(o.printed, "deep\n") {
				t.Errorf("%s: what is no secret cannot be read: %q", replaced, o.printed)
			}
			if err := os.Remove(wait); err != nil {
				t.Fatal(err)
			}
			// What came is to be hidden as what was there; and what came beside it can be read.
			s.write(t, "project/beside", "came beside\n")
			if o := s.read(t, "cat beside; cat "+replaced+" "+replaced+"/*"); strings.Contains(o.printed, "999") || !strings.Contains(o.printed, "came beside") {
				t.Errorf("%s, the next command: %q", replaced, o.printed)
			}
		}
	})
}

// listenIn makes a socket s.sock in a folder. Its path may be longer than names of
// sockets can be.
func listenIn(t *testing.T, dir string) net.Listener {
	t.Helper()
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/s.sock", d.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
	return l
}

func TestGitRunsNothingOfARepositorysChoiceForACommandThatOnlyReads(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.needsReadOnly(t)
		flag := func() string {
			var found []string
			filepath.WalkDir(s.home, func(path string, e os.DirEntry, _ error) error {
				if e.Name() == "FLAG" {
					found = append(found, path)
				}
				return nil
			})
			return strings.Join(found, " ")
		}
		s.git(t, "init", "-q", "-b", "main")
		s.write(t, s.workspace+"/a", "x\n")
		s.git(t, "add", "a")
		s.git(t, "commit", "-qm", "one")
		s.git(t, "checkout", "-qb", "side")
		s.write(t, s.workspace+"/a", "side\n")
		s.git(t, "commit", "-qam", "side")
		s.git(t, "checkout", "-q", "main")
		s.write(t, s.workspace+"/a", "main\n")
		s.git(t, "commit", "-qam", "main")
		s.write(t, s.workspace+"/a", "changed\n")
		for _, c := range []struct{ id, config, attributes, command, shows string }{
			{"H13", "[core]\n\tfsmonitor = \"1 #\\n touch FLAG; echo RAN; false\"\n", "", "git status -s", " M a"},
			{"fsmonitor", "[core]\n\tfsmonitor = \"touch FLAG; echo RAN; false\"\n", "", "git status -s", " M a"},
			{"diff.external", "[diff]\n\texternal = \"touch FLAG; echo RAN\"\n", "", "git diff", "+changed"},
			{"diff.command", "[diff \"e\"]\n\tcommand = \"touch FLAG; echo RAN\"\n", "* diff=e", "git diff", "+changed"},
			{"textconv", "[diff \"e\"]\n\ttextconv = \"touch FLAG; echo RAN; cat\"\n", "* diff=e", "git diff", "+changed"},
			{"filter", "[filter \"e\"]\n\tclean = \"touch FLAG; echo RAN; cat\"\n\tprocess = \"touch FLAG; echo RAN\"\n\trequired = true\n", "* filter=e", "git diff", "+changed"},
			{"H12", "[merge \"e\"]\n\tdriver = \"touch FLAG; echo RAN; false\"\n", "* merge=e", "git show --remerge-diff HEAD", ""},
			{"H18", "[alias]\n\tlfs = \"!touch FLAG\"\n", "", "git lfs ls-files", ""},
			{"pager", "[core]\n\tpager = \"touch FLAG; echo RAN; cat\"\n[pager]\n\tlog = true\n", "", "git log --oneline", "main"},
		} {
			s.write(t, s.workspace+"/.git/config", "[core]\n\trepositoryformatversion = 0\n"+c.config)
			s.write(t, s.workspace+"/.git/info/attributes", c.attributes+"\n")
			o := s.read(t, c.command)
			if found := flag(); found != "" || strings.Contains(o.printed, "RAN") || !strings.Contains(o.printed, c.shows) {
				t.Errorf("%s: printed %q, made %q", c.id, o.printed, found)
			}
		}
		// H16: a hook runs while git looks.
		s.write(t, s.workspace+"/.git/config", "[core]\n\trepositoryformatversion = 0\n")
		hook := proctest.Program(t, s.workspace+"/.git/hooks/post-index-change", "#!/bin/sh\ntouch FLAG\necho RAN >&2\n")
		old := time.Unix(1e9, 0)
		if err := os.Chtimes(s.workspace+"/a", old, old); err != nil {
			t.Fatal(err)
		}
		if o := s.read(t, "git diff; git describe --always --dirty"); flag() != "" || strings.Contains(o.printed, "RAN") {
			t.Errorf("H16: printed %q, made %q", o.printed, flag())
		}
		if err := os.Remove(hook); err != nil {
			t.Fatal(err)
		}
		// H11, H19: a shell that is talked into a program of the workspace, and a program
		// that runs another by a file of the workspace.
		for _, name := range []string{"0/ls", "tc/bin/cargo"} {
			proctest.Program(t, filepath.Join(s.workspace, name), "#!/bin/sh\ntouch "+s.workspace+"/FLAG; /usr/bin/touch FLAG\n")
		}
		for id, command := range map[string]string{"H11": "printf %n PATH; ls", "H19": "exec " + s.workspace + "/tc/bin/cargo --version"} {
			if o := s.read(t, command); flag() != "" {
				t.Errorf("%s: printed %q, made %q", id, o.printed, flag())
			}
		}
		// H14: a .git file that names a folder with a blank at its end.
		s.git(t, "init", "-q", s.workspace+"/blank")
		for _, name := range []string{"g", "g "} {
			s.git(t, "init", "-q", "--bare", s.workspace+"/"+name)
		}
		s.git(t, "--git-dir="+s.workspace+"/g ", "config", "core.fsmonitor", "touch FLAG; false")
		s.git(t, "--git-dir="+s.workspace+"/g ", "config", "core.bare", "false")
		os.RemoveAll(s.workspace + "/blank/.git")
		s.write(t, s.workspace+"/blank/.git", "gitdir: ../g \n")
		if o := s.read(t, "cd blank && git status"); flag() != "" {
			t.Errorf("H14: printed %q, made %q", o.printed, flag())
		}
		if what, _ := s.policy.GitPrograms(s.workspace + "/blank"); !strings.Contains(what, "core.fsmonitor") {
			t.Errorf("H14: said to run %q", what)
		}
		// H17: a partial clone that fetches while it looks.
		s.write(t, s.workspace+"/.git/config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n[protocol \"ext\"]\n\tallow = user\n")
		s.write(t, s.workspace+"/.git/remotes/origin", "URL: ext::sh -c touch% FLAG\n")
		if err := os.RemoveAll(s.workspace + "/.git/objects"); err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{"info", "pack"} {
			if err := os.MkdirAll(s.workspace+"/.git/objects/"+d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if o := s.read(t, "git show HEAD:a"); flag() != "" {
			t.Errorf("H17: printed %q, made %q", o.printed, flag())
		}
		if err := os.RemoveAll(s.workspace + "/.git"); err != nil {
			t.Fatal(err)
		}
		s.git(t, "init", "-q", "-b", "main")
		// H15: a repository nested deep in folders that are not looked into.
		nested := s.workspace + "/node_modules/p/q/r/s/t"
		s.write(t, nested+"/f", "1")
		s.git(t, "init", "-q", nested)
		s.git(t, "-C", nested, "add", "f")
		s.git(t, "-C", nested, "commit", "-qm", "x")
		s.git(t, "-C", nested, "config", "core.fsmonitor", "touch FLAG; false")
		s.git(t, "add", "-f", nested)
		s.git(t, "commit", "-qm", "nested")
		os.RemoveAll(s.workspace + "/FLAG") // made by the git out here
		os.RemoveAll(nested + "/FLAG")
		if o := s.read(t, "git status; git -C "+nested+" status"); flag() != "" {
			t.Errorf("H15: printed %q, made %q", o.printed, flag())
		}
	})
}

// H11, H20: what reads is taken from where no command writes.
func TestNoProgramOfTheWorkspaceIsTakenForOneThatReads(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.needsReadOnly(t)
		for _, name := range []string{"wc", "0/ls", ".venv/bin/ls"} {
			proctest.Program(t, filepath.Join(s.workspace, name), "#!/bin/sh\necho OURS\n")
		}
		path := s.getenv("PATH")
		for _, first := range []string{"", ".", "0", s.workspace + "/.venv/bin", s.workspace, s.home + "/.npm/../project"} {
			s.env[1] = "PATH=" + first + ":" + path + ":"
			if o := s.read(t, "ls -a; wc -c wc"); o.status.Code != 0 || strings.Contains(o.printed, "OURS") {
				t.Errorf("with %q first: %+v", first, o)
			}
		}
	})
}

func TestWhereReadingIsNotEnforcedNothingRunsAsIfItWere(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.policy.WithNothing()
	if s.policy.EnforcesReadOnly() {
		t.Error("with nothing to confine by, reading is said to be enforced")
	}
	if _, _, err := s.policy.Start(command("true"), run.ReadOnly, sandbox.Fence{}); err == nil {
		t.Error("it starts")
	}
}
