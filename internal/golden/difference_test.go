package golden

import (
	"strings"
	"testing"
)

func TestADifferenceShowsTheLinesThatDiffer(t *testing.T) {
	t.Parallel()
	lines := func(n int, line string) string { return strings.Repeat(line+"\n", n) }
	long := strings.Repeat("x", 5000)
	for _, c := range []struct{ what, want, got, shown string }{
		{"a line added", lines(3, "a") + lines(3, "b"), lines(3, "a") + "new\n" + lines(3, "b"),
			"line 2:\n  a\n  a\n+ new\n  b\n  b\nlines removed: 0, added: 1"},
		{"a line changed", "a\nb\nc\n", "a\nB\nc\n", "line 1:\n  a\n- b\n+ B\n  c\nlines removed: 1, added: 1"},
		{"the end of a long line", long + "1" + long + "\n", long + "2" + long + "\n",
			"line 1:\n- …" + long[:60] + "1" + long[:138] + "…\n+ …" + long[:60] + "2" + long[:138] + "…\nlines removed: 1, added: 1"},
		{"blanks", "a\n", "a \n", "line 1:\n- \"a\"\n+ \"a \"\nlines removed: 1, added: 1"},
		{"a line end of another system", "a\n", "a\r\n", "line 1:\n- a\n+ \"a\\r\"\nlines removed: 1, added: 1"},
		{"no end", "a\n", "a", "line 1:\n- \"a\"\n+ \"a\" without a line end\nlines removed: 1, added: 1"},
		{"much", "", lines(1000, "a"), "line 1:\n" + lines(79, "+ a") + "… 921 more lines of the difference\nlines removed: 0, added: 1000"},
	} {
		if got := difference(c.want, c.got); got != c.shown {
			t.Errorf("%s is shown as\n%s\nwant\n%s", c.what, got, c.shown)
		}
	}
}
