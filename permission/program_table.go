package permission

import (
	"cmp"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/lazy"
)

// A fact is a property of a program; programs.txt says what each means.
type fact uint64

const (
	named fact = 1 << iota
	deletes
	runsNothing
	runsByHazard
	runsWhatItNames
	runsItsWords
	isShell
	joins
	fed
	asksGit
	obeysFiles
	optionFiles
	isIdler
	looksUp
	setsVariables
	setsTheShell
	makesNoLinks
	ownWork
	language
	covered
	assigns
	isTransparent
	guessed
	takesTexts
	runsInput
	runsPackages
	goesThrough
	changesFolder
	// These have words of their own.
	findsBy
	hasInput
	saysVersion
	means
	quiet
	reads
	values
	lists
	wraps
	flags
	commands
	plugins
	recurses
	listed
	short
	long
	single
	prefixes
	within

	anyHazard = commands | plugins | short | long | single | prefixes | within
)

var facts = map[string]fact{
	"named": named, "deletes": deletes, "runs nothing": runsNothing, "runs by hazard": runsByHazard,
	"runs what it names": runsWhatItNames, "runs its words": runsItsWords, "shell": isShell, "joins": joins, "fed": fed,
	"asks git": asksGit, "obeys files": obeysFiles, "option files": optionFiles, "idles": isIdler, "looks up": looksUp,
	"sets variables": setsVariables, "sets the shell": setsTheShell, "makes no links": makesNoLinks, "own work": ownWork,
	"language": language, "covered": covered, "assigns": assigns, "transparent": isTransparent, "guessed": guessed,
	"texts": takesTexts, "runs input": runsInput, "runs packages": runsPackages, "goes through": goesThrough,
	"changes folder": changesFolder,
	"finds":          findsBy, "input": hasInput, "version": saysVersion, "means": means, "quiet": quiet,
	"reads": reads, "values": values, "lists": lists, "wraps": wraps, "flags": flags, "commands": commands, "plugins": plugins,
	"recurses": recurses, "listed": listed,
	"short": short, "long": long, "single": single, "prefixes": prefixes, "within": within,
}

// A program has the facts that programs.txt states about it.
type program struct {
	facts fact
	words map[fact]string // of facts that have them
	// What the facts amount to, for a program that reads and for one that runs another.
	reader  reader
	wrapper wrapper
}

// A table has programs by their names, and by PROGRAM/COMMAND what is known of their commands.
type table struct{ programs, commands map[string]*program }

//go:embed programs.txt
var programsText string

var programs = lazy.Value(func() table {
	all, err := parsePrograms(programsText)
	if err != nil {
		panic("programs.txt: " + err.Error()) // it is a part of the program
	}
	return all
})

var unknownProgram = &program{}

// programOf returns what is known of a program.
func programOf(name string) *program {
	if p := programs().programs[name]; p != nil {
		return p
	}
	return unknownProgram
}

// commandOf returns what is known of a program's command.
func commandOf(program, command string) *program {
	if p := programs().commands[program+"/"+command]; p != nil {
		return p
	}
	return unknownProgram
}

func (p *program) is(f fact) bool { return p.facts&f != 0 }

// is reports whether a program has a fact.
func is(name string, f fact) bool { return programOf(name).is(f) }

// wordsOf returns the words of a fact; ok is false if the program does not have it.
func wordsOf(name string, f fact) (words string, ok bool) {
	p := programOf(name)
	return p.words[f], p.is(f)
}

// prepare puts together what the facts amount to.
func (p *program) prepare() error {
	kind, known := kindsOfOperands[p.words[reads]]
	if !known {
		return fmt.Errorf("there are no operands %q", p.words[reads])
	}
	own, err := strconv.Atoi(cmp.Or(p.words[wraps], "0"))
	if err != nil {
		return fmt.Errorf("%q is no number of operands", p.words[wraps])
	}
	w := p.words
	h := hazard{commands: w[commands], short: w[short], single: w[single],
		long: strings.Fields(w[long]), prefixes: strings.Fields(w[prefixes]), within: strings.Fields(w[within])}
	p.reader = reader{operands: kind, values: p.words[values], hazard: h}
	p.wrapper = wrapper{flags: optionsOf(w[flags]), values: optionsOf(w[values]), operands: own, assigns: p.is(assigns),
		transparent: p.is(isTransparent), guessed: p.is(guessed), texts: p.is(takesTexts), joins: p.is(joins), input: p.is(runsInput)}
	return nil
}

// optionsOf reads the options of a wrapper: the letters of the short ones, then the long ones.
func optionsOf(words string) options {
	letters, long, _ := strings.Cut(" "+words, " --")
	return options{strings.TrimSpace(letters), "--" + long}
}

// parsePrograms reads a table of programs.
func parsePrograms(text string) (table, error) {
	t, err := table{map[string]*program{}, map[string]*program{}}, error(nil)
	var rows []string
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " "):
			if len(rows) == 0 {
				return table{}, fmt.Errorf("%q continues nothing", strings.TrimSpace(line))
			}
			rows[len(rows)-1] += " " + strings.TrimSpace(line)
		default:
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	for _, row := range rows {
		names, said, ok := strings.Cut(row, " = ")
		if !ok {
			return table{}, fmt.Errorf("%q is no line NAMES = FACTS", row)
		}
		p := &program{}
		for part := range strings.SplitSeq(said, ",") {
			part = strings.TrimSpace(part)
			f, words := facts[part], ""
			if f == 0 {
				var name string
				if name, words, _ = strings.Cut(part, " "); facts[name] < findsBy {
					return table{}, fmt.Errorf("%q: there is no fact %q", row, part)
				}
				f = facts[name]
			}
			if p.is(f) {
				return table{}, fmt.Errorf("%q says %q twice", row, part)
			}
			p.facts |= f
			if words != "" {
				if p.words == nil {
					p.words = map[fact]string{}
				}
				p.words[f] = words
			}
		}
		if err = p.prepare(); err != nil {
			return table{}, fmt.Errorf("%q: %w", row, err)
		}
		for name := range strings.FieldsSeq(names) {
			to := t.programs
			if strings.Contains(name, "/") {
				to = t.commands
			}
			if to[name] != nil {
				return table{}, fmt.Errorf("%s stands in two lines", name)
			}
			to[name] = p
		}
	}
	return t, nil
}
