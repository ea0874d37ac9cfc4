package gitcopy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/proc/proctest"
)

// TestARepositoryInACopyRunsNothing: git add runs git status in a repository inside of the
// work tree that is in the index, and that obeys the filters configured there.
func TestARepositoryInACopyRunsNothing(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	program, ran := p.program()
	c, _ := p.copy("t-x")
	sub := filepath.Join(c.work(), "sub")
	p.write(sub, "x.txt", "one\n")
	p.write(sub, ".gitattributes", "*.txt filter=evil\n")
	for _, dir := range []string{sub, c.work()} {
		p.in(dir, "init", "-q")
		p.in(dir, "config", "user.name", "Agent")
		p.in(dir, "config", "user.email", "agent@example.org")
		p.in(dir, "add", ".")
		p.in(dir, "commit", "-qm", "more")
	}
	p.in(sub, "config", "filter.evil.clean", program)
	p.in(sub, "config", "core.fsmonitor", program)
	p.write(sub, "x.txt", "two\n")
	p.write(c.work(), "b.txt", "new\n")
	d, err := c.Diff(t.Context(), "")
	if err != nil || !strings.Contains(d.Patch, "+Subproject commit") || !strings.Contains(d.Patch, "+new") {
		t.Errorf("%v, %s", err, d.Patch)
	}
	if _, err := c.Merge(t.Context(), "x", ""); err != nil {
		t.Error(err)
	}
	p.notThere(ran, "a program of a repository in the copy ran")
}

// TestACopyLeadsToNoOtherRepository: what an agent makes of its .git brings nothing of another
// repository of the person's into this one.
func TestACopyLeadsToNoOtherRepository(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(p person, gitDir, other string){
		"alternates and a link": func(p person, gitDir, other string) {
			p.write(gitDir, "objects/info/alternates", p.read(gitDir, "objects/info/alternates")+other+"/objects\n")
			p.link(other+"/refs/heads/main", gitDir+"/refs/heads/elsewhere")
			p.write(gitDir, "HEAD", "ref: refs/heads/elsewhere\n")
		},
		"alternates and its commit": func(p person, gitDir, other string) {
			p.write(gitDir, "objects/info/alternates", p.read(gitDir, "objects/info/alternates")+other+"/objects\n")
			p.write(gitDir, "HEAD", p.read(other, "refs/heads/main"))
		},
		"commondir": func(p person, gitDir, other string) {
			p.write(gitDir, "commondir", other+"\n")
			p.write(gitDir, "HEAD", "ref: refs/heads/main\n")
		},
		"links to objects and refs": func(p person, gitDir, other string) {
			for _, name := range []string{"objects", "refs"} {
				if err := os.RemoveAll(filepath.Join(gitDir, name)); err != nil {
					p.Fatal(err)
				}
				p.link(filepath.Join(other, name), filepath.Join(gitDir, name))
			}
			p.write(gitDir, "HEAD", "ref: refs/heads/main\n")
		},
		"a link in objects": func(p person, gitDir, other string) {
			commit := strings.TrimSpace(p.read(other, "refs/heads/main"))
			objects, err := filepath.Glob(other + "/objects/??")
			if err != nil {
				p.Fatal(err)
			}
			for _, o := range objects {
				if err := os.RemoveAll(filepath.Join(gitDir, "objects", filepath.Base(o))); err != nil {
					p.Fatal(err)
				}
				p.link(o, filepath.Join(gitDir, "objects", filepath.Base(o)))
			}
			p.write(gitDir, "HEAD", commit+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			other := p.TempDir()
			p.write(other, "private.txt", "of another repository\n")
			p.in(other, "init", "-q", "--initial-branch=main")
			p.in(other, "config", "user.name", "Ada")
			p.in(other, "config", "user.email", "ada@example.org")
			p.in(other, "add", ".")
			p.in(other, "commit", "-qm", "private")
			private := p.in(other, "rev-parse", "HEAD")
			c, _ := p.copy("t-x")
			plant(p, filepath.Join(c.work(), ".git"), filepath.Join(other, ".git"))
			p.write(c.work(), "b.txt", "new\n")
			d, diffErr := c.Diff(t.Context(), "")
			_, mergeErr := c.Merge(t.Context(), "x", "")
			t.Log(diffErr, mergeErr)
			if strings.Contains(d.Patch, "private") || strings.Contains(p.git("log", "--all", "--format=%s%n%H"), "private") {
				t.Error("what is in another repository came into this one")
			}
			if out, err := (git{dir: p.dir}).run(t.Context(), "cat-file", "-t", private); err == nil {
				t.Errorf("the %s of another repository is in this one", out)
			}
		})
	}
}

// TestACopyReadsNoFolderButObjects: commands in a copy read the folders that the alternates of
// the repository name, and these may have come with it.
func TestACopyReadsNoFolderButObjects(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	c, _ := p.copy("t-x")
	want := c.Objects()
	private, other := p.TempDir(), p.TempDir()
	p.in(other, "init", "-q")
	p.write(p.dir, ".git/objects/info/alternates", private+"\n"+filepath.Dir(private)+"\n"+filepath.Join(other, ".git", "objects")+"\n")
	want = append(want, filepath.Join(other, ".git", "objects"))
	if got := c.Objects(); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestAGitOfTheWorkspaceIsNotRun: PATH may lead to where agents write.
func TestAGitOfTheWorkspaceIsNotRun(t *testing.T) {
	p := newPerson(t)
	program, ran := p.program()
	proctest.Program(t, filepath.Join(p.dir, "bin", "git"), p.read(filepath.Dir(program), "program"))
	t.Setenv("PATH", filepath.Join(p.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	c := Copy{Dir: filepath.Join(t.TempDir(), "t-x"), Repository: p.dir}
	if _, err := c.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Diff(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	p.notThere(ran, "a git of the workspace ran")
}

// TestWhatWasDoneToFilesIsSeen: whatever kind of change it is that was not committed.
func TestWhatWasDoneToFilesIsSeen(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, name := range []string{"gone", "folder/x", "becomes-folder", "becomes-link", "linked/x", "program", "odd\nname\"", "ignored-but-tracked"} {
		p.write(p.dir, name, name+"\n")
	}
	p.git("add", ".")
	p.git("commit", "-qm", "files")
	c, _ := p.copy("t-x")
	w := c.work()
	for _, name := range []string{"gone", "folder", "becomes-folder", "becomes-link", "linked"} {
		if err := os.RemoveAll(filepath.Join(w, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.write(w, "folder", "a file now\n")
	p.write(w, "becomes-folder/x", "x\n")
	p.link("a.txt", filepath.Join(w, "becomes-link"))
	p.link(p.TempDir(), filepath.Join(w, "linked"))
	p.write(w, ".gitignore", "ignored*\n")
	p.write(w, "ignored", "no\n")
	p.write(w, "ignored-but-tracked", "changed\n")
	p.write(w, "odd\nname\"", "changed\n")
	p.write(w, "new/\xffname", "new\n")
	if err := os.Chmod(filepath.Join(w, "program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Merge(t.Context(), "a \x1b[31mtitle\u202e", ""); err != nil {
		t.Fatal(err)
	}
	if got := p.git("log", "-1", "--format=%s", "pawl/t-x"); got != `a \u001b[31mtitle\u202e` {
		t.Errorf("the title of the commit is %q", got)
	}
	p.in(w, "add", "--all")
	if want, got := p.in(w, "write-tree"), p.git("rev-parse", "pawl/t-x^{tree}"); got != want {
		t.Errorf("git add makes another tree of it:\n%s", p.git("diff-tree", "-r", "--name-status", got, "HEAD"))
	}
}
