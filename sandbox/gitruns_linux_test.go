package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pawl/internal/proc/proctest"
	"pawl/sandbox"
)

// repository makes what git takes for a repository at a folder, with a configuration.
func repository(t *testing.T, dir, config string) {
	t.Helper()
	for _, name := range []string{"HEAD", "objects/x", "refs/x"} {
		put(t, filepath.Join(dir, name), "")
	}
	put(t, filepath.Join(dir, "config"), config)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhatMakesGitRunProgramsIsSeenHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"": "",
		"[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tmerge = refs/heads/main\n": "",
		"[core]\n\thooksPath = .husky/_\n\tpager = less\n\tfsmonitor = true\n":                                                   "",
		"[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n": "",
		"[core]\n\tfsmonitor = evil\n":                "core.fsmonitor",
		"[CORE]\nFSMonitor=evil":                      "core.fsmonitor",
		"[core] fsmonitor = evil":                     "core.fsmonitor",
		"[core]fsmonitor=evil":                        "core.fsmonitor",
		"\uFEFF[core]\r\nfsmonitor = evil\r\n":        "core.fsmonitor",
		"[a \"]\"] [core] fsmonitor = \"evil\" # no":  "core.fsmonitor",
		"[a \"\\\"]\"][core]\nfsmonitor = evil":       "core.fsmonitor",
		"[core]\nx = y \\\n[harmless]\nfsmonitor = z": "core.fsmonitor",
		"[core":                         "cannot be read",
		"[diff]\nexternal = evil":       "diff.external",
		"[diff \"x\"]\ntextconv = evil": "diff.textconv",
		"[diff.x]\ncommand = evil":      "diff.command",
		"[filter \"x\"]\nclean = evil":  "filter.clean",
		"[filter \"lfs\"]\nclean = \"git-lfs clean -- %f; evil\"": "filter.clean",
		"[core]\nfsmonitor = \"1 #\\n evil; false\"":              "core.fsmonitor",
		"[merge \"x\"]\ndriver = evil":                            "merge.driver",
		"[core]fsmonitor=\"evil; true\" ;]":                       "core.fsmonitor",
		"[gpg]\nprogram = evil":                                   "gpg.program",
		"[gpg \"ssh\"]\nprogram = evil":                           "gpg.program",
		"[include]\npath = ../evil":                               "include.path",
		"[includeIf \"gitdir:/\"]\npath = ../evil":                "includeif.path",
		"[remote \"x\"]\nurl = ext::sh -c evil":                   "remote.url",
		"[remote \"x\"]\nuploadpack = evil":                       "remote.uploadpack",
		"[protocol \"ext\"]\nallow = always":                      "protocol.allow",
		"[man \"x\"]\ncmd = evil":                                 "man.cmd",
		"[lfs \"extension.x\"]\nclean = evil":                     "lfs.clean",
		strings.Repeat("#", 2<<20):                                "cannot be read",
	} {
		dir := t.TempDir()
		repository(t, filepath.Join(dir, ".git"), config)
		if got, _ := (*sandbox.Policy)(nil).GitPrograms(filepath.Join(dir)); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%.80q: %q, want %q", config, got, want)
		}
	}
}

func TestARepositoryIsLookedAtWhereGitFindsIt(t *testing.T) {
	t.Parallel()
	const evil = "[core]\n\tfsmonitor = evil\n"
	s := newStage(t)
	in := func(name string) string { return filepath.Join(s.workspace, name) }
	repository(t, in(".git"), "")
	repository(t, in("bare"), evil)
	repository(t, in("elsewhere"), evil)
	put(t, in("linked/.git"), "gitdir: ../elsewhere\n")
	repository(t, in("common/.git"), "")
	put(t, in("common/.git/commondir"), "../../bare\n")
	repository(t, in("modules/.git"), "")
	repository(t, in("modules/.git/modules/a/b"), evil)
	put(t, in("src/deep/a"), "")
	for dir, runs := range map[string]bool{"": false, "src": false, "src/deep": false, "missing": false, "bare": true, "bare/objects": true, "linked": true, "common": true, "modules": true} {
		if got, _ := (*sandbox.Policy)(nil).GitPrograms(in(dir)); (got != "") != runs {
			t.Errorf("in %q: %q", dir, got)
		}
	}
	// Into what is nested git goes by itself.
	s.plan(t)
	if got, _ := s.policy.GitPrograms(s.workspace); !strings.Contains(got, "core.fsmonitor") {
		t.Errorf("with nested repositories: %q", got)
	}
}

