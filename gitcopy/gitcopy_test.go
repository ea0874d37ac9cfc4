package gitcopy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/proc/proctest"
)

// A person is someone with a repository.
type person struct {
	*testing.T
	dir string
}

// newPerson makes a repository with one commit.
func newPerson(t *testing.T) person {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	p := person{t, filepath.Join(t.TempDir(), "project")}
	p.write(p.dir, "a.txt", "one\n")
	p.git("init", "--quiet", "--initial-branch=main")
	p.git("config", "user.name", "Ada")
	p.git("config", "user.email", "ada@example.org")
	p.git("add", ".")
	p.git("commit", "--quiet", "-m", "first")
	return p
}

func (p person) in(dir string, args ...string) string {
	p.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+p.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p person) git(args ...string) string { p.Helper(); return p.in(p.dir, args...) }

func (p person) write(dir, name, content string) {
	p.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p person) link(to, file string) {
	p.Helper()
	if err := os.Symlink(to, file); err != nil {
		p.Fatal(err)
	}
}

func (p person) read(dir, name string) string {
	p.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		p.Fatal(err)
	}
	return string(b)
}

// program writes a program that leaves a file, and returns both names.
func (p person) program() (name, ran string) {
	dir := p.TempDir()
	ran = filepath.Join(dir, "ran")
	return proctest.Program(p, filepath.Join(dir, "program"), "#!/bin/sh\necho \"$0 $*\" >> "+ran+"\ncat\n"), ran
}

// copy makes a copy of the person's repository.
func (p person) copy(name string) (Copy, Made) {
	p.Helper()
	c := Copy{Dir: filepath.Join(p.TempDir(), name), Repository: p.dir}
	m, err := c.Make(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	return c, m
}

func (p person) notThere(file, what string) {
	p.Helper()
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		content, _ := os.ReadFile(file)
		p.Errorf("%s: %v %s", what, err, content)
	}
}

