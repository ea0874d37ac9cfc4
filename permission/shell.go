package permission

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"pawl/permission/bash"
)

// Bounds against commands made to exhaust whoever reads them; past them a
// command is one that cannot be known.
const (
	maxCommand = 32 << 10 // bytes
	maxDepth   = 8        // scripts inside scripts: sh -c "sh -c …"
	maxParts   = 500
	maxWords   = 1_500 // in all parts and redirections, for each folder they may be in; those of a wrapper count again for what it runs
	maxSources = 50    // texts of shell within the command
	maxDirs    = 16    // folders a command may be in after conditional cds
)

// invisible is what of a text people do not see as it is.
const invisible = "invisible characters, or characters that change the text direction"

// A script is what a shell command consists of, as far as it can be known
// without running it.
type script struct {
	parts []*simpleCommand
	// faults is why the text is no command at all.
	faults []string
	// unknown is what cannot be known before it runs, or changes what the rest
	// means: a program whose name is computed, eval, a function. It may do
	// anything.
	unknown []string
	// given is how many of unknown are variables that a program is given, with values that stand in the text, and of
	// which none is known to decide what runs.
	given int
	// unsure is what is not simple enough to be covered by rules, though all its
	// parts are seen: an assignment, a loop over what only the shell knows.
	unsure []string
	// grouped is what only puts commands together, all of which are seen: a
	// subshell, a substitution. It asks where there is no sandbox.
	grouped   []string
	redirects []redirect
	waits     bool // it spends its time waiting
	starts    bool // it starts something that runs beside the rest of it
}

// A redirect is one redirection to or from a file.
type redirect struct {
	text   string
	writes bool
	reads  bool // also: <>
	// places is where the file may be, relative to where the command starts.
	// Empty: not known.
	places []string
	when   opening
}

// An opening says when the file of a redirection is opened. The parts of the script before prior may
// have run by then, and so may those from own[0] to own[1], which are in the words of its command.
type opening struct {
	prior  int
	own    [2]int
	within *simpleCommand // what it is in the text of
	with   *pipeline
}

// A pipeline is a statement, or several whose files are opened at once.
type pipeline struct{ start int }

// anyTime is when all parts may have run.
const anyTime = maxParts + 1

// A simpleCommand is one simple command: a program and its words.
type simpleCommand struct {
	words []word
	text  string // as it was written
	// dirs are the folders it may run in, relative to where the command starts.
	// Empty: not known.
	dirs   []string
	folder string // what -C tells it, a git, to run in, as seen from dirs; empty: it does not, or that is not known
	// changesDir: it, or what runs it, is told to run in another directory.
	changesDir bool
	// speculative marks what may be a command inside a wrapper whose options we do not
	// know. It counts for deny and ask rules only.
	speculative bool
	// within is the wrapper that runs it; nil if the shell does. transparent: the
	// wrapper does nothing else, so what covers the command covers the wrapper.
	within      *simpleCommand
	transparent bool
	// guessed: of a wrapper, where the command that it runs begins is not certain.
	// readsText: of a shell, the text that it runs (sh -c TEXT) was read.
	guessed, readsText bool
	// innerAt is where among the words of a wrapper the command that it runs begins, if that
	// is certain; 0: it is not, or p is no wrapper.
	innerAt int
	// unknown are the words of a wrapper that may decide what it runs: options that are not known.
	unknown []string
	input   input
	known   *commandInfo // what inspect found, once it was asked
}

// An input is what a command is given to read on its standard input.
type input struct {
	given bool // a pipe, a file, a here-document
	known bool // text is all of it
	text  string
}

// info returns what is known of the command.
func (p *simpleCommand) info() *commandInfo {
	if p.known == nil {
		l := inspect(p)
		p.known = &l
	}
	return p.known
}

// program returns the program's name as written.
func (p *simpleCommand) program() string { return p.words[0].text }

// read reads a shell command. It never fails: what it does not understand is
// in unknown.
func read(command string) *script {
	r := &scriptReader{dirs: []string{"."}}
	r.source(command, false)
	if r.exhausted {
		r.isUnknown("it is too complex to be checked")
	}
	return &r.script
}

