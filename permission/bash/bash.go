// Package bash knows the language of the shell: what bash may read differently from the parser that commands are judged
// with, and what it makes of words.
package bash

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// The commands that run are those that the parser has read, so a text is only judged
// if bash certainly reads the same. The functions here refuse, as something that
// cannot be known, every construct that bash and the parser are known to read
// differently, or that versions of bash read differently, and a margin around it.
// TestWhatBashRunsIsWhatWasJudged compares the two on generated commands.

// Differences says why bash might read a text in another way than the parser did;
// empty if it does not.
func Differences(text string, stmts []*syntax.Stmt) string {
	if what := differencesInText(withoutQuotedDocuments(text, stmts)); what != "" {
		return what
	}
	w := &grammarWalk{text: text}
	for _, st := range stmts {
		syntax.Walk(st, w.visit)
	}
	if w.found == "" && w.document {
		return DocumentAsText
	}
	return w.found
}

// DocumentAsText is the one difference of a text whose words are certain up to where a substitution of the form
// $(cat <<'EOF' …) ends, of which versions of bash before 5.2 read some otherwise.
const DocumentAsText = "a here-document as the text of a substitution"

// isText reports whether a redirection is the here-document of a substitution that stands between double quotes
// and only prints it.
func (w *grammarWalk) isText(n *syntax.Redirect) bool {
	if !quotedDelimiter(n.Word) || !plainDelimiter(w.source(n.Word)) {
		return false
	}
	last := len(w.parents) - 1
	stmt, isStmt := w.parents[last].(*syntax.Stmt)
	subst, isSubst := w.parents[last-1].(*syntax.CmdSubst)
	_, quoted := w.parents[last-2].(*syntax.DblQuoted)
	if !isStmt || !isSubst || !quoted || subst.Backquotes || len(subst.Stmts) != 1 || len(stmt.Redirs) != 1 {
		return false
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	return ok && len(call.Assigns) == 0 && len(call.Args) == 1 && call.Args[0].Lit() == "cat" && !slices.ContainsFunc(w.parents[:last-1], func(p syntax.Node) bool {
		switch p.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return true
		}
		return false
	})
}

// withoutQuotedDocuments returns a text with the here-documents that are taken as they
// stand blanked.
func withoutQuotedDocuments(text string, stmts []*syntax.Stmt) string {
	if !strings.Contains(text, "<<") || !strings.Contains(text, "\\\n") {
		return text
	}
	b := []byte(text)
	for _, st := range stmts {
		syntax.Walk(st, func(n syntax.Node) bool {
			if r, ok := n.(*syntax.Redirect); ok && r.Hdoc != nil && quotedDelimiter(r.Word) {
				for i := r.Hdoc.Pos().Offset(); i < r.Hdoc.End().Offset() && i < uint(len(b)); i++ {
					b[i] = ' '
				}
			}
			return true
		})
	}
	return string(b)
}

// differencesInText looks at the text alone.
func differencesInText(text string) string {
	if !utf8.ValidString(text) {
		return "it is not valid UTF-8"
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' && c != '\n' || c == 0x7f }) {
		return "it has a control character"
	}
	if strings.HasSuffix(text, `\`) {
		return "it ends in a backslash"
	}
	for rest := text; ; {
		before, after, ok := strings.Cut(rest, "\\\n")
		if !ok {
			return ""
		}
		// Only between two words: "cmd \", line end, "word".
		blank := len(before) > 1 && (before[len(before)-1] == ' ' || before[len(before)-1] == '\t') && before[len(before)-2] != '\\'
		line := before[strings.LastIndexByte(before, '\n')+1:]
		if !blank || mayComment(line) || strings.Contains(text, "<<") || strings.HasPrefix(strings.TrimLeft(after, " \t"), "#") {
			return "a line continues in the middle of a word, a comment or a here-document"
		}
		rest = after
	}
}

// mayComment reports whether a line may have a comment at its end.
func mayComment(line string) bool {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || !NameByte(line[i-1]) && line[i-1] != '$' && line[i-1] != '{') {
			return true
		}
	}
	return false
}

// A grammarWalk looks for what bash may read differently in a syntax tree.
type grammarWalk struct {
	text    string
	parents []syntax.Node
	found   string // what was found first
	// document: there is a here-document as the text of a substitution.
	document bool
}

func (w *grammarWalk) visit(n syntax.Node) bool {
	if n == nil {
		w.parents = w.parents[:len(w.parents)-1]
		return true
	}
	if w.found == "" {
		w.found = w.look(n)
	}
	if w.found != "" {
		return false
	}
	w.parents = append(w.parents, n)
	return true
}

// within reports whether the node that is looked at is in a substitution.
func (w *grammarWalk) within() bool {
	return slices.ContainsFunc(w.parents, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return true
		}
		return false
	})
}

// source returns the text of a node.
func (w *grammarWalk) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || from > to || to > len(w.text) {
		return ""
	}
	return w.text[from:to]
}

func (w *grammarWalk) look(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.Stmt:
		if after := int(n.Position.Offset()) + 1; n.Negated && (after >= len(w.text) || w.text[after] != ' ' && w.text[after] != '\t') {
			return "an exclamation mark with no blank after it"
		}
	case *syntax.Comment:
		line, _, _ := strings.Cut(w.text[min(int(n.Hash.Offset()), len(w.text)):], "\n")
		if w.within() || strings.Contains(line, `\`) {
			return "a comment in a substitution, or with a backslash"
		}
	case *syntax.CmdSubst:
		source := w.source(n)
		switch {
		case n.Backquotes && strings.ContainsAny(strings.Trim(source, "`"), "\\'\"#<(`$"):
			return "a command in backquotes that has quotes, expansions or backslashes"
		case strings.HasPrefix(source, "$(("):
			return "$((, which may be arithmetic"
		}
	case *syntax.Subshell:
		if strings.HasPrefix(w.source(n), "((") {
			return "((, which may be arithmetic"
		}
	case *syntax.CaseClause:
		if w.within() {
			return "case in a substitution"
		}
		for _, item := range n.Items {
			for _, p := range item.Patterns {
				if !plainWord(p, "") {
					return "an unusual pattern of a case"
				}
			}
		}
	case *syntax.Redirect:
		if n.Op == syntax.Hdoc && len(w.parents) > 2 && w.isText(n) {
			w.document = true
		} else if (n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc) && (w.within() || !plainDelimiter(w.source(n.Word))) {
			return "a here-document in a substitution, or with an unusual delimiter"
		}
		if n.Hdoc != nil && !quotedDelimiter(n.Word) && strings.ContainsAny(w.source(n.Hdoc), "`\\") {
			return "a here-document with backquotes or backslashes"
		}
	case *syntax.ParamExp:
		if n.Flags != nil || n.NestedParam != nil || n.Width || n.IsSet || len(n.Modifiers) > 0 {
			return "an expansion of another shell"
		}
		if n.Exp != nil && !plainWord(n.Exp.Word, " ") || n.Repl != nil && (!plainWord(n.Repl.Orig, " ") || !plainWord(n.Repl.With, " ")) {
			return "an expansion with quotes or commands in it"
		}
	case *syntax.ExtGlob:
		return "an extended pattern"
	case *syntax.TimeClause:
		if slices.ContainsFunc(w.parents, func(n syntax.Node) bool {
			b, ok := n.(*syntax.BinaryCmd)
			return ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll)
		}) {
			return "time within a pipeline"
		}
		// For bash "time --" ends the options of time; the parser takes -- for the command.
		if c := firstCall(n.Stmt); c != nil && len(c.Args) > 0 && c.Args[0].Lit() == "--" {
			return "time --"
		}
	case *syntax.DblQuoted:
		if n.Dollar {
			return `a translated text: $"…"`
		}
	case *syntax.Lit:
		if strings.HasPrefix(n.Value, "#") {
			if word, ok := w.parent().(*syntax.Word); ok && !w.isDocument(word) {
				return "a word that begins with #"
			}
		}
	case *syntax.Assign:
		if n.Index != nil || n.Array != nil {
			return "an array"
		}
		if n.Name == nil || n.Name.Value == "" || !ConsistsOf(n.Name.Value, NameChars) {
			return "an unusual assignment"
		}
	case *syntax.TestClause:
		return testDifferences(n)
	}
	return ""
}

