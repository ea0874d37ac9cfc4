package app

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/config"
	"pawl/instructions"
	"pawl/internal/stable"
)

// maxCommands bounds how many files of commands are read of a folder, and notRead is how it is said that there are more.
const (
	maxCommands = 200
	notRead     = "those that follow are not read"
)

// commandFolders are the folders of commands in a workspace, the last first where names are the same, and
// userCommands those in a home.
var (
	commandFolders = []string{".opencode/command", ".opencode/commands", ".gemini/commands", ".claude/commands", ".pawl/commands"}
	userCommands   = []string{".config/opencode/command", ".config/opencode/commands", ".gemini/commands", ".claude/commands"}
)

// home returns the person's home; "": it is not known.
func (w *Workspace) home() string {
	if home := w.env.Get("HOME"); filepath.IsAbs(home) {
		return home
	}
	return ""
}

// parents returns the folders whose commands and skills count: those from the root of the repository to the workspace, in
// that order. Each is trusted by itself.
func (w *Workspace) parents() []string {
	root := instructions.Root(w.Dir, w.home())
	dirs := []string{w.Dir}
	for dir := w.Dir; dir != root && dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

// PromptCommands returns the commands that people have written: those of plugins, the user's own, in the
// commands folder of the configuration and where other agents have them in the home, and those of the
// repository that are trusted; then the skills that can be called so. Of two with one name the nearest to the
// workspace counts, and a skill before a command. untrusted are the folders with files that a person
// has to review first; problems say which other files do not count and why.
func (w *Workspace) PromptCommands() (all []instructions.Command, untrusted, problems []string) {
	byName := map[string]instructions.Command{}
	add := func(name, source string, content []byte, repository bool) {
		c, err := instructions.ParseCommand(name, content)
		if err != nil {
			problems = append(problems, source+": "+err.Error())
			return
		}
		c.Source, c.Repository, c.Rest = source, repository, strings.Contains(source, "opencode")
		byName[c.Name] = c
	}
	for _, p := range w.plugins().all {
		for _, c := range p.Commands {
			byName[c.Name] = c
		}
	}
	isCommand := func(name, folder string) bool {
		ext := ".md"
		if strings.HasSuffix(folder, ".gemini/commands") {
			ext = ".toml"
		}
		return filepath.Ext(name) == ext
	}
	var own []string
	if home := w.home(); home != "" {
		for _, folder := range userCommands {
			own = append(own, filepath.Join(home, folder))
		}
	}
	for _, dir := range append(own, filepath.Join(w.env.UserDir(), "commands")) {
		n := 0
		_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error { // a folder that is not there has none
			if err != nil || e.IsDir() || !isCommand(name, dir) {
				return nil
			}
			if n++; n > maxCommands {
				problems = append(problems, fmt.Sprintf("%s has more than %d commands: %s", dir, maxCommands, notRead))
				return fs.SkipAll
			}
			file := filepath.Join(dir, name)
			if content, err := config.ReadBounded(file, maxOwnFile); err == nil { // also what a link leads to
				add(name, file, content, false)
			} else {
				problems = append(problems, file+": "+err.Error())
			}
			return nil
		})
	}
	if p, err := w.Policy(); err == nil {
		for _, dir := range w.parents() {
			for _, folder := range commandFolders {
				files, others := p.TrustedFilesOf(dir, folder)
				at := folder
				if dir != w.Dir {
					at = filepath.Join(dir, folder)
				}
				for _, f := range files {
					if rel := strings.TrimPrefix(f.Name, folder+"/"); isCommand(rel, folder) {
						add(rel, filepath.Join(at, rel), f.Content, true)
					}
				}
				if len(others) > 0 {
					untrusted = append(untrusted, at)
				}
			}
		}
	}
	if servers, err := w.Servers(); err == nil {
		for _, p := range servers.Prompts() {
			byName[p.Command] = instructions.Command{Name: p.Command, Description: p.Description, Arguments: p.Takes, Source: ofServer + p.Server}
		}
	}
	if skills, pending, _, err := w.Skills(); err == nil {
		for _, s := range skills {
			if !s.Uncallable {
				byName[s.Name] = s.Command
			}
		}
		if len(pending) > 0 {
			untrusted = append(untrusted, "the folders of skills")
		}
	}
	for _, c := range byName {
		all = append(all, c)
	}
	stable.Sort(all, func(a, b instructions.Command) int { return cmp.Compare(a.Name, b.Name) })
	return all, untrusted, problems
}