// A scriptReader walks a syntax tree.
type scriptReader struct {
	script
	src         string
	vars        map[string]word // variables of loops, whose value is known in them
	dirs        []string        // where the next command may run, relative to the start; empty: not known
	ok          []string        // where it runs if the last one succeeded; nil: in dirs
	inLoop      bool
	speculative bool
	within      *simpleCommand // the command whose text of shell is being read
	input       input          // what the commands of the statement that is being read are given
	joins       *pipeline      // what the next statement is one of
	callAt      int            // how many parts there were when the last simple command had its words read
	depth       int

	sources   int
	words     int
	exhausted bool // a bound was met: something was not looked at
}

// source reads a text of shell, or one inside another (sh -c).
func (r *scriptReader) source(text string, speculative bool) {
	switch {
	case strings.ContainsRune(text, 0):
		r.faults = append(r.faults, "it holds a zero byte")
		return
	case strings.TrimSpace(text) == "" && r.depth == 0:
		r.faults = append(r.faults, "it is empty")
		return
	case len(text) > maxCommand:
		r.isUnknown("it is too long to be checked")
		return
	case r.depth >= maxDepth, r.sources >= maxSources:
		r.exhausted = true
		return
	}
	if r.depth == 0 && strings.ContainsFunc(text, isTrick) {
		r.isUnsure(invisible)
	}
	r.sources++
	src, was := r.src, r.speculative
	r.src, r.speculative = text, speculative
	r.depth++
	stmts, err := bash.Parse(text)
	r.stmts(stmts)
	if err != nil {
		r.isUnknown("it is not valid shell: " + err.Error())
	} else if what := bash.Differences(text, stmts); what != "" {
		r.isUnknown("bash may read it differently than it was read here: " + what)
	}
	r.depth--
	r.src, r.speculative = src, was
}

// sourceIn reads a text of shell that p runs.
func (r *scriptReader) sourceIn(p *simpleCommand, text string, speculative bool) {
	was, dirs, vars := r.within, r.dirs, r.vars
	r.within, r.dirs, r.vars = p, p.dirs, nil // another shell knows no variables of this one
	r.source(text, speculative)
	r.within, r.dirs, r.vars = was, dirs, vars
}

func (r *scriptReader) isUnknown(what string) { r.unknown = append(r.unknown, what) }
func (r *scriptReader) isUnsure(what string)  { r.unsure = append(r.unsure, what) }
func (r *scriptReader) isGrouped(what string) { r.grouped = append(r.grouped, what) }

func (r *scriptReader) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		r.stmt(st)
	}
}

func (r *scriptReader) stmt(st *syntax.Stmt) {
	if r.exhausted {
		return // it is asked about, whatever follows
	}
	was, with := r.input, cmp.Or(r.joins, &pipeline{len(r.parts)})
	r.joins = nil
	first, began := len(r.redirects), len(r.parts)
	for _, redirect := range st.Redirs {
		r.redirect(redirect)
		r.input = r.inputOf(redirect)
	}
	mine, end := r.redirects[first:len(r.redirects):len(r.redirects)], len(r.parts)
	r.ok = nil
	r.command(st.Cmd, with)
	if _, simple := st.Cmd.(*syntax.CallExpr); simple {
		end = r.callAt
	}
	for i := range mine {
		r.redirects[first+i].when = opening{prior: with.start, own: [2]int{began, end}, within: r.within, with: with}
	}
	if st.Background {
		r.starts = true
		r.openedLater(first, with, anyTime)
	}
	if !changesInput(st.Cmd) {
		r.input = was
	}
	if r.ok == nil || st.Negated || st.Background || st.Coprocess {
		r.ok = r.dirs
	}
}

// openedLater notes of the redirections from one on, apart from those of a pipeline itself, that more
// parts may run before their files are opened.
func (r *scriptReader) openedLater(first int, with *pipeline, prior int) {
	for i := range r.redirects[first:] {
		if when := &r.redirects[first+i].when; with == nil || when.with != with {
			when.prior = max(when.prior, prior)
		}
	}
}

