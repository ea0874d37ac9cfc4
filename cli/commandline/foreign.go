package commandline

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/app"
	"pawl/cli/command"
	"pawl/config"
	"pawl/internal/lazy"
	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/permission/spelling"
)

// The flags and commands of other agents are not accepted under their own names: pawl has
// one name for each thing, and a flag that means nearly the same would change what may run
// without a word. They are recognised, and the error has the command line that says it here.

//go:embed foreign.txt
var foreignText string

// A foreignEntry is a line of foreign.txt, which says what its parts are.
type foreignEntry struct {
	Names  []string // flags or words
	Form   []string // the form of the value of a flag, or further words of a line
	Ours   string
	Remark string
	always bool // the word is the command also before several words, and never the beginning of a task
}

// Foreign is foreign.txt by its sections.
var Foreign = sync.OnceValue(func() map[string][]foreignEntry {
	table := map[string][]foreignEntry{}
	section := ""
	for line := range strings.Lines(foreignText) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			continue
		}
		var e foreignEntry
		line, e.Remark, _ = strings.Cut(line, "  # ")
		line, e.always = strings.CutPrefix(line, "!")
		given, ours, _ := strings.Cut(line, " =")
		words := strings.Fields(given)
		e.Names, e.Form, e.Ours = strings.Split(words[0], "|"), words[1:], strings.TrimSpace(ours)
		table[section] = append(table[section], e)
	}
	return table
})

// foreignSections are the sections for the flags of a command, the most specific first.
func foreignSections(cmd *cobra.Command) []string {
	var names []string
	for c := cmd; c.HasParent(); c = c.Parent() {
		names = append(names, strings.TrimPrefix(c.CommandPath(), "pawl "))
	}
	if !cmd.HasParent() {
		names = append(names, "pawl")
	}
	if !cmd.HasParent() || cmd.Flags().Lookup("prompt") != nil {
		names = append(names, "run")
	}
	return append(names, "any")
}

var (
	placeholder = lazy.Regexp(`\{[^{}]*\}`)
	oneName     = lazy.Regexp(`^[A-Za-z0-9._-]+$`)
	// foreignRule is the form of a rule of Claude Code.
	foreignRule = lazy.Regexp(`^[A-Z][A-Za-z]+(\(.*\))?$|^mcp__`)
)

// fillPlaces puts texts in the places of {}, and of {x}, which stands for x without any. The last
// place has all that are left.
func fillPlaces(template string, texts ...string) string {
	left := strings.Count(template, "{")
	return placeholder().ReplaceAllStringFunc(template, func(of string) string {
		left--
		if len(texts) == 0 || texts[0] == "" {
			return strings.Trim(of, "{}")
		}
		n := 1
		if left == 0 {
			n = len(texts)
		}
		text := strings.Join(texts[:n], " ")
		texts = texts[n:]
		return text
	})
}

// Fits reports whether cmd has the flags that the entry is translated to.
func (e *foreignEntry) Fits(cmd *cobra.Command) bool {
	if strings.HasPrefix(e.Ours, "pawl ") { // another command
		return true
	}
	ours, _, _ := strings.Cut(e.Ours, "|") // what follows is for another program
	for word := range strings.FieldsSeq(ours) {
		if flagForm().MatchString(word) && !IsOwnFlag(cmd, word) {
			return false
		}
	}
	return true
}

// takes reports whether the entry takes a value of that text.
func (e *foreignEntry) takes(value string) bool {
	switch form := strings.Join(e.Form, " "); form {
	case "":
		return false
	case "{}", "{rules}":
		return true
	case "{word}":
		return oneName().MatchString(value)
	default:
		return slices.ContainsFunc(strings.Split(form, "|"), func(one string) bool { return matches(one, strings.ToLower(value)) })
	}
}

// matches reports whether lower-case text has a form in which * is any text.
func matches(form, text string) bool {
	before, after, any := strings.Cut(strings.ToLower(form), "*")
	if !any {
		return before == text
	}
	first, last, several := strings.Cut(after, "*")
	if several { // *x*
		return strings.Contains(text, first) && last == ""
	}
	return len(text) >= len(before)+len(after) && strings.HasPrefix(text, before) && strings.HasSuffix(text, after)
}

// ForeignFlag returns the entry for the flag args[i] of cmd, the values that it takes, and the
// index after them; nil if there is none. A flag of cmd itself has one for certain values alone.
func ForeignFlag(cmd *cobra.Command, args []string, i int) (e *foreignEntry, values []string, next int) {
	end := flagsEnd(args)
	name, value, given := strings.Cut(args[i], "=")
	next = i + 1
	if !given && next < end && !flagForm().MatchString(args[next]) {
		value, given = args[next], true
		next++
	}
	own := IsOwnFlag(cmd, name)
	if own && slices.Contains(command.ValuesOf(cmd, flagOf(cmd, name)), value) {
		return nil, nil, next
	}
	var other *foreignEntry // whose value is missing
	known := false          // a more specific section has the flag
	for _, section := range foreignSections(cmd) {
		if section == "any" && known {
			break
		}
		entries := Foreign()[section]
		for j := range entries {
			e := &entries[j]
			known = known || slices.Contains(e.Names, name)
			switch {
			case !slices.Contains(e.Names, name) || !e.Fits(cmd) || own && (len(e.Form) == 0 || e.Form[0][0] == '{'):
			case len(e.Form) == 0:
				return e, []string{""}, i + 1
			case given && e.takes(value):
				values = []string{value}
				for e.Form[0] == "{rules}" && next < end && foreignRule().MatchString(args[next]) {
					values = append(values, args[next])
					next++
				}
				return e, values, next
			case other == nil && !own && e.Form[0][0] == '{':
				other = e
			}
		}
	}
	return other, []string{""}, i + 1
}

