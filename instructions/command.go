package instructions

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pawl/internal/lazy"
)

// A Command is a prompt that a person has written to a file, to be sent by its name. The forms are those of
// Claude Code (code.claude.com/docs/en/slash-commands) and OpenCode (opencode.ai/docs/commands), Markdown
// with an optional front matter, and of Gemini CLI (google-gemini/gemini-cli, docs/cli/custom-commands.md), TOML;
// read 2026-11-22.
type Command struct {
	Name        string // of the file; in a folder, folder:name
	Description string // of the front matter, or the first line
	Arguments   string // what it takes, of the front matter; may be empty
	Source      string // path of the file

	Model, Effort, Agent string   // that it asks for; empty: any
	Tools                []string // rules for the tools that it uses, as they were written
	Repository           bool     // it came with the workspace; the caller's to set

	// Rest: the last of $1 to $9 is all words that are left, as in OpenCode. The caller's to set.
	Rest bool
	// Dir is the folder of the skill that it is, absolute; empty: it is none.
	Dir string
	// Plugin is the plugin that brings it, and Variables are values of ${NAME} that the plugin has; the caller's to set.
	Plugin    string
	Variables map[string]string

	body  string
	names []string // of its arguments
	toml  bool     // the body has the marks of Gemini
}

// maxCommand bounds the file of a command, in bytes.
const maxCommand = 64 << 10

// ParseCommand reads the file of a command; name is relative to the folder of commands. An error does not name it.
func ParseCommand(name string, content []byte) (Command, error) {
	ext := path.Ext(name)
	c := Command{Name: strings.ReplaceAll(strings.TrimSuffix(name, ext), "/", ":"), Source: name, toml: ext == ".toml"}
	if len(content) > maxCommand {
		return c, fmt.Errorf("it is larger than %d KiB", maxCommand>>10)
	}
	if !commandName().MatchString(c.Name) {
		return c, errors.New("a command's name has letters, digits, - and _")
	}
	f, body, err := Front(nil), "", error(nil)
	if c.toml {
		f = Front{}
		if err = toml.Unmarshal(content, (*map[string]any)(&f)); err == nil {
			body, _ = f["prompt"].(string)
		}
	} else {
		f, body, err = CutFront(content)
	}
	if err != nil {
		return c, err
	}
	c.read(f, body)
	if c.body == "" {
		return c, errors.New("it is empty")
	}
	if c.Description == "" {
		c.Description, _, _ = strings.Cut(strings.TrimLeft(c.body, "# "), "\n")
	}
	return c, nil
}

// read takes what a front matter and the text after it say.
func (c *Command) read(f Front, body string) {
	c.Description, c.Arguments = f.Text("description"), f.Text("argument-hint")
	c.Model, c.Effort, c.Agent, c.Tools = f.Text("model"), f.Text("effort"), f.Text("agent"), f.Words("allowed-tools")
	if c.Model == "inherit" {
		c.Model = ""
	}
	c.names, c.body = f.Words("arguments"), strings.TrimSpace(body)
}

var (
	commandName  = lazy.Regexp(`^[\p{L}\p{N}_-]+(:[\p{L}\p{N}_-]+)*$`)
	argumentMark = lazy.Regexp(`\$ARGUMENTS\[(\d+)\]|\$([1-9])\b|\$\{?([A-Za-z_]\w*)\}?`)
	// commandMark is a command on a line, or a block of lines (code.claude.com/docs/en/skills, read 2026-11-22).
	commandMark = lazy.Regexp("(?m)!`([^`\n]+)`|^[ \t]*```![ \t]*\n((?s:.*?))\n[ \t]*```[ \t]*$")
	geminiMark  = lazy.Regexp(regexp.QuoteMeta(geminiArgs))
	geminiFile  = lazy.Regexp(`@\{([^{}\n]+)\}`)
)

const geminiArgs = "{{args}}"

// A Piece is a part of a prompt.
type Piece struct {
	Text string
	// Shell: Text is a shell command, in the place of which stands what it prints.
	Shell bool
}

