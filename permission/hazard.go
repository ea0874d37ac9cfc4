package permission

import (
	"slices"
	"strings"

	"pawl/permission/network"
)

// A hazard is what makes a program run another one, write a file somewhere else,
// delete, or load code: no rule with a wildcard alone covers it. programs.txt says what the fields are.
type hazard struct {
	commands, single       string // separated by blanks
	short                  string
	long, prefixes, within []string
}

// names reports whether an option or operand is one of h's, apart from commands.
func (h hazard) names(t string) bool {
	for _, prefix := range h.prefixes {
		if strings.HasPrefix(t, prefix) {
			return true
		}
	}
	for _, part := range h.within {
		if strings.Contains(strings.ToLower(t), part) {
			return true
		}
	}
	if len(t) < 2 || t[0] != '-' {
		return false
	}
	option, _, _ := strings.Cut(strings.TrimLeft(t, "-"), "=")
	if h.single != "" && has(h.single, option) {
		return true
	}
	for _, l := range h.long {
		// Some programs take long options with one hyphen, too.
		if hasAny(t, l) || t[1] != '-' && len(option) > 3 && hasAny("-"+t, l) {
			return true
		}
	}
	if t[1] == '-' {
		return false
	}
	for i := 1; i < len(t) && t[i] != '=' && t[i] != '/' && t[i] != '.'; i++ {
		if strings.IndexByte(h.short, t[i]) >= 0 {
			return true
		}
	}
	return false
}

// hazardsOf returns the hazards among the words of a program that is not known to
// read.
func hazardsOf(name string, words []word) []string {
	known := programOf(name)
	if !known.is(anyHazard) {
		if lang, ok := interpreter(name); ok {
			known = lang
		} else if !known.is(optionFiles) {
			return nil
		}
	}
	h := known.reader.hazard
	var found []string
	if module := moduleOf(name, words); module != "" {
		found = hazardsOf(module, words[2:])
	}
	if own, ok := known.words[plugins], known.is(plugins); ok {
		at, _, _, unknown := known.wrapper.command(append([]word{{}}, words...))
		found = append(found, unknown...)
		if at--; at < len(words) && !has(own, words[at].text) {
			found = append(found, words[at].text)
		}
	}
	operand, options := 0, false
	for _, w := range words {
		t := w.text
		if h.names(t) || endsCommand(name, t) || h.names(asAssignment(name, t)) || is(name, optionFiles) && strings.HasPrefix(t, "@") {
			found = append(found, t)
		}
		if strings.HasPrefix(t, "-") {
			options = options || operand == 0
			continue
		}
		operand++
		// The first operand is the command, unless options stand before it, whose
		// values cannot be told from it.
		if h.commands != "" && (operand == 1 || options) && (has(h.commands, t) || name == "npm" && abbreviates(h.commands, t)) {
			found = append(found, t)
		}
		options = options || name == "yarn" && strings.HasPrefix(t, "workspace") // yarn workspace NAME exec
		// A server that is named gets the question, whatever name is asked about.
		server := strings.HasPrefix(t, "@") || operand > 1 && (name == "nslookup" || name == "host")
		if is(name, looksUp) && (server || isName(t)) {
			found = append(found, t)
		}
	}
	if name == "tar" {
		for _, w := range words { // an archive on another machine is fetched by a program
			if host, _, ok := strings.Cut(w.text, ":"); ok && !strings.Contains(host, "/") {
				found = append(found, w.text)
			}
		}
	}
	if name == "tar" && len(words) > 0 { // "tar IcF x": the first word needs no hyphen
		if t := words[0].text; !strings.HasPrefix(t, "-") && strings.ContainsAny(t, "IFP") && strings.Trim(t, "cxtruvzjJpfkmIFPahoWOSwlU") == "" {
			found = append(found, t)
		}
	}
	return found
}

// moduleOf returns the module that an interpreter of Python runs by its words, if it is known as a program, too: what
// is a hazard for that is one here.
func moduleOf(name string, words []word) string {
	if len(words) < 2 || words[0].text != "-m" || words[1].kind != static || !strings.HasPrefix(name, "python") && name != "pypy" ||
		!has("pytest mypy ruff black flake8 pylint isort pip", words[1].text) {
		return ""
	}
	return words[1].text
}

// asAssignment returns a word of make that sets a variable (SHELL:=sh, 'SHELL = sh') in its plainest form.
func asAssignment(name, word string) string {
	variable, value, ok := strings.Cut(word, "=")
	if !ok || !has("make gmake", name) {
		return word
	}
	return strings.Trim(variable, " \t:+?") + "=" + value
}

// endsCommand reports whether a word of make sets a variable to what would begin another command in the text of
// shell that a recipe puts it into.
func endsCommand(name, word string) bool {
	_, value, ok := strings.Cut(word, "=")
	return ok && has("make gmake", name) && strings.ContainsAny(value, ";|&<>()`$\n\"'")
}

// abbreviates reports whether npm may take a word for one of commands. That some are short for
// others, too, is in "npm help" of npm 11.
func abbreviates(commands, word string) bool {
	return len(word) > 1 && !has("in un se add", word) && strings.Contains(" "+commands, " "+word)
}

// isName reports whether an operand is the name of a host that would be looked up:
// it has letters and a dot, and is no address. An @server of dig counts too.
func isName(t string) bool {
	t = strings.TrimPrefix(t, "@")
	_, numeric := network.LooseAddr(t)
	return !numeric && strings.Contains(t, ".") && strings.ContainsFunc(t, func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 })
}

// hasOption reports whether one of words is an option with one of some letters, or one of some long options.
func hasOption(words []word, of options) bool {
	return slices.ContainsFunc(words, func(w word) bool {
		given, short := shortOptions(w.text)
		return short && strings.ContainsAny(given, of.letters) || hasAny(w.text, strings.Fields(of.long)...)
	})
}

// shortOptions returns what follows the hyphen of a word with one: letters of options, and what the
// last one is given.
func shortOptions(word string) (letters string, ok bool) {
	letters, ok = strings.CutPrefix(word, "-")
	return letters, ok && !strings.HasPrefix(letters, "-")
}
