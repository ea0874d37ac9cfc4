package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pawl/cli/command"
)

// ManCommand writes the manual pages, for those who package pawl.
func ManCommand(inv *command.Invocation) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages into a folder",
		Long:    "Writes a manual page for each command, pawl.1, pawl-run.1 and so on, into a folder that exists.",
		Example: "  pawl man /usr/local/share/man/man1",
		Args:    command.Exactly("one folder", "man/man1"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
				return command.Usage("%s is not a folder; pawl help shows the help of a command", args[0])
			}
			var write func(*cobra.Command) error
			write = func(c *cobra.Command) error {
				name := strings.ReplaceAll(c.CommandPath(), " ", "-")
				if err := os.WriteFile(filepath.Join(args[0], name+".1"), []byte(manPage(c)), 0o644); err != nil {
					return err
				}
				for _, sub := range c.Commands() {
					if sub.IsAvailableCommand() {
						if err := write(sub); err != nil {
							return err
						}
					}
				}
				return nil
			}
			return write(cmd.Root())
		},
	}
}

// manPage returns the manual page of a command, in the man macros of roff (man(7)). It has no
// date, so that the same program has the same pages.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	line(`.TH "%s" 1 "" "pawl" "pawl manual"`, strings.ToUpper(name))
	line(".SH NAME\n%s \\- %s", roff(name), roff(cmd.Short))
	line(".SH SYNOPSIS\n%s", roff(strings.TrimSpace(Synopsis(cmd))))
	line(".SH DESCRIPTION")
	verbatim := false
	for text := range strings.SplitSeq(strings.TrimSpace(aboutOf(cmd)), "\n") {
		if indented := strings.HasPrefix(text, " "); indented != verbatim {
			verbatim = indented
			line(map[bool]string{true: ".nf", false: ".fi"}[indented])
		}
		if text == "" {
			text = ".PP"
			line("%s", text)
			continue
		}
		line("%s", roff(text))
	}
	if verbatim {
		line(".fi")
	}
	list := func(title string, terms []Entry) {
		if len(terms) > 0 {
			line(".SH %s", title)
		}
		for _, t := range terms {
			line(".TP\n.B %s\n%s", roff(strings.TrimSpace(t.Name)), roff(t.Text))
		}
	}
	list("OPTIONS", FlagsOf(cmd))
	var subs []Entry
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			subs = append(subs, Entry{Name: strings.ReplaceAll(c.CommandPath(), " ", "-") + "(1)", Text: c.Short})
		}
	}
	list("COMMANDS", subs)
	if cmd.HasExample() {
		line(".SH EXAMPLES\n.nf\n%s\n.fi", roff(strings.TrimRight(cmd.Example, "\n")))
	}
	if cmd.HasParent() {
		line(".SH SEE ALSO\n%s(1)", roff(strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-")))
	}
	return b.String()
}

// roff escapes text: a backslash and a hyphen mean something anywhere, a full stop and a
// quote at the beginning of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