// rulesOf returns the rules of a list in the form of Claude Code: divided by commas or blanks
// outside of parentheses.
func rulesOf(list string) []string {
	depth := 0
	return strings.FieldsFunc(list, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth == 0 && (r == ',' || r == ' ')
	})
}

// ownRules returns what a rule in the spelling of another agent is here: none, if pawl has no
// such tool, or the rule itself.
func ownRules(rule string) []string {
	ours, why := spelling.Translate(rule)
	if len(ours) == 0 && why == "" {
		return []string{rule}
	}
	return ours
}

// translate returns a command line of pawl's, quoted for the shell, that says what args say with
// the flags of other agents, and remarks on what is different. cmd has the flags that are pawl's own.
// A flag that is not known is left out.
func translate(cmd *cobra.Command, args []string) (words, remarks []string) {
	var after []string // redirections
	end := flagsEnd(args)
	remark := func(text string) {
		if text != "" && !slices.Contains(remarks, text) {
			remarks = append(remarks, text)
		}
	}
	for i := 0; i < end; i++ {
		name, value, joined := strings.Cut(args[i], "=")
		if IsOwnFlag(cmd, name) && (name == "--allow" || name == "--ask" || name == "--deny") && (joined || i+1 < end) {
			if !joined {
				i++
				value = args[i]
			}
			for _, rule := range ownRules(value) {
				words = append(words, name, command.ShellWord(rule))
			}
			continue
		}
		if own := flagOf(cmd, args[i]); own != nil && own.NoOptDefVal == "" && !joined && i+1 < end && !flagForm().MatchString(args[i+1]) {
			if e, _, _ := ForeignFlag(cmd, args, i); e == nil {
				words = append(words, command.ShellWord(args[i]), command.ShellWord(args[i+1]))
				i++
				continue
			}
		}
		if !flagForm().MatchString(args[i]) && !numberFlag().MatchString(args[i]) {
			word := args[i]
			if rules := ownRules(word); IsRule(word) && len(rules) == 1 && strings.HasPrefix(cmd.CommandPath(), "pawl permissions ") {
				word = rules[0]
			}
			words = append(words, command.ShellWord(word))
			continue
		}
		e, values, next := ForeignFlag(cmd, args, i)
		switch {
		case e == nil && IsOwnFlag(cmd, name):
			words = append(words, command.ShellWord(args[i]))
			continue
		case e == nil && nearFlag(cmd, name) != "":
			words = append(words, strings.Replace(command.ShellWord(args[i]), name, nearFlag(cmd, name), 1))
			continue
		case e == nil:
			remark(cmd.CommandPath() + " has no " + name)
			if valueFollows(cmd, args[:end], i) {
				i++
			}
			continue
		case strings.HasPrefix(e.Ours, "pawl "):
			remark(name + " is " + fillPlaces(e.Ours, values...))
			i = next - 1
			continue
		}
		i = next - 1
		if len(e.Form) > 0 && e.Form[0] == "{rules}" {
			var rules []string
			for _, list := range values {
				for _, rule := range rulesOf(list) {
					rules = append(rules, ownRules(rule)...)
				}
			}
			values = rules
		}
		remark(fillPlaces(e.Remark, strings.Join(values, " ")))
		for _, v := range values {
			said := strings.ReplaceAll(e.Ours, "{name}", strings.TrimLeft(name, "-"))
			if v != "" {
				v = command.ShellWord(v)
			} else if own := flagOf(cmd, strings.TrimSuffix(said, " {}")); own != nil && strings.HasSuffix(said, " {}") {
				v, _ = command.FlagWords(own) // its value is missing
			}
			if said = fillPlaces(said, v); strings.HasPrefix(said, ">") || strings.HasPrefix(said, "|") || strings.HasPrefix(said, "- <") {
				after = append(after, said)
			} else if said != "" {
				words = append(words, said)
			}
		}
	}
	for _, a := range args[end:] {
		words = append(words, command.ShellWord(a))
	}
	return append(words, after...), remarks
}

// numberFlag is the form of a number of lines or entries, as in git log -3.
var numberFlag = lazy.Regexp(`^-[0-9]+$`)

// valueFollows reports whether the argument after the flag args[i], which is not known, is
// probably its value: it names nothing, and it is not all that is left of a task.
func valueFollows(cmd *cobra.Command, args []string, i int) bool {
	if i+1 >= len(args) || strings.Contains(args[i], "=") || flagForm().MatchString(args[i+1]) || IsReference(args[i+1]) {
		return false
	}
	return cmd.Flags().Lookup("prompt") == nil || len(without(wordsOf(args[:i], cmd), "run")) > 0 ||
		slices.ContainsFunc(args[i+2:], func(a string) bool { return !strings.HasPrefix(a, "-") })
}

