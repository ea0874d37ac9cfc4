package permission

import (
	"path"
	"strings"
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
	_, wraps := wrappers[base]
	return wraps || is(base, isShell) || is(base, joins) || is(base, named) || is(whole, named) || strings.HasPrefix(whole, "mkfs.")
}

// interpreters run a program of their language, and how their options give its
// text: letters of short options and long ones. From their manuals (Python 3.13,
// Node 24, Perl 5.42, Ruby 3.4, PHP 8.4, Lua 5.4), read 2026-11-20.
var interpreters = map[string]hazard{
	"python": {short: "cm", long: "--check-hash-based-pycs"}, "python2": {short: "cm"}, "python3": {short: "cm"}, "pypy": {short: "cm"}, "pypy3": {short: "cm"},
	"node": {short: "eprC", long: "--eval --print --require --import --loader --experimental-loader --env-file --run --inspect-brk --inspect"},
	"bun":  {short: "epr", long: "--eval --print --preload --require"}, "deno": {commands: "eval repl", long: "--allow-all --allow-run --allow-write --preload"},
	"perl": {short: "eEnpiMmIxd"}, "ruby": {short: "enpirIxS", long: "--require"}, "php": {short: "rBREa", long: "--run"},
	"lua": {short: "el"}, "luajit": {short: "elb"}, "julia": {short: "eEL", long: "--eval --print --load"}, "Rscript": {short: "e"},
	"osascript": {short: "e"}, "tclsh": {}, "elixir": {short: "er", long: "--eval"}, "R": {short: "ef", long: "--file"}, "octave": {long: "--eval"},
	"xonsh": {short: "c"}, "nu": {short: "ce", long: "--commands --execute"}, "elvish": {short: "c"}, "groovy": {short: "e"}, "scala": {short: "e"},
}

// interpreter returns the entry of a program, also of one with a version
// (python3.12).
func interpreter(name string) (hazard, bool) {
	h, ok := interpreters[name]
	if !ok {
		h, ok = interpreters[strings.TrimRight(name, "0123456789.")]
	}
	return h, ok
}

// readsProgram reports whether an interpreter is given neither a file nor a text to
// run, so that it runs what comes from its input.
func readsProgram(p *simpleCommand, h hazard) bool {
	for _, w := range p.words[1:] {
		if w.kind == static && (!strings.HasPrefix(w.text, "-") || h.names(w.text)) {
			return false
		}
	}
	return !asksVersion(p)
}
