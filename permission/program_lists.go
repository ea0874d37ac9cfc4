package permission

import (
	"path"
	"strings"

	"pawl/permission/filenames"
)

// asksVersion reports whether p only asks a program who it is.
func asksVersion(p *simpleCommand) bool {
	options, ok := wordsOf(p.program(), saysVersion)
	if !ok || len(p.words) != 2 || p.words[1].kind != static {
		return false
	}
	t := p.words[1].text
	return t == "--version" || t == "--help" && p.program() != "git" || t != "" && has(options, t)
}

// needsName reports whether a rule must name a program to cover it.
func needsName(program string) bool {
	base := strings.ToLower(path.Base(program))
	whole := base
	base = strings.TrimRight(base, "0123456789.-")
	return is(base, wraps|isShell|joins|named) || is(whole, named) || strings.HasPrefix(whole, "mkfs.")
}

// installedAs returns the name that a program has in a folder of installed programs (.venv/bin/pip); any other as it is.
func installedAs(program string) string {
	if strings.Contains(program, "/") && filenames.ProgramFolder(program) != "" {
		return path.Base(program)
	}
	return program
}

// interpreter returns what is known of a program that runs those of a language, also of one with a version
// (python3.12).
func interpreter(name string) (*program, bool) {
	p := programOf(name)
	if !p.is(language) {
		p = programOf(strings.TrimRight(name, "0123456789."))
	}
	return p, p.is(language)
}

// readsProgram reports whether an interpreter is given neither a file nor a text to
// run, so that it runs what comes from its input.
func readsProgram(p *simpleCommand, lang *program) bool {
	for _, w := range p.words[1:] {
		if w.kind == static && (!strings.HasPrefix(w.text, "-") || lang.reader.names(w.text)) {
			return false
		}
	}
	return !asksVersion(p)
}
