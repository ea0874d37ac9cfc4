package sandbox

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// gitRuns are the settings by which a repository makes git run a program, or read
// settings from elsewhere, while it only looks: section and key, in lower case,
// without what stands between them. Pagers and editors are not among them, for
// commands have no terminal; hooks are not, for looking runs none where
// GIT_OPTIONAL_LOCKS is 0. git-config(1) of git 2.51, read 2026-11-20.
var gitRuns = map[string]bool{
	"core.fsmonitor": true, "core.alternaterefscommand": true, "core.sshcommand": true, "core.gitproxy": true,
	"diff.external": true, "diff.command": true, "diff.textconv": true,
	"filter.clean": true, "filter.smudge": true, "filter.process": true,
	"lfs.clean": true, "lfs.smudge": true, "lfs.path": true, // lfs.extension.NAME.clean, lfs.customtransfer.NAME.path
	"merge.driver": true, "gpg.program": true, "man.cmd": true, "man.path": true, "browser.cmd": true, "browser.path": true,
	"include.path": true, "includeif.path": true,
	"remote.uploadpack": true, "remote.vcs": true, "remote.promisor": true, "extensions.partialclone": true, "protocol.allow": true,
}

// harmlessRuns are values that name no program of the repository's choice.
var harmlessRuns = append([]string{
	"", "true", "false", "yes", "no", "on", "off", "1", "0", // core.fsmonitor
	"never", // protocol.allow
}, harmlessPrograms...)

// GitPrograms says what makes git run programs of a repository's choice: the settings with their
// values, after the file where they stand; empty if nothing does. looks is what it runs though it
// is only to look; works is what certain commands run that do more: hooks, and what settings name.
// Whoever unpacks a repository from elsewhere has its settings, and git itself takes a folder that
// looks like a bare repository for one.
//
// It looks at the repositories that git would find from dirs, and at those nested in the
// workspace, into which git goes by itself. For works it also looks at the repositories on this
// machine that those have as remotes: git runs their hooks for a push, and their programs for an
// archive. A nil Policy knows no nested ones.
func (p *Policy) GitPrograms(dirs ...string) (looks, works string) {
	git := p.gitFor(dirs)
	configs := p.gitConfigs(git, dirs)
	var looking, working []string
	for _, c := range configs {
		looking = append(looking, c.programs(func(s setting) bool { return gitRuns[s.key()] })...)
	}
	for _, c := range slices.Concat(configs, (*Policy)(nil).gitConfigs(git, localRemotes(configs, dirs))) {
		working = append(working, c.programs(runsByCommand)...)
		working = append(working, git.stepsOf(filepath.Dir(c.path))...)
		if elsewhere := last(c.settings, "core.hookspath"); elsewhere != "" {
			working = append(working, "hooks in "+elsewhere)
			continue
		}
		if filepath.Base(c.path) == "config" {
			working = append(working, filesOf(filepath.Dir(c.path))...)
		}
	}
	return joined(looking), joined(working)
}

// A gitConfig is a configuration of a repository, as git reads it.
type gitConfig struct {
	path     string
	settings []setting
	err      error // why it cannot be read
}

// gitConfigs returns the configurations of the repositories that git finds from dirs, and of those
// nested in the workspace.
func (p *Policy) gitConfigs(git gitProgram, dirs []string) (configs []gitConfig) {
	var paths []string
	add := func(dir string) {
		if dir == "" {
			return
		}
		common := commonFolder(dir)
		if text, err := small(filepath.Join(dir, "commondir")); err == nil {
			if common = strings.TrimSpace(string(text)); !filepath.IsAbs(common) {
				common = filepath.Join(dir, common)
			}
		}
		paths = append(paths, filepath.Join(common, "config"), filepath.Join(dir, "config.worktree"))
		for _, m := range submodules(filepath.Join(common, "modules"), 4) {
			paths = append(paths, filepath.Join(m, "config"))
		}
	}
	for _, dir := range dirs {
		for _, from := range []string{dir, strings.TrimRight(dir, "/") + ".git"} { // git finds ../x.git as ../x
			at, _ := foundGit(from)
			add(at)
		}
	}
	if p != nil {
		p.index.refresh()
		repositories, links := p.index.gitPaths()
		for _, at := range slices.Concat(repositories, links) {
			found, _ := foundGit(filepath.Dir(at))
			add(found)
		}
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		settings, err := git.readConfig(path)
		configs = append(configs, gitConfig{path, settings, err})
	}
	return configs
}

// agentGit are settings for a program that works outside of the sandbox, whose git may change
// things and use the network: it runs no hooks and no program that a repository names.
var agentGit = []setting{
	{section: "core", name: "fsmonitor", value: "false"},
	{section: "core", name: "hookspath", value: os.DevNull},
	{section: "protocol", subsection: "ext", name: "allow", value: "never"},
}

