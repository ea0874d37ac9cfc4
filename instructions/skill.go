package instructions

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"unicode/utf8"

	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// A Skill is a folder with a file SKILL.md that says how to do something: instructions that an agent reads when
// it needs them (agentskills.io/specification, read 2026-11-23), with the keys of Claude Code
// (code.claude.com/docs/en/skills). As a command it is what the body says.
type Skill struct {
	Command
	// Warnings say what is not as the format wants it; the skill counts all the same.
	Warnings []string
	// Hidden: the model is not told of it; a person calls it.
	Hidden bool
	// Uncallable: it is not among the commands.
	Uncallable bool
	// Fork: it is done by a child run, whose answer is the result.
	Fork bool
}

// The bounds of the format, in characters.
const (
	maxSkillName        = 64
	maxSkillDescription = 1024
	// maxListed bounds what the model is told of a skill, as in Claude Code.
	maxListed = 1536
)

var skillName = lazy.Regexp(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// ParseSkill reads the SKILL.md of a skill in dir, an absolute path. It is lenient: what has a name and a description
// that can be used counts, with warnings.
func ParseSkill(dir string, content []byte) (Skill, error) {
	folder := filepath.Base(dir)
	s := Skill{Command: Command{Name: folder, Dir: dir}}
	f, body, err := CutFront(content)
	if err != nil {
		return s, err
	}
	s.read(f, body)
	s.Hidden, s.Uncallable = f.Flag("disable-model-invocation", false), !f.Flag("user-invocable", true)
	s.Fork = f.Text("context") == "fork"
	warn := func(format string, args ...any) { s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...)) }
	switch name := f.Text("name"); {
	case name == "":
		warn("it has no name: that of its folder is used")
	case !commandName().MatchString(name):
		warn("the name %s cannot be used: that of its folder is", visible.Quote(name))
	default:
		if s.Name = name; name != folder {
			warn("it is named %s and its folder %s", name, visible.Quote(folder))
		}
	}
	if !commandName().MatchString(s.Name) {
		return s, fmt.Errorf("the name %s has something else than letters, digits, - and _", visible.Quote(s.Name))
	}
	if !skillName().MatchString(s.Name) || utf8.RuneCountInString(s.Name) > maxSkillName {
		warn("the name should be at most %d of a-z, 0-9 and single - between them", maxSkillName)
	}
	switch n := utf8.RuneCountInString(s.Description); {
	case n == 0:
		return s, errors.New("it has no description, without which nobody knows when to use it")
	case n > maxSkillDescription:
		warn("the description has %d characters and should have at most %d", n, maxSkillDescription)
	}
	if s.body == "" {
		return s, errors.New("it has no instructions below its front matter")
	}
	if when := f.Text("when_to_use"); when != "" {
		s.Description += " " + when
	}
	s.Description = text.OneLine(s.Description, maxListed)
	return s, nil
}

// Instructions returns what the model is given when it opens the skill. Its shell commands are the model's to run, so that
// each is a call of its own.
func (s Skill) Instructions(arguments string, variables map[string]string) string {
	var b strings.Builder
	for _, p := range s.Pieces(arguments, variables) {
		switch {
		case p.Shell && strings.Contains(p.Text, "\n"):
			p.Text = "Run this and use what it prints:\n```\n" + p.Text + "\n```"
		case p.Shell:
			p.Text = "(run `" + p.Text + "` and use what it prints)"
		}
		b.WriteString(p.Text)
	}
	return visible.Strip(b.String())
}

// Catalogue returns what a system prompt says of skills: a line for each, in at most so many bytes. If they have no room,
// descriptions are cut, then left out, and then skills are, which is said. Empty if there are none.
func Catalogue(skills []Skill, room int) string {
	var listed []Skill
	for _, s := range skills {
		if !s.Hidden {
			listed = append(listed, s)
		}
	}
	if len(listed) == 0 {
		return ""
	}
	const most, least = maxListed, 40
	for i := range listed {
		listed[i].Description = text.OneLine(listed[i].Description, most)
	}
	lines := func(n int, write func(...string)) { // with descriptions of at most n characters
		for _, s := range listed {
			switch whole := len(text.First(s.Description, n)) == len(s.Description); {
			case n == 0:
				write("- ", s.Name, "\n")
			case whole:
				write("- ", s.Name, ": ", s.Description, "\n")
			default:
				write("- ", s.Name, ": ", text.First(s.Description, n-1), text.Mark, "\n")
			}
		}
	}
	fits := func(n int) bool {
		size := 0
		lines(n, func(texts ...string) {
			for _, t := range texts {
				size += len(t)
			}
		})
		return size <= room
	}
	n := most
	if !fits(n) {
		if n = sort.Search(most, func(n int) bool { return !fits(n) }) - 1; n < least {
			n = 0
		}
	}
	var b strings.Builder
	lines(n, func(texts ...string) {
		for _, t := range texts {
			b.WriteString(t)
		}
	})
	all := b.String()
	if len(all) > room {
		cut := strings.LastIndexByte(all[:max(0, room)], '\n') + 1
		left := strings.Count(all[cut:], "\n")
		all = all[:cut] + fmt.Sprintf("- %s that are not listed here: no room\n", text.Count(int64(left), "more skill", "more skills"))
	}
	return "Skills, which are instructions for certain work. Before work that one of them is for, open it with the tool skill:\n" + all
}
