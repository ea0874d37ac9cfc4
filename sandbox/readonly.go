package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/helper"
	"pawl/internal/proc"
)

// EnforcesReadOnly reports whether a command at the level [run.ReadOnly] is kept from
// changing anything and from reading secrets, whatever it does. A nil Policy does
// not. Where it is false, a command that is believed to read has to be asked about.
func (p *Policy) EnforcesReadOnly() bool {
	return p != nil && p.abilities().EnforcesReadOnly()
}

// ByHost reports whether the network of a command can be bounded by the names of hosts: its file tree and its network
// are its own, and pawl has the other end of the one socket that leads out. A nil Policy cannot.
func (p *Policy) ByHost() bool {
	return p != nil && p.abilities().ByHost()
}

// ByHost is [Policy.ByHost].
func (r Report) ByHost() bool { return r.Abilities.Tree && r.Abilities.Network }

// EnforcesReadOnly reports whether commands can be kept from changing anything.
//
// It takes a filter of system calls, for connections to programs outside; and either
// a file tree of the command's own, or Landlock from ABI 6 on: before, truncating
// (ABI 3) and signals to processes outside (ABI 6) are not bounded.
func (r Report) EnforcesReadOnly() bool {
	a := r.Abilities
	switch a.Isolation {
	case proc.Namespace:
		return a.Filter && (a.Tree || a.Landlock >= 6)
	case proc.Sweeping:
		return a.Filter && a.Landlock >= 6
	}
	return false // the profile for sandbox-exec was never tried
}

// abilities returns what there is to confine with.
func (p *Policy) abilities() Report {
	if p.report != nil {
		return *p.report
	}
	return Probe()
}

// readOnlyTemp returns where the temporary folder of a command that only reads is, in its
// file tree. It sees in /tmp what other commands of the workspace have put there. A
// workspace in /var/tmp would be covered by one there: then it is a folder that no system has.
func (p *Policy) readOnlyTemp() string {
	if slices.ContainsFunc(p.workFolders(), func(f string) bool { return isBelow(f, "/var/tmp") }) {
		return "/temporary"
	}
	return "/var/tmp"
}

// readOnly turns what holds for every command into what holds for one that only
// reads: nothing may be written but its temporary folder. That secrets of the workspace are not there is up to
// its fence.
func (p *Policy) readOnly(g places) {
	for path, n := range g {
		switch n.kind {
		case helper.Writable, helper.Overlay:
			n.kind, n.pinned = helper.ReadOnly, false
		case helper.Temporary:
			n.kind = helper.TemporaryReadOnly
		}
		g[path] = n
	}
	temp := p.readOnlyTemp()
	g[temp] = grant{path: temp, kind: helper.Memory}
	p.index.refresh()
}

// readOnlyEnv returns the environment of a command that only reads: its programs
// are not those of the workspace, and git runs none of its configuration's choice.
// What it leaves to be run is harmless, for the command can change nothing; so it
// need not be complete.
func (p *Policy) readOnlyEnv(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(runningVariables, name) || strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
	})
	for i, variable := range env {
		if folders, ok := strings.CutPrefix(variable, "PATH="); ok {
			env[i] = "PATH=" + strings.Join(p.safePath(folders), string(os.PathListSeparator))
		}
	}
	env = append(env, "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0")
	return append(env, gitVariables(append(slices.Clone(quietGit), p.repositorysPrograms()...), 0)...)
}

// runningVariables make the programs of commands that read run others.
var runningVariables = []string{
	"GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR",
	"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_ALLOW_PROTOCOL", "GIT_OPTIONAL_LOCKS", "GIT_NO_LAZY_FETCH", "GIT_PAGER", "GIT_TERMINAL_PROMPT",
	"LESSOPEN", "LESSCLOSE", "RIPGREP_CONFIG_PATH", "TAR_OPTIONS",
}

// quietGit are settings by which git runs nothing; they count more than those of any
// file (GIT_CONFIG_COUNT, git(1) since 2.31, read 2026-11-22).
var quietGit = []setting{
	{section: "core", name: "fsmonitor", value: "false"},
	{section: "core", name: "hookspath", value: os.DevNull},
	{section: "core", name: "pager", value: "cat"},
	{section: "core", name: "askpass", value: "true"},
	{section: "protocol", name: "allow", value: "never"},
	{section: "credential", name: "helper", value: ""},
	{section: "submodule", name: "recurse", value: "false"},
}

// diffPlainly stands for a program that shows differences in its own way. git gives
// it the path, then a file, an object and a mode for each side.
const diffPlainly = `f(){ diff -u --label "a/$1" --label "b/$1" "$2" "$5"; :; }; f`

// neutralGit are what settings that name programs are set to, by section and name:
// git then does what it does without them.
var neutralGit = map[string]string{
	"core.alternaterefscommand": "true", "core.sshcommand": "false", "core.gitproxy": "",
	"diff.external": diffPlainly, "diff.command": diffPlainly, "diff.textconv": "cat",
	"filter.clean": "", "filter.smudge": "", "filter.process": "", "filter.required": "false",
	"merge.driver": "true", "gpg.program": "gpg", "man.cmd": "true", "man.path": "true", "browser.cmd": "true", "browser.path": "true",
}

// repositorysPrograms returns settings that neutralize the programs which the
// configurations of the repositories of the workspace and the further folders name.
func (p *Policy) repositorysPrograms() []setting {
	var configs []string
	for _, folder := range p.workFolders() {
		if dir := p.git.folder(folder); dir != "" {
			configs = append(configs, filepath.Join(commonFolder(dir), "config"), filepath.Join(dir, "config.worktree"))
		}
	}
	var neutral []setting
	for _, path := range configs {
		settings, _ := p.git.readConfig(path) // what git cannot read it does not obey
		for _, s := range settings {
			value, runs := neutralGit[s.key()]
			if !runs || slices.Contains(harmlessPrograms, s.value) {
				continue
			}
			s.value = value
			neutral = append(neutral, s)
		}
	}
	return neutral
}

// harmlessPrograms are values that name no program of the repository's choice: those
// of `git lfs install --local`.
var harmlessPrograms = []string{"git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process"}
