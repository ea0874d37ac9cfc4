package permission

import (
	"path"
	"slices"
	"strings"

	"pawl/internal/lazy"
	"pawl/permission/bash"
	"pawl/permission/filenames"
)

// A commandInfo is what is known of a simple command by its program and options.
type commandInfo struct {
	// reads: it is classified as reading. That saves a question; what such a command
	// can do is up to the read-only sandbox.
	reads bool
	// hazards are the words that make it run another program, write a file or do
	// what else its name does not tell. No wildcard of a rule covers them.
	hazards []string
	// paths are what may be names of files among its words.
	paths []word
	// optionsSafe: no option of it can do harm, so a file name that happens to look
	// like an option does none.
	optionsSafe bool
	// textOnly: optionsSafe, and its operands are texts and not files.
	textOnly bool
}

// A reader is a program that reads if none of its words is a hazard.
type reader struct {
	operands operands
	values   string // its short options that take a text, so that the text is not taken for a file
	hazard
}

type operands int

const (
	files      operands = iota // names of files
	texts                      // no files
	scriptThen                 // a pattern or a script, unless an option gave it; then files
	oneFile                    // one file; a second would be written
	noOperands                 // with one it does something else
	plusOnly                   // formats that begin with +; another sets the clock
	pages                      // names of manual pages; a path is formatted, and may include files
)

// kindsOfOperands are the operands of a program that reads, as programs.txt calls them.
var kindsOfOperands = map[string]operands{
	"": files, "texts": texts, "script": scriptThen, "one": oneFile, "none": noOperands, "formats": plusOnly, "pages": pages,
}

// inspect returns what is known of p.
func inspect(p *simpleCommand) commandInfo {
	name, words := p.program(), p.words[1:]
	var c commandInfo
	switch {
	case p.words[0].kind != static:
		return commandInfo{paths: words}
	case asksVersion(p), name == "command" && asksOnly(p):
		return commandInfo{reads: true}
	case name == "[[":
		return commandInfo{reads: true, paths: slices.DeleteFunc(slices.Clone(words), func(w word) bool { return !looksLikePath(w.text) })}
	case name == "git":
		c = inspectGit(words)
	case name == "go":
		c = inspectGo(words)
	case name == "find":
		c = inspectFind(words)
	case name == "sed":
		c = inspectSed(words)
	case name == "awk" || name == "gawk" || name == "mawk":
		c = inspectAwk(words)
	case name == "ps":
		c = commandInfo{reads: true}
		for _, w := range words { // the environments of processes hold secrets
			if strings.Contains(w.text, "env") || !strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "e") {
				c.hazards = append(c.hazards, w.text)
			}
		}
	case name == "tee":
		c = commandInfo{reads: true, paths: words}
		for _, w := range words {
			if w.text != "/dev/null" && !has("-a -i -ai --append --ignore-interrupts", w.text) {
				c.hazards = append(c.hazards, w.text)
			}
		}
	default:
		known := programOf(name)
		k := known.reader
		if !known.is(reads) {
			c = commandInfo{paths: possiblePaths(words), hazards: hazardsOf(installedAs(name), words)}
			if name == "ln" {
				c.paths = linkPaths(words, c.paths)
			}
			if c.reads = onlyLists(name, words); c.reads && len(c.hazards) > 0 && c.hazards[0] == words[0].text {
				c.hazards = c.hazards[1:] // npm config, which is followed by get here
			}
			break
		}
		c = k.inspect(words)
		c.optionsSafe = !known.is(anyHazard) && (k.operands == files || k.operands == texts || k.operands == scriptThen)
		c.textOnly = c.optionsSafe && k.operands == texts
		c.hazards = append(c.hazards, moreHazards(name, words)...)
	}
	// A word that is not known may be any option; a pattern of names likewise, if a
	// file has such a name.
	for _, w := range words {
		if !c.optionsSafe && (w.kind == dynamic || w.kind == pattern && strings.ContainsAny(w.text[:1], "*?")) {
			c.reads = false
		}
	}
	c.reads = c.reads && len(c.hazards) == 0
	return c
}

