package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// elsewhere returns the files and folders outside of a repository that git obeys because
// of it: the folder of its hooks, what links among its hooks lead to, included files, and
// files that its configuration, or the person's own, names in programs to run. work is the
// folder that is worked in, where git runs them.
func (p *Policy) elsewhere(dir, work string) []string {
	common := commonFolder(dir)
	hooks := []string{filepath.Join(common, "hooks")}
	var paths []string
	for _, config := range append([]string{filepath.Join(common, "config"), filepath.Join(dir, "config.worktree")}, p.personsConfigs()...) {
		settings, _ := p.git.readConfig(config)
		for _, s := range settings {
			switch {
			case s.value == "":
			case s.key() == "core.hookspath":
				folder := p.expand(s.value, work)
				if hooks = append(hooks, folder); filepath.Base(folder) == "_" {
					folder = filepath.Dir(folder) // the hooks of husky in .husky/_ run the files of .husky
				}
				paths = append(paths, folder)
			case s.key() == "include.path" || s.key() == "includeif.path":
				paths = append(paths, p.expand(s.value, filepath.Dir(config)))
			case namesProgram(s):
				paths = append(paths, p.filesIn(s.value, work)...)
			}
		}
	}
	for _, folder := range hooks {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if e.Type()&os.ModeSymlink == 0 {
				continue
			}
			link := filepath.Join(folder, e.Name())
			if to, err := filepath.EvalSymlinks(link); err == nil {
				paths = append(paths, to)
			} else if to, err := os.Readlink(link); err == nil {
				paths = append(paths, p.expand(to, folder)) // what it leads to can be made
			}
		}
	}
	return paths
}

// expand returns a path of a git configuration as an absolute one.
func (p *Policy) expand(path, from string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(homeOf(p.options.Getenv).dir, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(from, path)
}

// maxIncludes is how many configurations of the person are read.
const maxIncludes = 20

// personsConfigs returns the paths of the system's and the person's own git configuration
// with what they include, whatever the condition.
func (p *Policy) personsConfigs() []string {
	h := homeOf(p.options.Getenv)
	configs := []string{"/etc/gitconfig"}
	if global := h.getenv("GIT_CONFIG_GLOBAL"); global != "" {
		configs = append(configs, global)
	} else if h.dir != "" {
		xdg := h.getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(xdg) {
			xdg = filepath.Join(h.dir, ".config")
		}
		configs = append(configs, filepath.Join(xdg, "git/config"), filepath.Join(h.dir, ".gitconfig"))
	}
	for i := 0; i < len(configs) && i < maxIncludes; i++ {
		settings, _ := p.git.readConfig(configs[i])
		for _, s := range settings {
			if included := p.expand(s.value, filepath.Dir(configs[i])); (s.key() == "include.path" || s.key() == "includeif.path") && !slices.Contains(configs, included) {
				configs = append(configs, included)
			}
		}
	}
	return configs
}

// gitPrograms are the settings that name a program beside [gitRuns], by section and
// name. git-config(1) of git 2.51, read 2026-11-22.
var gitPrograms = map[string]bool{
	"core.editor": true, "core.pager": true, "core.askpass": true, "sequence.editor": true, "credential.helper": true, "interactive.difffilter": true,
	"mergetool.cmd": true, "mergetool.path": true, "difftool.cmd": true, "difftool.path": true, "guitool.cmd": true, "trailer.command": true, "trailer.cmd": true,
	"uploadpack.packobjectshook": true, "gc.recentobjectshook": true, "gpg.defaultkeycommand": true, "hook.command": true, "tar.command": true,
	"remote.receivepack": true, "sendemail.sendmailcmd": true, "sendemail.tocmd": true, "sendemail.cccmd": true, "sendemail.headercmd": true, "sendemail.smtpserver": true,
	"init.templatedir": true, "imap.tunnel": true,
}

// namesProgram reports whether git runs what a setting names.
func namesProgram(s setting) bool {
	switch {
	case s.key() == "alias."+s.name || s.key() == "submodule.update":
		return strings.HasPrefix(s.value, "!")
	case s.section == "pager":
		return true
	}
	return gitRuns[s.key()] || gitPrograms[s.key()]
}

// filesIn returns the files and folders among the words of a command line that are there, or
// begin with "./" or "../", as seen from a folder. The first word is a program of PATH unless
// it has a slash in it.
func (p *Policy) filesIn(commandLine, from string) (files []string) {
	words := strings.FieldsFunc(commandLine, func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune("'\"`;|&()<>{}=!$", c)
	})
	for i, word := range words {
		if i == 0 && !strings.Contains(word, "/") {
			continue
		}
		path := p.expand(word, from)
		if _, err := os.Lstat(path); (err == nil || word[0] == '.' && strings.Contains(word, "/")) && !isBelow(from, path) {
			files = append(files, path)
		}
	}
	return files
}

