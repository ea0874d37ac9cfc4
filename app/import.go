package app

import (
	"path/filepath"
	"strings"
)

// A ReadFolder is a folder of another agent in the person's home whose files are read where they are.
type ReadFolder struct {
	Agent string // as [config.ForeignAgents] has it
	Kind  string // commands, skills, agents
	Dir   string
	Count int // of those that count
}

// ReadInPlace returns the folders of other agents in the person's home that have something which counts here.
func (w *Workspace) ReadInPlace() (all []ReadFolder, err error) {
	s, err := w.load()
	if err != nil {
		return nil, err
	}
	home := w.home()
	if home == "" {
		return nil, nil
	}
	var files [3][]string
	commands, _, _ := w.PromptCommands()
	for _, c := range commands {
		files[0] = append(files[0], c.Source)
	}
	for _, skill := range s.skills().all {
		files[1] = append(files[1], skill.Source)
	}
	agents, err := w.roster(s).All()
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		files[2] = append(files[2], a.Path)
	}
	for _, of := range []struct{ agent, dir string }{
		{"claude", filepath.Join(home, ".claude")}, {"codex", w.env.CodexDir()},
		{"opencode", filepath.Join(home, ".config", "opencode")}, {"gemini", filepath.Join(home, ".gemini")},
	} {
		for i, kind := range []string{"commands", "skills", "agents"} {
			f := ReadFolder{Agent: of.agent, Kind: kind, Dir: of.dir}
			for _, file := range files[i] {
				// A skill is a command too.
				if strings.HasPrefix(file, of.dir+"/") && (kind != "commands" || !strings.HasPrefix(file, of.dir+"/skills/")) {
					f.Count++
				}
			}
			if f.Count > 0 {
				all = append(all, f)
			}
		}
	}
	return all, nil
}
