package permission

import (
	"path"
	"slices"
	"strings"

	"pawl/permission/filenames"
)

// embedded returns a deny rule for files that may speak of what a word of a command holds
// and is not: the file in the program of sed or awk, the value of an option written together
// with it (-ofile, of=file), a pattern of names that git itself expands; of what a command
// reads or changes with the whole workspace; or of a name in a directory that is not known.
func (t *evaluation) embedded(p *simpleCommand, l *commandInfo, rules []Rule) (rule Rule, what string, ok bool) {
	if len(rules) == 0 || l.textOnly {
		return Rule{}, "", false
	}
	unknown := len(p.dirs) == 0 || p.changesDir
	name := path.Base(p.program())
	for i, w := range p.words[1:] {
		if w.kind != static || name == "git" && gitPasses(p.words[i].text, w.text) {
			continue
		}
		for _, candidate := range namesIn(w.text, l.reads && !unknown) {
			if rule, ok := firstRule(rules, func(r Rule) bool { return t.mayName(p, r, candidate, unknown) }); ok {
				return rule, quote(w.source), true
			}
		}
	}
	if rule, w, ok := t.inRevisions(p, rules); ok {
		return rule, quote(w.source), true
	}
	if name == "git" && takesAll(p) {
		reads := t.fileRules(Deny, false)
		if rule, ok := firstRule(reads, func(r Rule) bool { return !path.IsAbs(r.Pattern) }); ok {
			return rule, "every changed file", true
		}
	}
	return Rule{}, "", false
}

// gitPasses reports whether a word of git names no file that git looks at: a message, or a path that is left out.
func gitPasses(before, word string) bool {
	_, out := excluded(word)
	return out || has("-m --message -am", before)
}

// inRevisions returns a rule that speaks of a file which a word of a git names in a revision, and the word.
func (t *evaluation) inRevisions(p *simpleCommand, rules []Rule) (Rule, word, bool) {
	if path.Base(p.program()) != "git" || len(rules) == 0 {
		return Rule{}, word{}, false
	}
	for i, w := range p.words[1:] {
		if w.kind == static && strings.Contains(w.text, ":") && !gitPasses(p.words[i].text, w.text) {
			if rule, ok := t.inRevision(p, w.text, rules, len(p.dirs) == 0 || p.changesDir); ok {
				return rule, w, true
			}
		}
	}
	return Rule{}, word{}, false
}

// inRevision returns a rule that speaks of a file which a word of git names in a revision, in the
// index or from the top of the repository: HEAD:a, :0:a, :/a, :(top)a, HEAD:./a. The repository may begin
// above the workspace.
func (t *evaluation) inRevision(p *simpleCommand, text string, rules []Rule, unknown bool) (Rule, bool) {
	for _, cut := range []string{":", ":/", ")"} {
		at := strings.LastIndex(text, cut)
		if at < 0 {
			continue
		}
		for name, more := text[at+len(cut):], true; more && name != ""; _, name, more = strings.Cut(name, "/") {
			if rule, ok := firstRule(rules, func(r Rule) bool {
				return r.Pattern != "" && (t.mayName(p, r, name, unknown) || t.fromAbove(p, r, name))
			}); ok {
				return rule, true
			}
		}
	}
	return Rule{}, false
}

// fromAbove reports whether a rule speaks of a name as seen from the folder of a command or one above it: the
// top of the repository that a name of a revision is seen from.
func (t *evaluation) fromAbove(p *simpleCommand, r Rule, name string) bool {
	return slices.ContainsFunc(p.places("."), func(where string) bool {
		for up := t.r.absolute(t.r.locate("", where)); ; up = path.Dir(up) {
			if t.r.locate(up, name).matches(r) {
				return true
			}
			if up == "/" {
				return false
			}
		}
	})
}

// mayName reports whether a rule may speak of a name; unknown: of the directory that it is in
// nothing is known, so its last part counts.
func (t *evaluation) mayName(p *simpleCommand, r Rule, name string, unknown bool) bool {
	if r.Pattern == "" {
		return false
	}
	pattern := filenames.Fold(strings.TrimPrefix(r.Pattern, "./"))
	folded := filenames.Fold(name)
	if unknown && !path.IsAbs(name) {
		last := path.Base(pattern)
		same, _ := path.Match(last, path.Base(folded))
		return same || strings.Contains(last, "**") || has(". ..", path.Base(name))
	}
	if path.Base(p.program()) == "git" && strings.ContainsAny(name, "*?[") {
		whole, _ := path.Match(folded, pattern) // as git: a * of its patterns stands for slashes too
		last, _ := path.Match(folded, path.Base(pattern))
		return whole || last || strings.Contains(name, "**")
	}
	return slices.ContainsFunc(p.places(name), func(where string) bool { return t.r.locate("", where).matches(r) })
}

// maxEmbedded bounds how many names are looked for in one word.
const maxEmbedded = 200

// namesIn returns what in a word may be the name of a file, the word itself apart from what
// stands before a name in it; with optionsOnly only values of options.
func namesIn(word string, optionsOnly bool) (names []string) {
	if letters, ok := shortOptions(word); ok {
		for i := 1; i < min(len(letters), maxEmbedded); i++ {
			names = append(names, letters[i:])
		}
	}
	if optionsOnly {
		return names
	}
	for name := range strings.FieldsFuncSeq(word, func(c rune) bool { return strings.ContainsRune(" \t\n'\"`=:,;@#(){}<>|&!$\\^", c) }) {
		names = append(names, name)
		if strings.ContainsRune("rRwW", rune(name[0])) { // of sed: "rFILE"
			names = append(names, name[1:])
		}
		if len(names) > maxEmbedded {
			break
		}
	}
	return names
}

// takesAll reports whether a git command reads files into the repository that it does not
// name: all that were changed.
func takesAll(p *simpleCommand) bool {
	words := p.words[1:]
	for len(words) > 0 && strings.HasPrefix(words[0].text, "-") {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	switch words[0].text {
	case "add", "stage":
		return hasOption(words[1:], options{"Au", "--all --update"}) || slices.ContainsFunc(words[1:], func(w word) bool {
			return has(". ./ :/ * :", w.text) || strings.HasPrefix(w.text, ":(")
		})
	case "commit":
		return hasOption(words[1:], options{"a", "--all"})
	case "stash":
		return len(words) == 1 || !has("list show drop clear branch create store apply pop", words[1].text)
	}
	return false
}

// changesDir reports whether words before a command, or a command's own, make it run
// in another directory.
func changesDir(name string, words []word) bool {
	if name == "git" {
		return slices.ContainsFunc(words, func(w word) bool {
			return strings.HasPrefix(w.text, "--git-dir") || strings.HasPrefix(w.text, "--work-tree")
		})
	}
	if !is(name, changesFolder) {
		return false
	}
	if len(words) > maxEmbedded {
		return true // not worth looking for; it counts beside deny rules alone
	}
	return slices.ContainsFunc(words, func(w word) bool {
		text := w.text
		return has("-C -D -execdir -okdir --execdir", text) || hasAny(text, "--chdir", "--wd", "--directory", "--cwd", "--prefix", "--working-directory") ||
			len(text) > 2 && (strings.HasPrefix(text, "-C") || strings.HasPrefix(text, "-D"))
	})
}