// neutralForAgents are the values for such a program, where they are others than those of
// [neutralGit]. Some programs have no default that could be named: git fails then.
var neutralForAgents = map[string]string{
	"core.sshcommand": "ssh", "core.askpass": "false", "core.editor": "true", "core.pager": "cat", "sequence.editor": "true",
	"merge.driver": "false", "gpg.program": "gpg", "gpg.defaultkeycommand": "false", "credential.helper": "",
	"remote.uploadpack": "git-upload-pack", "remote.receivepack": "git-receive-pack",
	"submodule.update": "checkout", "trailer.command": "true", "trailer.cmd": "true", "interactive.difffilter": "cat", "hook.command": "true",
	"difftool.cmd": "false", "difftool.path": "false", "mergetool.cmd": "false", "mergetool.path": "false", "tar.command": "false", "init.templatedir": "",
	"lfs.clean": "false", "lfs.smudge": "false", "lfs.path": "false", "lfs.standalonetransferagent": "", "instaweb.httpd": "false", "imap.tunnel": "false", "guitool.cmd": "false",
	"sendemail.smtpserver": "false", "sendemail.sendmailcmd": "false", "sendemail.tocmd": "false", "sendemail.cccmd": "false", "sendemail.headercmd": "false",
}

// leadElsewhere are settings that nothing given to git takes back.
var leadElsewhere = map[string]bool{"include.path": true, "includeif.path": true, "remote.vcs": true, "gc.recentobjectshook": true}

// AgentGit returns variables with which the git of a program that works outside of the sandbox
// runs nothing that the repositories found from dirs name; env is what the program gets beside
// them. remains says what would be run all the same, and where it stands. A nil Policy knows no
// nested repositories.
func (p *Policy) AgentGit(env []string, dirs ...string) (variables []string, remains string) {
	settings := slices.Clone(agentGit)
	for _, c := range p.gitConfigs(p.gitFor(dirs), dirs) {
		if c.err != nil && !errors.Is(c.err, errNoGit) {
			return nil, fmt.Sprintf("what cannot be read (%v) in %s", c.err, c.path)
		}
		for _, s := range c.settings {
			value, known := neutralForAgents[s.key()]
			if !known {
				value, known = neutralGit[s.key()]
			}
			switch {
			case leadElsewhere[s.key()]:
				return nil, fmt.Sprintf("%s in %s", s.key(), c.path)
			case s.section == "alias" || s.section == "pager":
				value, known = "false", true // of an alias: there is no such command
			case slices.Contains(harmlessPrograms, s.value):
				continue
			}
			if known {
				s.value = value
				settings = append(settings, s)
			}
		}
	}
	first := 0
	for _, v := range env {
		if n, ok := strings.CutPrefix(v, "GIT_CONFIG_COUNT="); ok {
			first, _ = strconv.Atoi(n)
		}
	}
	return gitVariables(settings, first), ""
}

// gitVariables returns the variables with which git has settings that count more than those of
// files; first of them are there already.
func gitVariables(settings []setting, first int) (env []string) {
	for i, s := range settings {
		n := strconv.Itoa(first + i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.fullKey(), "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(first+len(settings)))
}

// gitFor returns git, found where nothing in dirs can have put it.
func (p *Policy) gitFor(dirs []string) gitProgram {
	if p == nil {
		return findGit(safeFolders(os.Getenv("PATH"), dirs...))
	}
	return p.git
}

// stepsOf returns what a rebase or a cherry-pick that was begun in a repository would run when
// it continues: the steps that are commands, and a way of merging that is none of git's own.
func (g gitProgram) stepsOf(folder string) (found []string) {
	read := func(name string) (string, []byte) {
		path := filepath.Join(folder, name)
		text, _ := small(path)
		return path + "=", text
	}
	path, text := read("rebase-merge/git-rebase-todo")
	for _, line := range programSteps(text) {
		_, command, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
		found = append(found, path+command)
	}
	path, text = read("rebase-merge/strategy")
	strategies := []string{strings.TrimSpace(string(text))}
	_, options := read("sequencer/opts")
	settings, _ := g.parseConfig(options)
	for _, strategy := range append(strategies, last(settings, "options.strategy")) {
		if strategy != "" && !mergeStrategies[strategy] {
			found = append(found, path+"git-merge-"+strategy)
		}
	}
	return found
}

// filesOf returns a hook of a repository's folder, and a file by which old versions of git
// name remotes.
func filesOf(folder string) (found []string) {
	for _, name := range []string{"hooks", "remotes", "branches"} {
		entries, _ := os.ReadDir(filepath.Join(folder, name))
		if i := slices.IndexFunc(entries, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".sample") }); i >= 0 {
			found = append(found, filepath.Join(folder, name, entries[i].Name()))
		}
	}
	return found
}

