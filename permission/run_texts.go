package permission

import (
	"path"
	"slices"
	"strings"
)

// takesData reports whether the words of p are known to be data: names of files, texts that
// are shown or searched for, settings. A word that is a hazard ends that.
func takesData(p *simpleCommand, l *commandInfo) bool {
	name := p.program()
	if len(l.hazards) > 0 && !is(name, runsNothing) {
		return false
	}
	return l.reads || l.textOnly || is(name, runsNothing|runsByHazard|setsTheShell|asksGit) || hazardsKnown(name) && !is(name, runsItsWords) ||
		is(name, isShell) && p.readsText
}

// hazardsKnown reports whether a program that does not only read is known by its hazards, so that its other
// words are none.
func hazardsKnown(name string) bool {
	return is(name, anyHazard) && !is(name, reads|asksGit|language)
}

// maxTexts bounds how many words of one command are read as commands.
const maxTexts = 200

// mayRun returns the first of rules that speaks of a command which p may run: one of its
// words as a text of shell, or its words from one of them on; of git, also what a repository
// makes it run. What p is known to run is a part of its own, and words that are known to be
// data are passed over.
func (t *evaluation) mayRun(p *simpleCommand, l *commandInfo, rules []Rule) (rule Rule, what string, ok bool) {
	if len(rules) == 0 || p.speculative || p.transparent {
		return Rule{}, "", false
	}
	budget := maxTexts
	if is(path.Base(p.program()), asksGit) {
		set := []word{{text: "configuration"}, {text: t.r.Runs}}
		if runsHooks(p, l) {
			set = append(set, word{text: t.r.Hooks})
		}
		if slices.ContainsFunc(set, func(w word) bool { return len(w.text) > maxCommand }) {
			return rules[0], "what a long configuration names", true
		}
		if rule, what, ok := (&simpleCommand{words: set, dirs: p.dirs}).runsByRule(&commandInfo{}, rules, &budget); ok {
			return rule, what + " by the configuration of a repository", true
		}
	}
	return p.runsByRule(l, rules, &budget)
}

func (p *simpleCommand) runsByRule(l *commandInfo, rules []Rule, budget *int) (rule Rule, what string, ok bool) {
	if takesData(p, l) {
		return Rule{}, "", false
	}
	words := p.words[1:]
	if p.innerAt > 0 {
		words = p.words[1:p.innerAt]
	}
	known := hazardsKnown(path.Base(p.program()))
	operands := 0
	for i, w := range words {
		if !strings.HasPrefix(w.text, "-") {
			operands++
		}
		if !slices.ContainsFunc(rules, func(r Rule) bool { return r.mayBeIn(w.text) }) {
			continue
		}
		scripts := textsIn(w.text, rules)
		ownWord := known && len(l.hazards) == 0 && (operands == 1 || i == len(words)-1) // npm rm, npm run rm
		if !ownWord {
			r := &scriptReader{dirs: p.dirs}
			r.inner(p, words[i:], true)
			for _, q := range r.parts {
				if rule, ok := speaking(rules, q); ok {
					return rule, quote(joinSources(q.words)), true
				}
			}
		} else if !strings.ContainsAny(w.text, " ;|&(\n") {
			continue
		}
		for _, text := range scripts {
			if *budget--; *budget < 0 {
				return rules[0], "its many words", true
			}
			for _, q := range read(text).parts {
				if rule, ok := speaking(rules, q); ok {
					return rule, quote(text), true
				}
				if len(q.words) > 1 && !q.speculative {
					if rule, what, ok := q.runsByRule(q.info(), rules, budget); ok {
						return rule, what, true
					}
				}
			}
		}
	}
	return Rule{}, "", false
}

// runsItsInput reports whether p may run programs that its input names.
func (p *simpleCommand) runsItsInput() bool {
	marks, ok := wordsOf(path.Base(p.program()), hasInput)
	if !ok || !p.input.given {
		return false
	}
	if !p.input.known || marks == "" {
		return true
	}
	lines := strings.Split(strings.ToLower(p.input.text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	text := "\n" + strings.Join(lines, "\n")
	for mark := range strings.FieldsSeq(marks) {
		if strings.Contains(text, strings.Replace(mark, "^", "\n", 1)) {
			return true
		}
	}
	return false
}

// signs stand before a text of shell in texts of other languages and in options: =COMMAND,
// ["COMMAND"], system("COMMAND"), |COMMAND, !COMMAND.
const signs = "=:,;|&!@#%<>(){}[]\"'`\n"

// textsIn returns what in a word may be a text of shell: the word, what follows the name of
// an option or variable, and what follows a sign and begins with a program that one of rules
// speaks of, or with one that runs others.
func textsIn(word string, rules []Rule) []string {
	const before = "|!@&;-+ \t\n"
	texts := []string{strings.TrimLeft(word, before)}
	for _, sign := range "=:," {
		if _, value, ok := strings.Cut(word, string(sign)); ok {
			texts = append(texts, strings.TrimLeft(value, before))
		}
	}
	if letters, ok := shortOptions(word); ok && letters != "" {
		texts = append(texts, letters[1:]) // -sCOMMAND
	}
	for i := 0; i < len(word) && len(texts) <= maxTexts; i++ { // more than that are not read
		if strings.IndexByte(signs, word[i]) < 0 {
			continue
		}
		text := strings.TrimLeft(word[i+1:], " \t\n")
		end := strings.IndexAny(text, " \t"+signs)
		if end < 0 {
			end = len(text)
		}
		name := path.Base(text[:end])
		if is(name, wraps|isShell|joins) || slices.ContainsFunc(rules, func(r Rule) bool { return r.names(name) }) {
			texts = append(texts, asShell.Replace(text))
		}
	}
	return slices.DeleteFunc(texts, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// asShell makes words of shell of a list or a call of another language.
var asShell = strings.NewReplacer(`"`, " ", "'", " ", "`", " ", ",", " ", "(", " ", ")", " ", "{", " ", "}", " ", "[", " ", "]", " ", "<", " ", ">", " ")

// names reports whether the rule speaks of a program.
func (r Rule) names(program string) bool {
	words := r.split()
	return len(words) > 0 && matchWord(strings.ToLower(path.Base(words[0])), strings.ToLower(program))
}

// mayBeIn reports whether a text may name the program that the rule speaks of. Quotes and
// expansions may hide a name.
func (r Rule) mayBeIn(text string) bool {
	words := r.split()
	if len(words) == 0 || text == "" {
		return false
	}
	if strings.ContainsAny(text, "'\"\\$`{") {
		return true
	}
	lower := strings.ToLower(text)
	for part := range strings.SplitSeq(strings.ToLower(path.Base(words[0])), wild) {
		if !strings.Contains(lower, part) {
			return false
		}
	}
	return true
}
