package cli

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/cli/command"
	"pawl/cli/commandline"
)

// Each line of foreign.txt is for a command that exists, and says a command line that pawl has.
func TestWhatOtherProgramsHaveIsTranslatedToWhatPawlHas(t *testing.T) {
	t.Parallel()
	root := root((&command.Invocation{Process: command.Process{Env: func(string) (string, bool) { return "", false }}}), nil)
	commands := map[string]*cobra.Command{"pawl": root, "any": nil, "words": nil, "synonyms": nil, "nouns": nil}
	everyCommand(t, func(c *cobra.Command) { commands[strings.TrimPrefix(c.CommandPath(), "pawl ")] = c })
	for section, entries := range commandline.Foreign() {
		cmd, ok := commands[section]
		if !ok {
			t.Errorf("[%s] is no command", section)
			continue
		}
		for _, e := range entries {
			line := "[" + section + "] " + strings.Join(e.Names, "|")
			if e.Ours == "" && e.Remark == "" {
				t.Errorf("%s: nothing is said", line)
			}
			for _, name := range e.Names {
				flag := strings.HasPrefix(name, "-")
				switch {
				case section == "synonyms":
				case section == "nouns" || flag && cmd == nil:
				case flag && cmd.HasSubCommands() && cmd.HasParent():
				case flag:
					enumerated := len(e.Form) > 0 && e.Form[0][0] != '{'
					if commandline.IsOwnFlag(cmd, name) && !enumerated {
						t.Errorf("%s: pawl %s has %s", line, section, name)
					}
					if !e.Fits(cmd) {
						t.Errorf("%s: pawl %s does not have the flags of %q", line, section, e.Ours)
					}
				case cmd != nil && cmd.HasSubCommands():
					if slices.Contains(command.CommandNames(cmd), name) && len(e.Form) == 0 {
						t.Errorf("%s: %s is a command of pawl %s", line, name, section)
					}
				}
			}
			switch {
			case section == "synonyms":
				for _, name := range strings.Fields(e.Ours) {
					if !slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return slices.Contains(command.CommandNames(c), name) }) {
						t.Errorf("%s: %s is no subcommand", line, name)
					}
				}
			case strings.HasPrefix(e.Names[0], "-") || e.Ours == "":
			default:
				target, _, err := root.Find(strings.Fields(e.Ours))
				if err != nil || target == root && !strings.HasPrefix(e.Ours, "-") || !e.Fits(target) {
					t.Errorf("%s: %q is no command line of pawl's (%v)", line, e.Ours, err)
				}
			}
		}
	}
}

// Each line of testdata/mistyped.txt is a command line as somebody typed it who knows other
// programs, or mistyped it, with what comes of it: "task" if it is a task for the model, or the
// exit code and what standard output or the error says.
func TestWhatPeopleTypeIsATaskOrSaysWhatToType(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/mistyped.txt")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	env := func(name string) (string, bool) {
		switch name {
		case "HOME", "PAWL_STATE_DIR":
			return home, true
		}
		return "", false
	}
	n := 0
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		typed, want, ok := strings.Cut(line, " => ")
		if !ok {
			t.Errorf("%s: nothing is expected", line)
			continue
		}
		n++
		args := shellFields(t, typed)[1:]
		if want == "task" {
			got, err := commandline.Read(root((&command.Invocation{Process: command.Process{Env: env}}), args), args)
			if err != nil || len(got) == 0 || got[0] != "run" {
				t.Errorf("%s\n is no task: %v, %v", typed, got, err)
			}
			continue
		}
		var out bytes.Buffer
		code := Main(args, command.Process{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Env: env, Signals: make(chan os.Signal), Exit: func(int) {}})
		for said := range strings.Lines(out.String()) {
			if offered, ok := strings.CutPrefix(strings.TrimSpace(said), "pawl "); ok && strings.HasPrefix(said, "  pawl ") && !strings.Contains(out.String(), "begins with a dash") {
				if err := accepts(t, offered); err != nil {
					t.Errorf("%s\n offers pawl %s: %v", typed, offered, err)
				}
			}
		}
		wantCode, phrase, _ := strings.Cut(want, " ")
		if line, ok := strings.CutSuffix(phrase, "$"); ok { // to the end of the line
			phrase = line + "\n"
		}
		if strconv.Itoa(code) != wantCode || !strings.Contains(out.String()+"\n", phrase) {
			t.Errorf("%s\n want exit code %s and %q, got %d and\n%s", typed, wantCode, phrase, code, &out)
		}
	}
	if n < 1000 {
		t.Errorf("only %d command lines", n)
	}
}

// accepts returns the error that pawl has for a command line of its own, before it does anything.
func accepts(t *testing.T, line string) error {
	if strings.Contains(line, "$(") {
		return nil // a shell's
	}
	for _, sign := range []string{" > ", " < ", " | "} {
		line, _, _ = strings.Cut(line, sign)
	}
	inv := &command.Invocation{Args: shellFields(t, line)}
	args, err := commandline.Read(root(inv, inv.Args), inv.Args)
	if err != nil {
		return err
	}
	inv.Args = args
	cmd, rest, err := root(inv, args).Find(args)
	if err != nil {
		return err
	}
	switch err := cmd.ParseFlags(rest); {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	case err != nil:
		return cmd.FlagErrorFunc()(cmd, err)
	case cmd.Flags().NArg() == 0:
		return nil // what was typed names nothing
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// shellFields cuts a command line as a shell does: blanks, and both kinds of quotes.
func shellFields(t *testing.T, line string) []string {
	t.Helper()
	var fields []string
	word, quote, open := "", rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ':
			if open || word != "" {
				fields = append(fields, word)
			}
			word, open = "", false
		default:
			word += string(r)
		}
	}
	if quote != 0 {
		t.Fatalf("%s: a quote is open", line)
	}
	if open || word != "" {
		fields = append(fields, word)
	}
	return fields
}

// docs/coming-from.md names no flag and no command that pawl does not have.
func TestTheGuideForOtherAgentsNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]bool{"-p": true, "--continue": true}
	commands := map[string]bool{}
	everyCommand(t, func(c *cobra.Command) {
		commands[c.CommandPath()] = true
		c.Flags().VisitAll(func(f *pflag.Flag) {
			flags["--"+f.Name], flags["-"+f.Shorthand] = true, true
		})
	})
	code := regexp.MustCompile("`[^`]+`")
	flag := regexp.MustCompile(`(?:^|\s)(--?[a-zA-Z][a-z-]*)`)
	command := regexp.MustCompile(`pawl ((?:runs|permissions|outputs) [a-z]+|[a-z]+)`)
	found := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "/"), "|")
		if len(cells) != 4 || !strings.Contains(cells[2], "`") {
			continue
		}
		for _, said := range code.FindAllString(cells[2], -1) {
			said = strings.Trim(said, "`")
			if strings.HasPrefix(said, "git ") {
				continue
			}
			for _, m := range flag.FindAllStringSubmatch(said, -1) {
				found++
				if !flags[m[1]] {
					t.Errorf("%s: there is no flag %s", strings.TrimSpace(line), m[1])
				}
			}
			for _, m := range command.FindAllStringSubmatch(said, -1) {
				if m[1] != "words" && !commands["pawl "+m[1]] {
					t.Errorf("%s: there is no command %s", strings.TrimSpace(line), m[1])
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d flags were found", found)
	}
}