// localRemotes returns the folders on this machine that configurations have as remotes. A
// relative one is seen from the folder that is worked in, or the repository's own.
func localRemotes(configs []gitConfig, dirs []string) (folders []string) {
	for _, c := range configs {
		for _, s := range c.settings {
			if !slices.Contains([]string{"remote.url", "remote.pushurl", "remote.pushdefault", "branch.remote", "branch.pushremote", "submodule.url"}, s.key()) || !isLocal(s.value) {
				continue
			}
			to := localPath(s.value)
			if filepath.IsAbs(to) {
				folders = append(folders, to)
				continue
			}
			for _, from := range append([]string{filepath.Dir(c.path), filepath.Dir(filepath.Dir(c.path))}, dirs...) {
				folders = append(folders, filepath.Join(from, to))
			}
		}
	}
	return folders
}

// isLocal reports whether git takes the address of a remote for a folder on this machine, or
// for another remote's name.
func isLocal(address string) bool {
	before, _, colon := strings.Cut(address, ":")
	return strings.HasPrefix(address, "file://") || !colon || strings.Contains(before, "/")
}

// localPath returns the folder that a local address leads to. git ignores the host of one
// with file:// and decodes it (connect.c of git 2.51, read 2026-11-26).
func localPath(address string) string {
	rest, ok := strings.CutPrefix(address, "file://")
	if !ok {
		return address
	}
	_, rest, _ = strings.Cut(rest, "/")
	if decoded, err := url.PathUnescape(rest); err == nil {
		rest = decoded
	}
	return "/" + rest
}

// runsByCommand reports whether certain commands of git run what a setting names, or go where
// it leads. Pagers are not among them, for commands have no terminal, nor what only a command
// obeys that is asked about by its name (git mergetool).
func runsByCommand(s setting) bool {
	switch s.section {
	case "alias", "pager", "mergetool", "difftool", "guitool", "sendemail", "imap":
		return false
	case "url":
		return (s.name == "insteadof" || s.name == "pushinsteadof") && isLocal(s.subsection)
	}
	return s.key() != "core.pager" && namesProgram(s) && !slices.Contains(harmlessByCommand, s.value)
}

// harmlessByCommand are values of such settings that name no program of the repository's
// choice: git's own keepers of passwords, and editors as they are commonly set.
var harmlessByCommand = []string{"store", "cache", "osxkeychain", "manager", "manager-core", "libsecret", "wincred", ":", "vi", "vim", "nvim", "nano", "emacs", "code --wait"}

// foundGit returns the folder of the repository that git finds from a folder, with none of the doubts of
// [gitProgram.folder], and the folder that is worked in; empty if there is none.
func foundGit(dir string) (git, work string) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", ""
	}
	if named := namedGit(dir); named != "" {
		return named, filepath.Dir(dir) // the name of a remote may be that of such a file
	}
	for up := dir; ; up = filepath.Dir(up) {
		at := filepath.Join(up, ".git")
		switch info, err := os.Stat(at); {
		case err == nil && info.IsDir():
			return at, up
		case err == nil && info.Mode().IsRegular():
			if named := namedGit(at); named != "" {
				return named, up
			}
		case isGit(up):
			return up, up
		}
		if up == filepath.Dir(up) {
			return "", ""
		}
	}
}

// programs returns the settings that runs says name a program, and whose value may be one of the
// repository's choice, behind the path of the configuration; or that it cannot be read.
func (c gitConfig) programs(runs func(setting) bool) (found []string) {
	switch {
	case errors.Is(c.err, errNoGit):
		return nil
	case c.err != nil:
		return []string{fmt.Sprintf("%s: what cannot be read (%v)", c.path, c.err)}
	}
	for _, s := range c.settings {
		if runs(s) && !slices.Contains(harmlessRuns, strings.ToLower(s.value)) || s.section == "remote" && strings.Contains(s.value, "::") {
			found = append(found, s.key()+"="+s.value)
		}
	}
	if len(found) > 0 {
		found[0] = c.path + ": " + found[0]
	}
	return found
}

// maxFound bounds the text about configurations, in bytes. The rules treat a text that is longer than a
// command may be as one that cannot be known.
const maxFound = 64 << 10

// joined returns what was found as one text, in which values are commands of shell.
func joined(found []string) string {
	text := strings.Join(found, "; ")
	return text[:min(len(text), maxFound)]
}
