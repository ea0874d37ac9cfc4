package manual

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/cli/command"
	"pawl/cli/commandline"
)

// HelpWidth is the width of help in columns.
const HelpWidth = 80

// The groups of commands in help, in this order.
var (
	CommandGroups = []*cobra.Group{
		{ID: "work", Title: "Work"},
		{ID: "settings", Title: "Settings"},
		{ID: "other", Title: "Other commands"},
	}
	TaskGroups = []*cobra.Group{
		{ID: "look", Title: "Look at tasks"},
		{ID: "work", Title: "Plan and carry out"},
		{ID: "change", Title: "Stop, continue and remove"},
		{ID: "copy", Title: "Copies of the repository"},
	}
	RunsGroups = []*cobra.Group{
		{ID: "look", Title: "Look at runs"},
		{ID: "change", Title: "Continue and change runs"},
		{ID: "repair", Title: "Repair"},
	}
)

// manyFlags is how many flags help lists without groups.
const manyFlags = 15

// flagGroups are the groups of the flags of commands with many. A flag in none of them is
// listed before them.
var flagGroups = []struct{ title, flags string }{
	{"Model", "model effort fallback-model control window append-system-prompt idle-timeout retry reminder-timeout wait-for-limit cache"},
	{"Permissions", "mode judge-model allow ask deny network on-ask pass-env add-dir mcp-config trust"},
	{"Limits of a turn", "max-steps max-calls max-tokens max-cost timeout parallel min-memory command-memory min-disk"},
	{"Context and storage", "compact-at inline inline-asked memory nudge outputs-max-age outputs-max-size runs-max-age"},
	{"Display", "screen-reader"},
}

// Write writes the help of a command. It replaces cobra's: that neither wraps lines nor
// says of a flag what its value is without repeating it, and its templates make the
// program larger.
func Write(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "%s\nUsage:\n%s", Fill(aboutOf(cmd), "", HelpWidth), Fill(Synopsis(cmd), "  ", HelpWidth))
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	if cmd.HasAvailableSubCommands() {
		writeCommands(w, cmd)
	}
	writeFlags(w, FlagsOf(cmd))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n\"%s COMMAND --help\" says more about a command.\n", cmd.CommandPath())
	}
}

// aboutOf returns the description of a command.
func aboutOf(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

// Synopsis returns the form of a command line. The flags of the root are those of all commands.
func Synopsis(cmd *cobra.Command) string {
	_, rest, _ := strings.Cut(cmd.Use, " ")
	path := strings.TrimPrefix(cmd.CommandPath(), "pawl")
	line := "pawl [-C DIR]" + path
	switch {
	case cmd.HasAvailableSubCommands() && cmd.Runnable():
		line += " [COMMAND]"
	case cmd.HasAvailableSubCommands():
		line += " COMMAND"
	}
	if rest != "" {
		line += " " + rest
	}
	if len(FlagsOf(cmd)) > 0 && !strings.Contains(rest, "[flags]") {
		line += " [flags]"
	}
	return line + "\n"
}

func Command(inv *command.Invocation) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND…]",
		Short:   "Show the help of a command",
		Example: "  pawl help run\n  pawl help runs decide",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			if of, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range of.Commands() {
					if c.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return command.StartingWith(names, typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args) // err: the root has no such command
			if len(rest) > 0 || err != nil {
				if len(rest) == 0 {
					rest = args
				}
				if of != cmd.Root() {
					return commandline.UnknownCommand(of, rest)
				}
				said := fmt.Sprintf("unknown command %s; see pawl --help", command.Quoted(rest[0]))
				if r := commandline.ReadAsCommand(of, rest, rest); r != nil && len(r.Lines) > 0 && !r.Guess {
					said = fmt.Sprintf("unknown command %s. Did you mean:", command.Quoted(rest[0]))
					for _, line := range r.Lines {
						if c, _, err := of.Find(strings.Fields(line)); err == nil {
							said += "\n  pawl help" + strings.TrimPrefix(c.CommandPath(), "pawl")
						}
					}
				}
				return command.Usage("%s\nAs a task: pawl run %s", said, command.ShellWord("help "+strings.Join(args, " ")))
			}
			Write(inv.Stdout, of)
			return nil
		},
	}
}