func TestTwoCopiesOfOneRepositoryAreMerged(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	before := p.git("rev-parse", "HEAD")
	one, made := p.copy("t-one")
	two, _ := p.copy("t-two")
	if made.Branch != "pawl/t-one" || made.From != "main" || made.Base != before || made.Folder != one.work() {
		t.Errorf("%+v", made)
	}
	p.write(one.work(), "a.txt", "one\nmore\n") // not committed
	p.write(two.work(), "b.txt", "two\n")
	p.in(two.work(), "add", ".")
	p.in(two.work(), "commit", "--quiet", "-m", "b is there")

	d, err := one.Diff(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Files) != 1 || d.Files[0] != (File{"a.txt", 1, 0}) || !strings.Contains(d.Patch, "+more") || d.Commits != 0 {
		t.Errorf("%+v", d)
	}
	for _, c := range []Copy{one, two} {
		m, err := c.Merge(t.Context(), "The title", "")
		if err != nil {
			t.Fatal(err)
		}
		if m.Into != "main" || m.Contained || len(m.Changed)+len(m.Conflicts) > 0 {
			t.Errorf("%+v", m)
		}
	}
	if now := p.git("rev-parse", "HEAD"); now != before || p.git("status", "--porcelain") != "" {
		t.Errorf("the person's tree was changed: %s, %q", now, p.git("status", "--porcelain"))
	}
	if got := p.git("log", "-1", "--format=%an %s", "pawl/t-one"); got != "Ada The title" {
		t.Errorf("the commit of what was left: %s", got)
	}
	if got := p.git("log", "-1", "--format=%s", "pawl/t-two"); got != "b is there" {
		t.Errorf("the agent's commit: %s", got)
	}
	p.git("merge", "--quiet", "pawl/t-one")
	p.git("merge", "--quiet", "-m", "both", "pawl/t-two")
	if p.read(p.dir, "a.txt") != "one\nmore\n" || p.read(p.dir, "b.txt") != "two\n" {
		t.Error("the merge has not both changes")
	}
	if m, err := one.Merge(t.Context(), "again", ""); err != nil || !m.Contained {
		t.Errorf("merged again: %+v, %v", m, err)
	}
	for _, c := range []Copy{one, two} {
		if err := c.Discard(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.notThere(c.Dir, "a copy after it was discarded")
	}
	if refs := p.git("for-each-ref", "refs/pawl"); refs != "" {
		t.Errorf("after the copies are gone: %s", refs)
	}
}

// A copy can be made of another branch, a tag or a commit than what is checked out.
func TestACopyIsMadeOfARevision(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	first := p.git("rev-parse", "HEAD")
	p.git("tag", "-a", "-m", "one", "v1")
	p.git("checkout", "--quiet", "-b", "release-2")
	p.git("commit", "--quiet", "--allow-empty", "-m", "of the release")
	release := p.git("rev-parse", "HEAD")
	p.git("checkout", "--quiet", "main")
	p.git("commit", "--quiet", "--allow-empty", "-m", "of main")
	p.git("branch", "v1", "main") // a branch goes before a tag of its name
	for revision, want := range map[string]Made{"release-2": {From: "release-2", Base: release}, "v1": {From: "v1", Base: p.git("rev-parse", "main")}, "tags/v1": {Base: first}, first: {Base: first}, first[:9]: {Base: first}} {
		c := Copy{Dir: filepath.Join(t.TempDir(), "t-x"), Repository: p.dir, Revision: revision}
		m, err := c.Make(t.Context())
		if err != nil || m.Base != want.Base || m.From != want.From || p.in(c.work(), "rev-parse", "HEAD") != want.Base {
			t.Errorf("of %s: %+v, %v", revision, m, err)
		}
	}
	_, err := Copy{Dir: filepath.Join(t.TempDir(), "t-x"), Repository: p.dir, Revision: "nothing"}.Make(t.Context())
	if !errors.As(err, new(*UnsuitableError)) || !strings.Contains(err.Error(), `has no branch, tag or commit "nothing"`) {
		t.Errorf("of what is not there: %v", err)
	}
}

func TestWhatIsMergedTwiceOnlyMovesForward(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c, _ := p.copy("t-x")
	if _, err := c.Merge(t.Context(), "nothing", ""); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing was changed: %v", err)
	}
	var last string
	step := func(what string, change func()) {
		t.Helper()
		change()
		m, err := c.Merge(t.Context(), what, "")
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if last != "" && p.git("merge-base", last, m.Commit) != last {
			t.Errorf("%s: the branch does not follow what it was", what)
		}
		last = m.Commit
	}
	step("left", func() { p.write(c.work(), "b.txt", "1\n") })
	step("left again", func() { p.write(c.work(), "b.txt", "2\n") })
	step("committed what was left", func() { p.in(c.work(), "add", "."); p.in(c.work(), "commit", "-qm", "its own") })
	step("another branch", func() {
		p.in(c.work(), "switch", "-qc", "mine")
		p.write(c.work(), "c.txt", "3\n")
		p.in(c.work(), "add", ".")
		p.in(c.work(), "commit", "-qm", "c")
	})
	step("taken back", func() { os.Remove(filepath.Join(c.work(), "c.txt")) })
	if got := p.git("ls-tree", "--name-only", last); got != "a.txt\nb.txt" {
		t.Errorf("the last tree has %s", got)
	}

	p.git("branch", "-f", "pawl/t-x", "main")
	p.git("switch", "-q", "pawl/t-x")
	p.write(p.dir, "own.txt", "the person's\n")
	p.git("add", ".")
	p.git("commit", "-qm", "the person's")
	if _, err := c.Merge(t.Context(), "x", ""); err == nil || !strings.Contains(err.Error(), "has commits that the copy does not have") {
		t.Errorf("the branch has other commits: %v", err)
	}
	p.git("reset", "-q", "--hard", "main")
	if _, err := c.Merge(t.Context(), "x", ""); err == nil || !strings.Contains(err.Error(), "is checked out") {
		t.Errorf("the branch is checked out: %v", err)
	}
}