// onlyLists reports whether the words of a program say that it only lists something.
func onlyLists(name string, words []word) bool {
	if name == "npm" && len(words) == 1 && words[0].text == "run" {
		return true
	}
	if name == "tar" || name == "unzip" {
		if len(words) < 2 || words[0].kind != static {
			return false
		}
		mode := strings.TrimPrefix(words[0].text, "-")
		known := map[string]string{"tar": "tvzjJf", "unzip": "lvZ1"}[name]
		return strings.Trim(mode, known) == "" && strings.ContainsAny(mode, "tlvZ") && (name != "tar" || strings.Contains(mode, "t")) &&
			!slices.ContainsFunc(words[1:], func(w word) bool {
				return strings.HasPrefix(w.text, "-") || name == "tar" && strings.Contains(w.text, ":")
			})
	}
	begins, _ := wordsOf(name, lists)
	for begin := range strings.FieldsSeq(begins) {
		fields := strings.Split(begin, "+")
		if len(words) >= len(fields) && !slices.ContainsFunc(words[:len(fields)], func(w word) bool { return w.kind != static }) && slices.EqualFunc(words[:len(fields)], fields, func(w word, s string) bool { return w.text == s }) {
			return true
		}
	}
	return false
}

var (
	assigning = lazy.Regexp(`%[^%a-zA-Z]*[hlLjzt]*n`)            // printf %n sets a variable
	importing = lazy.Regexp(`(import|include)([^a-zA-Z0-9_]|$)`) // jq reads another file
	jqEnv     = lazy.Regexp(`(^|[^a-zA-Z0-9_."])env($|[^a-zA-Z0-9_])|\$ENV|\$__prog`)
)

// moreHazards returns the words of some readers that their options do not tell.
func moreHazards(name string, words []word) (found []string) {
	for i, w := range words {
		t := w.text
		hazardous := false
		switch name {
		case "jq":
			// Filters that show the environment or read other files than the operands.
			hazardous = importing().MatchString(t) || jqEnv().MatchString(t) || strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "--") && strings.ContainsAny(t, "fL") ||
				strings.HasPrefix(t, "--from-file") || strings.HasPrefix(t, "--library-path")
		case "printf":
			hazardous = i == 0 && (w.kind != static || assigning().MatchString(strings.ReplaceAll(t, "%%", "")))
		case "test", "[":
			// Bash evaluates these as arithmetic, in which substitutions run.
			hazardous = t != "[" && t != "]" && (strings.ContainsAny(t, "`[") || strings.Contains(t, "$("))
		}
		if hazardous {
			found = append(found, t)
		}
	}
	return found
}

// inspect looks at the words after the program's name.
func (k reader) inspect(words []word) commandInfo {
	c := commandInfo{reads: true}
	script := k.operands == scriptThen // the next operand is one
	operand := 0
	literal := false // after "--"
	for i := 0; i < len(words); i++ {
		w := words[i]
		t := w.text
		if literal || !strings.HasPrefix(t, "-") || t == "-" {
			operand++
			switch {
			case script:
				script = false
				continue
			case k.operands == texts:
				continue
			case k.operands == noOperands, k.operands == oneFile && operand > 1, k.operands == plusOnly && !strings.HasPrefix(t, "+"),
				k.operands == pages && looksLikePath(t), len(k.prefixes) > 0 && k.names(t):
				c.hazards = append(c.hazards, t)
			}
			if k.operands != plusOnly || !strings.HasPrefix(t, "+") {
				c.paths = append(c.paths, w)
			}
			continue
		}
		if t == "--" {
			literal = true
			continue
		}
		script = script && !k.givesScript(t)
		if k.names(t) {
			c.hazards = append(c.hazards, t)
		}
		if k.operands == texts {
			continue
		}
		if at := k.valueAt(t); at == len(t)-1 && !strings.HasPrefix(t, "--") {
			i++ // -n 5
		} else if name, _, _ := strings.Cut(t, "="); at == len(t) && !givesText(name+"=") {
			c.paths = append(c.paths, optionPath(w)...)
		}
	}
	return c
}

