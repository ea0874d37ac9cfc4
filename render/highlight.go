package render

import "strings"

// A syntax is what is highlighted of a family of languages: comments, strings, numbers and keywords.
// It is no parser: what a line means may depend on more than is looked at here.
type syntax struct {
	line     []string // what begins a comment that ends with its line
	block    [2]string
	quotes   string    // what strings are between, on one line
	long     [2]string // what strings of several lines are between: before a quote of quotes is looked for
	keywords map[string]bool
	fold     bool // keywords may be written in capitals
	dash     bool // names have dashes in them
}

func words(list string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		all[w] = true
	}
	return all
}

// syntaxOf returns the syntax of a language by the name that a fence has; nil if it is not known.
func syntaxOf(language string) *syntax {
	language = strings.ToLower(language)
	for _, f := range families {
		if strings.Contains(f.names, " "+language+" ") {
			return f.syntax()
		}
	}
	return nil
}

// families are made into a syntax when they are used first: a program that shows no code does not
// make them.
var families = []struct {
	names  string // with a blank before and after each
	syntax func() *syntax
}{
	{" go golang ", func() *syntax {
		return &syntax{line: []string{"//"}, block: [2]string{"/*", "*/"}, long: [2]string{"`", "`"}, quotes: `"'`, keywords: words(
			`break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota`)}
	}},
	{" js javascript jsx mjs ts typescript tsx ", func() *syntax {
		return &syntax{line: []string{"//"}, block: [2]string{"/*", "*/"}, long: [2]string{"`", "`"}, quotes: `"'`, keywords: words(
			`abstract any as async await boolean break case catch class const continue declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let new null number of private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined unknown var void while with yield`)}
	}},
	{" c h cpp c++ cc cxx hpp cs csharp java kotlin kt swift rust rs scala dart zig php proto protobuf groovy objc glsl ", func() *syntax {
		return &syntax{line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"`, keywords: words(
			`abstract as async auto await bool boolean break byte case catch char class const constexpr continue crate default delete do double dyn else enum export extends extern false final finally float fn for foreach friend fun func function goto guard if impl implements import in inline int interface internal is let long loop match message mod move mut namespace new nil null nullptr object operator out override package private protected protocol pub public ref repeated require return sealed self Self short signed sizeof static string struct super switch template this throw throws trait true try typedef typename union unsafe unsigned use using val var virtual void volatile when where while yield`)}
	}},
	{" py python py3 python3 ", func() *syntax {
		return &syntax{line: []string{"#"}, long: [2]string{`"""`, `"""`}, quotes: `"'`, keywords: words(
			`and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield`)}
	}},
	{" rb ruby ex elixir pl perl r julia jl cr crystal ", func() *syntax {
		return &syntax{line: []string{"#"}, quotes: `"'`, keywords: words(
			`alias and begin break case class def defmodule defp do else elsif elseif end ensure false fn for foreach function if import in include loop module my next nil not or our package raise redo require rescue retry return self struct sub super then true undef unless until use using when while yield`)}
	}},
	{" sh bash shell zsh console shell-session dockerfile docker makefile make fish powershell ps1 ", func() *syntax {
		return &syntax{line: []string{"#"}, quotes: `"'`, dash: true, keywords: words(
			`case do done elif else esac exit export fi for function if in local return select set source then trap unset until while FROM RUN COPY ADD ENV ARG WORKDIR CMD ENTRYPOINT EXPOSE USER VOLUME`)}
	}},
	{" yaml yml toml ini conf properties hcl tf terraform nix ", func() *syntax {
		return &syntax{line: []string{"#"}, quotes: `"'`, dash: true, keywords: words(`true false null yes no on off`)}
	}},
	{" json jsonc json5 jsonl ", func() *syntax {
		return &syntax{line: []string{"//"}, quotes: `"`, keywords: words(`true false null`)}
	}},
	{" sql postgres postgresql mysql sqlite plsql ", func() *syntax {
		return &syntax{line: []string{"--"}, block: [2]string{"/*", "*/"}, quotes: `'"`, fold: true, keywords: words(
			`add all alter and as asc begin between by cascade case check column commit constraint create cross default delete desc distinct drop else end exists explain false foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then transaction true union unique update using values view when where with`)}
	}},
	{" lua haskell hs elm ada vhdl ", func() *syntax {
		return &syntax{line: []string{"--"}, quotes: `"'`, keywords: words(
			`and break case class data deriving do else elseif end false for function if import in infix instance let local module newtype nil not of or repeat return then true type until where while`)}
	}},
	{" lisp clojure clj scheme scm elisp racket asm nasm ", func() *syntax {
		return &syntax{line: []string{";"}, quotes: `"`, dash: true, keywords: words(`def defn defun defmacro define fn if cond let lambda loop nil true false ns require`)}
	}},
	{" css scss less ", func() *syntax {
		return &syntax{line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`, dash: true}
	}},
	{" html xml svg vue svelte ", func() *syntax {
		return &syntax{block: [2]string{"<!--", "-->"}, quotes: `"`, dash: true}
	}},
}

// A code highlights one line of code after another.
type code struct {
	*syntax
	until string // what ends the comment or string that the line before has left open
	paint Paint  // of it
}

// spans returns the pieces of a line, which are together the line.
func (c *code) spans(text string) []Span {
	var all []Span
	line, begin := text, 0 // of the last piece
	add := func(n int, p Paint) {
		at := len(line) - len(text)
		if last := len(all) - 1; last >= 0 && all[last].Paint == p {
			all[last].Text = line[begin : at+n]
		} else {
			all, begin = append(all, Span{Text: text[:n], Paint: p}), at
		}
		text = text[n:]
	}
	open := func(opening, end string, p Paint) {
		n := strings.Index(text[len(opening):], end)
		if n < 0 {
			c.until, c.paint = end, p
			add(len(text), p)
			return
		}
		add(len(opening)+n+len(end), p)
	}
	if c.until != "" {
		end, p := c.until, c.paint
		c.until = ""
		open("", end, p)
	}
	for text != "" {
		b := text[0]
		switch {
		case c.comment(text, all):
			add(len(text), Faint)
		case c.block[0] != "" && strings.HasPrefix(text, c.block[0]):
			open(c.block[0], c.block[1], Faint)
		case c.long[0] != "" && strings.HasPrefix(text, c.long[0]):
			open(c.long[0], c.long[1], Literal)
		case strings.IndexByte(c.quotes, b) >= 0:
			add(quoted(text), Literal)
		case b >= '0' && b <= '9':
			add(span(text, func(b byte) bool { return letter(b) || b == '.' }), Number)
		case letter(b) || c.dash && b == '-':
			n := span(text, func(b byte) bool { return letter(b) || c.dash && b == '-' })
			word := text[:n]
			if c.fold {
				word = strings.ToLower(word)
			}
			if c.keywords[word] {
				add(n, Keyword)
			} else {
				add(n, Plain)
			}
		default:
			add(1, Plain)
		}
	}
	return all
}

// comment reports whether text begins a comment. What begins with # does so only after a blank: it is
// a part of words in shells and addresses.
func (c *code) comment(text string, before []Span) bool {
	for _, mark := range c.line {
		if !strings.HasPrefix(text, mark) {
			continue
		}
		if mark != "#" || len(before) == 0 {
			return true
		}
		last := before[len(before)-1].Text
		return last[len(last)-1] == ' '
	}
	return false
}

// quoted returns the length of the string that text begins with, on its line.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}

// span returns how many bytes at the beginning of text are in a set.
func span(text string, in func(byte) bool) int {
	n := 0
	for n < len(text) && in(text[n]) {
		n++
	}
	return n
}
