package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/cli/command"
	"pawl/cli/manual"
	"pawl/config"
)

// everyCommand calls visit with every command that help lists, and the root.
func everyCommand(t *testing.T, visit func(*cobra.Command)) {
	t.Helper()
	inv := &command.Invocation{Process: command.Process{Stdout: &bytes.Buffer{}, Env: func(string) (string, bool) { return "", false }}}
	n := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		n++
		visit(c)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	root := root(inv, nil)
	completes(inv, root)
	walk(root)
	if n < 40 {
		t.Fatalf("only %d commands", n)
	}
}

func TestHelpFitsEightyColumnsAndSaysEachThingOnce(t *testing.T) {
	t.Parallel()
	everyCommand(t, func(c *cobra.Command) {
		var b strings.Builder
		manual.Write(&b, c)
		flags := false // the list of flags has begun
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > manual.HelpWidth {
				t.Errorf("%s --help has a line of %d columns: %s", c.CommandPath(), n, line)
			}
			if flags && strings.TrimSpace(line) != "" && line[0] != ' ' && !strings.HasSuffix(line, ":\n") && line[0] != '"' {
				t.Errorf("%s --help has a text outside of its column: %s", c.CommandPath(), line)
			}
			flags = flags || strings.HasSuffix(line, "lags:\n")
		}
		if got, want := strings.Count(b.String(), "--dir"), map[bool]int{true: 0, false: 1}[c.HasParent()]; got != want {
			t.Errorf("%s --help has the flag of all commands %d times, want %d", c.CommandPath(), got, want)
		}
		if strings.HasSuffix(c.Short, ".") || c.Short == "" {
			t.Errorf("%s: %q is not a line without a full stop", c.CommandPath(), c.Short)
		}
		if c.HasParent() && len(c.Parent().Groups()) > 0 && c.GroupID == "" {
			t.Errorf("%s is in no group, so help does not list it", c.CommandPath())
		}
		for _, f := range manual.FlagsOf(c) {
			_, value, _ := strings.Cut(strings.TrimSpace(f.Name), " --")
			_, value, ok := strings.Cut(value, " ")
			if ok && strings.HasPrefix(strings.ToUpper(f.Text), value+":") || strings.HasPrefix(f.Text, "(") || f.Text == "" {
				t.Errorf("%s: %s  %s", c.CommandPath(), f.Name, f.Text)
			}
		}
	})
}

func TestEveryCommandHasAManualPageWithItsFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var stderr bytes.Buffer
	if code := Main([]string{"man", dir}, command.Process{Stdout: &bytes.Buffer{}, Stderr: &stderr, Env: func(string) (string, bool) { return "", false }}); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	var want []string
	everyCommand(t, func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		want = append(want, name)
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			return
		}
		text := strings.ReplaceAll(string(page), `\-`, "-")
		for _, part := range []string{".TH ", ".SH NAME\n" + strings.TrimSuffix(name, ".1") + " - ", ".SH SYNOPSIS\npawl ", ".SH DESCRIPTION\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q", name, part)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if (!c.HasParent() || c.InheritedFlags().Lookup(f.Name) == nil) && f.Name != "help" && !regexp.MustCompile(`(?m)^\.B .*--`+f.Name+`( |$)`).MatchString(text) {
				t.Errorf("%s does not have --%s", name, f.Name)
			}
		})
		for line := range strings.Lines(text) {
			if regexp.MustCompile(`^[.'][^A-Zfn]`).MatchString(line) {
				t.Errorf("%s has a line that roff takes for a request: %s", name, line)
			}
		}
	})
	files, err := filepath.Glob(dir + "/*.1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("pages (-want +got)\n%s", diff)
	}
}

func TestTheFlagsOfACommandWithManyAreListedInGroups(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	var listed []string
	everyCommand(t, func(c *cobra.Command) {
		if c.CommandPath() == "pawl run" {
			manual.Write(&b, c)
			for _, f := range manual.FlagsOf(c) {
				listed = append(listed, f.Flag)
			}
		}
	})
	_, flags, _ := strings.Cut(b.String(), "\nFlags:\n")
	var titles []string
	for _, m := range regexp.MustCompile(`(?m)^([A-Z][a-z ]+):$`).FindAllStringSubmatch(flags, -1) {
		titles = append(titles, m[1])
	}
	if diff := cmp.Diff([]string{"Model", "Permissions", "Limits of a turn", "Context and storage", "Display"}, titles); diff != "" {
		t.Errorf("groups (-want +got)\n%s", diff)
	}
	for _, name := range listed {
		if n := len(regexp.MustCompile(`(?m)^ +(-., )?--`+name+`( |$)`).FindAllString(flags, -1)); n != 1 {
			t.Errorf("--%s is listed %d times", name, n)
		}
	}
	ungrouped, _, _ := strings.Cut(flags, "\nModel:\n")
	for _, k := range config.Keys() {
		if strings.Contains(ungrouped, "--"+k.Flag()+" ") {
			t.Errorf("the setting --%s is in no group", k.Flag())
		}
	}
}

