package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"pawl/policy"
)

// sec084, sec085, sec086: what is shown to be trusted cannot hide.
func TestNothingIsHiddenInWhatIsShown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\n":                "plain\ttext\n",
		"größer 漢字 👍":                  "größer 漢字 👍",
		"rm \u202etxt.exe":             `rm \u202etxt.exe`,
		"ls\U000e0072\U000e006d":       `ls\U000e0072\U000e006d`,
		"a\u200bb":                     `a\u200bb`,
		"a\u00a0b\u3164":               `a\u00a0b\u3164`,
		"x\ufe01\U000e0101":            `x\ufe01\U000e0101`,
		"\x1b]52;c;eA==\a":             `\u001b]52;c;eA==\u0007`,
		"a\xff":                        `a\xff`,
		"ok\rno":                       `ok\u000dno`,
		"ls" + blanks(3000) + "; rm x": "ls[3000 blanks]; rm x",
		"make\n\n\n\nall":              "make\n\n\n\nall",
		"ls\n" + strings.Repeat("\n", 300) + "rm x":    "ls\n[300 empty lines]\nrm x",
		"ls\n" + strings.Repeat(" \t\n", 300) + "rm x": "ls\n[300 empty lines]\nrm x",
		"ls" + blanks(40) + "x":                        "ls" + blanks(40) + "x",
		"ls" + blanks(41) + "x":                        "ls[41 blanks]x",
		"a\n\n\n\n\nb":                                 "a\n[4 empty lines]\nb",
		"rm \u05d0\u05d1 x":                            `rm \u05d0\u05d1 x`,
		"echo \u0627":                                  `echo \u0627`,
		"\t\t\tx" + blanks(8) + "y":                    "\t\t\tx" + blanks(8) + "y",
	} {
		if got := policy.Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func blanks(n int) string { return strings.Repeat(" ", n) }

func TestAChangeIsShownWholeOrSaysThatItIsNot(t *testing.T) {
	t.Parallel()
	numbers := ""
	for i := range 100 {
		numbers += fmt.Sprintf("n%d\n", i)
	}
	for name, c := range map[string]struct {
		change policy.Change
		want   []string
		whole  bool
	}{
		"new":              {policy.Change{Now: []byte("a\nb\n")}, []string{"  a\n  b\n"}, true},
		"empty":            {policy.Change{Now: []byte{}}, []string{"(empty)"}, true},
		"long":             {policy.Change{Now: []byte(numbers)}, []string{"  n9\n  [90 more lines are not shown]"}, false},
		"pushed away":      {policy.Change{Now: []byte("a\n" + strings.Repeat("\n", 5000) + "evil\n")}, []string{"  a\n  [5000 empty lines]\n  evil\n"}, true},
		"a script with 0":  {policy.Change{Now: []byte("#!/bin/sh\x00\nevil\n")}, []string{`#!/bin/sh\u0000`, "evil"}, true},
		"no text":          {policy.Change{Now: []byte("\x7fELF\x00\x01\x02\x03\x00")}, []string{`\u007fELF\u0000\u0001`}, true},
		"was no text":      {policy.Change{Was: []byte("\x00\x00"), Now: []byte("a\n")}, []string{"  a\n"}, true},
		"a long line":      {policy.Change{Now: []byte(strings.Repeat("x", 300_000) + "evil\n")}, []string{"more bytes of this line are not shown"}, false},
		"no line end":      {policy.Change{Was: []byte("a\nb"), Now: []byte("a\nc")}, []string{"- b [no line break at the end]\n+ c [no line break at the end]\n"}, true},
		"removed":          {policy.Change{Was: []byte("a\nb\n"), Removed: true}, []string{"- a\n- b\n"}, true},
		"removed, empty":   {policy.Change{Was: []byte{}, Removed: true}, []string{"  (nothing but its name)\n"}, true},
		"removed, no text": {policy.Change{Was: []byte("\x00\x00"), Removed: true}, []string{"not there any more"}, true},
		"removed, unknown": {policy.Change{Removed: true}, []string{"not there any more"}, true},
		"the middle": {policy.Change{Was: []byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), Now: []byte("1\n2\n3\n4\nfive\n6\n7\n8\n9\n")},
			[]string{"@@ -2,7 +2,7 @@\n  2\n  3\n  4\n- 5\n+ five\n  6\n  7\n  8\n"}, true},
		"two places": {policy.Change{Was: []byte("a\n" + numbers + "b\n"), Now: []byte("A\n" + numbers + "B\n")},
			[]string{"@@ -1,4 +1,4 @@\n- a\n+ A\n  n0", "@@ -99,4 +99,4 @@", "- b\n+ B\n"}, false},
		"a problem": {policy.Change{Problem: "it is a \x1b[2J link"}, []string{`does not count: it is a \u001b[2J link`}, true},
	} {
		lines := 10
		if name == "two places" {
			lines = 0
			c.whole = true
		}
		text, whole := c.change.Show(lines)
		for _, want := range c.want {
			if !strings.Contains(text, want) || whole != c.whole {
				t.Errorf("%s: whole: %t, want %q in\n%s", name, whole, want, text)
			}
		}
	}
}

func TestAtMostSomeLinesOfAChangeAreShown(t *testing.T) {
	t.Parallel()
	c := policy.Change{Now: []byte("a\nb\n")}
	for lines, want := range map[int]string{
		0: "  a\n  b\n",
		1: "  a\n  [1 more lines are not shown]\n",
		2: "  a\n  b\n",
	} {
		if text, whole := c.Show(lines); text != want || whole != (lines != 1) {
			t.Errorf("%d lines: whole: %t, %q", lines, whole, text)
		}
	}
	for n, whole := range map[int]bool{1997: true, 1998: false} { // with the mark and the line end
		c := policy.Change{Now: []byte(strings.Repeat("x", n) + "\n")}
		if text, got := c.Show(1); got != whole || strings.Contains(text, "[1 more bytes of this line are not shown]") == whole {
			t.Errorf("a line of %d bytes: whole: %t", n, got)
		}
		if _, got := c.Show(0); !got {
			t.Errorf("a line of %d bytes is cut where all is asked for", n)
		}
	}
	for n, want := range map[int]string{3: "  a\n  \n  \n  \n  b\n", 4: "  a\n  [4 empty lines]\n  b\n"} {
		if text, _ := (policy.Change{Now: []byte("a\n" + strings.Repeat("\n", n) + "b\n")}).Show(0); text != want {
			t.Errorf("%d empty lines: %q", n, text)
		}
	}
}

// What is too different to be compared is shown all the same.
func TestAVeryLargeDifferenceIsShownAsReplaced(t *testing.T) {
	t.Parallel()
	many := func(c string) []byte { return []byte(strings.Repeat(c+"\n", 3000)) }
	text, whole := policy.Change{Was: many("a"), Now: many("b")}.Show(0)
	if !whole || strings.Count(text, "- a\n") != 3000 || strings.Count(text, "+ b\n") != 3000 {
		t.Errorf("%d lines gone, %d gained", strings.Count(text, "- a\n"), strings.Count(text, "+ b\n"))
	}
}
