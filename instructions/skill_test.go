package instructions

import (
	"fmt"
	"strings"
	"testing"
)

func TestASkillIsReadLeniently(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"---\nname: pdf\ndescription: Reads PDF\n---\nDo it.":                                   "pdf: Reads PDF []",
		"\ufeff---\r\nname: pdf\r\ndescription: Use when: x, with \"y\"\r\n---\r\nDo it.":       `pdf: Use when: x, with "y" []`,
		"---\nname: pdf\ndescription: >\n  Two\n  lines\n---\nDo it.":                           "pdf: Two lines []",
		"---\nname: pdf\ndescription:\n  Use when: x\n---\nDo it.":                              "pdf: Use when: x []",
		"---\nname: pdf\ndescription: When asked. Examples:\n\n<a>\nUser: y\n</a>\n---\nDo it.": "pdf: When asked. Examples: <a> User: y </a> []",
		"---\ndescription: x\nwhen_to_use: always\n---\nDo it.":                                 "pdf: x always [it has no name: that of its folder is used]",
		"---\nname: PDF\ndescription: x\n---\nDo it.":                                           `PDF: x [it is named PDF and its folder "pdf" the name should be at most 64 of a-z, 0-9 and single - between them]`,
		"---\nname: \"a\\e[31m\"\ndescription: \"x\\e[31m\"\n---\nDo it.":                       "pdf: x[31m [the name \"a[31m\" cannot be used: that of its folder is]",
		"---\nname: pdf\n---\nDo it.":                                                           "it has no description, without which nobody knows when to use it",
		"---\nname: pdf\ndescription: x\n---\n":                                                 "it has no instructions below its front matter",
		"---\nname: pdf\ndescription: x\nDo it.":                                                "the front matter has no end: a line ---",
		"---\nname: pdf\ndescription: x\nother:\n  - [\n---\nDo it.":                            "the front matter is not YAML: ",
		"\xff": "it is not text in UTF-8",
	} {
		s, err := ParseSkill("/skills/pdf", []byte(content))
		got := fmt.Sprintf("%s: %s %v", s.Name, s.Description, s.Warnings)
		if err != nil {
			got = err.Error()
		}
		if got != want && !(err != nil && strings.HasPrefix(got, want)) {
			t.Errorf("%q is %s, want %s", content, got, want)
		}
	}
}

func TestWhatASkillSaysOfItselfCounts(t *testing.T) {
	t.Parallel()
	s, err := ParseSkill("/skills/x", []byte("---\ndescription: x\ndisable-model-invocation: yes\nuser-invocable: off\ncontext: fork\nallowed-tools: Read Bash(git log:*)\n---\nIn ${CLAUDE_SKILL_DIR}: !`ls` $1\n```!\nmake\nmake test\n```"))
	if err != nil || !s.Hidden || !s.Uncallable || !s.Fork || len(s.Tools) != 2 {
		t.Errorf("it is %+v: %v", s, err)
	}
	if got, want := s.Instructions("a", map[string]string{"CLAUDE_SKILL_DIR": s.Dir}), "In /skills/x: (run `ls` and use what it prints) a\nRun this and use what it prints:\n```\nmake\nmake test\n```"; got != want {
		t.Errorf("the instructions are %q, want %q", got, want)
	}
}

func TestTheCatalogueKeepsToItsRoom(t *testing.T) {
	t.Parallel()
	var skills []Skill
	if Catalogue(skills, 1000) != "" || Catalogue([]Skill{{Hidden: true}}, 1000) != "" {
		t.Error("there is a catalogue of no skills")
	}
	for i := range 200 {
		skills = append(skills, Skill{Command: Command{Name: fmt.Sprintf("skill-%d", i), Description: strings.Repeat("word ", 100)}})
	}
	for room, want := range map[int]string{1 << 20: "word word word", 20_000: "- skill-199: word word", 5_000: "- skill-199\n", 500: "more skills that are not listed here: no room"} {
		if c := Catalogue(skills, room); len(c) > room+250 || !strings.Contains(c, want) {
			t.Errorf("with room for %d bytes it has %d: %s", room, len(c), c[max(0, len(c)-200):])
		}
	}
}
