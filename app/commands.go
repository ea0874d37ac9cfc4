package app

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pawl/instructions"
	"pawl/internal/stable"
)

// maxCommands bounds how many files of commands are read of a folder.
const maxCommands = 200

// commandFolders are the folders of commands in a workspace and in a home.
var commandFolders = []string{".claude/commands", ".pawl/commands"}

// PromptCommands returns the commands that people have written: the user's own, in the
// commands folder of the configuration and in ~/.claude/commands, and those of the
// workspace, in .pawl/commands and .claude/commands, that are trusted. Of two with one name
// the workspace's counts. untrusted are the folders of the workspace with files that a person
// has to review first; problems say which other files do not count and why.
func (w *Workspace) PromptCommands() (all []instructions.Command, untrusted, problems []string) {
	byName := map[string]instructions.Command{}
	add := func(name, source string, content []byte) {
		c, err := instructions.ParseCommand(name, content)
		if err != nil {
			problems = append(problems, source+": "+err.Error())
			return
		}
		c.Source = source
		byName[c.Name] = c
	}
	var own []string
	if home := w.env.Get("HOME"); filepath.IsAbs(home) {
		own = append(own, filepath.Join(home, ".claude", "commands"))
	}
	for _, dir := range append(own, filepath.Join(w.env.UserDir(), "commands")) {
		n := 0
		_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error { // a folder that is not there has none
			if err != nil || !e.Type().IsRegular() || filepath.Ext(name) != ".md" {
				return nil
			}
			if n++; n > maxCommands {
				return fs.SkipAll
			}
			if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				add(name, filepath.Join(dir, name), content)
			}
			return nil
		})
	}
	if p, err := w.Policy(); err == nil {
		for _, folder := range commandFolders {
			files, others := p.TrustedFiles(folder)
			for _, f := range files {
				if rel := strings.TrimPrefix(f.Name, folder+"/"); filepath.Ext(rel) == ".md" {
					add(rel, f.Name, f.Content)
				}
			}
			if len(others) > 0 {
				untrusted = append(untrusted, folder)
			}
		}
	}
	for _, c := range byName {
		all = append(all, c)
	}
	stable.Sort(all, func(a, b instructions.Command) int { return cmp.Compare(a.Name, b.Name) })
	return all, untrusted, problems
}
