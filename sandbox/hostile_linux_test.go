package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/run"
)

func TestNoCommandChangesOrReadsWhatIsOutside(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		const secret = "the-canary-sings"
		outside := map[string]string{}
		var paths []string
		for _, name := range []string{"canary", ".ssh/id_ed25519", ".bashrc", ".npmrc", ".local/state/pawl/runs.db", "../runtime/pawl/key", "other/project/main.go"} {
			path := s.write(t, name, secret)
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
			path = filepath.Clean(path)
			outside[path] = name
			paths = append(paths, path)
		}
		s.write(t, s.workspace+"/file", "ours")
		if o := s.run(t, run.Unconfined, append([]string{"cat"}, paths...)...); strings.Count(o.printed, secret) != len(paths) {
			t.Fatalf("without a sandbox it could be read, and is not: %+v", o)
		}
		for _, script := range []string{
			"echo x > @", "echo x >> @", "truncate -s 0 @", "dd if=/dev/zero of=@ count=1", "tee @ < file", "cp file @", "cp file @.new",
			"mv @ .", "mv @ @.moved", "mv -f file @", "rm -f @", "ln file @.hard", "ln -s x @.soft", "mkdir @.d", "touch @.new",
			"ln @ mine && echo x > mine", "ln @ mine && cat mine", "ln -s @ link && echo x > link", "ln -s @ link && cat link", "ln -s $(dirname @) dir && cp file dir/new",
			"cat @", "head -c1 @", "cp @ .", "tar cf - @", "cat /proc/self/root@", "cat /proc/1/root@", "cat /proc/*/root@", "cat /proc/self/cwd/../canary", "cat < @", ". @",
			"cd $(dirname @) && cat *", "find $(dirname @) -type f -exec cat {} +", "ls $(dirname @)/..; cat $(dirname @)/../*/*",
			"mkfifo p; (cat p &) ; cat @ > p", "exec 7<@; cat <&7", "install -m 777 file @", "sed -i s/e/x/g @", "rsync file @",
			"mount --bind . $(dirname @)", "unshare -Urm sh -c 'mount --bind . / ; cat @'", "nsenter -t 1 -m cat @", "chroot / cat @", "sudo -n cat @", "su -c 'cat @'",
			"grep -r . @", "git clone $(dirname @) x; git --git-dir=$(dirname @) log", "python3 -c 'print(open(\"@\").read())'",
		} {
			// One command for all of them: starting one is what takes time here.
			for _, level := range s.unprivileged(tree) {
				o := s.run(t, level, "sh", "-c", each(paths, script+"; cat mine link dir/* 2>/dev/null; rm -rf mine link dir p x"))
				if strings.Contains(o.printed, secret) {
					t.Errorf("%q: %s reads what is outside:\n%s", level, script, o.printed)
				}
			}
		}
		if tree { // attributes are beyond Landlock: see Report
			s.sh(t, each(paths, "chmod 777 @; chown 1 @; touch -d 2001-01-01 @; setfattr -n user.x -v x @"))
		}
		for path, name := range outside {
			content, err := os.ReadFile(path)
			info, statErr := os.Stat(path)
			if err != nil || string(content) != secret || statErr != nil || info.Mode().Perm() != 0o640 || info.ModTime().Year() < 2020 {
				t.Errorf("%s was touched: %q, %v, %v", name, content, err, info)
			}
			for _, end := range []string{".new", ".hard", ".soft", ".moved", ".d"} {
				if _, err := os.Lstat(path + end); err == nil {
					t.Errorf("%s%s was made", name, end)
				}
			}
		}
	})
}

// each returns a script that does another for each path, which is @ in it.
func each(paths []string, script string) string {
	var all strings.Builder
	for _, path := range paths {
		fmt.Fprintf(&all, "( %s )\n", strings.ReplaceAll(script, "@", path))
	}
	return all.String()
}