// Pieces returns the prompt with arguments in place: $ARGUMENTS is all of them, $1 to $9 are words, in quotes if they
// have blanks. Without such a mark they follow the text. What arguments say is nowhere read as a mark, and in a shell
// command each of their words is one word. variables are the values of ${NAME}.
func (c Command) Pieces(arguments string, variables map[string]string) []Piece {
	g := given{all: strings.TrimSpace(arguments), words: split(arguments), variables: variables}
	for _, m := range argumentMark().FindAllStringSubmatch(c.body, -1) {
		if n, _ := strconv.Atoi(m[2]); c.Rest {
			g.last = max(g.last, n)
		}
	}
	var pieces []Piece
	for _, p := range c.pieces() {
		p.Text = c.fill(p, &g)
		pieces = append(pieces, p)
	}
	if !g.used && g.all != "" {
		pieces = append(pieces, Piece{Text: "\n\n" + g.all})
	}
	return pieces
}

// A given is what a command is called with.
type given struct {
	all       string
	words     []string
	last      int // of $1 to $9, which takes what is left; 0: each is one word
	variables map[string]string
	used      bool // a mark has stood for some of it
}

// word returns the nth word, from 1; "" if there is none.
func (g *given) word(n int) string {
	switch {
	case n < 1 || n > len(g.words):
		return ""
	case n == g.last:
		return strings.Join(g.words[n-1:], " ")
	}
	return g.words[n-1]
}

// fill returns the text of a piece with what is given in the place of its marks.
func (c Command) fill(p Piece, g *given) string {
	mark := argumentMark()
	if c.toml {
		mark = geminiMark()
	}
	return replaceSubmatches(mark, p.Text, func(before string, m []string, after string) string {
		var in shellPlace
		if p.Shell {
			in = placeBetween(before, after)
		}
		quote := in.quote
		if c.toml {
			g.used = true
			return quote(g.all)
		}
		index, digit, name := m[1], m[2], m[3]
		number, _ := strconv.Atoi(cmp.Or(digit, index))
		named := slices.Index(c.names, name)
		g.used = g.used || name == "" || name == "ARGUMENTS" || named >= 0
		switch {
		case index != "":
			return quote(g.word(number + 1))
		case digit != "":
			return quote(g.word(number))
		case name == "ARGUMENTS" && in.state == bare:
			var quoted []string
			for _, w := range g.words {
				quoted = append(quoted, quote(w))
			}
			return strings.Join(quoted, " ")
		case name == "ARGUMENTS":
			return quote(g.all)
		case named >= 0:
			return quote(g.word(named + 1))
		}
		for _, variables := range []map[string]string{g.variables, c.Variables} {
			if v, ok := variables[name]; ok && strings.HasPrefix(m[0], "${") {
				return v
			}
		}
		return m[0]
	})
}

// pieces cuts the body at its shell commands.
func (c Command) pieces() (all []Piece) {
	body := c.body
	if c.toml {
		body = geminiFile().ReplaceAllString(body, `@"$1"`)
		for {
			before, rest, ok := strings.Cut(body, "!{")
			end := braceEnd(rest)
			if !ok || end < 0 {
				return append(all, Piece{Text: body})
			}
			all = append(all, Piece{Text: before}, Piece{Text: rest[:end], Shell: true})
			body = rest[end+1:]
		}
	}
	at := 0
	for _, m := range commandMark().FindAllStringSubmatchIndex(body, -1) {
		command := body[max(m[2], m[4]):max(m[3], m[5])] // of the one that is there
		all = append(all, Piece{Text: body[at:m[0]]}, Piece{Text: command, Shell: true})
		at = m[1]
	}
	return append(all, Piece{Text: body[at:]})
}

// braceEnd returns where the brace is that closes one before s; -1: there is none.
func braceEnd(s string) int {
	depth := 1
	for i, c := range s {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// replaceSubmatches returns s with another text in the place of each match; with is told what of s is before it and after.
func replaceSubmatches(re *regexp.Regexp, s string, with func(before string, m []string, after string) string) string {
	var b strings.Builder
	at := 0
	for _, i := range re.FindAllStringIndex(s, -1) {
		b.WriteString(s[at:i[0]])
		b.WriteString(with(s[:i[0]], re.FindStringSubmatch(s[i[0]:i[1]]), s[i[1]:]))
		at = i[1]
	}
	return b.String() + s[at:]
}

// Takes returns what the command takes, as its front matter or else its text says; empty: nothing.
func (c Command) Takes() string {
	switch {
	case c.Arguments != "":
		return c.Arguments
	case c.toml && strings.Contains(c.body, geminiArgs):
		return geminiArgs
	case len(c.names) > 0:
		return strings.Join(c.names, " ")
	}
	for _, m := range argumentMark().FindAllStringSubmatch(c.body, -1) {
		if m[3] == "" || m[3] == "ARGUMENTS" {
			return m[0]
		}
	}
	return ""
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