// valueAt returns where among short options written together the first one stands
// that takes a text; the end if there is none, and for a long option. After a
// character that belongs to a path there is a value of an option that is not known.
func (k reader) valueAt(t string) int {
	if strings.HasPrefix(t, "--") {
		return len(t)
	}
	for i := 1; i < len(t) && t[i] != '/' && t[i] != '.' && t[i] != '~'; i++ {
		if strings.IndexByte(k.values, t[i]) >= 0 {
			return i
		}
	}
	return len(t)
}

// givesScript reports whether an option gives the pattern that otherwise is the
// first operand (grep -e, rg --files). When in doubt it does: then that operand is
// taken for a file, which is stricter.
func (k reader) givesScript(option string) bool {
	if strings.HasPrefix(option, "--") {
		return hasAny(option, "--regexp", "--file", "--files", "--from-file", "--type-list")
	}
	return strings.ContainsAny(option[:min(k.valueAt(option)+1, len(option))], "ef")
}

// has reports whether s is a word of list.
func has(list, s string) bool { return strings.Contains(" "+list+" ", " "+s+" ") }

// hasAny reports whether an option is, or abbreviates, one of long.
func hasAny(option string, long ...string) bool {
	name, _, _ := strings.Cut(option, "=")
	return len(name) > 2 && strings.HasPrefix(name, "--") && slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(l, name) })
}

// possiblePaths returns what may name files among the words of a program that is
// not known.
func possiblePaths(words []word) []word {
	var paths []word
	literal := false // after "--"
	for _, w := range words {
		if !literal && strings.HasPrefix(w.text, "-") {
			literal = w.text == "--"
			paths = append(paths, optionPath(w)...)
			continue
		}
		paths = append(paths, w)
		if _, value, ok := strings.Cut(w.text, "="); ok && looksLikePath(value) {
			paths = append(paths, word{text: value, source: w.source, kind: w.kind}) // dd of=FILE
		}
		if _, value, ok := strings.Cut(w.text, "@"); ok {
			paths = append(paths, word{text: value, source: w.source, kind: w.kind}) // curl -d @FILE, -F x=@FILE
		}
	}
	return paths
}

// linkPaths returns the paths of an ln, of which paths are as possiblePaths has them: where a symbolic link leads is seen from the
// folder that the link is in, or is put into if there is one of its name.
func linkPaths(words, paths []word) []word {
	var operands []word
	symbolic := false
	for _, w := range words {
		letters, short := shortOptions(w.text)
		switch {
		case w.kind != static, strings.HasPrefix(w.text, "-") && w.text != "--symbolic" && !(short && bash.ConsistsOf(letters, "sfinvT")):
			return paths
		case !strings.HasPrefix(w.text, "-"):
			operands = append(operands, w)
		}
		symbolic = symbolic || w.text == "--symbolic" || short && strings.Contains(letters, "s")
	}
	if !symbolic || len(operands) != 2 || strings.HasPrefix(operands[0].text, "/") || strings.HasPrefix(operands[0].text, "~") {
		return paths
	}
	target, link := operands[0], operands[1]
	from := func(folder string) word { return word{text: folder + "/" + target.text, source: target.source} }
	return []word{from(path.Dir(link.text)), from(link.text), link}
}

// optionPath returns what may name a file within an option: --file=NAME, -fNAME, -xvfNAME.
func optionPath(w word) []word {
	value := ""
	var glued []word // to letters written together, whose last one may take it
	if !strings.HasPrefix(w.text, "--") {
		for i := 3; i < min(len(w.text), maxEmbedded); i++ {
			if name, _, _ := strings.Cut(w.text[i:], "/"); w.text[i] == '.' || w.text[i] == '~' || filenames.Secret(name) != "" || filenames.Protected(name) != "" {
				glued = append(glued, word{text: w.text[i:], source: w.source, kind: w.kind})
			}
			if w.text[i] == '/' || w.text[i] == '=' {
				break
			}
		}
	}
	if _, v, ok := strings.Cut(w.text, "="); ok {
		value = v
	} else if !strings.HasPrefix(w.text, "--") && len(w.text) > 2 {
		value = w.text[2:]
		if i := strings.IndexByte(w.text, '/'); i > 1 && value[0] != '.' {
			value = w.text[i:] // -xvf/etc/shadow
		}
	}
	value = strings.TrimPrefix(value, "@")
	if !looksLikePath(value) {
		return glued
	}
	return append(glued, word{text: value, source: w.source, kind: w.kind})
}