// An Entry is a line of a list in help: a command or a flag.
type Entry struct {
	Name, Text string
	Flag       string // the name of the flag alone; "": a command
}

// writeCommands lists the subcommands of a command by their groups.
func writeCommands(w io.Writer, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands"}}
	}
	for _, g := range groups {
		var terms []Entry
		for _, c := range cmd.Commands() {
			if (c.IsAvailableCommand() || c.Name() == "help") && c.GroupID == g.ID {
				terms = append(terms, Entry{Name: "  " + c.Name(), Text: c.Short})
			}
		}
		fmt.Fprintf(w, "\n%s:\n", g.Title)
		WriteTerms(w, terms)
	}
}

// FlagsOf returns the flags of a command, without those of all commands unless it is the
// root, and without --help, which each has.
func FlagsOf(cmd *cobra.Command) []Entry {
	var terms []Entry
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || cmd.HasParent() && cmd.InheritedFlags().Lookup(f.Name) != nil {
			return
		}
		name := "      --" + f.Name
		if f.Shorthand != "" {
			name = "  -" + f.Shorthand + ", --" + f.Name
		}
		value, text := command.FlagWords(f)
		if value != "" {
			name += " " + value
		}
		terms = append(terms, Entry{name, text, f.Name})
	})
	return terms
}

// writeFlags lists flags, those of commands with many by their groups.
func writeFlags(w io.Writer, flags []Entry) {
	write := func(title string, flags []Entry) {
		if len(flags) > 0 {
			fmt.Fprintf(w, "\n%s:\n", title)
			WriteTerms(w, flags)
		}
	}
	groups := make([][]Entry, len(flagGroups))
	var others []Entry
	for _, f := range flags {
		g := slices.IndexFunc(flagGroups, func(g struct{ title, flags string }) bool {
			return slices.Contains(strings.Fields(g.flags), f.Flag)
		})
		if g < 0 || len(flags) <= manyFlags {
			others = append(others, f)
		} else {
			groups[g] = append(groups[g], f)
		}
	}
	write("Flags", others)
	for i, g := range groups {
		write(flagGroups[i].title, g)
	}
}

// WriteTerms writes a list, the texts in one column.
func WriteTerms(w io.Writer, terms []Entry) {
	const widest = 28 // a longer name has its text on the next line
	column := 0
	for _, t := range terms {
		if n := utf8.RuneCountInString(t.Name) + 2; n <= widest {
			column = max(column, n)
		}
	}
	if column == 0 { // all names are longer
		column = widest
	}
	for _, t := range terms {
		indent := strings.Repeat(" ", column)
		entry := Fill(t.Text, indent, HelpWidth)
		if n := utf8.RuneCountInString(t.Name); n+2 <= column {
			entry = t.Name + strings.Repeat(" ", column-n) + strings.TrimPrefix(entry, indent)
		} else {
			entry = t.Name + "\n" + entry
		}
		fmt.Fprint(w, entry)
	}
}

// Fill breaks the paragraphs of a text into lines of at most width columns that begin with
// indent. Lines that begin with a blank stay as they are.
func Fill(text, indent string, width int) string {
	var b strings.Builder
	line := ""
	end := func() {
		if line != "" {
			b.WriteString(indent + line + "\n")
			line = ""
		}
	}
	for given := range strings.Lines(text) {
		given = strings.TrimRightFunc(given, unicode.IsSpace)
		if given == "" || given[0] == ' ' {
			end()
			b.WriteString(given + "\n")
			continue
		}
		for word := range strings.FieldsSeq(given) {
			if line != "" && utf8.RuneCountInString(indent+line+" "+word) > width {
				end()
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
	}
	end()
	return b.String()
}
