package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"pawl/agent"
	"pawl/config"
	"pawl/instructions"
	"pawl/internal/stable"
	"pawl/permission"
	"pawl/policy"
	"pawl/run"
	"pawl/tool"
)

// maxSkills bounds how many skills of the person's own are read of a folder.
const maxSkills = 1000

// maxOwnFile bounds a skill or command of the person's own.
const maxOwnFile = 1 << 20

// skillsFound are the skills of a workspace.
type skillsFound struct {
	all       []instructions.Skill // by name
	problems  []string             // which files do not count, and why
	untrusted []string             // files that a person has to review first
}

// Skills returns the skills that runs can open, by name: the person's own, and those of the repository that are trusted,
// which count before them. untrusted are the files of the others, and problems say what else does not count, and why.
func (w *Workspace) Skills() (all []instructions.Skill, untrusted, problems []string, err error) {
	s, err := w.load()
	if err != nil {
		return nil, nil, nil, err
	}
	f := s.skills()
	return f.all, f.untrusted, f.problems, nil
}

// findSkills finds the skills of a workspace; own returns those of the person.
func (w *Workspace) findSkills(p *policy.Policy, own func() skillsFound) skillsFound {
	theirs, f := w.repositorySkills(p), own()
	f.problems, f.untrusted = slices.Concat(f.problems, theirs.problems), theirs.untrusted
	var brought []instructions.Skill
	for _, p := range w.plugins().all {
		brought = append(brought, p.Skills...)
	}
	byName := map[string]instructions.Skill{}
	for _, s := range slices.Concat(brought, f.all, theirs.all) {
		if old, there := byName[s.Name]; there && old.Repository == s.Repository {
			s.Warnings = append(s.Warnings, "it hides "+old.Source)
		}
		byName[s.Name] = s
	}
	f.all = slices.Collect(maps.Values(byName))
	stable.Sort(f.all, func(a, b instructions.Skill) int { return cmp.Compare(a.Name, b.Name) })
	return f
}

// add adds the skill in a file, or why it does not count.
func (f *skillsFound) add(file string, content []byte, repository bool) {
	s, err := instructions.ParseSkill(filepath.Dir(file), content)
	if err != nil {
		f.problems = append(f.problems, file+": "+err.Error())
		return
	}
	s.Source, s.Repository = file, repository
	f.all = append(f.all, s)
}

// ownSkills are the person's own, those of each folder after those of the folder before.
func (w *Workspace) ownSkills() (f skillsFound) {
	for _, dir := range w.userSkills() {
		entries, _ := os.ReadDir(dir) // one that is not there has none
		for i, e := range entries {
			if i == maxSkills {
				f.problems = append(f.problems, fmt.Sprintf("%s has more than %d folders: %s", dir, maxSkills, notRead))
				break
			}
			file := filepath.Join(dir, e.Name(), policy.SkillFile)
			switch content, err := config.ReadBounded(file, maxOwnFile); {
			case err == nil:
				f.add(file, content, false)
			case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
				f.problems = append(f.problems, file+": "+err.Error())
			}
		}
	}
	return f
}

// repositorySkills are those of the repository, the nearest to the workspace last.
func (w *Workspace) repositorySkills(p *policy.Policy) (f skillsFound) {
	for _, dir := range w.parents() {
		for _, folder := range policy.SkillFolders {
			files, others := p.TrustedFilesOf(dir, folder)
			for _, file := range files {
				if path.Base(file.Name) == policy.SkillFile {
					f.add(filepath.Join(dir, file.Name), file.Content, true)
				}
			}
			for _, name := range others {
				f.untrusted = append(f.untrusted, filepath.Join(dir, name))
			}
		}
	}
	return f
}

// skillTool returns the tool that opens skills; none without skills.
func (w *Workspace) skillTool(s *settings) []tool.Tool {
	f := s.skills()
	if !slices.ContainsFunc(f.all, func(s instructions.Skill) bool { return !s.Hidden }) {
		return nil
	}
	return []tool.Tool{tool.Skill(f.all, func(env tool.Env, skill instructions.Skill, words string) (tool.Child, error) {
		a := agent.Agent{}
		child := tool.Child{Prompt: words}
		if skill.Agent != "" {
			var err error
			if a, err = w.roster(s).Get(skill.Agent); err == nil && !slices.Contains(env.Agents, a.Name) {
				child.Agent, child.Limits, child.Rules, child.Change = a.Name, a.Limits, a.Rules, s.changeFor(a)
			}
		}
		child.System = func(model string) string { return w.systemFor(s, env.Workspace, a, model, run.Output{}) }
		return child, nil
	})}
}

// catalogueShare is the part of a model's window that the list of skills takes at most; see "Client implementation" of the
// format, and Claude Code, which has the same.
const (
	catalogueShare  = 0.02
	catalogueWindow = 128_000 // tokens, if it is not known how many fit
	bytesPerToken   = 4
)

// catalogue returns what the system prompt of a run of an agent with a model says of skills.
func (w *Workspace) catalogue(s *settings, a agent.Agent, model string) string {
	f := s.skills()
	if len(f.all) == 0 || !a.Tools.Has(tool.SkillName) {
		return ""
	}
	window := cmp.Or(s.models.Window(model), catalogueWindow)
	return instructions.Catalogue(f.all, int(float64(window)*catalogueShare*bytesPerToken))
}

// userSkills returns the folders of the person's own skills, the last first where names are the same. They need not be there.
func (w *Workspace) userSkills() (dirs []string) {
	if home := w.home(); home != "" {
		for _, folder := range []string{".gemini/skills", ".config/opencode/skills"} {
			dirs = append(dirs, filepath.Join(home, folder))
		}
		dirs = append(dirs, filepath.Join(w.env.CodexDir(), "skills"), filepath.Join(home, ".claude/skills"), filepath.Join(home, ".agents/skills"))
	}
	return append(dirs, filepath.Join(w.env.UserDir(), "skills"))
}

// skillDirs returns those of userSkills that are there, with links resolved, and the plugins: tools and commands read
// them. Skills of the repository are in the workspace.
func (w *Workspace) skillDirs() (dirs []string) {
	for _, dir := range append(w.userSkills(), w.pluginDirs()...) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && real != "/" && real != w.home() && !strings.ContainsAny(real, "*?[{\\(") { // it would be read as a pattern
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// skillRules let the folders of the person's own skills be read without a question.
func (w *Workspace) skillRules() (rules permission.Rules) {
	for _, real := range w.skillDirs() {
		for _, t := range []string{"read", "list", "glob", "search"} {
			rules = append(rules, permission.Rule{Effect: permission.Allow, Tool: t, Pattern: real + "/**", Source: "skills"})
		}
	}
	return rules
}
