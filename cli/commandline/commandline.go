package commandline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/cli/command"
	"pawl/config"
	"pawl/internal/lazy"
	"pawl/permission"
)

// Read returns the command line that args stand for, before flags are parsed:
//
//   - words that name no command are a task for pawl run, as pawl "fix the bug" and
//     pawl -p "fix the bug";
//   - -p in front of another flag, as in claude -p --model opus "fix the bug", and
//     --print mean what pawl run does anyway, and are dropped;
//   - -V is --version.
//
// What may be a mistyped command is an error with both readings: a run costs money.
func Read(root *cobra.Command, args []string) ([]string, error) {
	runs, _, err := root.Find([]string{"run"})
	// Without run, root was made for a command that does not need it: args name that.
	if err != nil || runs == root || len(args) == 0 || strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		if cmd, _, err := root.Find(args); err == nil {
			args = withNegative(cmd, args)
		}
		return args, nil
	}
	if rest := args[min(len(args), 1):]; args[0] == "pawl" || args[0] == "sudo" {
		if len(rest) > 0 && rest[0] == "pawl" {
			rest = rest[1:]
		}
		if cmd, _, err := root.Find(rest); err == nil && cmd != root {
			return nil, (&reading{Lines: []string{ShellLine(rest)}, sure: true}).Error(root, args)
		}
	}
	runs.InheritedFlags() // cobra adds the flags of the root to those of run
	if err := oneHyphen(root, runs, args); err != nil {
		return nil, err
	}
	args = withoutCombined(args)
	words := wordsOf(args, runs)
	if len(words) > 0 {
		if cmd, _, err := root.Find(words); err == nil && cmd != root {
			if args[0][0] == '-' { // flags of the command, in front of it
				path := strings.Fields(cmd.CommandPath())[1:]
				args = append(path, without(args, path...)...)
			}
			if cmd.Flags().Lookup("prompt") != nil {
				args = withoutPrint(args)
			}
			args = withNegative(cmd, args)
			return args, missingValue(cmd, args)
		}
	}
	task := append([]string{"run"}, withoutPrint(args)...)
	if fields := strings.Fields(strings.Join(words, " ")); len(args) == 1 && len(words) == 1 && len(fields) == 2 && fields[1] != "last" &&
		IsReference(fields[1]) && (slices.Contains(verbs(root), fields[0]) || ReadIn(root, "words", fields, fields) != nil) {
		args, words = fields, fields // "resume ID", quoted as one
	}
	flags := args[:flagsEnd(args)]
	if len(words) > 0 && words[0] == args[0] { // codex exec -c KEY=VALUE, whose flags mean something else
		if r := ReadIn(root, "words", args, words); r != nil && r.always && slices.ContainsFunc(flags, func(a string) bool { return isPrint(a) || resumes(a) }) {
			return nil, r.Error(root, words)
		}
	}
	if len(words) == 1 && words[0] == args[0] && words[0] != "run" && slices.ContainsFunc(flags, isPrint) && typo(words[0], []string{"run"}) != "" { // rnu -p "fix"
		said, remarks := lineFor(root, "run", args[1:])
		return nil, (&reading{Lines: []string{said}, remark: strings.Join(remarks, "; ")}).Error(root, words)
	}
	switch {
	case slices.ContainsFunc(flags, isPrint):
		return task, missingValue(runs, task)
	case len(words) == 0:
		if args[0] == "-V" {
			args = append([]string{"--version"}, args[1:]...)
		}
		return withResumed(args), missingValue(root, args)
	case len(words) == 1 && len(args) == 1 && isCommandLine(root, words[0]):
		return nil, command.Usage("a command line is not quoted as one. Use:\n  pawl %s\nAs a task: pawl run -p %s", words[0], command.ShellWord(words[0]))
	case len(words) == 1 && isTerminalCommand(words[0]):
		return nil, (&reading{remark: "it is a command of the terminal agent: start pawl, and type it there"}).Error(root, words)
	case words[0] == "-" || strings.ContainsAny(words[0], " \t\n") || len(flags) < len(args):
		return task, missingValue(runs, task)
	case slices.ContainsFunc(flags, resumes): // they are a message to a run
		return task, missingValue(runs, task)
	}
	if err := missingValue(runs, args); err != nil {
		return nil, err
	}
	if len(words) > 1 || !followsUnknownFlag(runs, args, words[0]) {
		if r := ReadAsCommand(root, args, words); r != nil {
			return nil, r.Error(root, words)
		}
	}
	return task, missingValue(runs, task)
}

