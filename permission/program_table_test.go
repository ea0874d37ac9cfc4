package permission

import (
	"slices"
	"strings"
	"testing"
)

func TestATableOfProgramsIsReadWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	all, err := parsePrograms("# a comment\nrm del = deletes, named\n\ngit = asks git, means add commit\n\tstatus\nls = means\ngit/log = reads\n")
	if err != nil || len(all.programs) != 4 || all.programs["del"].facts != deletes|named || all.programs["git"].words[means] != "add commit status" || all.programs["ls"].facts != means || all.programs["ls"].words[means] != "" || !all.commands["git/log"].is(reads) {
		t.Errorf("read as %+v, %v", all, err)
	}
	for text, want := range map[string]string{
		"rm: deletes":              "is no line NAMES = FACTS",
		"\tdeletes":                "continues nothing",
		"rm = removes":             `there is no fact "removes"`,
		"rm = deletes more":        `there is no fact "deletes more"`,
		"rm = deletes, deletes":    "twice",
		"rm = deletes\nrm = named": "rm stands in two lines",
		"rm = reads minds":         `there are no operands "minds"`,
		"rm = wraps x":             `"x" is no number of operands`,
	} {
		if _, err := parsePrograms(text + "\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Whoever adds a program finds out whether it is there, and where it belongs.
func TestTheNamesOfALineAreSorted(t *testing.T) {
	t.Parallel()
	_, rows, _ := strings.Cut(programsText, "\n\n")
	for row := range strings.SplitSeq(strings.ReplaceAll(rows, "\n ", " "), "\n") {
		names, _, _ := strings.Cut(row, " = ")
		if !slices.IsSorted(strings.Fields(names)) {
			t.Errorf("the names of this line are not sorted: %s", names)
		}
	}
}

// Each fact is used by a program and explained at the head of the table.
func TestEveryFactIsExplainedAndUsed(t *testing.T) {
	t.Parallel()
	var used fact
	for _, some := range []map[string]*program{programs().programs, programs().commands} {
		for _, p := range some {
			used |= p.facts
		}
	}
	head, _, _ := strings.Cut(programsText, "\n\n")
	for name, f := range facts {
		if used&f == 0 {
			t.Errorf("no program has the fact %q", name)
		}
		if !strings.Contains(head, "#   "+name+" ") {
			t.Errorf("the head of programs.txt does not say what %q means", name)
		}
	}
}
