package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/sandbox"
)

// What git runs of the workspace because a repository's configuration or the person's own
// says so, and what it includes from there, is not changed by commands; nor is what links
// among hooks lead to.
func TestWhatGitRunsFromTheWorkspaceIsNotChanged(t *testing.T) {
	needs(t, "git")
	const program = "#!/bin/sh\ncat\n"
	for name, c := range map[string]struct{ is, script, file string }{
		"a link among the hooks":             {"ln -s ../../hook.sh .git/hooks/pre-commit", "", "hook.sh"},
		"a link to what is not there":        {"rm hook.sh; ln -s ../../hook.sh .git/hooks/pre-commit", "", "hook.sh"},
		"a filter":                           {"git config filter.f.clean ./hook.sh", "", "hook.sh"},
		"a filter by an interpreter":         {"git config filter.f.clean 'sh hook.sh %f'", "", "hook.sh"},
		"a filter that is not there":         {"rm hook.sh; git config filter.f.clean 'sh ./hook.sh'", "", "hook.sh"},
		"a file system monitor":              {"git config core.fsmonitor ./hook.sh", "", "hook.sh"},
		"an alias":                           {"git config alias.x '!sh hook.sh'", "", "hook.sh"},
		"an include from the home":           {"git config include.path '~/project/inc'", "", "inc"},
		"the person's hooks":                 {"git config --global core.hooksPath .githooks", "mkdir .githooks; ", ".githooks/pre-commit"},
		"the person's hooks, that are there": {"git config --global core.hooksPath .githooks; mkdir .githooks", "", ".githooks/pre-commit"},
		"the person's include":               {"git config --global include.path ~/project/inc", "", "inc"},
		"what that includes":                 {"git config --global include.path more; git config -f ~/more include.path project/inc", "", "inc"},
		"the person's filter":                {"git config --global filter.x.clean 'sh ./hook.sh'", "", "hook.sh"},
		"a worktree's own configuration":     {"git config extensions.worktreeConfig true; git config --worktree core.fsmonitor ./hook.sh", "", "hook.sh"},
		"Mercurial's, nested":                {"mkdir -p p/q/.hg; touch p/q/.hg/hgrc", "", "p/q/.hg/hgrc"},
		"Mercurial's, nested and new":        {"", "mkdir -p p/q/.hg; ", "p/q/.hg/hgrc"},
		"Jujutsu's, nested":                  {"mkdir -p p/.jj/repo", "", "p/.jj/repo/config.toml"},
		"Sapling's":                          {"mkdir .sl", "", ".sl/config"},
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, s *stage, tree bool) {
				s.repository(t)
				s.write(t, s.workspace+"/hook.sh", program)
				prepare := exec.Command("sh", "-c", c.is)
				prepare.Dir, prepare.Env = s.workspace, append([]string{"GIT_CONFIG_GLOBAL=" + s.home + "/.gitconfig"}, s.env...)
				if out, err := prepare.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				s.plan(t)
				if !tree {
					s.policy.WithoutNamespaces()
				}
				if !s.policy.Obeys(filepath.Join(s.workspace, c.file)) {
					t.Errorf("%s is not known as obeyed, so tools would change it", c.file)
				}
				o := s.sh(t, c.script+"echo evil >> "+c.file+"; echo ok > other; cat other")
				if text, _ := os.ReadFile(filepath.Join(s.workspace, c.file)); strings.Contains(string(text), "evil") || !strings.Contains(o.printed, "ok\n") {
					t.Errorf("it is %q, of %+v", text, o)
				}
				if s.policy.Obeys(s.workspace + "/other") {
					t.Error("every file is obeyed")
				}
			})
		})
	}
}

// The file tools make no repository out of single files.
func TestAFileThatMakesAFolderARepositoryIsKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		there string
		file  string
		makes bool
	}{
		"a configuration comes last":  {"HEAD objects/ refs/", "config", true},
		"in capitals":                 {"HEAD objects/ refs/", "Config", true},
		"a hook comes last":           {"HEAD objects/ refs/", "hooks/pre-commit", true},
		"HEAD comes last":             {"config objects/ refs/", "HEAD", true},
		"an object comes last":        {"HEAD config refs/", "objects/ab/cd", true},
		"a ref comes last":            {"HEAD hooks/ objects/", "refs/heads/main", true},
		"with a commondir":            {"HEAD", "commondir", true},
		"HEAD beside a commondir":     {"commondir", "HEAD", true},
		"of a repository that runs":   {"HEAD objects/ refs/ config", "config", true},
		"not yet one":                 {"HEAD refs/", "config", false},
		"one without a configuration": {"objects/ refs/", "HEAD", false},
		"a ref of one":                {"HEAD objects/ refs/ config", "refs/heads/x", false},
		"another file of one":         {"HEAD objects/ refs/ config", "description", false},
		"an ordinary folder":          {"src/", "config", false},
		"hooks of an ordinary folder": {"src/", "src/hooks/use.ts", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir() + "/x"
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for there := range strings.FieldsSeq(c.there) {
				var err error
				if folder, ok := strings.CutSuffix(there, "/"); ok {
					err = os.Mkdir(filepath.Join(dir, folder), 0o700)
				} else {
					err = os.WriteFile(filepath.Join(dir, there), nil, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if at, makes := sandbox.MakesRepository(filepath.Join(dir, c.file)); makes != c.makes || makes && at != dir {
				t.Errorf("%s, %v", at, makes)
			}
		})
	}
}