// hyphened returns a flag whose hyphens became a dash on the way from a text, with them.
func hyphened(a string) string {
	dash, n := utf8.DecodeRuneInString(a)
	if !strings.ContainsRune("‐‑–—―−", dash) {
		return a
	}
	if name, _, _ := strings.Cut(a[n:], "="); len(name) > 1 {
		return "--" + a[n:]
	}
	return "-" + a[n:]
}

// oneHyphen is the error for a long flag that was given with one hyphen, as -model, which would be
// read as -m with the value odel, or with a dash.
func oneHyphen(root, runs *cobra.Command, args []string) error {
	cmd := root
	if found, _, err := root.Find(wordsOf(args, runs)); err == nil {
		cmd = found
	}
	long := func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		if len(name) < 4 || !flagForm().MatchString(a) || strings.HasPrefix(a, "--") {
			return false
		}
		return name == "-help" || IsOwnFlag(cmd, "-"+name) || cmd == root && IsOwnFlag(runs, "-"+name)
	}
	meant := slices.Clone(args)
	wrong, dashed := "", ""
	for i, a := range args[:flagsEnd(args)] {
		if f := (*pflag.Flag)(nil); i > 0 {
			if f = flagOf(runs, args[i-1]); f != nil && f.NoOptDefVal == "" && !isPrint(args[i-1]) {
				continue // it is a value
			}
		}
		if long(a) {
			meant[i] = "-" + a
			if wrong == "" {
				wrong, _, _ = strings.Cut(a, "=")
			}
		} else if h := hyphened(a); h != a && flagForm().MatchString(h) {
			e, _, _ := ForeignFlag(runs, []string{h}, 0)
			if e != nil || IsOwnFlag(cmd, h) || IsOwnFlag(runs, h) {
				meant[i] = h
				dashed = cmp.Or(dashed, a)
			}
		}
	}
	if dashed != "" {
		return command.Usage("%s begins with a dash, a flag with hyphens. Use:\n  pawl %s", command.Quoted(dashed), ShellLine(meant))
	}
	if wrong == "" {
		return nil
	}
	return command.Usage("unknown flag %s: a long flag has two hyphens. Use:\n  pawl %s", wrong, ShellLine(meant))
}

// withoutCombined drops the p of -pc and -pr, which says what pawl run does anyway.
func withoutCombined(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args[:flagsEnd(args)] {
		if a == "-pc" || a == "-pr" {
			args[i] = "-" + a[2:]
		}
	}
	return args
}

// isTerminalCommand reports whether a word is a command of the terminal agent with a word after it.
func isTerminalCommand(word string) bool {
	fields := strings.Fields(word)
	return len(fields) == 2 && strings.HasPrefix(fields[0], "/") && oneName().MatchString(fields[0][1:]) && !Exists(fields[0])
}

// isCommandLine reports whether a word is a command of pawl's with a subcommand, as "runs list", or "runs resume ID words".
func isCommandLine(root *cobra.Command, word string) bool {
	fields := strings.Fields(word)
	if len(fields) < 2 || len(fields) > 3 && !IsReference(fields[2]) && !strings.ContainsAny(fields[2][:1], `'"-`) {
		return false
	}
	cmd, _, err := root.Find(fields)
	return err == nil && cmd.HasParent() && cmd.Parent().HasParent()
}