// Settings that only some git commands obey are reported with their values, so that rules for programs can
// match them.
func TestWhatCommandsOfGitRunByTheirConfigurationIsSeen(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"":                                        "",
		"[tar \"x\"]\ncommand = rm -rf x":         "tar.command=rm -rf x",
		"[trailer \"x\"]\ncmd = rm x":             "trailer.cmd=rm x",
		"[trailer \"x\"]\ncommand = rm x":         "trailer.command=rm x",
		"[remote \"x\"]\nreceivepack = rm x;":     "remote.receivepack=rm x",
		"[gpg \"ssh\"]\ndefaultKeyCommand = rm x": "gpg.defaultkeycommand=rm x",
		"[submodule \"x\"]\nupdate = !rm x":       "submodule.update=!rm x",
		"[credential]\nhelper = !rm x":            "credential.helper=!rm x",
		"[credential \"https://x\"]\nhelper = cache\nhelper = \"cache; rm x\"": "credential.helper=cache; rm x",
		"[core]\naskPass = rm":                                "core.askpass=rm",
		"[core]\neditor = rm":                                 "core.editor=rm",
		"[sequence]\neditor = rm":                             "sequence.editor=rm",
		"[interactive]\ndiffFilter = rm":                      "interactive.difffilter=rm",
		"[hook \"x\"]\ncommand = rm x\nevent = pre-commit":    "hook.command=rm x",
		"[merge \"x\"]\ndriver = rm x\n[core]\neditor = rm y": "merge.driver=rm x; core.editor=rm y",
		"[url \"../bare\"]\ninsteadOf = https://x":            "url.insteadof=https://x",
		"[url \"git@x.org:\"]\ninsteadOf = https://x/":        "",
		"[credential]\nhelper = cache\n[core]\neditor = code --wait\npager = less\n[submodule \"x\"]\nupdate = rebase\n[alias]\nx = !rm\n[mergetool \"x\"]\ncmd = y": "",
		"[remote \"x\"]\nurl = https://x.org/y\n[branch \"m\"]\nremote = x":                                                                                          "",
	} {
		dir := t.TempDir()
		repository(t, filepath.Join(dir, ".git"), config)
		if _, got := (*sandbox.Policy)(nil).GitPrograms(dir); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", config, got, want)
		}
	}
}

