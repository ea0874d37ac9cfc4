package instructions

import (
	"strings"
	"testing"
)

// prompt returns the pieces of a command's prompt, the shell commands in <>.
func prompt(c Command, arguments string) string {
	var b strings.Builder
	for _, p := range c.Pieces(arguments, map[string]string{"CLAUDE_SKILL_DIR": "/skills/x"}) {
		if p.Shell {
			p.Text = "<" + p.Text + ">"
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

func parsed(t *testing.T, name, content string) Command {
	t.Helper()
	c, err := ParseCommand(name, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACommandIsReadAsClaudeCodeReadsIt(t *testing.T) {
	t.Parallel()
	c := parsed(t, "git/fix-issue.md", "\ufeff---\r\ndescription: Fix an issue: now\r\nargument-hint: [number] [priority]\r\nallowed-tools: Bash(git add:*), Read\r\nmodel: inherit\r\n---\r\n"+
		"Fix issue $1 ($2).\r\nState: !`git show $1 $2`\r\nAll: $ARGUMENTS, $ARGUMENTS[0], $HOME ${CLAUDE_SKILL_DIR}\r\n")
	if c.Name != "git:fix-issue" || c.Description != "Fix an issue: now" || c.Takes() != "[number] [priority]" || c.Model != "" || strings.Join(c.Tools, "; ") != "Bash(git add:*); Read" {
		t.Errorf("the command is %+v", c)
	}
	want := "Fix issue 12 (very high).\nState: <git show 12 'very high'>\nAll: 12 \"very high\", 12, $HOME /skills/x"
	if got := prompt(c, `12 "very high"`); got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
}

// What a person types as an argument is no mark: no command runs that the file does not have.
func TestArgumentsAreNotReadAsMarks(t *testing.T) {
	t.Parallel()
	c := parsed(t, "x.md", "See $1: !`grep $ARGUMENTS log`")
	if got, want := prompt(c, "!`rm` $(rm) $2;rm"), "See !`rm`: <grep '!`rm`' '$(rm)' '$2;rm' log>"; got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
}

// As in the plugin ralph-wiggum of anthropics/claude-code.
func TestABlockOfCommandsIsOneCommand(t *testing.T) {
	t.Parallel()
	c := parsed(t, "x.md", "First:\n```!\n\"$HOME/setup.sh\" $1\ngit status\n```\n\nThen $2, and:\n```sh\n! true\n```\n")
	want := "First:\n<\"$HOME/setup.sh\" 'a b'\ngit status>\n\nThen ```!\nrm\n```, and:\n```sh\n! true\n```"
	if got := prompt(c, "'a b' '```!\nrm\n```'"); got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
}

func TestTheLastArgumentOfOpenCodeIsAllThatIsLeft(t *testing.T) {
	t.Parallel()
	c := parsed(t, "x.md", "Rename $1 to $2.")
	c.Rest = true
	if got, want := prompt(c, "a b c d"), "Rename a to b c d."; got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
}

func TestArgumentsHaveTheNamesThatTheFileGivesThem(t *testing.T) {
	t.Parallel()
	c := parsed(t, "x.md", "---\narguments: [issue, branch]\n---\nFix $issue on ${branch}.")
	if got, want := prompt(c, "12 main"), "Fix 12 on main."; got != want || c.Takes() != "issue branch" {
		t.Errorf("the prompt is %q, want %q; it takes %q", got, want, c.Takes())
	}
}

func TestACommandOfGeminiIsRead(t *testing.T) {
	t.Parallel()
	c := parsed(t, "git/commit.toml", "description = \"Commit\"\nprompt = \"\"\"\nWrite a message for {{args}}.\n!{git diff {{args}} | awk '{print $1}'}\n@{docs/style guide.md}\n\"\"\"\n")
	want := "Write a message for a; b.\n<git diff 'a; b' | awk '{print $1}'>\n@\"docs/style guide.md\""
	if got := prompt(c, "a; b"); got != want || c.Name != "git:commit" || c.Description != "Commit" {
		t.Errorf("the prompt is %q, want %q; the command is %+v", got, want, c)
	}
	if got := prompt(parsed(t, "x.toml", "prompt = 'Look, !{ls'"), "here"); got != "Look, !{ls\n\nhere" {
		t.Errorf("without an end: %q", got)
	}
}

func TestACommandWithoutMarksEndsWithItsArguments(t *testing.T) {
	t.Parallel()
	c := parsed(t, "review.md", "# Review the change\n\nLook for bugs.")
	if c.Description != "Review the change" {
		t.Errorf("the description is %q", c.Description)
	}
	if got := prompt(c, ""); got != "# Review the change\n\nLook for bugs." {
		t.Errorf("without arguments: %q", got)
	}
	if got := prompt(c, "the parser"); got != "# Review the change\n\nLook for bugs.\n\nthe parser" {
		t.Errorf("with arguments: %q", got)
	}
}

func TestAFileThatIsNoCommandSaysWhy(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty.md": " \n", "bad name.md": "x", "../up.md": "x", "only-front.md": "---\ndescription: x\n---\n", "noend.md": "---\ndescription: x\n",
		"binary.md": "a\x00b", "wrong.toml": "prompt = ", "no-prompt.toml": "description = 'x'", "tab.md": "---\n\tx\n---\nbody", "esc\x1b.md": "x",
	} {
		if c, err := ParseCommand(name, []byte(content)); err == nil {
			t.Errorf("%s became %+v", name, c)
		}
	}
}