// followsUnknownFlag reports whether the word may be the value of a flag that is not known.
func followsUnknownFlag(cmd *cobra.Command, args []string, word string) bool {
	i := slices.Index(args, word) - 1
	if i < 0 || !flagForm().MatchString(args[i]) || IsOwnFlag(cmd, args[i]) || IsOwnFlag(cmd.Root(), args[i]) {
		return false
	}
	e, _, _ := ForeignFlag(cmd, args, i)
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
		if f.Name == "prompt" && slices.ContainsFunc(args[i+2:end], isPrint) && !flagForm().MatchString(args[i+1]) {
			return command.Usage("the task is given with -p more than once: quote it as one, pawl run -p \"…\"")
		}
		if next, _, _ := strings.Cut(args[i+1], "="); flagForm().MatchString(next) && !isPrint(args[i]) && (IsOwnFlag(cmd, next) || next == "--help" || next == "-h") {
			return flagNeedsValue(cmd, f)
		}
		if f.Name == "model" && strings.ContainsAny(args[i+1], " \n") && !strings.Contains(args[i+1], "/") {
			words := without(slices.Delete(slices.Clone(args), i, i+1), "run")
			return command.Usage("%s names a model; a task is given as words. Use:\n  pawl run %s", args[i], ShellLine(words))
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

// withNegative puts a negative number that is the value of a command behind --, so that it is no flag:
// config set min_disk -1.
func withNegative(cmd *cobra.Command, args []string) []string {
	i := slices.IndexFunc(args, negative().MatchString)
	if i < 1 || !strings.Contains(cmd.Use, " VALUE") || flagsEnd(args) < len(args) || flagForm().MatchString(args[i-1]) {
		return args
	}
	return append(slices.Delete(slices.Clone(args), i, i+1), "--", args[i])
}

var negative = lazy.Regexp(`^-[0-9]`)

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
			if _, _, next := ForeignFlag(cmd, args, i); next > i+1 {
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
var flagForm = lazy.Regexp(`^--?[A-Za-z][A-Za-z0-9_-]*(=.*)?$`)

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

// asOne returns the only argument of a command that the person has not quoted, so that it came as several; empty: it
// is not known.
func asOne(cmd *cobra.Command, args []string) string {
	text := strings.Join(args, " ")
	switch {
	case len(args) < 2:
	case strings.HasSuffix(cmd.Use, " TEXT"), strings.HasSuffix(cmd.Use, " CALL"):
		return text
	case strings.HasSuffix(cmd.Use, " RULE"):
		for _, rule := range []string{text, "shell(" + strings.TrimPrefix(text, "shell ") + ")"} {
			if _, err := permission.ParseRule(rule); err == nil {
				return rule
			}
		}
	}
	return ""
}

// CheckArguments makes the errors of cobra about the arguments of a command, and of those
// below it, say what would be right.
func CheckArguments(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		CheckArguments(c)
	}
	check := cmd.Args
	if check == nil && cmd.HasSubCommands() {
		check = NoSubcommand
	}
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || errors.As(err, new(*config.Error)) {
			return err
		}
		if r := ReadIn(cmd.Root(), strings.TrimPrefix(cmd.CommandPath(), "pawl "), args, args); r != nil {
			return r.Error(cmd, args)
		}
		if line := withFlags(cmd, args); line != "" {
			return command.Usage("%s. Use:\n  %s", err, line)
		}
		if one := asOne(cmd, args); one != "" && check(cmd, args[:1]) == nil {
			return command.Usage("quote the %s as one. Use:\n  %s %s%s", strings.ToLower(cmd.Use[strings.LastIndex(cmd.Use, " ")+1:]), cmd.CommandPath(), command.ShellWord(one), givenFlags(cmd))
		}
		if cmd.HasSubCommands() && typo(args[0], command.CommandNames(cmd)) != "" {
			return UnknownCommand(cmd, args)
		}
		said := err.Error()
		switch {
		case strings.HasPrefix(said, "unknown command"): // cobra.NoArgs
			said = fmt.Sprintf("%s takes no arguments, got %s", cmd.CommandPath(), ShellLine(args))
		case strings.HasPrefix(said, "accepts "), strings.HasPrefix(said, "requires "): // cobra.MaximumNArgs and the like
			_, takes, _ := strings.Cut(cmd.Use, " ")
			said = fmt.Sprintf("%s takes %s", cmd.CommandPath(), takes)
			if len(args) > 0 {
				said += ", got " + ShellLine(args)
			}
		}
		said += "; see " + cmd.CommandPath() + " --help"
		if task := append(strings.Fields(cmd.CommandPath())[1:], args...); cmd.Parent() == cmd.Root() && len(task) > 2 {
			said += "; as a task: pawl run " + command.ShellWord(strings.Join(task, " "))
		}
		return command.Usage("%s", said)
	}
}

// NoSubcommand refuses words after a command that has subcommands: none has that name.
func NoSubcommand(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	return UnknownCommand(cmd, words)
}

// givenFlags returns the flags that were given to a command, as they are typed, each after a blank.
func givenFlags(cmd *cobra.Command) string {
	var words []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if words = append(words, "--"+f.Name); f.NoOptDefVal == "" {
				words = append(words, command.ShellWord(value))
			}
		}
	})
	return strings.Join(append([]string{""}, words...), " ")
}