// nearFlag returns the flag of cmd, as --name, that a long flag which it does not have was
// probably meant to be; "" if none is near.
func nearFlag(cmd *cobra.Command, name string) string {
	given, long := strings.CutPrefix(name, "--")
	if !long {
		return ""
	}
	var names []string
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
	}
	stable.Sort(names, func(x, y string) int { // two letters that are swapped are likelier than one too many
		return cmp.Compare(abs(len(x)-len(given)), abs(len(y)-len(given)))
	})
	begun := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, given) || 2*len(given) < len(n)-1 })
	if len(begun) == 1 && len(given) >= 3 {
		return "--" + begun[0]
	}
	if near := typo(given, names); near != "" {
		return "--" + near
	}
	return ""
}

// kebab returns the name of a flag as flags here are written: --max-steps of --maxSteps and
// --max_steps.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == '_':
			b.WriteByte('-')
		case 'A' <= r && r <= 'Z' && i > 2 && name[i-1] != '-':
			b.WriteByte('-')
			b.WriteRune(r - 'A' + 'a')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// nearForeign returns the flag of another program that name was probably meant to be; "" if none
// is near.
func nearForeign(cmd *cobra.Command, name string) string {
	if !strings.HasPrefix(name, "--") || len(name) < 7 { // a short one is near many
		return ""
	}
	var names []string
	for _, section := range foreignSections(cmd) {
		for _, e := range Foreign()[section] {
			for _, n := range e.Names {
				if strings.HasPrefix(n, "--") {
					names = append(names, n[2:])
				}
			}
		}
	}
	if near := typo(kebab(name)[2:], names); near != "" && near != name[2:] {
		return "--" + near
	}
	return ""
}

// IsOwnFlag reports whether cmd has the flag, as --name or -n.
func IsOwnFlag(cmd *cobra.Command, name string) bool { return flagOf(cmd, name) != nil }

// foreignFlagError is the error for a flag that other programs have, with the command line that
// says the same here; nil if none is known to have it. It was typed as typed.
func foreignFlagError(cmd *cobra.Command, args []string, name, typed string) error {
	i := slices.IndexFunc(args[:flagsEnd(args)], func(a string) bool { return a == name || strings.HasPrefix(a, name+"=") })
	if i < 0 {
		return nil
	}
	if runs, _, err := cmd.Find([]string{"run"}); !cmd.HasParent() && err == nil && runs != cmd {
		// Of the terminal agent; else of run, which has all of them.
		if slices.ContainsFunc(args[:flagsEnd(args)], func(a string) bool { return isFlagOfRun(cmd, runs, args, a) }) {
			cmd, args = runs, append([]string{"run"}, withoutPrint(args)...)
			i = slices.IndexFunc(args, func(a string) bool { return a == name || strings.HasPrefix(a, name+"=") })
		}
	}
	if i < 0 || IsOwnFlag(cmd, name) {
		return nil
	}
	e, values, _ := ForeignFlag(cmd, args, i)
	if e == nil {
		return nil
	}
	if strings.HasPrefix(e.Ours, "pawl ") {
		return command.Usage("unknown flag %s. Use:\n  %s", typed, fillPlaces(e.Ours, values...))
	}
	line, remarks := lineOf(cmd, args)
	line = strings.TrimSpace("pawl " + line)
	said := fmt.Sprintf("unknown flag %s. Use:\n  %s", typed, line)
	if e.Ours == "" {
		why := fillPlaces(e.Remark, strings.Join(values, " "))
		said = fmt.Sprintf("unknown flag %s (%s). Without it:\n  %s", typed, why, line)
		remarks = slices.DeleteFunc(remarks, func(r string) bool { return r == why })
	}
	if len(remarks) > 0 {
		said += "\n(" + strings.Join(remarks, "; ") + ")"
	}
	return command.Usage("%s", said)
}

// isFlagOfRun reports whether an argument is a flag that pawl run has, by its own or another
// name, and the terminal agent has not.
func isFlagOfRun(root, runs *cobra.Command, args []string, arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	if !flagForm().MatchString(arg) || IsOwnFlag(root, name) {
		return false
	}
	i := slices.Index(args, arg)
	if IsOwnFlag(runs, name) {
		return true
	}
	if e, _, _ := ForeignFlag(root, args, i); e != nil {
		return false
	}
	e, _, _ := ForeignFlag(runs, args, i)
	return e != nil
}

// ForeignValues is the error for a value that a flag of pawl's has under another name, with
// the command line to use.
func ForeignValues(inv *command.Invocation, cmd *cobra.Command) error {
	for i, a := range inv.Args[:flagsEnd(inv.Args)] {
		name, _, _ := strings.Cut(a, "=")
		if !flagForm().MatchString(a) || !IsOwnFlag(cmd, name) {
			continue
		}
		if e, values, _ := ForeignFlag(cmd, inv.Args, i); e != nil {
			words, remarks := translate(cmd, inv.Args)
			said := fmt.Sprintf("invalid %s %s. Use:\n  pawl %s", name, command.ShellWord(values[0]), strings.Join(words, " "))
			if len(remarks) > 0 {
				said += "\n(" + strings.Join(remarks, "; ") + ")"
			}
			return command.Usage("%s", said)
		}
	}
	return nil
}

