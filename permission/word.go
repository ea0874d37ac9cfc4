package permission

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"pawl/permission/bash"
)

// A word is one word of a simple command, as far as it is known.
type word struct {
	text   string // static: its value; pattern: the pattern; dynamic: the part that is known
	source string // as it was written, nearly: for people
	kind   wordKind
	// digits: only digits of it are not known ($?), or whether it has any ($!).
	digits bool
}

type wordKind int

const (
	static  wordKind = iota // the program gets exactly this
	pattern                 // * and ? in it stand for names of files; see tame
	dynamic                 // only the running shell knows
)

// mayBeOption reports whether a program may take what the word becomes for an option: it may
// begin with anything but what names of files begin with.
func (w word) mayBeOption() bool {
	if w.kind == dynamic || w.text == "" {
		return true
	}
	first := w.text[0]
	return first != '.' && first != '/' && !bash.NameByte(first)
}

// wordOf returns what is known of w, where vars are the variables whose value is
// known.
func wordOf(w *syntax.Word, vars map[string]word) word {
	if bash.HasBraces(w) {
		if lit := w.Lit(); givesText(lit) && !strings.Contains(lit, `\`) {
			return word{text: lit, source: lit, kind: pattern} // all that it becomes begins with the option
		}
		return word{source: "{…}", kind: dynamic}
	}
	b := &wordBuilder{vars: vars}
	for i, p := range w.Parts {
		b.add(p, i == 0)
	}
	if b.glob && b.kind == static {
		b.kind = dynamic
		// In the text the muted cannot be told from the others.
		if !b.mute && tame(b.text.String()) {
			b.kind = pattern
		}
	}
	text := b.text.String()
	if w.Lit() == "[" {
		b.kind = static
	}
	digits := b.digits && b.kind == static
	if b.digits {
		b.kind = dynamic
	}
	source := text
	if b.kind == dynamic {
		source += "…"
	}
	return word{text: text, source: source, kind: b.kind, digits: digits}
}

type wordBuilder struct {
	text strings.Builder
	glob bool // it has * ? or [ that the shell expands
	mute bool // it has such characters that the shell leaves alone
	kind wordKind
	// digits: it has $? or its like.
	digits bool
	vars   map[string]word
}

func (b *wordBuilder) add(p syntax.WordPart, first bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.literal(p.Value, first)
	case *syntax.SglQuoted:
		if p.Dollar { // $'\x72m'
			b.kind = dynamic
			return
		}
		b.quoted(p.Value)
	case *syntax.DblQuoted:
		if p.Dollar { // $"…" is translated
			b.kind = dynamic
		}
		for _, q := range p.Parts {
			if lit, ok := q.(*syntax.Lit); ok {
				b.quoted(bash.DoubleQuoted(lit.Value))
			} else if v, ok := b.known(q); ok {
				b.variable(v, true)
			} else {
				b.add(q, false)
			}
		}
	case *syntax.ParamExp:
		if p.Short && p.Param != nil && p.Index == nil && p.Exp == nil && len(p.Param.Value) == 1 && strings.Contains("?#$!", p.Param.Value) {
			b.digits = true
			return
		}
		if v, ok := b.known(p); ok {
			b.variable(v, false)
			return
		}
		b.kind = dynamic
	default: // substitutions, arithmetic, extended globs
		b.kind = dynamic
	}
}

// known returns the value of a plain "$name" or "${name}", if it is known.
func (b *wordBuilder) known(p syntax.WordPart) (word, bool) {
	e, ok := p.(*syntax.ParamExp)
	if !ok || e.Param == nil || e.Flags != nil || e.Excl || e.Length || e.Width || e.IsSet || e.NestedParam != nil ||
		e.Index != nil || e.Modifiers != nil || e.Slice != nil || e.Repl != nil || e.Names != 0 || e.Exp != nil {
		return word{}, false
	}
	v, ok := b.vars[e.Param.Value]
	return v, ok
}

// variable takes the value of a variable in. Without quotes the shell splits it
// into words and takes it for a pattern; a value that shows it is not known.
func (b *wordBuilder) variable(v word, quoted bool) {
	b.text.WriteString(v.text)
	switch {
	case v.kind == pattern && !strings.HasPrefix(v.text, "-"):
		b.glob = true // names that a pattern stood for, not the pattern
	case v.kind == dynamic, v.kind == pattern, !quoted && (v.text == "" || strings.ContainsAny(v.text, " \t\n*?[\\")):
		b.kind = dynamic
	case quoted:
		b.mute = b.mute || strings.ContainsAny(v.text, "*?[\\")
	}
}

// quoted takes text in that the shell leaves alone.
func (b *wordBuilder) quoted(s string) {
	b.text.WriteString(s)
	b.mute = b.mute || strings.ContainsAny(s, "*?[\\")
}

// literal takes unquoted text in.
func (b *wordBuilder) literal(s string, first bool) {
	if first && strings.HasPrefix(s, "~") || strings.Contains(s, "=~") || strings.Contains(s, ":~") {
		b.kind = dynamic
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				b.quoted(s[i : i+1])
			}
		case '*', '?', '[':
			b.glob = true
			b.text.WriteByte(c)
		default:
			b.text.WriteByte(c)
		}
	}
}

// givesText reports whether a word is an option with a pattern of names as its value,
// where no file is opened for that value: --include=*.go. Whatever the shell makes of
// the value, the option stays.
func givesText(option string) bool {
	name, _, ok := strings.Cut(option, "=")
	return ok && has("--include --exclude --exclude-dir --glob --iglob --ignore --hide", name)
}

// tame reports whether a pattern of file names can be judged without the file
// system: it stays in a folder that is spelled out, has a file extension, is no
// option but one that [givesText], and reaches no hidden file ("*" reaches none).
func tame(p string) bool {
	if givesText(p) {
		return !strings.Contains(p, `\`)
	}
	if strings.ContainsAny(p, "[]\\") || strings.HasPrefix(p, "-") {
		return false
	}
	dir, base := "", p
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		dir, base = p[:i], p[i+1:]
	}
	if strings.ContainsAny(dir, "*?") || strings.HasPrefix(base, ".") {
		return false
	}
	i := strings.LastIndexByte(base, '.')
	ext := base[i+1:]
	return i > 0 && ext != "" && !strings.ContainsAny(ext, "*?")
}
