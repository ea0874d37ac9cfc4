package instructions

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"

	"pawl/internal/lazy"
)

// A Command is a prompt that a person has written to a file, to be sent by its name. The
// format is that of Claude Code: Markdown, with an optional front matter
// (code.claude.com/docs/en/slash-commands, read 2026-11-22).
type Command struct {
	Name        string // of the file; in a folder, folder:name
	Description string // of the front matter, or the first line
	Arguments   string // what it takes, of the front matter; may be empty
	Source      string // path of the file

	body string
}

// maxCommand bounds the file of a command, in bytes.
const maxCommand = 64 << 10

// ParseCommand reads the file of a command; name is relative to the folder of commands.
func ParseCommand(name string, content []byte) (Command, error) {
	c := Command{Name: strings.ReplaceAll(strings.TrimSuffix(name, path.Ext(name)), "/", ":"), Source: name}
	if len(content) > maxCommand {
		return c, fmt.Errorf("%s is larger than %d KiB", name, maxCommand>>10)
	}
	if !commandName().MatchString(c.Name) {
		return c, fmt.Errorf("%s: a command's name has letters, digits, - and _", name)
	}
	content = bytes.ReplaceAll(bytes.TrimPrefix(content, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	if rest, ok := bytes.CutPrefix(content, []byte("---\n")); ok {
		if front, body, ok := bytes.Cut(rest, []byte("\n---\n")); ok {
			content = body
			// Not read as YAML: the usual "[file] [words]" is none.
			for line := range strings.Lines(string(front)) {
				key, value, _ := strings.Cut(line, ":")
				value = strings.Trim(strings.TrimSpace(value), `"'`)
				switch key {
				case "description":
					c.Description = value
				case "argument-hint":
					c.Arguments = value
				}
			}
		}
	}
	c.body = strings.TrimSpace(string(content))
	if c.body == "" {
		return c, fmt.Errorf("%s is empty", name)
	}
	if c.Description == "" {
		c.Description, _, _ = strings.Cut(strings.TrimLeft(c.body, "# "), "\n")
	}
	return c, nil
}

var (
	commandName  = lazy.Regexp(`^[\p{L}\p{N}_-]+(:[\p{L}\p{N}_-]+)*$`)
	argumentMark = lazy.Regexp(`\$ARGUMENTS\b|\$[1-9]`)
	// Claude Code runs !`command` before the prompt is sent. Here the model runs it, so that
	// the permissions hold.
	commandMark = lazy.Regexp("!`([^`\n]+)`")
)

// Prompt returns the prompt with arguments in place: $ARGUMENTS is all of them, $1 to $9 are
// words, in quotes if they have blanks. Without such a mark they follow the text.
func (c Command) Prompt(arguments string) string {
	arguments = strings.TrimSpace(arguments)
	words, used := split(arguments), false
	text := argumentMark().ReplaceAllStringFunc(c.body, func(mark string) string {
		used = true
		if mark == "$ARGUMENTS" {
			return arguments
		}
		if n, err := strconv.Atoi(mark[1:]); err == nil && n <= len(words) {
			return words[n-1]
		}
		return ""
	})
	text = commandMark().ReplaceAllString(text, "(run `$1` and use what it prints)")
	if !used && arguments != "" {
		text += "\n\n" + arguments
	}
	return text
}

// Takes returns what the command takes, as its front matter or else its text says; empty: nothing.
func (c Command) Takes() string {
	if c.Arguments == "" {
		return argumentMark().FindString(c.body)
	}
	return c.Arguments
}

// split cuts a line into words; quotes keep blanks.
func split(line string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	inside := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inside = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if inside {
				words = append(words, word.String())
				word.Reset()
			}
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	if inside {
		words = append(words, word.String())
	}
	return words
}