// A reading is what words that name no command may have meant.
type reading struct {
	Lines  []string // command lines of pawl's; none: nothing does it
	remark string
	sure   bool // else they are near it
	Guess  bool // they are near a word of another program, which means it
	always bool // the words are no task
}

// Error returns the error for unknown words below cmd.
func (r *reading) Error(cmd *cobra.Command, words []string) error {
	said := fmt.Sprintf("unknown command %s", command.Quoted(words[0]))
	switch {
	case cmd.HasParent() && cmd.HasSubCommands():
		said += " of " + cmd.CommandPath()
	case cmd.HasParent():
		said = cmd.CommandPath() + " does not take " + ShellLine(words)
		if len(words) == 1 {
			said = cmd.CommandPath() + " does not take " + command.Quoted(words[0])
		}
	}
	switch {
	case len(r.Lines) == 0:
		said += ": " + r.remark
	case r.sure:
		said += ". Use:\n  pawl " + strings.Join(r.Lines, "\n  pawl ")
	default:
		said += ". Did you mean:\n  pawl " + strings.Join(r.Lines, "\n  pawl ")
	}
	if len(r.Lines) > 0 && r.remark != "" {
		said += "\n(" + r.remark + ")"
	}
	if !cmd.HasParent() && (!r.always || len(r.Lines) == 0 && len(words) > 2) {
		said += "\nAs a task: pawl run " + command.ShellWord(strings.Join(words, " "))
	}
	return command.Usage("%s", said)
}

// flagError returns the error for an unknown flag of cmd.
func (r *reading) flagError(cmd *cobra.Command, name string) error {
	said := fmt.Sprintf("unknown flag %s of %s. Use:\n  pawl %s", name, cmd.CommandPath(), strings.Join(r.Lines, "\n  pawl "))
	if r.remark != "" {
		said += "\n(" + r.remark + ")"
	}
	return command.Usage("%s", said)
}

// without returns args without the first that is each of words.
func without(args []string, words ...string) []string {
	for _, word := range words {
		if i := slices.Index(args, word); i >= 0 {
			args = slices.Delete(slices.Clone(args), i, i+1)
		}
	}
	return args
}

// lineOf returns the command line that args, which name cmd, stand for.
func lineOf(cmd *cobra.Command, args []string) (line string, remarks []string) {
	if !cmd.HasParent() {
		words, remarks := translate(cmd, args)
		return strings.Join(words, " "), remarks
	}
	path := strings.Fields(cmd.CommandPath())[1:]
	if cmd.CommandPath() == "pawl config" {
		if line := SettingLine(without(wordsOf(args, cmd), path...)); line != "" {
			return line, nil
		}
	}
	return lineFor(cmd.Root(), strings.Join(path, " "), withoutPath(args, cmd))
}

// withoutPath returns args without the words that name cmd, by whatever name.
func withoutPath(args []string, cmd *cobra.Command) []string {
	if !cmd.HasParent() {
		return args
	}
	args = withoutPath(args, cmd.Parent())
	if i := slices.IndexFunc(args, func(a string) bool { return a == cmd.Name() || cmd.HasAlias(a) }); i >= 0 {
		args = slices.Delete(slices.Clone(args), i, i+1)
	}
	return args
}

// separated returns args with -- before the command of another program that cmd takes after a name, where it is missing.
func separated(cmd *cobra.Command, args []string) []string {
	use := cmd.UseLine() // pawl mcp add NAME (URL | -- COMMAND [ARGUMENT...])
	if !strings.Contains(use, "-- COMMAND") || slices.Contains(args, "--") {
		return args
	}
	before, _, _ := strings.Cut(strings.ReplaceAll(use, "[", "("), "(")
	words := len(strings.Fields(before)) - 1 // of pawl's, behind its name
	for i := 0; i < len(args); i++ {
		if flagForm().MatchString(args[i]) {
			_, _, joined := strings.Cut(args[i], "=")
			if own := flagOf(cmd, args[i]); own == nil {
				if e, _, next := ForeignFlag(cmd, args, i); e != nil {
					i = next - 1
				}
			} else if own.NoOptDefVal == "" && !joined {
				i++
			}
			continue
		}
		if words--; words < 0 {
			if strings.Contains(args[i], "://") {
				return args
			}
			return slices.Insert(slices.Clone(args), i, "--")
		}
	}
	return args
}

// removing are commands that are not shown with a run or a task that was not named.
var removing = []string{"rm", "stop", "undo", "discard"}

