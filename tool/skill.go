package tool

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"pawl/instructions"
	"pawl/internal/text"
	"pawl/run"
)

//go:embed skill.md
var skillText string

const skillSchema = `{"type":"object","properties":{` +
	`"name":{"type":"string"},` +
	`"arguments":{"type":"string","description":"What the skill is used on, if it takes that"}},` +
	`"required":["name"],"additionalProperties":false}`

// SkillName is the name of the tool that opens skills.
const SkillName = "skill"

// Skill returns the tool that opens one of some skills. A skill that is done by a child run starts one: child completes
// what it is asked; nil: it is done by the run itself.
func Skill(skills []instructions.Skill, child func(env Env, s instructions.Skill, words string) (Child, error)) Tool {
	spec := briefly(NewSpec(SkillName, skillText, skillSchema))
	spec.Unstored = true // it is in a file
	return &builtin{spec, func() arguments { return &skillArgs{skills: skills, child: child} }}
}

type skillArgs struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`

	skills []instructions.Skill
	child  func(Env, instructions.Skill, string) (Child, error)
	skill  instructions.Skill
}

func (a *skillArgs) check(Env) error {
	there := slices.DeleteFunc(slices.Clone(a.skills), func(s instructions.Skill) bool { return s.Hidden })
	if i := text.Named(strings.TrimPrefix(a.Name, "/"), there, func(s instructions.Skill) string { return s.Name }); i >= 0 {
		a.skill = there[i]
		return nil
	}
	var names []string
	for _, s := range there {
		names = append(names, s.Name)
	}
	return fmt.Errorf("there is no skill %q%s; there are %s", clip(a.Name, 64), text.DidYouMean(a.Name, names), clip(strings.Join(names, ", "), 2000))
}

func (a *skillArgs) forks(env Env) bool { return a.skill.Fork && a.child != nil && env.Spawn != nil }

func (a *skillArgs) inspect(env Env) (Intent, error) {
	in := Intent{Class: run.Reads, Title: a.skill.Name}
	if a.skill.Fork && a.child != nil {
		in.Class = run.Resumable
	}
	return in, nil
}

func (a *skillArgs) run(ctx context.Context, env Env, c Call) (Result, error) {
	s := a.skill
	words := s.Instructions(a.Arguments, map[string]string{"CLAUDE_SKILL_DIR": s.Dir, "CLAUDE_SESSION_ID": string(c.Run)})
	if len(words) > maxSkillText {
		words = strings.ToValidUTF8(words[:maxSkillText], "") + fmt.Sprintf("\n[cut here: read the rest of %s]", filepath.Join(s.Dir, "SKILL.md"))
	}
	words = text.Tagged("skill", fmt.Sprintf("name=%q folder=%q", s.Name, s.Dir), words)
	if files := filesOf(s.Dir); files != "" {
		words += "\n\nIn its folder, which you can read: " + files
	}
	if a.forks(env) {
		child, err := a.child(env, s, words)
		if err != nil {
			return failed(err), nil
		}
		return env.Spawn(ctx, c.ID, child)
	}
	r := TextResult(words)
	r.Kept = true
	return r, nil
}

// The bounds of what a skill puts into the context, and of how far its folder is looked through.
const (
	maxSkillText  = 48 << 10 // bytes; the format advises 5,000 tokens
	maxSkillFiles = 40
	maxSkillLook  = 1000
)

// filesOf lists the files of a skill, but for its SKILL.md. Of many it names some.
func filesOf(dir string) string {
	var names []string
	seen := 0
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		if seen++; err != nil || relErr != nil {
			return fs.SkipDir
		}
		switch {
		case seen > maxSkillLook || len(names) > maxSkillFiles:
			return fs.SkipAll
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules"):
			return fs.SkipDir
		case !e.IsDir() && rel != "SKILL.md":
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.Sort(names)
	if len(names) > maxSkillFiles {
		return strings.Join(names[:maxSkillFiles], ", ") + " and more"
	}
	return strings.Join(names, ", ")
}