// withFlags returns the command line in which words that are names of flags of cmd are flags, as
// in runs set last mode plan; "" if there are none.
func withFlags(cmd *cobra.Command, args []string) string {
	words := strings.Fields(cmd.CommandPath())
	found := false
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		f := flagOf(cmd, "--"+name)
		if f == nil || name == "help" || f.NoOptDefVal == "" && !given && i+1 == len(args) {
			words = append(words, command.ShellWord(args[i]))
			continue
		}
		found = true
		words = append(words, "--"+name)
		if !given && f.NoOptDefVal == "" {
			i++
			value = args[i]
		}
		if f.NoOptDefVal == "" {
			words = append(words, command.ShellWord(value))
		}
	}
	if !found {
		return ""
	}
	return strings.Join(words, " ")
}

// FlagError says what is wrong with a flag, and what would be right.
func FlagError(inv *command.Invocation, cmd *cobra.Command, err error) error {
	help := fmt.Sprintf("; see %s --help", cmd.CommandPath())
	switch e := err.(type) {
	case *pflag.NotExistError:
		name := "--" + e.GetSpecifiedName()
		if all := e.GetSpecifiedShortnames(); all != "" {
			name = "-" + e.GetSpecifiedName()
			if slices.Contains(inv.Args, "-"+all) { // several letters, as in rm -rf
				name = "-" + all
			}
		}
		return unknownFlag(inv, cmd, name)
	case *pflag.ValueRequiredError:
		return flagNeedsValue(cmd, e.GetFlag())
	case *pflag.InvalidValueError:
		if err := ForeignValues(inv, cmd); err != nil {
			return err
		}
		return command.Usage("invalid --%s %s: must be %s%s", e.GetFlag().Name, command.Quoted(e.GetValue()), valueForm(e.GetFlag()), help)
	}
	return command.Usage("%w%s", err, help)
}

