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
)

// commandLine returns the command line that args stand for, before flags are parsed:
//
//   - words that name no command are a task for pawl run, as pawl "fix the bug" and
//     pawl -p "fix the bug";
//   - -p in front of another flag, as in claude -p --model opus "fix the bug", and
//     --print mean what pawl run does anyway, and are dropped;
//   - -V is --version.
//
// What may be a mistyped command is an error with both readings: a run costs money.
func commandLine(root *cobra.Command, args []string) ([]string, error) {
	runs, _, err := root.Find([]string{"run"})
	// Without run, root was made for a command that does not need it: args name that.
	if err != nil || runs == root || len(args) == 0 || strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return args, nil
	}
	runs.InheritedFlags() // cobra adds the flags of the root to those of run
	words := wordsOf(args, runs)
	if len(words) > 0 {
		if cmd, _, err := root.Find(words); err == nil && cmd != root {
			if cmd.Flags().Lookup("prompt") != nil {
				args = withoutPrint(args)
			}
			return args, missingValue(cmd, args)
		}
	}
	task := append([]string{"run"}, withoutPrint(args)...)
	flags := args[:flagsEnd(args)]
	switch {
	case slices.ContainsFunc(flags, isPrint):
		return task, missingValue(runs, task)
	case len(words) == 0:
		if args[0] == "-V" {
			args = append([]string{"--version"}, args[1:]...)
		}
		return withResumed(args), missingValue(root, args)
	case words[0] == "-" || strings.ContainsAny(words[0], " \t\n") || len(flags) < len(args):
		return task, missingValue(runs, task)
	case slices.ContainsFunc(flags, resumes): // they are a message to a run
		return task, missingValue(runs, task)
	}
	if len(words) > 1 || !followsUnknownFlag(runs, args, words[0]) {
		if r := readAsCommand(root, args, words); r != nil {
			return nil, r.error(root, words)
		}
	}
	return task, missingValue(runs, task)
}

// followsUnknownFlag reports whether the word may be the value of a flag that is not known.
func followsUnknownFlag(cmd *cobra.Command, args []string, word string) bool {
	i := slices.Index(args, word) - 1
	if i < 0 || !flagForm().MatchString(args[i]) || isOwnFlag(cmd, args[i]) || isOwnFlag(cmd.Root(), args[i]) {
		return false
	}
	e, _, _ := foreignFlag(cmd, args, i)
	return e == nil
}

// resumes reports whether a is a flag that says which run is resumed.
func resumes(a string) bool {
	name, _, _ := strings.Cut(a, "=")
	return slices.Contains([]string{"-c", "--continue", "-r", "--resume"}, name)
}

// missingValue is the error for a flag that needs a value and is followed by another flag of
// cmd: pflag would take that for the value. A value with this form is given as --flag=value.
func missingValue(cmd *cobra.Command, args []string) error {
	end := flagsEnd(args)
	for i := 0; i+1 < end; i++ {
		f := flagOf(cmd, args[i])
		if f == nil || f.NoOptDefVal != "" || strings.Contains(args[i], "=") {
			continue
		}
		if next, _, _ := strings.Cut(args[i+1], "="); flagForm().MatchString(next) && !isPrint(args[i]) && (isOwnFlag(cmd, next) || next == "--help" || next == "-h") {
			return flagNeedsValue(cmd, f)
		}
		i++
	}
	return nil
}

// flagOf returns the flag of cmd that an argument names as --name or -n; nil if it has none.
func flagOf(cmd *cobra.Command, arg string) *pflag.Flag {
	name, _, _ := strings.Cut(arg, "=")
	lookup, short := cmd.Flags(), len(name) == 2 && name[0] == '-' && name[1] < 0x80
	for _, flags := range []*pflag.FlagSet{lookup, cmd.InheritedFlags()} {
		var f *pflag.Flag
		switch {
		case strings.HasPrefix(name, "--"):
			f = flags.Lookup(name[2:])
		case short && name != "--":
			f = flags.ShorthandLookup(name[1:])
		}
		if f != nil {
			return f
		}
	}
	return nil
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

// wordsOf returns the arguments that are neither flags of cmd, or of other agents, nor the
// values of flags.
func wordsOf(args []string, cmd *cobra.Command) []string {
	var words []string
	end := flagsEnd(args)
	for i := 0; i < end; i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' {
			words = append(words, a)
			continue
		}
		switch f := flagOf(cmd, a); {
		case f == nil && flagForm().MatchString(a):
			if _, _, next := foreignFlag(cmd, args, i); next > i+1 {
				i = next - 1
			}
		case f == nil || f.NoOptDefVal != "" || strings.Contains(a, "="):
		case !isPrint(a) || i+1 == end || !flagForm().MatchString(args[i+1]):
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
		if r := readIn(cmd.Root(), strings.TrimPrefix(cmd.CommandPath(), "pawl "), args, args); r != nil {
			return r.error(cmd, args)
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
		return flagNeedsValue(cmd, e.GetFlag())
	case *pflag.InvalidValueError:
		return usage("invalid --%s %q: must be %s%s", e.GetFlag().Name, e.GetValue(), valueForm(e.GetFlag()), help)
	}
	return usage("%w%s", err, help)
}

// flagNeedsValue is the error for a flag without its value.
func flagNeedsValue(cmd *cobra.Command, f *pflag.Flag) error {
	value, _ := flagWords(f)
	said := fmt.Sprintf("--%s needs a value, %s", f.Name, value)
	if choices := valuesOf(cmd, f); len(choices) > 0 {
		said = fmt.Sprintf("--%s needs a value: %s", f.Name, strings.Join(choices, ", "))
	}
	if f.Name == "resume" {
		said += ": an id, a prefix of one, or last; pawl runs list lists them"
	}
	return usage("%s; see %s --help", said, cmd.CommandPath())
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
	if cmd.HasParent() && cmd.HasSubCommands() {
		path := strings.Fields(cmd.CommandPath())[1:]
		if words := wordsOf(inv.args, cmd); len(words) > len(path) { // the command is what is wrong first
			word := words[len(path)]
			return unknownCommand(cmd, append([]string{word}, without(inv.args, append(path, word)...)...))
		}
	}
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
	if near := typo(given, names); near != "" && given != name {
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