// A repository may contain a rebase in progress; continuing it runs its steps.
func TestTheStepsOfARebaseThatWasBegunAreSeen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"rebase-merge/git-rebase-todo", "pick 1 one\n\n# exec no\nx rm -rf x\n", "=rm -rf x"},
		{"rebase-merge/git-rebase-todo", "pick 1 one\nfixup 2 two\n", ""},
		{"rebase-merge/strategy", "./evil\n", "git-merge-./evil"},
		{"rebase-merge/strategy", "ort\n", ""},
		{"sequencer/opts", "[options]\n\tstrategy = ./evil\n", "git-merge-./evil"},
		{"sequencer/opts", "[options]\n\tstrategy = ort\n", ""},
	} {
		dir := t.TempDir()
		repository(t, filepath.Join(dir, ".git"), "")
		put(t, filepath.Join(dir, ".git", c.name), c.text)
		if _, got := (*sandbox.Policy)(nil).GitPrograms(dir); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s with %q: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

// git runs hooks and programs of a repository on the same machine for a push or an archive, by whatever
// name it is led there.
func TestARemoteOnTheSameMachineIsLookedAt(t *testing.T) {
	t.Parallel()
	for config, runs := range map[string]bool{
		"[remote \"o\"]\nurl = ../bare": true, "[remote \"o\"]\nurl = %s/bare.git": true, "[remote \"o\"]\nurl = %s/bare": true, "[remote \"o\"]\nurl = file://%s/bare.git": true,
		"[remote \"o\"]\nurl = file://localhost%s/bare.git": true, "[remote \"o\"]\nurl = file://%s/%%62are": true, "[remote \"o\"]\nurl = https://x\npushurl = ../link": true,
		"[remote]\npushDefault = ../bare": true, "[branch \"m\"]\nremote = ../bare": true, "[branch \"m\"]\npushRemote = ../bare/": true, "[submodule \"m\"]\nurl = ../bare": true,
		"[remote \"o\"]\nurl = ../quiet": false, "[remote \"o\"]\nurl = ../missing": false, "[remote \"o\"]\nurl = x:bare": false, "[remote \"o\"]\nurl = https://x/bare": false,
	} {
		top := t.TempDir()
		in := func(name string) string { return filepath.Join(top, name) }
		repository(t, in("bare.git"), "")
		put(t, in("bare.git/hooks/post-receive"), "")
		repository(t, in("quiet"), "")
		put(t, in("link"), "gitdir: bare.git\n")
		repository(t, in("w/.git"), strings.NewReplacer("%s", top, "%%", "%").Replace(config))
		if _, got := (*sandbox.Policy)(nil).GitPrograms(in("w")); strings.Contains(got, "post-receive") != runs || !runs && got != "" {
			t.Errorf("%s: %q", config, got)
		}
	}
	top := t.TempDir()
	repository(t, filepath.Join(top, "w/.git"), "")
	put(t, filepath.Join(top, "w/.git/remotes/old"), "URL: ../bare.git\n")
	repository(t, filepath.Join(top, "x.git"), "[tar \"x\"]\ncommand = rm\nremote = true\n")
	for dir, want := range map[string]string{"w": "remotes/old", "x": "tar.command=rm"} {
		if _, got := (*sandbox.Policy)(nil).GitPrograms(filepath.Join(top, dir)); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

func TestNoFileOfARepositoryIsWaitedForOrReadWithoutEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, dir := range []string{"v/.git", "w/.git", "x"} {
		if err := os.MkdirAll(filepath.Join(s.workspace, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".git", "v/.git/config", "v/.git/gitdir", "x/.git"} {
		if err := syscall.Mkfifo(filepath.Join(s.workspace, name), 0o600); err != nil {
			t.Skipf("needs named pipes: %v", err)
		}
	}
	put(t, filepath.Join(s.workspace, "w/.git/config"), "")
	if err := os.Truncate(filepath.Join(s.workspace, "w/.git/config"), 1<<40); err != nil {
		t.Skipf("needs files with holes: %v", err)
	}
	s.plan(t)
	s.needsSandbox(t)
	if o := s.sh(t, "echo here"); o.printed != "here\n" {
		t.Errorf("%+v", o)
	}
	if got, _ := s.policy.GitPrograms(s.workspace); !strings.Contains(got, "cannot be read") {
		t.Errorf("what cannot be read runs %q", got)
	}
}

// The git of a program outside of the sandbox runs none of the programs that a repository names,
// and works.
func TestTheGitOfAnExternalAgentRunsNothingThatARepositoryNames(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	home := t.TempDir()
	plain := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.nickname", "GIT_CONFIG_VALUE_0=of the person"}
	git := func(env []string, dir string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, env
		out, _ := cmd.CombinedOutput() // some fail for want of a program
		return string(out)
	}
	prepare := func() (dir, flag string) {
		top := t.TempDir()
		dir, flag = filepath.Join(top, "w"), filepath.Join(top, "flag")
		git(plain, top, "init", "-q", dir)
		put(t, filepath.Join(dir, "f"), "one\n")
		git(plain, dir, "add", ".")
		git(plain, dir, "commit", "-qm", "one")
		git(plain, dir, "branch", "side")
		evil := "touch " + flag + "; false"
		put(t, filepath.Join(dir, ".gitattributes"), "* filter=x diff=x merge=x\n")
		for _, s := range [][2]string{{"core.fsmonitor", evil}, {"core.editor", evil}, {"core.pager", evil}, {"core.sshCommand", evil}, {"core.askPass", evil}, {"diff.external", evil},
			{"diff.x.textconv", evil}, {"diff.x.command", evil}, {"filter.x.clean", evil}, {"filter.x.smudge", evil}, {"filter.x.process", evil}, {"merge.x.driver", evil}, {"gpg.program", evil},
			{"commit.gpgSign", "true"}, {"alias.co", "!" + evil}, {"credential.helper", "!" + evil}, {"trailer.x.cmd", evil}, {"protocol.allow", "always"}, {"remote.o.url", "ext::" + evil},
			{"remote.s.url", "ssh://localhost:1/x"}, {"submodule.x.update", "!" + evil}, {"interactive.diffFilter", evil}, {"difftool.x.cmd", evil}, {"diff.tool", "x"}} {
			git(plain, dir, "config", s[0], s[1])
		}
		for _, hook := range []string{"pre-commit", "post-checkout", "commit-msg"} {
			proctest.Program(t, filepath.Join(dir, ".git", "hooks", hook), "#!/bin/sh\n"+evil+"\n")
		}
		put(t, filepath.Join(dir, "f"), "two\n")
		return dir, flag
	}
	ran := func(flag string) bool {
		_, err := os.Stat(flag)
		_ = os.Remove(flag)
		return err == nil
	}
	dir, flag := prepare()
	more, remains := (*sandbox.Policy)(nil).AgentGit(plain, dir)
	if remains != "" {
		t.Fatalf("%s remains", remains)
	}
	quiet := append(slices.Clone(plain), more...)
	for _, args := range [][]string{{"status"}, {"diff"}, {"log", "-p"}, {"add", "f"}, {"commit", "--no-gpg-sign", "-m", "two"}, {"commit", "-m", "two"}, {"commit", "--amend", "--no-gpg-sign"}, {"checkout", "side"}, {"checkout", "-"},
		{"merge", "side"}, {"co", "side"}, {"fetch", "o"}, {"fetch", "s"}, {"-c", "core.pager=", "show"}, {"stash"}, {"difftool", "-y", "HEAD~1"}} {
		out := git(quiet, dir, args...)
		if ran(flag) {
			t.Errorf("git %q ran what the repository names: %s", args, out)
		}
	}
	if got := git(quiet, dir, "config", "user.nickname"); got != "of the person\n" {
		t.Errorf("what the person's variables set is %q", got)
	}
	if got := git(quiet, dir, "log", "--oneline"); !strings.Contains(got, "two") {
		t.Errorf("git does not work: %s", got)
	}
	if dir, flag = prepare(); git(plain, dir, "status") == "" || !ran(flag) {
		t.Error("without these variables nothing runs, so this tests nothing")
	}
	put(t, filepath.Join(dir, ".git", "config"), "[include]\n\tpath = elsewhere\n")
	if _, remains := (*sandbox.Policy)(nil).AgentGit(plain, dir); !strings.Contains(remains, "include.path") {
		t.Errorf("%q remains of a configuration that leads elsewhere", remains)
	}
}
