package permission

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"pawl/permission/bash"
)

// loop reads a loop, whose commands may run again where the last one left off.
func (r *scriptReader) loop(cond, body []*syntax.Stmt) {
	was, dirs, first := r.inLoop, r.dirs, len(r.redirects)
	r.inLoop = true
	r.stmts(cond)
	r.stmts(body)
	r.openedLater(first, nil, len(r.parts)) // in its next turn
	r.inLoop = was
	if !slices.Equal(dirs, r.dirs) {
		r.dirs = nil
		r.isUnsure("a cd in a loop")
	}
}

// maxItems bounds how many turns of a loop are looked at one by one.
const maxItems = 16

// forLoop reads "for NAME in WORDS": its commands once for each word, so that what
// is judged is what will run.
func (r *scriptReader) forLoop(c *syntax.ForClause) {
	items, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select {
		r.isUnknown("a loop over arithmetic or answers")
		r.inside(c.Loop)
		r.loop(nil, c.Do)
		return
	}
	name := items.Name.Value
	if strings.ToLower(name) != name || strings.Contains(name, "_") {
		r.isUnknown("a loop that sets " + name) // PATH, IFS, http_proxy
	}
	values := make([]word, len(items.Items))
	for i, w := range items.Items {
		r.inside(w)
		values[i] = wordOf(w, r.vars)
	}
	if r.vars == nil {
		r.vars = map[string]word{}
	}
	if _, ok := r.vars[name]; ok {
		r.isUnknown("a loop that sets the variable of another")
	}
	if len(values) == 0 || len(values) > maxItems || slices.ContainsFunc(values, func(w word) bool { return w.kind == dynamic }) {
		delete(r.vars, name)
		r.loop(nil, c.Do)
	} else {
		for _, v := range values {
			if r.exhausted {
				break
			}
			r.vars[name] = v
			r.loop(nil, c.Do)
		}
	}
	delete(r.vars, name) // behind it, it is the last value or what it was before
}

// test reads [[ … ]] as a command of that name. Some of its operators evaluate
// arithmetic, and with it command substitutions in the value of a variable.
func (r *scriptReader) test(c *syntax.TestClause) {
	p := &simpleCommand{words: []word{{text: "[[", source: "[["}}, dirs: r.dirs, speculative: r.speculative, text: r.text(c.Pos(), c.End())}
	syntax.Walk(c, func(n syntax.Node) bool {
		op := ""
		switch n := n.(type) {
		case *syntax.UnaryTest:
			op = n.Op.String()
		case *syntax.BinaryTest:
			op = n.Op.String()
		case *syntax.Word:
			w := wordOf(n, r.vars)
			if w.kind == pattern {
				w.kind = static // it is compared with a text, not with files
			}
			p.words = append(p.words, w)
		}
		switch op {
		case "-v", "-R", "-eq", "-ne", "-lt", "-gt", "-le", "-ge":
			r.isUnknown("[[ " + op + " ]] evaluates arithmetic, which can run commands")
		}
		return true
	})
	r.inside(c)
	r.part(p)
}

// redirect reads one redirection.
func (r *scriptReader) redirect(rd *syntax.Redirect) {
	if rd.Hdoc != nil {
		r.inside(rd.Hdoc)
		if wordOf(rd.Hdoc, r.vars).kind == dynamic {
			r.isGrouped("a here-document with expansions")
		}
	}
	if rd.N != nil && strings.HasPrefix(rd.N.Value, "{") {
		r.isUnknown("a redirection that sets a variable")
	}
	if rd.Word == nil || r.full(1, r.dirs) {
		return
	}
	r.inside(rd.Word)
	w := wordOf(rd.Word, r.vars)
	text := r.text(rd.Pos(), rd.Word.End())
	switch rd.Op {
	case syntax.Hdoc, syntax.DashHdoc: // the word is where it ends
		return
	case syntax.WordHdoc:
		if w.kind == dynamic {
			r.isGrouped("an expansion")
		}
		return
	case syntax.DplIn, syntax.DplOut:
		// Bash reads ">&-x" as two words, and expands what else stands there twice.
		if lit := rd.Word.Lit(); lit == "-" || lit != "" && bash.ConsistsOf(lit, "0123456789") {
			return
		}
		r.isUnknown("a redirection to what may be a file or a descriptor")
	case syntax.RdrIn:
		if w.kind == static && !bash.IsConnection(w.text) {
			places := joinAll(r.dirs, w.text)
			r.redirects = append(r.redirects, redirect{text: text, places: places})
			return
		}
		if w.kind != static && !bash.IsConnection(w.text) {
			r.isUnsure("the name of the file it reads is an expansion")
			r.redirects = append(r.redirects, redirect{text: text})
			return
		}
	default: // every other one opens its file for writing
		if w.kind == static && (w.text == "/dev/null" || w.text == "/dev/stdout" || w.text == "/dev/stderr") {
			return
		}
	}
	if bash.IsConnection(w.text) {
		r.isUnknown("a network connection")
	}
	to := redirect{text: text, writes: true, reads: rd.Op == syntax.RdrInOut}
	if w.kind == static && len(r.dirs) > 0 {
		to.places = joinAll(r.dirs, w.text)
	}
	r.redirects = append(r.redirects, to)
}

// inputOf returns what the commands that a redirection is for are given to read.
func (r *scriptReader) inputOf(rd *syntax.Redirect) input {
	if rd.N != nil && rd.N.Value != "0" {
		return r.input
	}
	switch rd.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if rd.Hdoc == nil || slices.ContainsFunc(rd.Hdoc.Parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.Lit); return !ok }) {
			return input{given: true, known: rd.Hdoc == nil}
		}
		return input{given: true, known: true, text: r.text(rd.Hdoc.Pos(), rd.Hdoc.End())}
	case syntax.WordHdoc:
		w := wordOf(rd.Word, r.vars)
		return input{given: true, known: w.kind == static, text: w.text}
	case syntax.RdrIn:
		return input{given: rd.Word.Lit() != "/dev/null"}
	case syntax.RdrInOut, syntax.DplIn:
		return input{given: rd.Word.Lit() != "-"}
	}
	return r.input
}

// changesInput reports whether the redirections of a command hold for those behind it: exec < file.
func changesInput(cmd syntax.Command) bool {
	c, ok := cmd.(*syntax.CallExpr)
	return ok && len(c.Args) > 0 && c.Args[0].Lit() == "exec"
}

// braces takes what a command with brace expansions becomes in as a guess: a deny
// rule finds rm in {rm,-rf,x}.
func (r *scriptReader) braces(p *simpleCommand, args []*syntax.Word) {
	if !slices.ContainsFunc(p.words, func(w word) bool { return w.source == "{…}" }) {
		return
	}
	var words []word
	for _, arg := range args {
		for _, w := range bash.ExpandBraces(arg) {
			words = append(words, wordOf(w, r.vars))
		}
	}
	r.inner(p, words, true)
}