func (r *scriptReader) command(cmd syntax.Command, with *pipeline) {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		r.call(c)
	case *syntax.BinaryCmd:
		r.binary(c, with)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			r.stmt(c.Stmt)
		}
	case *syntax.Subshell:
		// What it does to the folder ends with it.
		r.isGrouped("a subshell")
		dirs := r.dirs
		r.stmts(c.Stmts)
		r.dirs, r.ok = dirs, nil
	case *syntax.Block:
		r.isGrouped("a block")
		r.stmts(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			r.stmts(c.Cond)
			r.stmts(c.Then)
		}
	case *syntax.WhileClause:
		r.loop(c.Cond, c.Do)
	case *syntax.ForClause:
		r.forLoop(c)
	case *syntax.CaseClause:
		r.inside(c.Word)
		for _, item := range c.Items {
			for _, w := range item.Patterns {
				r.inside(w)
			}
			r.stmts(item.Stmts)
		}
	case *syntax.TestClause:
		r.test(c)
	case *syntax.FuncDecl:
		r.isUnknown("it defines a function")
		if c.Body != nil {
			r.stmt(c.Body)
		}
	case *syntax.CoprocClause:
		r.isUnknown("it starts a coprocess")
		if c.Stmt != nil {
			r.stmt(c.Stmt)
		}
	case *syntax.DeclClause:
		r.isUnknown(c.Variant.Value + " changes variables that other commands see")
		r.inside(c)
	default: // arithmetic, let, and what a later parser may know
		r.isUnknown("shell arithmetic, which can run commands")
		r.inside(cmd)
	}
}

// binary reads "a && b", "a || b" and "a | b".
func (r *scriptReader) binary(c *syntax.BinaryCmd, with *pipeline) {
	piped, first := c.Op == syntax.Pipe || c.Op == syntax.PipeAll, len(r.redirects)
	if piped {
		r.joins = with
	}
	r.stmt(c.X)
	left, leftOK := r.dirs, r.ok
	if c.Op == syntax.AndStmt {
		r.dirs = leftOK // "cd sub && …": what follows runs there and nowhere else
	}
	was := r.input
	if piped {
		r.input, r.joins = input{given: true}, with
	}
	r.stmt(c.Y)
	if piped {
		r.input = was
		r.openedLater(first, with, len(r.parts)) // those within its commands, which run at the same time
	}
	ok := r.ok
	if c.Op != syntax.AndStmt {
		ok = union(leftOK, ok)
	}
	r.dirs = union(left, r.dirs)
	r.ok = ok
}

// inside looks for commands within a word, a here-document or an expression:
// substitutions, and expansions that run something.
func (r *scriptReader) inside(n syntax.Node) {
	if n == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			r.isGrouped("a command substitution")
			if n.TempFile || n.ReplyVar {
				r.isUnknown("a substitution of another shell")
			}
			dirs := r.dirs
			r.stmts(n.Stmts)
			r.dirs = dirs
			return false
		case *syntax.ProcSubst:
			r.isGrouped("a process substitution")
			dirs, was, first := r.dirs, r.input, len(r.redirects)
			if n.Op == syntax.CmdOut {
				r.input = input{given: true}
			}
			r.stmts(n.Stmts)
			r.dirs, r.input = dirs, was
			r.openedLater(first, nil, anyTime)
			return false
		case *syntax.ArithmExp:
			r.isUnknown("shell arithmetic, which can run commands")
		case *syntax.ParamExp:
			if n.Index != nil || n.Slice != nil || n.Excl || n.Names != 0 ||
				n.Exp != nil && (n.Exp.Op == syntax.OtherParamOps || n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				r.isUnknown("an expansion that can run commands or change variables")
			}
		}
		return true
	})
}

