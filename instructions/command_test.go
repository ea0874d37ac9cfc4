package instructions

import "testing"

func TestACommandIsReadAsClaudeCodeReadsIt(t *testing.T) {
	t.Parallel()
	c, err := ParseCommand("git/fix-issue.md", []byte("---\r\ndescription: Fix an issue\r\nargument-hint: [number] [priority]\r\nallowed-tools: Bash(git:*)\r\n---\r\nFix issue $1 ($2).\r\nState: !`git status`\r\nAll: $ARGUMENTS\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "git:fix-issue" || c.Description != "Fix an issue" || c.Arguments == "" {
		t.Errorf("the command is %+v", c)
	}
	want := "Fix issue 12 (very high).\nState: (run `git status` and use what it prints)\nAll: 12 \"very high\""
	if got := c.Prompt(`12 "very high"`); got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
}

func TestACommandWithoutMarksEndsWithItsArguments(t *testing.T) {
	t.Parallel()
	c, err := ParseCommand("review.md", []byte("# Review the change\n\nLook for bugs."))
	if err != nil {
		t.Fatal(err)
	}
	if c.Description != "Review the change" {
		t.Errorf("the description is %q", c.Description)
	}
	if got := c.Prompt(""); got != "# Review the change\n\nLook for bugs." {
		t.Errorf("without arguments: %q", got)
	}
	if got := c.Prompt("the parser"); got != "# Review the change\n\nLook for bugs.\n\nthe parser" {
		t.Errorf("with arguments: %q", got)
	}
}

func TestAFileThatIsNoCommandSaysWhy(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty.md": " \n", "bad name.md": "x", "../up.md": "x", "only-front.md": "---\ndescription: x\n---\n",
	} {
		if c, err := ParseCommand(name, []byte(content)); err == nil {
			t.Errorf("%s became %+v", name, c)
		}
	}
}
