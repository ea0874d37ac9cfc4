package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/config"
	"pawl/internal/lazy"
	"pawl/internal/stable"
	"pawl/internal/text"
)

// commandLine returns the command line that args stand for, before flags are parsed:
//
//   - words that name no command are a task for pawl run, as pawl "fix the bug" and
//     pawl -p "fix the bug";
//   - -p in front of another flag, as in claude -p --model opus "fix the bug", and
//     --print mean what pawl run does anyway, and are dropped;
//   - -V is --version.
//
// What cannot be told from a mistyped command is an error with both readings.
func commandLine(root *cobra.Command, args []string) ([]string, error) {
	runs, _, err := root.Find([]string{"run"})
	// Without run, root was made for a command that does not need it: args name that.
	if err != nil || runs == root || len(args) == 0 || strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return args, nil
	}
	runs.InheritedFlags() // cobra adds the flags of the root to those of run
	words := wordsOf(args, runs.Flags())
	if len(words) > 0 {
		if cmd, _, err := root.Find(words); err == nil && cmd != root {
			if cmd.Flags().Lookup("prompt") != nil {
				return withoutPrint(args), nil
			}
			return args, nil
		}
	}
	task := append([]string{"run"}, withoutPrint(args)...)
	switch {
	case slices.ContainsFunc(args[:flagsEnd(args)], isPrint):
		return task, nil
	case len(words) == 0:
		if args[0] == "-V" {
			args = append([]string{"--version"}, args[1:]...)
		}
		return withResumed(args), nil
	case words[0] == "-" || strings.ContainsAny(words[0], " \t\n"):
		return task, nil
	}
	if err := foreignCommand(root, args, words); err != nil {
		return nil, err
	}
	if len(words) == 1 || likeCommand(root, words) {
		return nil, unknownCommand(root, words)
	}
	return task, nil
}

// withResumed joins --resume with the run that follows it: the terminal agent takes it without
// one too, and then lets the person choose.
func withResumed(args []string) []string {
	for i, a := range args[:max(0, flagsEnd(args)-1)] {
		if (a == "--resume" || a == "-r") && !flagForm().MatchString(args[i+1]) {
			joined := append(slices.Clone(args[:i]), "--resume="+args[i+1])
			return append(joined, args[i+2:]...)
		}
	}
	return args
}

// wordsOf returns the arguments that are neither flags nor the values of flags. Flags that
// are not known have no value.
func wordsOf(args []string, flags *pflag.FlagSet) []string {
	var words []string
	end := flagsEnd(args)
	for i := 0; i < end; i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' {
			words = append(words, a)
			continue
		}
		var f *pflag.Flag
		switch {
		case strings.HasPrefix(a, "--"):
			if !strings.Contains(a, "=") {
				f = flags.Lookup(a[2:])
			}
		case a[1] < 0x80 && len(a) == 2: // -Cdir has its value
			f = flags.ShorthandLookup(a[1:])
		}
		if f != nil && f.NoOptDefVal == "" && !(isPrint(a) && i+1 < end && flagForm().MatchString(args[i+1])) {
			i++
		}
	}
	if end < len(args) {
		words = append(words, args[end+1:]...)
	}
	return words
}

// flagsEnd returns the index of the argument --, after which there are no flags.
func flagsEnd(args []string) int {
	if i := slices.Index(args, "--"); i >= 0 {
		return i
	}
	return len(args)
}

// flagForm is the form of a flag. A task that begins with a hyphen has a blank, or is given
// with -p=….
var flagForm = lazy.Regexp(`^--?[A-Za-z][A-Za-z0-9-]*(=.*)?$`)

// isPrint reports whether a is a flag by which another agent's command line, or this one,
// says that it is to work without a terminal.
func isPrint(a string) bool {
	return a == "-p" || a == "--prompt" || a == "--print" || strings.HasPrefix(a, "-p=") || strings.HasPrefix(a, "--prompt=")
}

// withoutPrint drops --print, and -p where no task follows it.
func withoutPrint(args []string) []string {
	var kept []string
	end := flagsEnd(args)
	for i, a := range args[:end] {
		if a == "--print" || (a == "-p" || a == "--prompt") && (i+1 == len(args) || i+1 == end || flagForm().MatchString(args[i+1])) {
			continue
		}
		kept = append(kept, a)
	}
	return append(kept, args[end:]...)
}

// likeCommand reports whether words that name no command look like a mistyped one: the
// first is one letter off or the beginning of a command, or the second is a subcommand.
func likeCommand(root *cobra.Command, words []string) bool {
	for _, c := range root.Commands() {
		name := c.Name()
		if text.Distance(words[0], name) <= 1 || len(words[0]) >= 3 && strings.HasPrefix(name, words[0]) {
			return true
		}
		if len(words) <= 3 && slices.Contains(commandNames(c), words[1]) {
			return true
		}
	}
	return false
}

