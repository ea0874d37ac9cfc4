package gitcopy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A shop is a repository that machines share, and a clone of it on each.
type shop struct {
	person
	remote string
}

func newShop(t *testing.T) shop {
	t.Helper()
	p := newPerson(t)
	p.write(p.dir, "sub/tool.sh", "#!/bin/sh\n")
	p.write(p.dir, ".gitignore", "*.log\n")
	p.write(p.dir, "gone.txt", "gone soon\n")
	p.git("add", ".")
	p.git("commit", "--quiet", "-m", "second")
	remote := filepath.Join(t.TempDir(), "shared.git")
	p.git("clone", "--quiet", "--bare", ".", remote)
	return shop{p, remote}
}

// machine returns the copy of a name on a machine of its own.
func (s shop) machine(name string) Copy {
	s.Helper()
	clone := filepath.Join(s.TempDir(), "clone")
	if err := Clone(s.Context(), s.remote, clone); err != nil {
		s.Fatal(err)
	}
	return Copy{Dir: filepath.Join(s.TempDir(), name), Repository: clone, Remote: s.remote}
}

func (s shop) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// made makes the copy of a name on a machine, which takes it.
func (s shop) made(name string) Copy {
	s.Helper()
	c := s.machine(name)
	m, err := c.Make(s.Context())
	s.ok(err)
	if m.From != "main" || m.Branch != "pawl/"+name || len(m.Changed) > 0 {
		s.Errorf("%+v", m)
	}
	s.ok(c.Take(s.Context()))
	return c
}

// state is what a person sees of a work tree.
func (s shop) state(c Copy) string {
	s.Helper()
	var all []string
	err := filepath.WalkDir(c.work(), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		if info, err := os.Lstat(path); err != nil {
			return err
		} else if !d.IsDir() {
			content, _ := os.ReadFile(path)
			all = append(all, strings.TrimPrefix(path, c.work())+" "+info.Mode().String()+" "+string(content))
		}
		return nil
	})
	s.ok(err)
	for _, args := range [][]string{{"status", "--short", "--branch"}, {"for-each-ref", "refs/heads"}, {"rev-parse", "HEAD"}} {
		all = append(all, s.in(c.work(), args...))
	}
	return strings.Join(all, "\n")
}

func TestACopyIsContinuedOnAnotherMachine(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s shop, work string){
		"nothing was changed": func(shop, string) {},
		"files": func(s shop, work string) {
			s.write(work, "a.txt", "two\n")
			s.write(work, "deep/er/new.txt", "new\n")
			s.ok(os.Remove(filepath.Join(work, "gone.txt")))
			s.ok(os.Chmod(filepath.Join(work, "sub", "tool.sh"), 0o755))
			s.link("a.txt", filepath.Join(work, "link"))
		},
		"commits and branches": func(s shop, work string) {
			s.write(work, "a.txt", "two\n")
			s.in(work, "commit", "--quiet", "-am", "by the agent")
			s.in(work, "checkout", "--quiet", "-b", "try/this")
			s.write(work, "b.txt", "three\n")
			s.in(work, "add", ".")
			s.in(work, "commit", "--quiet", "-m", "tried")
			s.write(work, "a.txt", "not committed\n")
		},
		"a commit is checked out": func(s shop, work string) {
			s.in(work, "checkout", "--quiet", "--detach", "HEAD~1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			first, second := s.made("t-one"), s.machine("t-one")
			change(s, first.work())
			want := s.state(first)
			s.ok(first.Save(t.Context()))
			s.ok(second.Update(t.Context()))
			if got := s.state(second); got != want {
				t.Errorf("on the second machine:\n%s\nwant:\n%s", got, want)
			}
			one, err := first.Diff(t.Context(), "")
			s.ok(err)
			two, err := second.Diff(t.Context(), "")
			s.ok(err)
			if one.Patch != two.Patch || one.Commits != two.Commits {
				t.Errorf("its diff is\n%s\nwant\n%s", two.Patch, one.Patch)
			}
		})
	}
}

// A machine that was thought dead saves nothing over what another has done since.
func TestWhoHasLostACopySavesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first, second := s.made("t-one"), s.machine("t-one")
	s.write(first.work(), "a.txt", "saved\n")
	s.ok(first.Save(t.Context()))
	s.ok(second.Update(t.Context()))
	s.ok(second.Take(t.Context())) // and changes nothing yet
	s.write(first.work(), "a.txt", "too late\n")
	var taken *TakenError
	if err := first.Save(t.Context()); !errors.As(err, &taken) {
		t.Errorf("the first machine saves: %v", err)
	}
	s.write(second.work(), "b.txt", "continued\n")
	s.ok(second.Save(t.Context()))
	s.ok(first.Update(t.Context())) // it is given the task again
	if got := s.read(first.work(), "a.txt") + s.read(first.work(), "b.txt"); got != "saved\ncontinued\n" {
		t.Errorf("the first machine continues with %q", got)
	}
	s.ok(first.Take(t.Context()))
	s.write(second.work(), "b.txt", "too late\n")
	if err := second.Save(t.Context()); !errors.As(err, &taken) {
		t.Errorf("the second machine saves: %v", err)
	}
}