// What help lists as the values of a flag is what the shell completes.
func TestValuesOfFlagsAreCompleted(t *testing.T) {
	t.Parallel()
	listed := regexp.MustCompile(`: ((?:[a-z_-]+, )+[a-z_-]+)( \(default.*\))?$`)
	lists := 0
	everyCommand(t, func(c *cobra.Command) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" || f.Name == "help" {
				return
			}
			complete, ok := c.GetFlagCompletionFunc(f.Name)
			_, text := command.FlagWords(f)
			m := listed.FindStringSubmatch(text)
			if !ok {
				if m != nil || !slices.Contains([]string{"file", "rules", "output-schema", "image"}, f.Name) {
					t.Errorf("%s --%s is not completed", c.CommandPath(), f.Name)
				}
				return
			}
			if m == nil {
				return
			}
			lists++
			got, _ := complete(c, nil, "")
			if diff := cmp.Diff(strings.Split(m[1], ", "), got); diff != "" {
				t.Errorf("%s --%s: help and completion differ (-help +completion)\n%s", c.CommandPath(), f.Name, diff)
			}
		})
		if c.Runnable() && !c.HasSubCommands() && c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && !strings.Contains(c.Use, "FILE") {
			t.Errorf("the arguments of %s are not completed", c.CommandPath())
		}
	})
	if lists < 15 {
		t.Errorf("only %d flags list their values", lists)
	}
}

func TestTextIsFilledAndExamplesStay(t *testing.T) {
	t.Parallel()
	got := manual.Fill("one two three\nfour\n\n  as it is,  however long\nfive", "> ", 9)
	if want := "> one two\n> three\n> four\n\n  as it is,  however long\n> five\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A command line that names a command builds that one, and not the flags of all others.
func TestOnlyTheCommandsThatACommandLineNeedsAreBuilt(t *testing.T) {
	t.Parallel()
	built := func(args ...string) string {
		inv := &command.Invocation{Process: command.Process{Env: func(string) (string, bool) { return "", false }}}
		var names []string
		for _, c := range root(inv, args).Commands() {
			names = append(names, c.Name())
		}
		return strings.Join(names, " ")
	}
	all := built()
	for _, c := range topCommands() {
		if got := c.build(&command.Invocation{}).Name(); got != c.name {
			t.Errorf("%s is listed as %s", got, c.name)
		}
		if !slices.Contains(strings.Fields(all), c.name) {
			t.Errorf("pawl alone does not build %s", c.name)
		}
	}
	for line, want := range map[string]string{
		"version": "help version", "doctor --json": "doctor help", "run -p x": "help run runs", "runs show last": "help run runs", "task list": "help run task",
		"-C / version": all, "help version": all, "man dir": all, "completion bash": all, "__complete ver": all, "repair the test": all, "-p x": all, "versoin": all,
	} {
		if got := built(strings.Fields(line)...); got != want {
			t.Errorf("pawl %s builds %s, want %s", line, got, want)
		}
	}
}

// What a command says about itself does not depend on what else was built.
func TestHelpOfACommandIsTheSameWhenItWasBuiltAlone(t *testing.T) {
	t.Parallel()
	for _, c := range topCommands() {
		var alone, beside bytes.Buffer
		for args, out := range map[string]*bytes.Buffer{c.name + " --help": &alone, "--dir=. " + c.name + " --help": &beside} {
			p := command.Process{Stdout: out, Stderr: out, Env: func(string) (string, bool) { return "", false }}
			if code := Main(strings.Fields(args), p); code != 0 {
				t.Errorf("pawl %s: exit code %d", args, code)
			}
		}
		if diff := cmp.Diff(beside.String(), alone.String()); diff != "" {
			t.Errorf("help of %s when all commands were built, and alone (+):\n%s", c.name, diff)
		}
	}
}
