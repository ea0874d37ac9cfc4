package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What a foreign flag is translated to is a command line that pawl understands.
func TestForeignFlagsAreTranslatedToFlagsThatExist(t *testing.T) {
	t.Parallel()
	root := (&invocation{Process: Process{Env: func(string) (string, bool) { return "", false }}}).root(nil)
	runs, _, err := root.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	runs.InheritedFlags()
	for name, f := range foreignFlags {
		if isOwnFlag(runs, name) {
			t.Errorf("pawl run has %s", name)
		}
		if f.ours == nil {
			if f.remark == "" {
				t.Errorf("%s is left out and nothing says why", name)
			}
			continue
		}
		values := []string{"x"}
		if f.values != nil && f.values().MatchString("read-only") {
			values = []string{"read-only", "workspace-write", "danger-full-access", "ses_1"}
		}
		for _, v := range values {
			for _, a := range f.ours(v) {
				if a != redirect && strings.HasPrefix(a, "-") && !isOwnFlag(runs, a) {
					t.Errorf("%s %s is translated to %s, which pawl run does not have", name, v, a)
				}
			}
		}
	}
	for name, verb := range foreignVerbs {
		if cmd, _, err := root.Find([]string{name}); err == nil && cmd != root {
			t.Errorf("%s is a command of pawl's", name)
		}
		if verb.ours == "" && verb.remark == "" {
			t.Errorf("nothing is said of %s", name)
		}
		if verb.ours != "" {
			if cmd, _, err := root.Find(strings.Fields(verb.ours)); err != nil || cmd == root {
				t.Errorf("%s is translated to %q, which is no command: %v", name, verb.ours, err)
			}
		}
	}
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
