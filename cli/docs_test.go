package cli

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"pawl/agent"
	"pawl/cli/command"
	"pawl/cli/manual"
	"pawl/config"
	"pawl/internal/golden"
	"pawl/llm/script"
	"pawl/permission"
)

// generated is the line of a page of docs after which a test writes it.
const generated = "<!-- What follows is written by UPDATE=1 go test ./cli -run Page -->\n"

// comparePage compares the generated part of a page with what it has to be.
func comparePage(t *testing.T, name, want string) {
	t.Helper()
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(page), generated)
	if !ok {
		t.Fatalf("%s has no line %s", name, generated)
	}
	golden.File(t, name, []byte(before+generated+want))
}

func TestThePageOfSettingsHasEverySetting(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, k := range config.Keys() {
		flag := "`--" + k.Flag() + "`"
		if k.Short != "" {
			flag = "`-" + k.Short + "`, " + flag
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n%s · `%s` · ", k.Name, flag, k.Env())
		switch {
		case k.List:
			b.WriteString("a list")
		case k.Default != "":
			fmt.Fprintf(&b, "default `%s`", k.Default)
		default:
			b.WriteString("no default")
		}
		text := strings.TrimSuffix(k.Help, "; repeatable")
		fmt.Fprintf(&b, "\n\n%s", manual.Fill(strings.ToUpper(text[:1])+text[1:]+".", "", 100))
	}
	comparePage(t, "../docs/settings.md", b.String())
}

func TestThePageOfCommandsHasEveryCommandAndFlag(t *testing.T) {
	t.Parallel()
	var settings []string
	for _, k := range config.Keys() {
		settings = append(settings, k.Flag())
	}
	var b strings.Builder
	everyCommand(t, func(c *cobra.Command) {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n```\n%s", c.CommandPath(), manual.Fill(c.Short+".", "", 100), manual.Fill(manual.Synopsis(c), "", 100))
		var flags []manual.Entry
		all := true
		for _, f := range manual.FlagsOf(c) {
			all = all && c.Flags().Lookup("max-steps") != nil
			if !all || !strings.Contains(" "+strings.Join(settings, " ")+" ", " "+f.Flag+" ") {
				flags = append(flags, f)
			}
		}
		if len(flags) > 0 {
			b.WriteString("\n")
			manual.WriteTerms(&b, flags)
		}
		b.WriteString("```\n")
		if c.Flags().Lookup("max-steps") != nil {
			b.WriteString("\nIt also has the flags of all settings ([settings.md](settings.md)).\n")
		}
	})
	comparePage(t, "../docs/commands.md", b.String())
}

// Each file of examples is one that pawl reads.
func TestTheExamplesAreRead(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.CopyFS(home+"/pawl", os.DirFS("../examples")); err != nil {
		t.Fatal(err)
	}
	env := config.Env(func(name string) (string, bool) {
		if name == "XDG_CONFIG_HOME" {
			return home, true
		}
		return "", false
	})
	c, err := config.Load(config.Sources{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	set := 0
	c.All(func(_ config.Key, values []config.Value) {
		if len(values) > 0 && strings.HasPrefix(values[0].Source, config.FromUser) {
			set++
		}
	})
	if set < 5 {
		t.Errorf("config.toml sets %d settings", set)
	}
	for _, effect := range []string{"allow", "ask", "deny"} {
		for _, v := range c.Values(effect) {
			if _, err := permission.ParseRule(v.Text); err != nil {
				t.Error(err)
			}
		}
	}
	rules, err := os.ReadFile("../examples/permissions.json")
	if err != nil {
		t.Fatal(err)
	}
	if loaded, err := permission.Load(bytes.NewReader(rules), permission.ForUser, "permissions.json"); err != nil || len(loaded) < 3 {
		t.Errorf("permissions.json: %d rules, %v", len(loaded), err)
	}
	replies, err := os.Open("../examples/script.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer replies.Close()
	if s, err := script.Parse(replies); err != nil || len(s) < 2 {
		t.Errorf("script.jsonl: %d replies, %v", len(s), err)
	}
	agents, err := os.ReadDir("../examples/agents")
	if err != nil || len(agents) == 0 {
		t.Fatal(err)
	}
	for _, file := range agents {
		content, err := os.ReadFile("../examples/agents/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Parse(file.Name(), content, nil); err != nil {
			t.Errorf("agents/%s: %v", file.Name(), err)
		}
	}
}

// namedCommand finds the commands that a text advises: in backquotes, or on a line of their own.
var namedCommand = regexp.MustCompile("(?m)(?:`|^ +)pawl ([^`\n]*)")

// What an error, a hint or a help text tells a person to type is a command that exists, with flags that it has.
func TestEveryCommandThatATextNamesExists(t *testing.T) {
	t.Parallel()
	inv := &command.Invocation{Process: command.Process{Stdout: &bytes.Buffer{}, Env: func(string) (string, bool) { return "", false }}}
	root := root(inv, nil)
	word := regexp.MustCompile(`^[a-z][a-z-]*$`)
	n := 0
	check := func(file, line string) {
		n++
		c := root
		for _, w := range strings.Fields(line) {
			w = strings.TrimRight(w, `,;:.'"\)`)
			flag, isFlag := strings.CutPrefix(w, "--")
			flag, _, _ = strings.Cut(flag, "=")
			switch {
			case w == "&&", w == "|", w == ">", strings.ContainsAny(w, "\"'"):
				return
			case isFlag && word.MatchString(flag) && flag != "help" && c.Flag(flag) == nil:
				t.Errorf("%s names %s of %q, which does not exist: pawl %s", file, w, c.CommandPath(), line)
			case isFlag || !c.HasSubCommands() || !word.MatchString(w) || slices.Contains(c.ValidArgs, w):
			default:
				sub, _, err := c.Find([]string{w})
				if err != nil || sub == c {
					t.Errorf("%s names %q of %q, which does not exist: pawl %s", file, w, c.CommandPath(), line)
					return
				}
				c = sub
			}
		}
	}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(node ast.Node) bool {
			if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value) // it was parsed
				for _, m := range namedCommand.FindAllStringSubmatch(text, -1) {
					check(path, m[1])
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 100 {
		t.Errorf("only %d commands were found", n)
	}
}
