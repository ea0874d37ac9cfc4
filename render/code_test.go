package render

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"pawl/internal/visible"
)

// Comments, strings, numbers and keywords have their colours, and the text is never changed.
func TestCode(t *testing.T) {
	t.Parallel()
	marks := map[Paint]string{Keyword: "k", Literal: "s", Number: "n", Faint: "c"}
	for _, c := range []struct{ language, source, want string }{
		{"go", "for i := 0x1F; i < len(`a", "k(for) i := n(0x1F); i < len(s(`a)"},
		{"go", "x := `a\nfor` // b", "x := s(`a)\ns(for`) c(// b)"},
		{"python", "def f(x): # \"no\"\n  'a'", "k(def) f(x): c(# \"no\")\n  s('a')"},
		{"py", "\"\"\"one\ntwo\"\"\" if 1.5", "s(\"\"\"one)\ns(two\"\"\") k(if) n(1.5)"},
		{"sh", `echo $# a#b "x\"y" # c`, `echo $# a#b s("x\"y") c(# c)`},
		{"sh", "curl --for if-not", "curl --for if-not"},
		{"sql", "SELECT a FROM t -- all", "k(SELECT) a k(FROM) t c(-- all)"},
		{"json", `{"a": true, "b": -1e5}`, `{s("a"): k(true), s("b"): -n(1e5)}`},
		{"rust", "fn f<'a>(x: &'a str) {} /* a\nb */ let", "k(fn) f<'a>(x: &'a str) {} c(/* a)\nc(b */) k(let)"},
		{"c", "/**/ int x; /*/ */", "c(/**/) k(int) x; c(/*/ */)"},
		{"html", "<!-- a -->\n<a-b c=\"d\">", "c(<!-- a -->)\n<a-b c=s(\"d\")>"},
		{"yaml", "a: true # b", "a: k(true) c(# b)"},
		{"go", "日本 := 'x'", "日本 := s('x')"},
	} {
		h := code{syntax: syntaxOf(c.language)}
		var got []string
		for line := range strings.SplitSeq(c.source, "\n") {
			var b strings.Builder
			for _, sp := range h.spans(line) {
				if m := marks[sp.Paint]; m != "" {
					b.WriteString(m + "(" + sp.Text + ")")
				} else {
					b.WriteString(sp.Text)
				}
			}
			got = append(got, b.String())
		}
		if got := strings.Join(got, "\n"); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.language, got, c.want)
		}
	}
	if syntaxOf("") != nil || syntaxOf("brainfuck") != nil {
		t.Error("a syntax for a language that is not known")
	}
}

// Whatever code and tables are, no text is lost, and aligned tables fit.
func FuzzCodeAndTables(f *testing.F) {
	f.Add("go", "for `x\n\"a\\\" /* */ // #", "|a|b|\n|-|-:|\n|日本|`x|y`|", 30)
	f.Add("py", "\"\"\"\n'", "| a\n|---|\n||||", 8)
	f.Fuzz(func(t *testing.T, language, source, table string, width int) {
		width = 4 + max(0, width%200)
		if syntax := syntaxOf(language); syntax != nil {
			h := code{syntax: syntax}
			for line := range strings.SplitSeq(source, "\n") {
				var all strings.Builder
				for _, sp := range h.spans(line) {
					all.WriteString(sp.Text)
				}
				if all.String() != line {
					t.Errorf("%q became %q", line, all.String())
				}
			}
		}
		m := Markdown{Style: Style{Color: true}}
		lines := strings.Split(visible.Escape(table), "\n")
		for _, l := range lines[:min(len(lines), maxTable)] {
			if got := m.Line("|"+l, width, false); len(got) > 0 {
				t.Errorf("a line of a table is %q", got)
			}
		}
		for _, l := range m.End(width, false) {
			if Cells(l) > width && !strings.HasPrefix(l, "|") {
				t.Errorf("%q has %d columns, more than %d", l, Cells(l), width)
			}
		}
	})
}

// An address is a link only if it can be nothing else, and is always written out.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := Style{Color: true, Links: true}
	for _, c := range []struct {
		source, want string
		link         bool
	}{
		{"see [a b](https://x.org/y) now", "see a b (https://x.org/y) now", true},
		{"[https://x.org](https://x.org).", "https://x.org.", true},
		{"[a](javascript:alert)", "[a](javascript:alert)", false},
		{"[a](https://x.org/\u202ey)", "[a](https://x.org/\u202ey)", false},
		{"[a] (b) and x[1](2)", "[a] (b) and x[1](2)", false},
	} {
		line := s.Wrap(s.Spans(c.source, Plain), 200, false)[0]
		if got := ansi.Strip(line); got != c.want {
			t.Errorf("%q: %q, want %q", c.source, got, c.want)
		}
		if got := strings.Contains(line, "\x1b]8;"); got != c.link {
			t.Errorf("%q: a link: %t", c.source, got)
		}
	}
}