// looksLikePath reports whether s is more likely the name of a file than a text.
func looksLikePath(s string) bool {
	return strings.HasPrefix(s, ".") || strings.HasPrefix(s, "~") || strings.Contains(s, "/") || filenames.SecretIn(path.Base(s)) != ""
}

// recurses reports whether p reads directories with everything in them, hidden files too. An option's letter may be part
// of its value; the stricter reading counts.
func (p *simpleCommand) recurses() bool {
	with, ok := wordsOf(path.Base(p.program()), recurses)
	return ok && (with == "" || hasOption(p.words[1:], optionsOf(with)))
}

// follows reports whether p, which recurses, follows links that it meets. More letters count than are needed, as in
// recurses.
func (p *simpleCommand) follows() bool {
	return has("diff colordiff", path.Base(p.program())) || slices.ContainsFunc(p.words[1:], func(w word) bool { return w.kind != static }) ||
		hasOption(p.words[1:], options{"RLSfd", "--dereference-recursive --follow --dereference --directories"})
}

// greps reports whether p is a git that reads the files it keeps in the directory it is in.
func (p *simpleCommand) greps() bool {
	command, _ := p.git()
	return path.Base(p.program()) == "git" && command == "grep"
}

// git returns the command of git that p is, which is a git, and the words after it; empty if there is none.
func (p *simpleCommand) git() (command string, rest []word) {
	i := 1
	for ; i < len(p.words) && strings.HasPrefix(p.words[i].text, "-"); i++ {
		if has("-C -c", p.words[i].text) {
			i++
		}
	}
	if i >= len(p.words) {
		return "", nil
	}
	return p.words[i].text, p.words[i+1:]
}

// readsHere reports whether p, which goes through directories, may go through the one it is in,
// though it has operands: which of them are files is its own to know.
func (p *simpleCommand) readsHere() bool {
	return has("git rgrep ag ack ugrep ug", path.Base(p.program())) || strings.Contains(p.program(), "/") // of one called by its path no operand is known
}

// only returns the names of files that a grep is told to read alone; nil if it may
// read others, or another option could overrule that.
func (p *simpleCommand) only() (names []string) {
	words := p.words[1:]
	if path.Base(p.program()) == "git" { // git grep x -- '*.go'
		i := slices.IndexFunc(words, func(w word) bool { return w.text == "--" })
		if i < 0 {
			return nil
		}
		for _, w := range words[i+1:] {
			if w.kind != static || !strings.HasPrefix(w.text, "*.") || strings.ContainsAny(w.text[2:], "*?[\\/") {
				return nil
			}
			names = append(names, w.text)
		}
		return names
	}
	for i, w := range words {
		option, value, _ := strings.Cut(w.text, "=")
		switch path.Base(p.program()) {
		case "rg":
			glob, ok := strings.CutPrefix(w.text, "--glob=")
			if !ok {
				glob, ok = strings.CutPrefix(w.text, "-g")
			}
			if ok && glob == "" && i+1 < len(words) {
				w = words[i+1]
				glob = w.text
			}
			if ok && (w.kind != static || strings.ContainsAny(glob, "!/{[\\")) || option == "--iglob" {
				return nil // the last one counts, and what it says is not certain
			}
			if ok {
				names = append(names, glob)
			}
		default:
			if strings.HasPrefix(option, "--exc") {
				return nil // the last one counts
			}
			if option == "--include" && w.kind == pattern && strings.ContainsAny(value, "{?[") {
				return nil // a file's name that matches may itself be a pattern of more
			}
			if option == "--include" && w.kind != dynamic {
				names = append(names, value)
			}
		}
	}
	return names
}