func TestWhatOtherProgramsObeyStaysAsItIs(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		s.git(t, "init", "-q")
		os.RemoveAll(s.workspace + "/.git/hooks")
		s.write(t, s.workspace+"/vendor/lib/a", "")
		s.git(t, "init", "-q", "vendor/lib")
		s.plan(t)
		if !tree {
			s.policy.WithoutNamespaces()
		}
		config, err := os.ReadFile(s.workspace + "/.git/config")
		if err != nil {
			t.Fatal(err)
		}
		for _, script := range []string{
			"mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
			"ln -s /tmp .git/hooks", "rm -rf .git/hooks; ln -s evil .git/hooks", "mkdir h && touch h/pre-commit && mv h .git/hooks; mv -T h .git/hooks",
			"git config core.fsmonitor evil", "echo '[core] fsmonitor = evil' >> .git/config", "echo evil > .git/config", "rm -f .git/config", "ln -sf /etc/passwd .git/config",
			"sed -i s/bare/evil/ .git/config", "cp .git/config c; echo evil >> c; mv -f c .git/config", "ln .git/config c && echo evil >> c",
			"mv .git old; mkdir -p .git/hooks; cp -r old/* .git; echo evil >> .git/config", "mv .git old; ln -s old .git; echo evil >> .git/config",
			"mv .git/hooks .git/h2", "chmod 777 .git/config; echo evil >> .git/config", "echo ../evil > .git/commondir", "echo '[core]' > .git/config.worktree",
			"mkdir .pawl; echo evil > .pawl/permissions.json", "echo evil > .mcp.json", "rmdir .mcp.json; echo evil > .mcp.json", "ln -s x .mcp.json", "ln -s /tmp .pawl",
			"touch f; mv f .mcp.json; mv -T f .mcp.json", "rmdir .pawl; mkdir d; touch d/x; mv -T d .pawl", "mv .pawl p; mkdir .pawl; touch .pawl/x",
			"echo evil >> vendor/lib/.git/config", "echo evil > vendor/lib/.git/hooks/pre-commit", "mv vendor v2; mkdir -p vendor/lib; cp -r v2/lib/.git vendor/lib/; echo evil >> vendor/lib/.git/config; rm -rf v2",
			"rm -rf .git; git init; git config core.pager evil; echo evil > .git/hooks/post-checkout",
		} {
			o := s.sh(t, script)
			for _, name := range []string{".pawl", ".mcp.json", ".git/hooks", ".git/commondir", ".git/config.worktree"} {
				if info, err := os.Lstat(filepath.Join(s.workspace, name)); err == nil {
					t.Errorf("%s: there is %s (%v); printed %q, told %q", script, name, info.Mode(), o.printed, o.told)
					os.RemoveAll(filepath.Join(s.workspace, name))
				}
			}
			for _, path := range []string{"/.git/config", "/vendor/lib/.git/config"} {
				if now, err := os.ReadFile(s.workspace + path); err != nil || strings.Contains(string(now), "evil") {
					t.Errorf("%s: %s is %q, %v; printed %q, told %q", script, path, now, err, o.printed, o.told)
				}
			}
			if hook, err := os.ReadFile(s.workspace + "/vendor/lib/.git/hooks/pre-commit"); err == nil {
				t.Errorf("%s: the nested repository has the hook %q", script, hook)
			}
			if tree && strings.Contains(script, "commondir") && len(o.told) != 1 {
				t.Errorf("%s: nothing is told", script)
			}
			// Each begins with the repository as it was.
			os.RemoveAll(s.workspace + "/old")
			if info, err := os.Lstat(s.workspace + "/.git"); err != nil || !info.IsDir() {
				os.RemoveAll(s.workspace + "/.git")
				s.git(t, "init", "-q")
				os.RemoveAll(s.workspace + "/.git/hooks")
			}
			s.write(t, s.workspace+"/.git/config", string(config))
			if err := os.Chmod(s.workspace+"/.git/config", 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestANewRepositoryMayBeMadeIfItRunsNothing(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		needs(t, "git")
		o := s.sh(t, "git init -q && git config user.name x && git config user.email x@example.org && git remote add origin https://example.org/x.git && touch a && git add a && git commit -qm one && git log --oneline")
		if o.status.Code != 0 || len(o.told) != 0 || !strings.Contains(o.printed, "one") {
			t.Fatalf("%+v", o)
		}
		if err := os.RemoveAll(s.workspace + "/.git"); err != nil {
			t.Fatal(err)
		}
		for _, script := range []string{"git init -q && git config core.fsmonitor evil", "git init -q && echo evil > .git/hooks/post-checkout", "echo 'gitdir: evil' > .git", "ln -s evil .git"} {
			o := s.sh(t, script)
			if _, err := os.Lstat(s.workspace + "/.git"); err == nil || len(o.told) != 1 || !strings.Contains(o.told[0], "made .git") {
				t.Errorf("%s: told %q, .git: %v", script, o.told, err)
			}
		}
	})
}

func TestAKeyInTheEnvironmentOfThePersonsSessionIsNotPassedOn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needsSandbox(t)
	s.env = append(s.env, "SSH_AUTH_SOCK=/x/agent", "DBUS_SESSION_BUS_ADDRESS=unix:path=/x", "XDG_RUNTIME_DIR=/x")
	if o := s.sh(t, "env"); strings.Contains(o.printed, "/x") {
		t.Error(o.printed)
	}
	if o := s.run(t, run.Unconfined, "env"); !strings.Contains(o.printed, "SSH_AUTH_SOCK=/x/agent") {
		t.Error("without a sandbox the person's own authority includes it")
	}
}
