package permission

import (
	_ "embed"
	"fmt"
	"strings"

	"pawl/internal/lazy"
)

// A fact is a property of a program; programs.txt says what each means.
type fact uint32

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
	// These have words of their own.
	findsBy
	hasInput
	saysVersion
	means
	quiet
)

var facts = map[string]fact{
	"named": named, "deletes": deletes, "runs nothing": runsNothing, "runs by hazard": runsByHazard, "runs what it names": runsWhatItNames,
	"runs its words": runsItsWords, "shell": isShell, "joins": joins, "fed": fed, "asks git": asksGit, "obeys files": obeysFiles,
	"option files": optionFiles, "idles": isIdler, "looks up": looksUp, "sets variables": setsVariables, "sets the shell": setsTheShell, "makes no links": makesNoLinks, "own work": ownWork,
	"finds": findsBy, "input": hasInput, "version": saysVersion, "means": means, "quiet": quiet,
}

// A program has the facts that programs.txt states about it.
type program struct {
	facts fact
	words map[fact]string // of facts that have them
}

//go:embed programs.txt
var programsText string

var programs = lazy.Value(func() map[string]program {
	all, err := parsePrograms(programsText)
	if err != nil {
		panic("programs.txt: " + err.Error()) // it is a part of the program
	}
	return all
})

// is reports whether a program has a fact.
func is(name string, f fact) bool { return programs()[name].facts&f != 0 }

// wordsOf returns the words of a fact; ok is false if the program does not have it.
func wordsOf(name string, f fact) (words string, ok bool) {
	p := programs()[name]
	return p.words[f], p.facts&f != 0
}

// parsePrograms reads a table of programs.
func parsePrograms(text string) (map[string]program, error) {
	all := map[string]program{}
	var rows []string
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " "):
			if len(rows) == 0 {
				return nil, fmt.Errorf("%q continues nothing", strings.TrimSpace(line))
			}
			rows[len(rows)-1] += line
		default:
			rows = append(rows, line)
		}
	}
	for _, row := range rows {
		names, said, ok := strings.Cut(row, " = ")
		if !ok {
			return nil, fmt.Errorf("%q is no line NAMES = FACTS", strings.TrimSpace(row))
		}
		p := program{}
		for part := range strings.SplitSeq(said, ",") {
			part = strings.Join(strings.Fields(part), " ")
			f, words := facts[part], ""
			if f == 0 {
				var name string
				if name, words, _ = strings.Cut(part, " "); facts[name] < findsBy {
					return nil, fmt.Errorf("%q: there is no fact %q", strings.TrimSpace(row), part)
				}
				f = facts[name]
			}
			if p.facts&f != 0 {
				return nil, fmt.Errorf("%q says %q twice", strings.TrimSpace(row), part)
			}
			p.facts |= f
			if words != "" {
				if p.words == nil {
					p.words = map[fact]string{}
				}
				p.words[f] = words
			}
		}
		for name := range strings.FieldsSeq(names) {
			if _, twice := all[name]; twice {
				return nil, fmt.Errorf("%s stands in two lines", name)
			}
			all[name] = p
		}
	}
	return all, nil
}
