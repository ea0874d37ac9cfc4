package permission

import (
	"path"
	"slices"
	"strings"
)

// mayRunOthers reports whether p may run programs that the command does not tell: it is
// a script, an interpreter, a build tool, or not known. What a wrapper runs is a part of
// its own.
func (t *evaluation) mayRunOthers(p *simpleCommand, l *commandInfo) bool {
	name, dir := path.Base(p.program()), path.Dir(p.program())
	if dir != "." && dir != "/bin" && dir != "/usr/bin" || strings.HasPrefix(p.program(), "./") || slices.Contains(t.r.LocalPrograms, p.program()) {
		return true
	}
	// xargs adds words that are not known to the command it runs.
	unknownWords := p.isFed() || slices.ContainsFunc(p.words[1:], func(w word) bool { return w.kind != static })
	hazards := l.hazards
	switch {
	case is(name, isShell):
		return !p.readsText || p.isFed()
	case wrapsAnother(p) && !l.reads:
		return !is(name, runsWhatItNames) || p.guessed || p.isFed()
	case is(name, asksGit) && (t.r.Runs != "" || t.mayMakeRepository || p.inUnknownFolder()), runsHooks(p, l) && t.r.Hooks != "":
		return true
	case l.reads:
		return p.isFed() && !l.optionsSafe
	case is(name, runsNothing), setsSafely(p):
		return false
	case name == "go":
		return unknownWords || len(hazards) > 0 || len(p.words) < 2 || !commandOf("go", p.words[1].text).is(runsNothing)
	case name == "sed":
		hazards = slices.DeleteFunc(slices.Clone(hazards), func(h string) bool {
			return strings.HasPrefix(h, "--in-place") || strings.HasPrefix(strings.TrimLeft(h, "-nErsuz"), "i") && !strings.HasPrefix(h, "--") && strings.HasPrefix(h, "-")
		})
	case name == "find":
		hazards = slices.DeleteFunc(slices.Clone(hazards), func(h string) bool { return h == "-delete" })
	}
	return !is(name, runsByHazard) || unknownWords || len(hazards) > 0
}

// inUnknownFolder reports whether p may run in a folder whose configuration was not checked: after a cd to an
// unknown target, or under a wrapper that changes the folder.
func (p *simpleCommand) inUnknownFolder() bool {
	return len(p.dirs) == 0 || p.within != nil && p.within.changesDir
}

// runsHooks reports whether p is a git command that may run hooks: one that does not only read, or that may
// run without GIT_OPTIONAL_LOCKS=0, which keeps reading commands from running any.
func runsHooks(p *simpleCommand, l *commandInfo) bool {
	if path.Base(p.program()) != "git" {
		return false
	}
	for outer := p.within; outer != nil; outer = outer.within {
		if has("env sudo doas su", path.Base(outer.program())) {
			return true
		}
	}
	return !l.reads
}

// mayMakeRepository reports whether a script may make a repository, or change the
// configuration of one, by other means than git's: what git in it then runs was not
// there to be looked at.
func mayMakeRepository(s *script) bool {
	harmless := set("rm rmdir mkdir touch chmod")
	return slices.ContainsFunc(s.redirects, func(rd redirect) bool {
		return rd.writes && (len(rd.places) == 0 || slices.ContainsFunc(rd.places, func(p string) bool {
			return strings.Contains(strings.ToLower(p), ".git") || strings.EqualFold(path.Base(p), "config")
		}))
	}) || slices.ContainsFunc(s.parts, func(p *simpleCommand) bool {
		return !p.speculative && !p.transparent && !p.info().reads && !is(p.program(), asksGit) && !harmless[path.Base(p.program())]
	})
}

// isFed reports whether words from its input are added to p's.
func (p *simpleCommand) isFed() bool {
	for outer := p.within; outer != nil; outer = outer.within {
		if is(path.Base(outer.program()), fed) {
			return true
		}
	}
	return false
}

// takesAny reports whether no word that is added to those of p can make it do more than its name
// tells: it has no such options, or takes what follows "--" for operands.
func (c *commandInfo) takesAny(p *simpleCommand) bool {
	name := path.Base(p.program())
	if _, ok := interpreter(name); ok || is(name, wraps|isShell|joins|findsBy|runsItsWords) {
		return false
	}
	return c.optionsSafe || p.words[len(p.words)-1].text == "--" || !is(name, anyHazard|asksGit|optionFiles) && !has("sed awk gawk mawk ps tee", name)
}