// flagNeedsValue is the error for a flag without its value.
func flagNeedsValue(cmd *cobra.Command, f *pflag.Flag) error {
	value, _ := command.FlagWords(f)
	said := fmt.Sprintf("--%s needs a value, %s", f.Name, value)
	if choices := command.ValuesOf(cmd, f); len(choices) > 0 {
		said = fmt.Sprintf("--%s needs a value: %s", f.Name, strings.Join(choices, ", "))
	}
	if f.Name == "resume" {
		said += ": an id, a prefix of one, or last; pawl runs list lists them"
	}
	return command.Usage("%s; see %s --help", said, cmd.CommandPath())
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
func unknownFlag(inv *command.Invocation, cmd *cobra.Command, name string) error {
	if cmd.HasParent() && cmd.HasSubCommands() {
		path := strings.Fields(cmd.CommandPath())[1:]
		rest := without(inv.Args, path...)
		words, flag := wordsOf(rest, cmd), slices.IndexFunc(rest, func(a string) bool { return a == name || strings.HasPrefix(a, name+"=") })
		if len(words) > 0 && slices.Index(rest, words[0]) < flag && !slices.Contains(cmd.ValidArgs, words[0]) { // the command is what is wrong first
			return UnknownCommand(cmd, append([]string{words[0]}, without(rest, words[0])...))
		}
		if list, _, err := cmd.Find([]string{"list"}); err == nil && list != cmd && flag >= 0 && len(wordsOf(rest, list)) == 0 {
			if e, _, _ := ForeignFlag(list, rest, flag); e != nil || IsOwnFlag(list, name) {
				said, remarks := lineFor(cmd.Root(), strings.Join(append(path, "list"), " "), rest)
				return (&reading{Lines: []string{said}, remark: strings.Join(remarks, "; ")}).flagError(cmd, name)
			}
		}
	}
	if strings.HasSuffix(cmd.Use, " CALL") && flagsEnd(inv.Args) == len(inv.Args) && !strings.HasPrefix(inv.Args[len(strings.Fields(cmd.CommandPath()))-1], "-") { // explain rm -rf x
		call := withoutPath(inv.Args, cmd)
		return command.Usage("quote the call as one. Use:\n  %s %s", cmd.CommandPath(), command.ShellWord(strings.Join(call, " ")))
	}
	args := separated(cmd, inv.Args)
	if err := foreignFlagError(cmd, args, name, name); err != nil {
		return err
	}
	if len(args) > len(inv.Args) && !slices.ContainsFunc(args[:flagsEnd(args)], func(a string) bool { return a == name || strings.HasPrefix(a, name+"=") }) {
		line, _ := lineOf(cmd, args)
		return command.Usage("unknown flag %s: what belongs to another program's command stands after --. Use:\n  pawl %s", name, line)
	}
	if near := nearFlag(cmd, name); near == "" && nearForeign(cmd, name) != "" {
		meant := slices.Clone(inv.Args)
		for i, a := range meant {
			if given, value, joined := strings.Cut(a, "="); given == name {
				if meant[i] = nearForeign(cmd, name); joined {
					meant[i] += "=" + value
				}
			}
		}
		if err := foreignFlagError(cmd, meant, nearForeign(cmd, name), name); err != nil {
			return err
		}
	}
	if near := nearFlag(cmd, name); near != "" {
		return command.Usage("unknown flag %s. Did you mean %s? See %s --help", name, near, cmd.CommandPath())
	}
	if have := commandsWithFlag(cmd, name); len(have) > 0 {
		if len(have) == 1 && have[0] == "pawl run" && !cmd.HasParent() {
			return command.Usage("%s is a flag of pawl run: %s", name, ShellLine(append([]string{"pawl", "run"}, inv.Args...)))
		}
		return command.Usage("unknown flag %s: it is a flag of %s; see %s --help", name, strings.Join(have, ", "), cmd.CommandPath())
	}
	line, _ := lineOf(cmd, inv.Args)
	if strings.Contains(line, name) {
		return command.Usage("unknown flag %s; see %s --help", name, cmd.CommandPath())
	}
	return command.Usage("unknown flag %s; see %s --help. Without it:\n  pawl %s", name, cmd.CommandPath(), line)
}

// commandsWithFlag returns the commands beside cmd, or else pawl run, that have a flag.
func commandsWithFlag(cmd *cobra.Command, name string) []string {
	var have []string
	if cmd.HasParent() && cmd.Parent().HasParent() {
		for _, c := range cmd.Parent().Commands() {
			if c != cmd && IsOwnFlag(c, name) {
				have = append(have, c.CommandPath())
			}
		}
	}
	if runs, _, err := cmd.Root().Find([]string{"run"}); len(have) == 0 && err == nil && runs != cmd && runs.HasParent() && IsOwnFlag(runs, name) {
		have = append(have, runs.CommandPath())
	}
	return have
}

// ShellLine quotes arguments for a command line that is shown to be copied.
func ShellLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = command.ShellWord(a)
	}
	return strings.Join(quoted, " ")
}

func abs(n int) int { return max(n, -n) }