// A push of which the answer was lost, because pawl was killed or the network was cut, is known for one's own.
func TestAPushWithoutAnAnswerIsKnown(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.made("t-one")
	before := c.own().ref(t.Context(), savedRef)
	s.write(c.work(), "a.txt", "two\n")
	s.ok(c.Save(t.Context()))
	_, err := c.own().run(t.Context(), "update-ref", savedRef, before)
	s.ok(err)
	s.ok(c.Update(t.Context()))
	if got := s.read(c.work(), "a.txt"); got != "two\n" {
		t.Errorf("it was replaced: %q", got)
	}
	s.write(c.work(), "a.txt", "three\n")
	s.ok(c.Save(t.Context()))
	other := s.machine("t-one")
	s.ok(other.Update(t.Context()))
	if got := s.read(other.work(), "a.txt"); got != "three\n" {
		t.Errorf("saved is %q", got)
	}
}

func TestWhatIsMergedIsInTheSharedRepository(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first, desk := s.made("t-one"), s.machine("t-one")
	s.write(first.work(), "a.txt", "two\n")
	s.ok(first.Save(t.Context()))

	s.write(s.dir, "a.txt", "somebody else\n")
	s.git("commit", "--quiet", "-am", "meanwhile")
	s.git("push", "--quiet", s.remote, "main")

	s.ok(desk.Update(t.Context()))
	m, err := desk.Meets(t.Context())
	s.ok(err)
	if m.Into != "main" || m.Head != s.git("rev-parse", "main") || !slices.Equal(m.Conflicts, []string{"a.txt"}) {
		t.Errorf("it meets %+v", m)
	}
	if out := s.in(s.remote, "branch", "--list", "pawl/*"); out != "" {
		t.Errorf("looking has made %s", out)
	}
	merged, err := desk.Merge(t.Context(), "Change it", "")
	s.ok(err)
	if got := s.in(s.remote, "show", "pawl/t-one:a.txt"); got != "two" {
		t.Errorf("the branch has %q", got)
	}

	s.ok(first.Update(t.Context())) // the agent continues after the merge
	s.ok(first.Take(t.Context()))
	s.write(first.work(), "a.txt", "three\n")
	s.ok(first.Save(t.Context()))
	s.ok(desk.Update(t.Context()))
	again, err := desk.Merge(t.Context(), "Change it", "")
	s.ok(err)
	if s.in(s.remote, "rev-parse", "pawl/t-one") != again.Commit {
		t.Error("the branch is not what was merged again")
	}
	s.in(s.remote, "merge-base", "--is-ancestor", merged.Commit, again.Commit)

	s.in(s.remote, "update-ref", "refs/heads/pawl/t-one", "main") // somebody works on that branch
	if _, err := desk.Merge(t.Context(), "Change it", ""); err == nil || !strings.Contains(err.Error(), "has commits that the copy does not have") {
		t.Errorf("a branch of somebody else is merged over: %v", err)
	}

	never := s.machine("t-one") // which has never had it
	s.ok(never.Discard(t.Context()))
	if out := s.in(s.remote, "for-each-ref", "refs/pawl"); out != "" {
		t.Errorf("the discarded copy is still saved: %s", out)
	}
}

// A copy of a branch of the shared repository is merged for that branch, or for what is checked out when the branch is gone.
func TestACopyOfASharedRevision(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.git("tag", "-a", "-m", "one", "v1")
	tagged := s.git("rev-parse", "HEAD")
	s.git("checkout", "--quiet", "-b", "release-2")
	s.write(s.dir, "a.txt", "of the release\n")
	s.git("commit", "--quiet", "-am", "release")
	s.git("push", "--quiet", "--tags", s.remote, "release-2")
	release := s.git("rev-parse", "HEAD")
	for revision, want := range map[string]Made{"release-2": {From: "release-2", Base: release}, "v1": {Base: tagged}, release: {Base: release}} {
		c := s.machine("t-" + revision[:2])
		c.Revision = revision
		m, err := c.Make(t.Context())
		if err != nil || m.Base != want.Base || m.From != want.From {
			t.Errorf("of %s: %+v, %v", revision, m, err)
		}
		if revision != "release-2" {
			continue
		}
		s.ok(c.Take(t.Context()))
		s.write(c.work(), "a.txt", "by the agent\n")
		s.ok(c.Save(t.Context()))
		desk := s.machine("t-" + revision[:2])
		s.ok(desk.Update(t.Context()))
		if meets, err := desk.Meets(t.Context()); err != nil || meets.Into != "release-2" || len(meets.Conflicts) > 0 {
			t.Errorf("it meets %+v, %v", meets, err)
		}
		s.in(s.remote, "branch", "--quiet", "-D", "release-2")
		if meets, err := desk.Meets(t.Context()); err != nil || meets.Into != "main" {
			t.Errorf("without its branch it meets %+v, %v", meets, err)
		}
		s.in(s.remote, "branch", "--quiet", "release-2", release)
	}
	c := s.machine("t-none")
	c.Revision = "nothing"
	if _, err := c.Make(t.Context()); !errors.As(err, new(*UnsuitableError)) || !strings.Contains(err.Error(), `has no branch or tag "nothing"`) {
		t.Errorf("of what is not there: %v", err)
	}
}