// foreignConfigs are what in the folder of a repository of another version control makes
// its status run programs, by the folder's name (hg help config.hooks, jj's and Sapling's
// documentation of their configuration; read 2026-11-22), and what leads to another such
// configuration (hg help internals.requirements, share-safe; read 2026-11-23).
var foreignConfigs = map[string][]string{
	".hg": {"hgrc", "hgrc-not-shared", "sharedpath"},
	".jj": {"repo/config.toml", "workspace-config.toml"},
	".sl": {"config", "sharedpath"},

	"_darcs": {"prefs/defaults"},
}

// isForeignLink reports whether a file or link at a path would point another version control
// system to a folder elsewhere.
func isForeignLink(path string) bool {
	dir, name := filepath.Base(filepath.Dir(path)), filepath.Base(path)
	return foreignConfigs[name] != nil || dir == ".jj" && name == "repo" || dir == "_darcs" && name == "prefs"
}

// foreignPaths returns the configurations of such a folder.
func foreignPaths(dir string) (paths []string) {
	for _, name := range foreignConfigs[filepath.Base(dir)] {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// isForeignConfig reports whether a path is that of such a configuration.
func isForeignConfig(path string) bool {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if foreignConfigs[filepath.Base(dir)] != nil {
			return slices.Contains(foreignPaths(dir), path)
		}
	}
	return false
}

// Obeys reports whether programs outside obey the file at a path, its links resolved: to
// change it decides what runs later. A nil Policy knows of none.
func (p *Policy) Obeys(path string) bool {
	if p == nil {
		return false
	}
	p.index.refresh()
	return isForeignConfig(path) || slices.ContainsFunc(p.guarded(), func(obeyed string) bool { return isBelow(path, obeyed) })
}

// MakesRepository reports whether to write the file at a path would change what git obeys in
// a folder that is not called .git, or make git take one for a repository that has such a
// file; and that folder.
func MakesRepository(path string) (dir string, makes bool) {
	for below, dir := filepath.Base(path), filepath.Dir(path); ; below, dir = filepath.Join(filepath.Base(dir), below), filepath.Dir(dir) {
		name, _, _ := strings.Cut(below, "/")
		name = strings.ToLower(name)
		isNow, obeyed := looksLikeGit(dir, ""), obeyedInGit[name]
		if obeyed || name == "head" || name == "objects" || name == "refs" {
			if will := looksLikeGit(dir, name); will && (obeyed || !isNow && hasAny(dir, obeyedInGit)) {
				return dir, true
			}
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// obeyedInGit are what of a repository's folder makes git run programs or obey another.
var obeyedInGit = map[string]bool{"config": true, "config.worktree": true, "commondir": true, "hooks": true}

// looksLikeGit reports whether git takes a folder for a repository's if it has a further name.
func looksLikeGit(dir, further string) bool {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return strings.EqualFold(name, further) || !errors.Is(err, os.ErrNotExist)
	}
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// hasAny reports whether a folder has one of names.
func hasAny(dir string, names map[string]bool) bool {
	for name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