// lineFor returns a command line made of a template, which begins with the name of a command,
// and the arguments that follow.
func lineFor(root *cobra.Command, template string, rest []string) (line string, remarks []string) {
	cmd, _, err := root.Find(strings.Fields(template))
	if err != nil || cmd == root {
		cmd = root
	}
	if words := wordsOf(rest, cmd); len(words) > 1 && !cmd.HasSubCommands() && strings.Count(template, "{") < 2 && cmd.ValidateArgs(words) != nil { // it takes one
		rest = without(rest, words[1:]...)
		if one := asOne(cmd, words); one != "" {
			rest[slices.Index(rest, words[0])] = one
		}
	}
	said, remarks := translate(cmd, rest)
	if _, argument, _ := strings.Cut(cmd.Use, " "); !strings.Contains(template, "{") && (argument == "ID" || argument == "TASK") && len(wordsOf(rest, cmd)) == 0 && !slices.Contains(said, "last") && !slices.Contains(removing, cmd.Name()) &&
		len(strings.Fields(template)) == len(strings.Fields(cmd.CommandPath()))-1 {
		template += " last"
	}
	if strings.Contains(template, "{last}") && (len(said) == 0 || strings.HasPrefix(said[0], "-")) {
		template = strings.Replace(template, "{last}", "last", 1)
	}
	said = slices.DeleteFunc(said, func(word string) bool { // which the template has
		own := flagOf(cmd, word)
		return own != nil && own.NoOptDefVal != "" && slices.Contains(strings.Fields(template), word)
	})
	if !strings.Contains(template, "{") {
		template += " {}"
	}
	return strings.TrimSpace(fillPlaces(template, said...)), remarks
}

// ReadIn returns what section has for words; nil if it has nothing.
func ReadIn(root *cobra.Command, section string, args, words []string) *reading {
	if len(words) == 0 {
		return nil
	}
	entries := Foreign()[section]
	for i := range entries {
		e := &entries[i]
		if !slices.Contains(e.Names, strings.ToLower(words[0])) {
			continue
		}
		form := strings.Join(e.Form, " ")
		if len(words) > 2 && !e.always && !cmdSection(section) && !IsReference(words[1]) && !quotesLast(words) && form != "{key}" {
			continue // a task may begin so
		}
		rest := without(args, words[0])
		fits := true
		for _, form := range e.Form {
			searched := rest
			if e.always { // a task may have the words further on
				searched = rest[:min(1, len(rest))]
			}
			switch {
			case form == "{}":
			case form == "{rule}":
				fits = fits && len(words) == 2 && IsRule(words[1])
			case form == "{key}":
				if fits = len(words) > 1; fits {
					_, err := config.LookupKey(words[1])
					fits = err == nil
				}
			case form == "{json}":
				fits = fits && len(words) == 2 && strings.HasPrefix(words[1], "{")
			case form == "{path}":
				fits = fits && len(words) == 2 && Exists(words[1])
			case form == "{more}":
				fits = fits && len(words) > 1
			case form == "{word}":
				fits = fits && len(words) == 2 && oneName().MatchString(words[1])
			case form == "{command}":
				if fits = fits && len(words) == 2 && strings.Contains(words[1], " "); fits {
					rest = append(without(rest, words[1]), "shell("+words[1]+")")
				}
			case slices.ContainsFunc(searched, func(a string) bool {
				return slices.ContainsFunc(strings.Split(form, "|"), func(one string) bool {
					return one == a || one[0] != '-' && matches(one, strings.ToLower(a)) // -C is not -c
				})
			}):
				if !strings.Contains(form, "|") {
					rest = without(rest, form)
				}
			default:
				fits = false
			}
		}
		if !fits {
			continue
		}
		r := &reading{remark: e.Remark, sure: true, always: e.always}
		if e.Ours == "" {
			r.remark = fillPlaces(e.Remark, "")
			return r
		}
		line := strings.ReplaceAll(e.Ours, "{name}", strings.ToLower(words[0]))
		var remarks []string
		if strings.Contains(line, "{") {
			if line, remarks = lineFor(root, line, rest); r.remark == "" {
				r.remark = strings.Join(remarks, "; ")
			}
		}
		r.Lines = []string{line}
		return r
	}
	return nil
}

// cmdSection reports whether a section is for the words after a command of pawl's.
func cmdSection(section string) bool { return section != "words" }

// synonymsOf returns the names that subcommands of pawl's have for what a word means.
func synonymsOf(word string) []string {
	for _, e := range Foreign()["synonyms"] {
		if slices.Contains(e.Names, word) {
			return strings.Fields(e.Ours)
		}
	}
	return nil
}

// groupOf returns the command that a noun names.
func groupOf(root *cobra.Command, noun string) *cobra.Command {
	for _, e := range Foreign()["nouns"] {
		if slices.Contains(e.Names, noun) {
			noun = e.Ours
			break
		}
	}
	if cmd, _, err := root.Find([]string{noun}); err == nil && cmd != root {
		return cmd
	}
	return nil
}