// call reads a simple command.
func (r *scriptReader) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		if a.Value != nil {
			r.inside(a.Value)
		}
		if a.Array != nil {
			r.inside(a.Array)
		}
		if a.Index != nil {
			r.isUnknown("an assignment to an element, whose index can run commands")
			r.inside(a.Index)
		}
		what := "an assignment to " + a.Name.Value
		_, loops := r.vars[a.Name.Value]
		switch {
		case loops:
			r.isUnknown(what + ", which is the variable of a loop")
		case len(c.Args) > 0, decides(a.Name.Value):
			danger := dangerOf(a.Name.Value)
			if len(c.Args) > 0 && danger == "" && !has("HOME CDPATH PWD OLDPWD", a.Name.Value) && !a.Append && a.Index == nil && a.Array == nil && (a.Value == nil || wordOf(a.Value, nil).kind == static) && r.within == nil && !r.speculative {
				r.given++
			}
			r.isUnknown(what + danger)
		default:
			r.isUnsure(what)
		}
	}
	if r.callAt = len(r.parts); len(c.Args) == 0 {
		return
	}
	p := &simpleCommand{dirs: r.dirs, speculative: r.speculative, within: r.within, text: r.text(c.Args[0].Pos(), c.Args[len(c.Args)-1].End())}
	for _, arg := range c.Args {
		r.inside(arg)
		w := wordOf(arg, r.vars)
		p.words = append(p.words, w)
	}
	r.braces(p, c.Args)
	at := len(r.parts)
	r.part(p)
	r.callAt = at
}

// evaluates reports whether a builtin may run what is in one of its words: the index
// in the name of a variable is arithmetic, in which substitutions run, and mapfile and
// compgen are given a text of shell.
func evaluates(p *simpleCommand) bool {
	name, words := p.program(), p.words[1:]
	option := func(letters string) bool {
		return slices.ContainsFunc(words, func(w word) bool {
			return w.kind != static || strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, letters)
		})
	}
	index := func() bool {
		return slices.ContainsFunc(words, func(w word) bool { return w.kind != static || strings.Contains(w.text, "[") })
	}
	switch name {
	case "read", "unset", "getopts":
		return index()
	case "mapfile", "readarray":
		return option("C") || index()
	case "compgen":
		return option("CFW")
	case "wait":
		return option("p") && index()
	case "printf":
		return len(words) > 0 && strings.HasPrefix(words[0].text, "-v") && index()
	case "test", "[":
		for i, w := range words {
			if (w.text == "-v" || w.text == "-R") && i+1 < len(words) && (words[i+1].kind != static || strings.Contains(words[i+1].text, "[")) {
				return true
			}
		}
	}
	return false
}

// decides reports whether a variable may decide what later commands mean: what bash and other
// programs obey has capitals.
func decides(name string) bool { return strings.ToLower(name) != name }

// settingOptions are the options of the builtins that set variables whose next word is a text.
// From bash(1) of 5.3, read 2026-11-26.
var settingOptions = map[string]string{"read": "diNnptu", "mapfile": "dnOsuCc", "readarray": "dnOsuCc", "unset": "", "getopts": "", "wait": ""}

// setsWhatDecides says that a builtin sets a variable of a name among its words which decides what
// later commands mean, or may set any; empty if it does not.
func setsWhatDecides(p *simpleCommand) string {
	name, words := p.program(), p.words[1:]
	switch name {
	case "declare", "typeset", "export", "readonly", "local", "let": // quoted, or behind builtin: else the parser does not read them as commands
		return name + " changes variables that other commands see"
	case "printf":
		if len(words) > 1 && words[0].text == "-v" {
			return setting(name, words[1].text)
		}
		if len(words) > 0 {
			if variable, ok := strings.CutPrefix(words[0].text, "-v"); ok {
				return setting(name, variable)
			}
		}
		return ""
	}
	values, ok := settingOptions[name]
	if !ok {
		return ""
	}
	for i := 0; i < len(words); i++ {
		letters, isOption := shortOptions(words[i].text)
		variable := words[i].text
		if isOption {
			at := strings.IndexAny(letters, values+"ap")
			switch {
			case at < 0:
				continue
			case strings.IndexByte(values, letters[at]) >= 0 && letters[at] != 'a':
				if at == len(letters)-1 {
					i++
				}
				continue
			}
			variable = letters[at+1:] // read -aNAME, wait -pNAME; else the next word is looked at as any
		} else if name == "wait" && (i == 0 || !strings.HasSuffix(words[i-1].text, "p")) || name == "getopts" && i != 1 {
			continue
		}
		if what := setting(name, variable); what != "" {
			return what
		}
	}
	return ""
}