// A file that hosts refuse keeps nothing else from being saved, and is named.
func TestALargeFileIsNotSaved(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c, other := s.made("t-one"), s.machine("t-one")
	s.write(c.work(), "a.txt", "two\n")
	for _, name := range []string{"big.bin", "sub/tool.sh"} {
		s.ok(os.Truncate(touch(s, c, name), maxSaved+1))
	}
	var large *LargeError
	if err := c.Save(t.Context()); !errors.As(err, &large) || !slices.Equal(large.Names, []string{"big.bin", "sub/tool.sh"}) {
		t.Errorf("saved: %v", err)
	}
	if err := c.Save(t.Context()); !errors.As(err, &large) {
		t.Errorf("saved again: %v", err)
	}
	s.ok(c.Take(t.Context()))
	s.ok(other.Update(t.Context()))
	if got := s.read(other.work(), "a.txt") + s.read(other.work(), "sub/tool.sh"); got != "two\n#!/bin/sh\n" {
		t.Errorf("saved is %q", got)
	}
	s.notThere(filepath.Join(other.work(), "big.bin"), "a large file")
}

func touch(s shop, c Copy, name string) string {
	s.Helper()
	file := filepath.Join(c.work(), name)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	s.ok(err)
	s.ok(f.Close())
	return file
}

func TestWhatKeepsACopyFromBeingSavedIsSaid(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.made("t-one")
	away := s.remote + ".away"
	s.ok(os.Rename(s.remote, away))
	s.write(c.work(), "a.txt", "two\n")
	for what, err := range map[string]error{"save": c.Save(t.Context()), "update": c.Update(t.Context()), "make": func() error { _, err := s2(s, away).Make(t.Context()); return err }()} {
		if err == nil || !strings.Contains(err.Error(), s.remote) {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.ok(os.Rename(away, s.remote))
	s.ok(c.Save(t.Context()))

	for what, message := range map[string]string{
		"no JSON":          "hello",
		"a commit":         `{"head":"refs/heads/main","tip":"HEAD","base":"HEAD","heads":{}}`,
		"an option":        `{"head":"--upload-pack=x","tip":"TIP","base":"TIP","heads":{}}`,
		"a folder above":   `{"head":"TIP","tip":"TIP","base":"TIP","prefix":"../..","heads":{}}`,
		"a strange branch": `{"head":"refs/heads/a..b","tip":"TIP","base":"TIP","heads":{"a..b":"TIP"}}`,
	} {
		tip := s.git("rev-parse", "main")
		commit := s.git("commit-tree", "main^{tree}", "-p", "main", "-m", strings.ReplaceAll(message, "TIP", tip))
		s.git("push", "--quiet", "--force", s.remote, commit+":refs/pawl/saved/t-bad")
		bad := s.machine("t-bad")
		if err := bad.Update(t.Context()); err == nil {
			t.Errorf("%s is taken", what)
		}
		s.notThere(bad.Dir, what)
	}
}

// s2 returns a copy on a machine whose clone was made while the repository was elsewhere.
func s2(s shop, away string) Copy {
	there := s
	there.remote = away
	c := there.machine("t-two")
	c.Remote = s.remote
	return c
}

// A machine that stops in the middle of a git command leaves lock files behind, which git never removes.
func TestLocksOfAStoppedMachineAreRemoved(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"refs/pawl/saving", "refs/pawl/saved", "refs/pawl/head", "refs/pawl/heads/pawl/x", "config"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			c := s.made("x")
			s.write(c.work(), "new.txt", "new\n")
			s.in(c.work(), "add", ".")
			s.in(c.work(), "commit", "--quiet", "-m", "third")
			lock := filepath.Join(c.own().dir, name+".lock")
			s.ok(os.MkdirAll(filepath.Dir(lock), 0o700))
			s.ok(os.WriteFile(lock, nil, 0o600))
			if c.Save(t.Context()) == nil && c.Take(t.Context()) == nil {
				t.Error("a lock that git may have was removed")
			}
			long := time.Now().Add(-time.Minute)
			s.ok(os.Chtimes(lock, long, long))
			s.write(c.work(), "more.txt", "more\n")
			s.ok(c.Take(t.Context()))
			s.ok(c.Save(t.Context()))
			if files := s.in(s.remote, "ls-tree", "--name-only", c.remoteRef()); !strings.Contains(files, "more.txt") {
				t.Errorf("saved are %q", files)
			}
		})
	}
}