// Subcommand returns the name of the subcommand of cmd that a word names or means; "": none.
func Subcommand(cmd *cobra.Command, word string) string {
	names := command.CommandNames(cmd)
	for _, name := range append([]string{word}, synonymsOf(word)...) {
		if slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

var (
	runID  = lazy.Regexp(`^20[0-9]{6}(-[0-9a-z-]*)?$`)
	taskID = lazy.Regexp(`^t-[a-z0-9]{4,}$`)
	CallID = lazy.Regexp(`^c_[0-9]+$`)
	// PathForm is the form of a file or an address.
	PathForm = lazy.Regexp(`/|^[^.]+\.[a-z]{1,5}$`)
	// dashed is the form of a command that no task has: create-chat, set-model.
	dashed = lazy.Regexp(`^[a-z]+(-[a-z]+)+$`)
	ruleID = lazy.Regexp(`^[A-Za-z_]+\(.*\)$`)
)

func IsReference(word string) bool {
	return word == "last" || runID().MatchString(word) || taskID().MatchString(word) || CallID().MatchString(word)
}

// quotesLast reports whether the last of three words alone was quoted, as in resume ID "words": a task is quoted as a
// whole or not at all.
func quotesLast(words []string) bool {
	return len(words) == 3 && oneName().MatchString(words[1]) && strings.Contains(words[2], " ")
}

func IsRule(word string) bool { return ruleID().MatchString(word) }

// typo returns the one of names that word was probably meant to be; "" if none is near.
func typo(word string, names []string) string {
	near := text.Typo(word, names)
	if near != "" && text.Distance(strings.ToLower(word), near) > max(1, len(word)/4) {
		return ""
	}
	return near
}

// ReadAsCommand returns what words were probably meant to be that name no command of root; nil
// if they are a task. A task of one word is one that is like no command and like no verb of one.
func ReadAsCommand(root *cobra.Command, args, words []string) *reading {
	if words[0] == "" {
		return nil // an empty task, which is said so
	}
	first := strings.ToLower(words[0])
	rest := func(n int) []string { return without(args, words[:n]...) }
	line := func(name string, n int) *reading {
		said, remarks := lineFor(root, name, rest(n))
		return &reading{Lines: []string{said}, remark: strings.Join(remarks, "; ")}
	}
	if strings.HasPrefix(first, "/") && len(words) <= 2 && oneName().MatchString(first[1:]) && !Exists(words[0]) {
		return &reading{remark: "it is a command of the terminal agent: start pawl, and type it there"}
	}
	if first != words[0] && slices.Contains(command.CommandNames(root), first) {
		r := line(first, 1)
		if cmd, _, err := root.Find([]string{first}); err == nil && len(words) > 1 && slices.Contains(command.CommandNames(cmd), strings.ToLower(words[1])) {
			r = line(first+" "+strings.ToLower(words[1]), 2)
		}
		r.sure = true
		return r
	}
	if len(words) > 1 && len(words) <= 3 { // as in list models
		if group := groupOf(root, strings.ToLower(words[1])); group != nil {
			switch sub := Subcommand(group, first); {
			case sub != "":
				return line(group.Name()+" "+sub, 2)
			case ReadIn(root, group.Name(), without(args, words[1]), slices.Concat(words[:1], words[2:])) != nil:
				return ReadIn(root, group.Name(), without(args, words[1]), slices.Concat(words[:1], words[2:]))
			case first != "get" && (len(synonymsOf(first)) > 0 || first == "show" || first == "list"):
				return line(group.Name(), 2)
			}
		}
	}
	if r := ReadIn(root, "words", args, words); r != nil {
		return r
	}
	if parts := strings.FieldsFunc(words[0], func(r rune) bool { return strings.ContainsRune("-:._/", r) }); len(parts) == 2 && !Exists(words[0]) {
		if group := groupOf(root, parts[0]); group != nil && Subcommand(group, parts[1]) != "" {
			return line(group.Name()+" "+Subcommand(group, parts[1]), 1)
		}
		if group := groupOf(root, parts[1]); group != nil && Subcommand(group, parts[0]) != "" {
			return line(group.Name()+" "+Subcommand(group, parts[0]), 1)
		}
	}
	if group := groupOf(root, first); group != nil { // a noun for a command of pawl's
		switch {
		case len(words) > 1 && Subcommand(group, strings.ToLower(words[1])) != "":
			r := line(group.Name()+" "+Subcommand(group, strings.ToLower(words[1])), 2)
			r.sure = true
			return r
		case len(words) > 1 && ReadIn(root, group.Name(), rest(1), words[1:]) != nil:
			return ReadIn(root, group.Name(), rest(1), words[1:])
		case len(words) == 2 && group.HasSubCommands() && Subcommand(group, "show") == "show" && oneName().MatchString(words[1]):
			return line(group.Name()+" show", 1)
		case len(words) == 2 && group.HasSubCommands():
			return line(group.Name(), 2)
		case len(words) <= 2:
			return line(group.Name(), 1)
		}
	}
	if len(words) <= 2 || IsReference(words[1]) {
		if r := readAsSubcommand(root, rest(1), words); r != nil {
			return r
		}
	}
	for _, name := range command.CommandNames(root) {
		group, _, err := root.Find([]string{name})
		if err != nil {
			continue
		}
		near := typo(first, []string{name}) != "" || swapped(first, name) || len(words) <= 3 && (len(first) >= 3 && strings.HasPrefix(name, first) || len(name) >= 4 && strings.HasPrefix(first, name))
		if near && (len(words) <= 3 || text.Distance(first, name) <= 1) || len(words) > 1 && len(words) <= 3 && group.HasSubCommands() && slices.Contains(command.CommandNames(group), words[1]) && near {
			return line(name, 1)
		}
	}
	if len(words) == 2 && (IsReference(words[1]) || IsRule(words[1])) || len(words) == 3 && words[1] != "last" && IsReference(words[1]) {
		if r := readAsTypo(root, args, words); r != nil {
			return r
		}
		return ReadAsReference(words[1], false)
	}
	if r := readAsPaths(root, rest(len(words)), words); r != nil {
		return r
	}
	if dashed().MatchString(first) && len(words) <= 2 && !IsReference(first) {
		return &reading{remark: "not a command; see pawl --help"}
	}
	if len(words) == 2 {
		for _, group := range root.Commands() {
			if slices.Contains(command.CommandNames(group), words[1]) && text.Distance(first, group.Name()) <= 2 {
				return line(group.Name(), 1)
			}
		}
		return nil
	}
	if len(words) > 1 {
		return nil
	}
	switch {
	case first[0] == '!', len(first) == 1 && len(args) == 1 && 'a' <= first[0] && first[0] <= 'z':
		return &reading{remark: "not a command; see pawl --help"}
	case IsReference(first) || IsRule(words[0]):
		return ReadAsReference(words[0], true)
	case isFolder(words[0]):
		return &reading{Lines: []string{"-C " + command.ShellWord(words[0])}, sure: true}
	case strings.Contains(first, "="):
		return &reading{remark: "settings are flags, PAWL_… variables and config.toml; see pawl config"}
	}
	return readAsTypo(root, args, words)
}

// readAsTypo returns what words were probably meant to be if the first of them is mistyped.
func readAsTypo(root *cobra.Command, args, words []string) *reading {
	first := strings.ToLower(words[0])
	near := typo(first, verbs(root))
	if near == "" || near == first || len(first) <= 3 {
		return nil
	}
	args = slices.Clone(args)
	args[slices.Index(args, words[0])] = near
	r := ReadAsCommand(root, args, append([]string{near}, words[1:]...))
	if r != nil {
		r.sure, r.Guess = false, true
	}
	return r
}

// swapped reports whether words have the same letters in another order.
func swapped(x, y string) bool {
	letters := func(word string) string { return string(slices.Sorted(slices.Values([]byte(word)))) }
	return len(x) > 3 && x != y && letters(x) == letters(y)
}

// readAsPaths returns the run that works with files or addresses, if the words are nothing else.
// A prompt in a flag of another agent, as in aider's --message, is its task.
func readAsPaths(root *cobra.Command, rest, words []string) *reading {
	var mentions []string
	for _, word := range words {
		name := strings.TrimPrefix(word, "@")
		switch {
		case isFolder(name) && len(words) == 1 && name == word:
			return nil
		case strings.Contains(word, "://"):
			mentions = append(mentions, word)
		case Exists(name) || PathForm().MatchString(strings.ToLower(name)):
			mentions = append(mentions, "@"+name)
		default:
			return nil
		}
	}
	runs, _, err := root.Find([]string{"run"})
	if err != nil {
		return nil
	}
	task, remark := "…", "say what to do with it"
	for i := 0; i < flagsEnd(rest); i++ {
		if e, values, next := ForeignFlag(runs, rest, i); e != nil && e.Ours == "-p {}" && values[0] != "" {
			task, remark, rest = values[0], "", slices.Delete(slices.Clone(rest), i, next)
			break
		}
	}
	said, remarks := translate(runs, rest)
	if remark != "" {
		remarks = append(remarks, remark)
	}
	line := append([]string{"run", command.ShellWord(task + " " + strings.Join(mentions, " "))}, said...)
	return &reading{Lines: []string{strings.Join(line, " ")}, remark: strings.Join(remarks, "; "), sure: true}
}

// likeliness is less for a command whose subcommand is likelier to be meant by a word alone.
func likeliness(c *cobra.Command) int {
	order := []string{"runs", "task", "serve", "outputs", "tool", "config"}
	if i := slices.Index(order, c.Name()); i >= 0 {
		return i
	}
	return len(order)
}

// readAsSubcommand returns the subcommands that the first of words names or means.
func readAsSubcommand(root *cobra.Command, rest, words []string) *reading {
	first := strings.ToLower(words[0])
	r := &reading{}
	groups := slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool { return !c.HasSubCommands() })
	stable.Sort(groups, func(x, y *cobra.Command) int { return cmp.Compare(likeliness(x), likeliness(y)) })
	for _, group := range groups {
		if len(words) > 1 {
			switch argument := words[1]; {
			case taskID().MatchString(argument) && group.Name() != "task",
				runID().MatchString(argument) && group.Name() != "runs",
				argument == "last" && group.Name() != "runs" && group.Name() != "task",
				IsRule(argument) && group.Name() != "permissions":
				continue
			}
		}
		if sub := Subcommand(group, first); sub != "" && len(r.Lines) < 3 {
			if cmd, _, err := group.Find([]string{sub}); err == nil && len(words) > 1 && cmd.ValidateArgs(words[1:]) != nil && cmd.ValidateArgs([]string{}) == nil {
				continue // it takes no such word
			}
			said, _ := lineFor(root, group.Name()+" "+sub, rest)
			r.Lines = append(r.Lines, said)
		}
	}
	if len(r.Lines) == 0 {
		return nil
	}
	return r
}

// ReadAsReference returns what shows the thing that a word names: a run, a task, an output, a rule.
func ReadAsReference(word string, sure bool) *reading {
	line := "runs show "
	switch {
	case taskID().MatchString(word):
		line = "task show "
	case CallID().MatchString(word):
		line = "outputs show "
	case IsRule(word):
		line = "permissions add "
		if rules := ownRules(word); len(rules) > 0 {
			word = rules[0]
		}
	}
	return &reading{Lines: []string{line + command.ShellWord(word)}, sure: sure}
}

// verbs returns the words that a command line may begin with, here or elsewhere.
func verbs(root *cobra.Command) []string {
	var all []string
	for _, section := range []string{"words", "synonyms", "nouns"} {
		for _, e := range Foreign()[section] {
			all = append(all, e.Names...)
		}
	}
	for _, c := range root.Commands() {
		all = append(all, command.CommandNames(c)...)
	}
	return all
}

func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func isFolder(path string) bool {
	info, err := os.Stat(filepath.Clean(path))
	return err == nil && info.IsDir()
}

// UnknownCommand is the error for words that name no subcommand of cmd, a command with some.
func UnknownCommand(cmd *cobra.Command, words []string) error {
	root := cmd.Root()
	if cmd == root {
		if r := ReadAsCommand(root, words, words); r != nil {
			return r.Error(cmd, words)
		}
		return command.Usage("unknown command %s. See pawl --help\nAs a task: pawl run %s", command.Quoted(words[0]), command.ShellWord(strings.Join(words, " ")))
	}
	path := strings.TrimPrefix(cmd.CommandPath(), "pawl ")
	names := command.CommandNames(cmd)
	if len(names) == 0 {
		return command.Usage("%s has no commands; its help is pawl help %s", cmd.CommandPath(), path)
	}
	if r := ReadIn(root, path, words, words); r != nil {
		return r.Error(cmd, words)
	}
	r := &reading{}
	if path == "config" {
		if line := SettingLine(words); line != "" {
			return (&reading{Lines: []string{line}, sure: true}).Error(cmd, words)
		}
	}
	line := func(sub string, rest []string) *reading {
		said, _ := lineFor(root, path+" "+sub, rest)
		r.Lines = append(r.Lines, said)
		return r
	}
	if fields := strings.Fields(words[0]); len(fields) > 1 && slices.Contains(names, fields[0]) { // quoted as one
		r.sure = true
		return line(fields[0], append(fields[1:], words[1:]...)).Error(cmd, words)
	}
	first := strings.ToLower(words[0])
	switch sub, near := Subcommand(cmd, first), typo(first, names); {
	case sub != "":
		return line(sub, words[1:]).Error(cmd, words)
	case near != "":
		return line(near, words[1:]).Error(cmd, words)
	case len(words) > 1 && groupOf(root, first) == cmd && Subcommand(cmd, words[1]) != "":
		return line(Subcommand(cmd, words[1]), words[2:]).Error(cmd, words)
	}
	if meant := typo(first, foreignWords(cmd, path)); meant != "" && meant != first && len(first) > 3 { // cancle, for cancel
		if r := ReadIn(root, path, append([]string{meant}, words[1:]...), append([]string{meant}, words[1:]...)); r != nil {
			r.sure = false
			return r.Error(cmd, words)
		}
		return line(Subcommand(cmd, meant), words[1:]).Error(cmd, words)
	}
	if IsReference(words[0]) || IsRule(words[0]) {
		return ReadAsReference(words[0], true).Error(cmd, words)
	}
	if adds, _, err := cmd.Find([]string{"add"}); err == nil && adds != cmd && strings.Contains(adds.Use, " TEXT") &&
		(len(words) > 1 || strings.ContainsAny(words[0], " \t\n")) {
		r.sure = true
		return line("add", []string{strings.Join(words, " ")}).Error(cmd, words)
	}
	switch shows := Subcommand(cmd, "show"); {
	case len(words) > 1 || !oneName().MatchString(words[0]):
	case path == "tool" && slices.Contains(app.ToolNames(), words[0]):
		return line("help", words).Error(cmd, words)
	case shows == "show":
		r.remark = cmd.CommandPath() + " has " + strings.Join(names, ", ")
		return line(shows, words).Error(cmd, words)
	}
	return command.Usage("unknown command %s of %s; it has %s. See %s --help", command.Quoted(words[0]), cmd.CommandPath(), strings.Join(names, ", "), cmd.CommandPath())
}

// foreignWords returns the words that other programs have for the subcommands of cmd.
func foreignWords(cmd *cobra.Command, path string) []string {
	var all []string
	for _, e := range Foreign()[path] {
		all = append(all, e.Names...)
	}
	for _, e := range Foreign()["synonyms"] {
		if Subcommand(cmd, e.Names[0]) != "" {
			all = append(all, e.Names...)
		}
	}
	return slices.DeleteFunc(all, func(word string) bool { return strings.HasPrefix(word, "-") })
}

// SettingLine returns the command line that words stand for which begin with a setting, as in
// config model sonnet and config set model=sonnet; "" if they do not.
func SettingLine(words []string) string {
	if len(words) == 0 {
		return ""
	}
	name, value, given := strings.Cut(words[0], "=")
	k, err := config.LookupKey(name)
	if err != nil {
		return ""
	}
	var values []string
	if given {
		values = append(values, value)
	}
	for _, word := range words[1:] {
		if word = strings.TrimPrefix(word, "="); word != "" {
			values = append(values, word)
		}
	}
	if len(values) == 0 {
		return "config get " + k.Name
	}
	return ShellLine(append([]string{"config", "set", k.Name}, values...))
}