// setting says that a builtin sets a variable which decides what later commands mean.
func setting(builtin, variable string) string {
	if !decides(variable) {
		return ""
	}
	return builtin + " sets " + variable + dangerOf(variable)
}

// setsSafely reports whether p is a set that changes what happens after a failure and
// nothing else: set -euo pipefail.
func setsSafely(p *simpleCommand) bool {
	return p.program() == "set" && !slices.ContainsFunc(p.words[1:], func(w word) bool {
		return w.kind != static || !has("-e -u -x -eu -ex -ux -eux -euo -eo -uo -euxo -exo -o pipefail errexit nounset xtrace +e +u +x", w.text)
	})
}

// full reports whether some more words, in folders, are beyond a bound.
func (r *scriptReader) full(words int, dirs []string) bool {
	r.words += words * max(1, len(dirs))
	r.exhausted = r.exhausted || len(r.parts) >= maxParts || r.words > maxWords
	return r.exhausted
}

// part takes a simple command in, and what it would run in turn.
func (r *scriptReader) part(p *simpleCommand) {
	if r.full(len(p.words), p.dirs) {
		return
	}
	name := p.program()
	if p.words[0].kind != static {
		r.isUnknown("the name of the program is only known when it runs")
	} else if !plainName(name) {
		r.isUnknown("the name of the program holds odd characters")
	}
	if len(r.vars) > 0 && (is(name, setsVariables) || name == "printf" && slices.ContainsFunc(p.words, func(w word) bool { return strings.HasPrefix(w.text, "-v") })) {
		r.isUnknown(name + " in a loop over known words")
	}
	if is(name, setsTheShell) && len(p.words) > 1 && !p.speculative && !setsSafely(p) {
		r.isUnknown(name + " changes what later commands mean")
	}
	if !p.speculative && evaluates(p) {
		r.isUnknown(name + " evaluates one of its words as shell")
	}
	if what := setsWhatDecides(p); what != "" && !p.speculative {
		r.isUnknown(what)
	}
	p.changesDir = p.changesDir || changesDir(path.Base(name), p.words[1:])
	if path.Base(name) == "git" {
		p.folder = gitFolder(p.words[1:])
	}
	p.input = r.input
	r.parts = append(r.parts, p)
	switch name {
	case "cd":
		r.cd(p)
	case "pushd", "popd":
		r.dirs = nil
	}
	if waits(p, r.inLoop) {
		r.waits = true
	}
	r.unwrap(p)
}

// cd follows the shell to another folder. It may also fail, and then the
// commands behind it run where it was.
func (r *scriptReader) cd(p *simpleCommand) {
	if len(p.words) != 2 || p.words[1].kind != static || strings.HasPrefix(p.words[1].text, "-") {
		r.dirs = nil
		r.isUnsure("a cd whose target is not known")
		return
	}
	r.ok = joinAll(r.dirs, p.words[1].text)
	r.dirs = union(r.dirs, r.ok)
}

// text returns what was written between two places.
func (r *scriptReader) text(start, end syntax.Pos) string {
	from, to := start.Offset(), end.Offset()
	if to > uint(len(r.src)) || from > to {
		return ""
	}
	return r.src[from:to]
}

// plainName reports whether a program's name has no character that only looks
// like another, or that another shell would expand.
func plainName(name string) bool {
	return name == "[" || name == "[[" || name != "" && bash.ConsistsOf(name, bash.NameChars+"./+-@:,")
}

// joinAll returns to as seen from each of dirs. The result is not cleaned: the
// kernel takes "link/.." for the parent of what the link leads to.
func joinAll(dirs []string, to string) []string {
	if path.IsAbs(to) {
		return []string{to}
	}
	var all []string
	for _, d := range dirs {
		if d == "." {
			all = append(all, to)
		} else {
			all = append(all, d+"/"+to)
		}
	}
	return all
}

// union returns what is in a or b; nothing if one of them is not known, or if
// there is too much.
func union(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	all := append([]string(nil), a...)
	for _, d := range b {
		if !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	if len(all) > maxDirs {
		return nil
	}
	return all
}