// What git refuses of others is refused of a copy, committed there or not, and goes on once it is changed.
func TestWhatGitRefusesOfOthersIsNotMerged(t *testing.T) {
	t.Parallel()
	for name, commit := range map[string]bool{"committed": true, "left": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			c, _ := p.copy("t-x")
			p.write(c.work(), "b.txt", "good\n")
			p.write(c.work(), ".gitmodules", "[submodule \"s\"]\n\tpath = s\n\turl = -u./x\n")
			if commit {
				p.in(c.work(), "add", ".")
				p.in(c.work(), "commit", "-qm", "bad")
			}
			_, merged := c.Merge(t.Context(), "x", "")
			if merged == nil || !strings.Contains(merged.Error(), "gitmodulesUrl") {
				t.Errorf("a submodule whose address is an option: %v", merged)
			}
			if _, err := c.Meets(t.Context()); err == nil || err.Error() != merged.Error() {
				t.Errorf("what a merge would meet is %v, and it met %v", err, merged)
			}
			if got := p.git("branch", "--list", "pawl/*"); got != "" {
				t.Errorf("the person has %s", got)
			}
			if commit {
				p.in(c.work(), "reset", "-q", "HEAD~1")
			}
			if err := os.Remove(filepath.Join(c.work(), ".gitmodules")); err != nil {
				t.Fatal(err)
			}
			if m, err := c.Merge(t.Context(), "x", ""); err != nil || p.git("ls-tree", "--name-only", m.Commit) != "a.txt\nb.txt" {
				t.Errorf("without it: %+v, %v", m, err)
			}
		})
	}
}

// Who asks what a merge would meet is told each reason for which it is refused, and nothing comes into the repository.
func TestWhatKeepsAMergeFromBeingDoneIsSaidBefore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(p person)
		want    string
	}{
		"checked out":   {func(p person) { p.git("checkout", "-q", "pawl/t-x") }, "is checked out in your repository"},
		"in a worktree": {func(p person) { p.git("worktree", "add", "-q", filepath.Join(p.TempDir(), "w"), "pawl/t-x") }, "is checked out in your repository"},
		"commits of yours": {func(p person) {
			p.git("branch", "-f", "pawl/t-x", p.git("commit-tree", "-p", "pawl/t-x", "-m", "y", "HEAD^{tree}"))
		}, "has commits that the copy does not have"},
		"another address": {func(p person) {
			p.git("config", "--add", "url./nowhere/.insteadOf", "/")
		}, "replaces the address of the copy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			c, _ := p.copy("t-x")
			p.write(c.work(), "b.txt", "one\n")
			if _, err := c.Merge(t.Context(), "x", ""); err != nil {
				t.Fatal(err)
			}
			p.write(c.work(), "b.txt", "two\n")
			objects := p.git("count-objects", "-v")
			if _, err := c.Meets(t.Context()); err != nil {
				t.Errorf("before: %v", err)
			}
			if after := p.git("count-objects", "-v"); after != objects {
				t.Errorf("what was only asked has brought objects:\n%s\n%s", objects, after)
			}
			test.prepare(p)
			_, err := c.Meets(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("a merge would meet: %v", err)
			}
			if _, merged := c.Merge(t.Context(), "x", ""); merged == nil || err != nil && merged.Error() != err.Error() {
				t.Errorf("the merge has met: %v, and before: %v", merged, err)
			}
		})
	}
}