// synonyms are names that other tools have for subcommands.
var synonyms = map[string][]string{
	"approve": {"decide"}, "allow": {"decide", "add"}, "abort": {"stop", "fail"}, "cancel": {"stop", "fail"}, "cat": {"show"}, "check": {"verify"}, "clean": {"prune"}, "continue": {"resume"},
	"create": {"add"}, "del": {"rm"}, "delete": {"rm"}, "events": {"log"}, "get": {"show"}, "history": {"log", "show"}, "interrupt": {"stop"}, "kill": {"stop"}, "logs": {"log"},
	"ls": {"list"}, "new": {"add"}, "remove": {"rm"}, "restore": {"undo"}, "revert": {"undo"}, "rollback": {"undo"}, "status": {"why"}, "transcript": {"show"},
	"view": {"show"}, "validate": {"test", "verify"},
}

// unknownCommand is the error for a word that names no subcommand of cmd.
func unknownCommand(cmd *cobra.Command, words []string) error {
	names := commandNames(cmd)
	near := text.Typo(words[0], names)
	for _, name := range synonyms[words[0]] {
		if slices.Contains(names, name) {
			near = name
			break
		}
	}
	said := fmt.Sprintf("unknown command %q", words[0])
	if cmd.HasParent() {
		said += " of " + cmd.CommandPath()
	}
	if near != "" {
		said += fmt.Sprintf(". Did you mean %q?", near)
	} else {
		said += "."
	}
	said += fmt.Sprintf(" See %s --help", cmd.CommandPath())
	if !cmd.HasParent() && len(words) > 1 {
		said += fmt.Sprintf("; as a task: pawl run %s", shellWord(strings.Join(words, " ")))
	}
	return usage("%s", said)
}

// checkArguments makes the errors of cobra about the arguments of a command, and of those
// below it, say what would be right.
func checkArguments(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		checkArguments(c)
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || errors.As(err, new(*config.Error)) {
			return err
		}
		said := err.Error()
		switch {
		case strings.HasPrefix(said, "unknown command"): // cobra.NoArgs
			said = fmt.Sprintf("%s takes no arguments, got %s", cmd.CommandPath(), shellLine(args))
		case strings.HasPrefix(said, "accepts "): // cobra.MaximumNArgs and the like
			said = cmd.CommandPath() + " " + said
		}
		said += "; see " + cmd.CommandPath() + " --help"
		if task := append(strings.Fields(cmd.CommandPath())[1:], args...); cmd.Parent() == cmd.Root() && len(task) > 2 {
			said += "; as a task: pawl run " + shellWord(strings.Join(task, " "))
		}
		return usage("%s", said)
	}
}

// flagError says what is wrong with a flag, and what would be right.
func (inv *invocation) flagError(cmd *cobra.Command, err error) error {
	help := fmt.Sprintf("; see %s --help", cmd.CommandPath())
	switch e := err.(type) {
	case *pflag.NotExistError:
		name := "--" + e.GetSpecifiedName()
		if e.GetSpecifiedShortnames() != "" {
			name = "-" + e.GetSpecifiedName()
		}
		return inv.unknownFlag(cmd, name)
	case *pflag.ValueRequiredError:
		value, _ := flagWords(e.GetFlag())
		said := fmt.Sprintf("--%s needs a value, %s", e.GetFlag().Name, value)
		if choices := valuesOf(cmd, e.GetFlag()); len(choices) > 0 {
			said = fmt.Sprintf("--%s needs a value: %s", e.GetFlag().Name, strings.Join(choices, ", "))
		}
		if e.GetFlag().Name == "resume" {
			said += ": an id, a prefix of one, or last; pawl runs list lists them"
		}
		return usage("%s%s", said, help)
	case *pflag.InvalidValueError:
		return usage("invalid --%s %q: must be %s%s", e.GetFlag().Name, e.GetValue(), valueForm(e.GetFlag()), help)
	}
	return usage("%w%s", err, help)
}

// valueForm says what values a flag takes that is no text.
func valueForm(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "float64":
		return "a number"
	case "duration":
		return "a duration with its unit, such as 90s or 2h"
	}
	return "a whole number"
}

// unknownFlag is the error for a flag that cmd does not have.
func (inv *invocation) unknownFlag(cmd *cobra.Command, name string) error {
	if err := foreignFlagError(cmd, inv.args, name); err != nil {
		return err
	}
	said := fmt.Sprintf("unknown flag %s", name)
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	given := strings.TrimPrefix(name, "--")
	stable.Sort(names, func(x, y string) int { // two letters that are swapped are likelier than one too many
		return cmp.Compare(abs(len(x)-len(given)), abs(len(y)-len(given)))
	})
	if near := text.Typo(given, names); near != "" && given != name {
		return usage("%s. Did you mean --%s? See %s --help", said, near, cmd.CommandPath())
	}
	if !cmd.HasParent() { // flags of run without a task
		if runs, _, err := cmd.Find([]string{"run"}); err == nil {
			f := runs.Flags().Lookup(strings.TrimPrefix(name, "--"))
			if len(name) == 2 {
				f = runs.Flags().ShorthandLookup(name[1:])
			}
			if f != nil {
				return usage("%s is a flag of pawl run: %s", name, shellLine(append([]string{"pawl", "run"}, inv.args...)))
			}
		}
	}
	return usage("%s; see %s --help", said, cmd.CommandPath())
}

// shellLine quotes arguments for a command line that is shown to be copied.
func shellLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = shellWord(a)
	}
	return strings.Join(quoted, " ")
}

func abs(n int) int { return max(n, -n) }