// isDocument reports whether the word that is looked into is the text of a here-document.
func (w *grammarWalk) isDocument(word *syntax.Word) bool {
	if len(w.parents) < 2 {
		return false
	}
	r, ok := w.parents[len(w.parents)-2].(*syntax.Redirect)
	return ok && r.Hdoc == word
}

func (w *grammarWalk) parent() syntax.Node {
	if len(w.parents) == 0 {
		return nil
	}
	return w.parents[len(w.parents)-1]
}

// firstCall returns the simple command that a statement or its pipeline begins with, or nil.
func firstCall(s *syntax.Stmt) *syntax.CallExpr {
	for s != nil {
		switch c := s.Cmd.(type) {
		case *syntax.CallExpr:
			return c
		case *syntax.BinaryCmd:
			s = c.X
		default:
			return nil
		}
	}
	return nil
}

// testDifferences looks at the words of [[ … ]], which has a lexer of its own.
func testDifferences(c *syntax.TestClause) (found string) {
	syntax.Walk(c.X, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryTest:
			if word, ok := n.Y.(*syntax.Word); n.Op == syntax.TsReMatch && !(ok && plainWord(word, "^$")) {
				found = "an unusual regular expression in [[ ]]"
			}
		case *syntax.Word:
			if !plainWord(n, "$") {
				found = "an unusual word in [[ ]]"
			}
			return false
		}
		return found == ""
	})
	return found
}

// plainWord reports whether a word has nothing in it but ordinary characters, or
// those of more, simple quotes and simple expansions of variables. A missing word is
// plain.
func plainWord(w *syntax.Word, more string) bool {
	if w == nil {
		return true
	}
	return !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		switch p := p.(type) {
		case *syntax.Lit:
			return !ConsistsOf(p.Value, NameChars+"./:@%+,=*?-"+more)
		case *syntax.SglQuoted:
			return p.Dollar || more == " "
		case *syntax.DblQuoted:
			return p.Dollar || more == " "
		case *syntax.ParamExp:
			return !p.Short && (p.Exp != nil || p.Repl != nil)
		}
		return true
	})
}

// plainDelimiter reports whether the word that ends a here-document is a name, quoted
// as a whole or not at all.
func plainDelimiter(source string) bool {
	if n := len(source); n > 2 && (source[0] == '\'' || source[0] == '"') && source[0] == source[n-1] {
		source = source[1 : n-1]
	}
	return source != "" && ConsistsOf(source, NameChars)
}

// quotedDelimiter reports whether a here-document is taken as it stands.
func quotedDelimiter(w *syntax.Word) bool {
	return len(w.Parts) > 0 && w.Lit() == ""
}

// NameChars are the characters of names of variables.
const NameChars = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// NameByte reports whether a byte is one of them.
func NameByte(c byte) bool { return strings.ContainsRune(NameChars, rune(c)) }

// ConsistsOf reports whether all characters of s are among chars.
func ConsistsOf(s, chars string) bool { return strings.Trim(s, chars) == "" }