func TestConflictsAndChangedFilesAreSaid(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c, _ := p.copy("t-x")
	p.write(c.work(), "a.txt", "the agent's\n")
	p.write(p.dir, "a.txt", "the person's\n")
	p.git("commit", "-qam", "mine")
	p.write(p.dir, "a.txt", "the person's, not committed\n")
	before := p.in(c.own().dir, "for-each-ref", "refs/heads") + p.git("for-each-ref")
	met, err := c.Meets(t.Context())
	if err != nil || !met.Known || met.Into != "main" {
		t.Errorf("before the merge: %+v, %v", met, err)
	}
	if again, err := c.Meets(t.Context()); err != nil || !reflect.DeepEqual(again, met) {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	if after := p.in(c.own().dir, "for-each-ref", "refs/heads") + p.git("for-each-ref"); after != before {
		t.Errorf("what was only asked has changed a branch:\n%s\n%s", before, after)
	}
	m, err := c.Merge(t.Context(), "x", "")
	if err != nil || !slices.Equal(m.Changed, []string{"a.txt"}) || m.Commit == "" {
		t.Errorf("%+v, %v", m, err)
	}
	if out, err := exec.Command("git", "merge-tree", "-h").CombinedOutput(); err != nil && strings.Contains(string(out), "--write-tree") && !slices.Equal(m.Conflicts, []string{"a.txt"}) {
		t.Errorf("conflicts: %+v", m.Conflicts)
	}
	if !reflect.DeepEqual(m.Meeting, met) {
		t.Errorf("the merge met %+v, and before it was %+v", m.Meeting, met)
	}
	if got := p.read(p.dir, "a.txt"); got != "the person's, not committed\n" {
		t.Errorf("the person's file is %q", got)
	}
}

// A git that cannot say what conflicts is no error, and nothing is claimed.
func TestWithAnOlderGitConflictsAreNotKnown(t *testing.T) {
	p := newPerson(t)
	c, _ := p.copy("t-x")
	if _, err := c.Meets(t.Context()); !errors.Is(err, ErrNothing) {
		t.Errorf("of a copy in which nothing was changed: %v", err)
	}
	p.write(c.work(), "a.txt", "the agent's\n")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // git 2.37 knows no other merge-tree than that of three trees
	proctest.Program(t, filepath.Join(dir, "git"), "#!/bin/sh\nfor word; do test \"$word\" = --write-tree && exit 129; done\nexec "+git+" \"$@\"\n")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if met, err := c.Meets(t.Context()); err != nil || met.Known || len(met.Conflicts) > 0 {
		t.Errorf("%+v, %v", met, err)
	}
}

// An agent in the copy can merge what the person has committed since, and then nothing conflicts.
func TestConflictsAreSolvedInTheCopy(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c, _ := p.copy("t-x")
	p.write(c.work(), "a.txt", "the agent's\n")
	p.write(p.dir, "a.txt", "the person's\n")
	p.git("commit", "-qam", "mine")
	m, err := c.Merge(t.Context(), "x", "")
	if err != nil || m.Head != p.git("rev-parse", "HEAD") {
		t.Fatalf("%+v, %v", m, err)
	}
	p.in(c.work(), "commit", "-qam", "changed")
	p.in(c.work(), "merge", "--quiet", "--no-commit", "--strategy-option=ours", m.Head)
	p.write(c.work(), "a.txt", "both\n")
	p.in(c.work(), "commit", "-qam", "solved")
	m, err = c.Merge(t.Context(), "x", "")
	if err != nil || len(m.Conflicts) > 0 || p.git("show", m.Commit+":a.txt") != "both" {
		t.Errorf("%+v, %v", m, err)
	}
	p.git("merge", "--quiet", m.Branch)
}

// What was changed since a person has looked is shown alone, however much was changed before.
func TestADiffBeginsWithTheTreeOfAnother(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c, _ := p.copy("t-x")
	p.write(c.work(), "a.txt", "changed\n")
	p.write(c.work(), "b.txt", "two\n")
	before, err := c.Diff(t.Context(), "")
	if err != nil || len(before.Files) != 2 {
		t.Fatalf("%+v, %v", before, err)
	}
	p.write(c.work(), "b.txt", "two\nthree\n")
	now, err := c.Diff(t.Context(), before.Tree)
	if err != nil || !slices.Equal(now.Files, []File{{"b.txt", 1, 0}}) || strings.Contains(now.Patch, "+two") {
		t.Errorf("%+v, %v", now, err)
	}
	if all, err := c.Diff(t.Context(), ""); err != nil || len(all.Files) != 2 || all.Tree != now.Tree {
		t.Errorf("%+v, %v", all, err)
	}
	for _, tree := range []string{strings.Repeat("1", 40), p.git("rev-parse", "HEAD"), "--help"} {
		if _, err := c.Diff(t.Context(), tree); !errors.As(err, new(*StateError)) {
			t.Errorf("since %s: %v", tree, err)
		}
	}
}

// TestNothingThatAConfigurationNamesRuns: hooks, filters, monitors and drivers, of the person
// and of the copy, which an agent can change as it likes.
func TestNothingThatAConfigurationNamesRuns(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	program, ran := p.program()
	p.write(p.dir, ".gitattributes", "*.txt filter=evil merge=evil diff=evil\n")
	p.git("add", ".")
	p.git("commit", "-qm", "attributes")
	plant := func(dir string) {
		for _, kv := range [][2]string{{"core.fsmonitor", program}, {"filter.evil.clean", program}, {"filter.evil.smudge", program}, {"filter.evil.required", "true"},
			{"merge.evil.driver", program}, {"diff.evil.textconv", program}, {"diff.evil.command", program}, {"diff.external", program}, {"core.sshCommand", program},
			{"core.alternateRefsCommand", program}, {"uploadpack.packObjectsHook", program}, {"gpg.program", program}, {"commit.gpgSign", "true"}, {"core.pager", program}} {
			p.in(dir, "config", kv[0], kv[1])
		}
		content := p.read(filepath.Dir(program), "program")
		for _, hook := range []string{"pre-commit", "post-commit", "post-checkout", "post-merge", "reference-transaction", "post-index-change", "pre-auto-gc", "post-rewrite", "update", "post-update", "fsmonitor-watchman"} {
			proctest.Program(t, filepath.Join(dir, ".git", "hooks", hook), content)
		}
	}
	p.git("checkout", "-qb", "other")
	p.write(p.dir, "a.txt", "three\n")
	p.git("commit", "-qam", "other")
	p.git("checkout", "-q", "main")
	plant(p.dir)
	c, _ := p.copy("t-x")
	p.notThere(ran, "a program of the person ran when the copy was made")
	// What makes a program of the address that is fetched from.
	for _, kv := range [][2]string{{"protocol.allow", "always"}, {"protocol.ext.allow", "always"}, {"url.ext::" + program + " %S .insteadOf", "/"},
		{"core.gitProxy", program}, {"core.askPass", program},
		{"credential.helper", "!" + program}, {"core.editor", program}, {"fetch.writeCommitGraph", "true"}, {"gc.auto", "1"}, {"maintenance.auto", "true"},
		{"submodule.recurse", "true"}, {"log.showSignature", "true"}, {"filter.evil.process", program}, {"alias.rev-parse", "!" + program}} {
		p.git("config", kv[0], kv[1])
	}
	if got := p.in(c.work(), "config", "--list", "--local"); strings.Contains(got, program) {
		t.Errorf("the copy has the person's configuration: %s", got)
	}
	plant(c.work())
	p.write(c.work(), "a.txt", "two\n")
	p.write(c.work(), "c.txt", "new\n")
	if _, err := c.Diff(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	_, before := c.Meets(t.Context())
	p.notThere(ran, "a program ran when it was asked whether a merge is possible")
	_, err := c.Merge(t.Context(), "x", "")
	if before == nil || err == nil || before.Error() != err.Error() {
		t.Errorf("a merge would meet %v, and met %v", before, err)
	}
	if err == nil || !strings.Contains(err.Error(), "transport 'ext' not allowed") {
		t.Errorf("the address of the copy became a program: %v", err)
	} else if !strings.Contains(err.Error(), "the setting url.ext::"+program+" %S .insteadof = / of your repository") {
		t.Errorf("the error does not name the setting: %v", err)
	}
	p.notThere(ran, "a program ran at diff or merge")
	p.git("config", "--remove-section", "url.ext::"+program+" %S ")
	p.write(filepath.Join(p.dir, ".git"), "HEAD", "ref: refs/heads/other\n")
	if met, err := c.Meets(t.Context()); err != nil || met.Into != "other" || met.Known && !slices.Equal(met.Conflicts, []string{"a.txt"}) {
		t.Errorf("a merge would meet %+v, %v", met, err)
	}
	p.write(filepath.Join(p.dir, ".git"), "HEAD", "ref: refs/heads/main\n")
	p.notThere(ran, "a program ran when it was asked what a merge would meet")
	if _, err := c.Merge(t.Context(), "x", ""); err != nil {
		t.Fatal(err)
	}
	p.notThere(ran, "a program ran at merge")
	for _, kv := range []string{"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "filter.evil.required"} {
		p.git("config", "--unset", kv) // the person's own are not the question any more
	}
	if err := os.RemoveAll(filepath.Join(p.dir, ".git", "hooks")); err != nil {
		t.Fatal(err)
	}
	p.git("status")
	p.notThere(ran, "what was planted in the copy ran at the person's next git status")
	if err := c.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.notThere(ran, "a program ran at discard")
}

func TestObjectsOfACopySurviveAGCOfThePersonsRepository(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.write(p.dir, "b.txt", "soon gone\n")
	p.git("add", ".")
	p.git("commit", "-qm", "second")
	c, made := p.copy("t-x")
	p.git("reset", "-q", "--hard", "HEAD~1")
	p.git("reflog", "expire", "--expire=now", "--all")
	p.git("gc", "-q", "--prune=now")
	p.write(c.work(), "c.txt", "new\n")
	p.in(c.work(), "add", ".")
	p.in(c.work(), "commit", "-qm", "more")
	p.in(c.work(), "fsck", "--full")
	if m, err := c.Merge(t.Context(), "x", ""); err != nil || p.git("merge-base", m.Commit, made.Base) != made.Base {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestOfWhatACopyIsMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(p *person)
		wrong   string   // of the error
		notes   []string // parts of them
		changed []string
		check   func(p person, c Copy, m Made)
	}{
		"no repository": {prepare: func(p *person) { p.dir = p.TempDir() }, wrong: "not in a git repository"},
		"bare": {prepare: func(p *person) {
			bare := filepath.Join(p.TempDir(), "b.git")
			p.git("clone", "-q", "--bare", ".", bare)
			p.dir = bare
		}, wrong: "is bare"},
		"in .git": {prepare: func(p *person) { p.dir = filepath.Join(p.dir, ".git") }, wrong: "a repository's own folder"},
		"no commit": {prepare: func(p *person) {
			p.dir = p.TempDir()
			p.git("init", "-q")
		}, wrong: "has no commit yet"},
		"partial": {prepare: func(p *person) { p.git("config", "remote.origin.promisor", "true") }, wrong: "partial clone"},
		"changes": {prepare: func(p *person) {
			p.write(p.dir, "a.txt", "changed, and longer\n")
			p.write(p.dir, "new/x", "untracked\n")
			p.write(p.dir, "staged", "s\n")
			p.git("add", "staged")
		}, changed: []string{"a.txt", "new/", "staged"}, check: func(p person, c Copy, m Made) {
			if p.read(c.work(), "a.txt") != "one\n" {
				p.Error("the copy has what is not committed")
			}
		}},
		"detached": {prepare: func(p *person) { p.git("checkout", "-q", "--detach") }, check: func(p person, c Copy, m Made) {
			if m.From != "" || p.in(c.work(), "branch", "--show-current") != m.Branch {
				p.Errorf("%+v", m)
			}
		}},
		"a folder of it": {prepare: func(p *person) {
			p.write(p.dir, "sub/b.txt", "b\n")
			p.git("add", ".")
			p.git("commit", "-qm", "sub")
			p.dir = filepath.Join(p.dir, "sub")
		}, check: func(p person, c Copy, m Made) {
			if m.Folder != filepath.Join(c.work(), "sub") || p.read(m.Folder, "b.txt") != "b\n" || p.read(c.work(), "a.txt") != "one\n" {
				p.Errorf("%+v", m)
			}
		}},
		"worktree": {prepare: func(p *person) {
			tree := filepath.Join(p.TempDir(), "tree")
			p.git("worktree", "add", "-q", "-b", "side", tree)
			p.dir = tree
		}, check: func(p person, c Copy, m Made) {
			if m.From != "side" {
				p.Errorf("%+v", m)
			}
		}},
		"shallow": {prepare: func(p *person) {
			p.git("commit", "-q", "--allow-empty", "-m", "second")
			shallow := filepath.Join(p.TempDir(), "s")
			p.git("clone", "-q", "--depth=1", "file://"+p.dir, shallow)
			p.dir = shallow
			p.git("config", "user.name", "Ada")
			p.git("config", "user.email", "ada@example.org")
		}, check: func(p person, c Copy, m Made) {
			p.in(c.work(), "fsck")
			if got := p.in(c.work(), "log", "--format=%s"); got != "second" {
				p.Errorf("the history is %q", got)
			}
		}},
		"submodules": {prepare: func(p *person) {
			p.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", newPerson(p.T).dir, "lib")
			p.git("commit", "-qm", "lib")
		}, notes: []string{"submodules are empty in the copy: lib"}},
		"lfs": {prepare: func(p *person) {
			p.write(p.dir, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
			p.write(p.dir, "x.bin", "version https://git-lfs.github.com/spec/v1\n")
			p.git("add", ".")
			p.git("commit", "-qm", "lfs")
		}, notes: []string{"Git LFS"}},
		"sparse": {prepare: func(p *person) {
			p.write(p.dir, "left/out", "x\n")
			p.git("add", ".")
			p.git("commit", "-qm", "left")
			p.git("sparse-checkout", "set", "--no-cone", "a.txt")
		}, notes: []string{"sparse checkout"}, check: func(p person, c Copy, m Made) {
			if p.read(c.work(), "left/out") != "x\n" {
				p.Error("the copy is sparse too")
			}
		}},
		"sha256": {prepare: func(p *person) {
			p.dir = filepath.Join(p.TempDir(), "s")
			p.write(p.dir, "a.txt", "one\n")
			p.git("init", "-q", "--object-format=sha256")
			p.git("config", "user.name", "Ada")
			p.git("config", "user.email", "ada@example.org")
			p.git("add", ".")
			p.git("commit", "-qm", "first")
		}},
		"strange names": {prepare: func(p *person) {
			odd := filepath.Join(p.TempDir(), "an \"odd\" 'name' ü$HOME")
			if err := os.Rename(p.dir, odd); err != nil {
				p.Fatal(err)
			}
			p.dir = odd
			p.write(p.dir, "-n\tü", "x\n")
			p.git("add", ".")
			p.git("commit", "-qm", "odd")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			c.prepare(&p)
			made := Copy{Dir: filepath.Join(t.TempDir(), "copies", "t-x"), Repository: p.dir}
			m, err := made.Make(t.Context())
			if c.wrong != "" {
				if !errors.As(err, new(*UnsuitableError)) || !strings.Contains(err.Error(), c.wrong) {
					t.Fatalf("%v", err)
				}
				p.notThere(filepath.Join(made.Dir), "a copy that cannot be made")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(m.Changed, c.changed) || len(m.Notes) != len(c.notes) {
				t.Errorf("changed %q, notes %q", m.Changed, m.Notes)
			}
			for i, note := range c.notes {
				if !strings.Contains(m.Notes[i], note) {
					t.Errorf("notes: %q", m.Notes)
				}
			}
			if len(made.Objects()) == 0 {
				t.Error("nothing is shared")
			}
			if c.check != nil {
				c.check(p, made, m)
			}
			if d, err := made.Diff(t.Context(), ""); err != nil || len(d.Files) > 0 || d.Commits > 0 {
				t.Errorf("a fresh copy differs: %+v, %v", d, err)
			}
			p.write(m.Folder, "added.txt", "new\n")
			merged, err := made.Merge(t.Context(), "x", "")
			if err != nil {
				t.Fatal(err)
			}
			if got := p.git("cat-file", "blob", merged.Commit+":./added.txt"); got != "new" {
				t.Errorf("merged: %q", got)
			}
			again, err := made.Make(context.Background())
			if err != nil || again.Base != m.Base || again.Folder != m.Folder {
				t.Errorf("made again: %+v, %v", again, err)
			}
		})
	}
}

func TestWhatAKilledProcessLeavesIsNoCopy(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c, _ := p.copy("t-x")
	dir := filepath.Dir(c.Dir)
	left := c.Dir + making + "abcdefgh"
	p.write(left, "work/a.txt", "half\n")
	old, other := Copy{Dir: filepath.Join(dir, "t-old"), Repository: p.dir}, time.Now().Add(2*time.Hour)
	if _, err := old.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	needed := func(name string) bool { return name == "t-x" }
	if err := Tidy(t.Context(), dir, p.dir, time.Hour, time.Now(), needed); err != nil {
		t.Fatal(err)
	}
	for _, young := range []string{left, old.Dir} {
		if _, err := os.Stat(young); err != nil {
			t.Errorf("a copy that may be being made: %v", err)
		}
	}
	if err := Tidy(t.Context(), dir, p.dir, time.Hour, other, needed); err != nil {
		t.Fatal(err)
	}
	p.notThere(left, "what a killed process has left")
	p.notThere(old.Dir, "a copy that is not needed")
	if refs := p.git("for-each-ref", "--format=%(refname)", "refs/pawl"); refs != c.keep() {
		t.Errorf("kept for copies: %s", refs)
	}
	if !c.Exists() {
		t.Error("a copy that is needed was removed")
	}
}

// TestAKillAtAnyMomentLeavesNoCopyOrAWholeOne makes a copy in a process of its own, which a git
// of the test's kills with -9 at its n-th call of git.
func TestAKillAtAnyMomentLeavesNoCopyOrAWholeOne(t *testing.T) {
	if dir := os.Getenv("GITCOPY_MAKES"); dir != "" {
		c := Copy{Dir: dir, Repository: os.Getenv("GITCOPY_OF")}
		if _, err := c.Make(t.Context()); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	p := newPerson(t)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	proctest.Program(t, filepath.Join(bin, "git"),
		"#!/bin/sh\necho >> \"$GITCOPY_CALLS\"\n[ $(wc -l < \"$GITCOPY_CALLS\") = \"$GITCOPY_KILL\" ] && kill -9 $PPID\nexec "+real+" \"$@\"\n")
	copies := t.TempDir()
	kills := 0
	for n := 1; ; n++ {
		c := Copy{Dir: filepath.Join(copies, "t-"+strconv.Itoa(n)), Repository: p.dir}
		cmd := exec.Command(os.Args[0], "-test.run=^TestAKillAtAnyMomentLeavesNoCopyOrAWholeOne$")
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "GITCOPY_MAKES="+c.Dir, "GITCOPY_OF="+p.dir,
			"GITCOPY_KILL="+strconv.Itoa(n), "GITCOPY_CALLS="+filepath.Join(t.TempDir(), "calls"))
		out, err := cmd.CombinedOutput()
		if c.Exists() {
			if got := p.in(c.work(), "status", "--porcelain"); got != "" || p.read(c.work(), "a.txt") != "one\n" {
				t.Errorf("killed at call %d: the copy is not whole: %s", n, got)
			}
		}
		if err == nil {
			break
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != -1 {
			t.Fatalf("%v\n%s", err, out)
		}
		kills++
		if m, err := c.Make(t.Context()); err != nil || !c.Exists() || m.Base != p.git("rev-parse", "HEAD") {
			t.Errorf("killed at call %d: it cannot be made again: %+v, %v", n, m, err)
		}
	}
	if kills < 15 {
		t.Errorf("%d kills", kills)
	}
	if err := Tidy(t.Context(), copies, p.dir, 0, time.Now().Add(time.Minute), func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(copies); len(entries) > 0 {
		t.Errorf("left: %v", entries)
	}
	if refs := p.git("for-each-ref", "refs/pawl"); refs != "" {
		t.Errorf("left: %s", refs)
	}
}

// TestDiffsAtOnce: callers that ask for the diff of a copy at the same time each get it.
func TestDiffsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c := Copy{Dir: filepath.Join(t.TempDir(), "t-1"), Repository: p.dir}
	if _, err := c.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.write(c.work(), "b.txt", "two\n")
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			if d, err := c.Diff(t.Context(), ""); err != nil || len(d.Files) != 1 || d.Files[0].Name != "b.txt" {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
	callers.Wait()
	if left, err := filepath.Glob(filepath.Join(c.own().dir, "index?*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
