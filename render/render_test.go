package render

import (
	"slices"
	"strings"
	"testing"

	"pawl/internal/visible"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	render := func(s Style, source string, width int) string {
		m := Markdown{Style: s}
		var out []string
		for line := range strings.SplitSeq(source, "\n") {
			out = append(out, m.Line(line, width, false)...)
		}
		out = append(out, m.End(width, false)...)
		return strings.Join(out, "\n")
	}
	for _, c := range []struct{ name, source, want string }{
		{"bold, italic and code", "a **b c** *d* _e_ `f *g*`", "a \x1b[1mb c\x1b[m \x1b[3md\x1b[m \x1b[3me\x1b[m \x1b[36mf *g*\x1b[m"},
		{"marks that are none", "2 * 3 * 4, snake_case_name, **open, \\*kept\\*", "2 * 3 * 4,\nsnake_case_name,\n**open, *kept*"},
		{"a heading", "## Plan ##", "\x1b[1;4mPlan\x1b[m"},
		{"a list with long items", "- one two three four\n1. five six seven eight", "• one two three\n  four\n1. five six seven\n   eight"},
		{"code between fences", "```\nif *a {\n\tb()\n```\nafter", "  \x1b[36mif *a {\x1b[m\n  \x1b[36m    b()\x1b[m\nafter"},
		{"a fence in a longer fence", "````\n```\n````\nafter", "  \x1b[36m```\x1b[m\nafter"},
		{"blank lines", "\n\na\n\n\n\nb", "a\n\nb"},
		{"a table that fits", "|a|b|\n|-|-:|\n|long|1|\nafter", "\x1b[1ma\x1b[m    \x1b[2m│\x1b[m \x1b[1mb\x1b[m\n\x1b[2m─────┼──\x1b[m\nlong \x1b[2m│\x1b[m 1\nafter"},
		{"a table with a long cell", "|a|b|\n|-|-|\n|one two three four|1|", "\x1b[1ma\x1b[m              \x1b[2m│\x1b[m \x1b[1mb\x1b[m\n\x1b[2m───────────────┼──\x1b[m\none two three  \x1b[2m│\x1b[m 1\nfour           \x1b[2m│\x1b[m"},
		{"a table", "| a | b | c | d | e | f |\n|---|---|", "| a | b | c | d | e | f |\n|---|---|"},
	} {
		if got := render(Style{Color: true}, c.source, 18); got != c.want && strings.ReplaceAll(got, "\x1b[0m", "\x1b[m") != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
	source := "a **b** `c`\n## h"
	if got := render(Style{}, source, 40); got != source {
		t.Errorf("without colours: %q, want the source", got)
	}
}

// What fits stays whole, and no line of a wrapped text is wider than asked for.
func FuzzWrap(f *testing.F) {
	f.Add("a **b** 日本語 https://example.com/a/very/long/address `x y`", 10)
	f.Add("❤️👩‍👩‍👧 é", 2)
	f.Add("0\ufe0f00000", 2)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 4 + max(0, width%200)
		line := strings.ReplaceAll(visible.Escape(text), "\n", " ")
		for _, s := range []Style{{}, {Color: true}} {
			for _, l := range s.Wrap(s.Spans(line, Plain), width, true) {
				if Cells(l) > width {
					t.Errorf("%q has %d columns, more than %d", l, Cells(l), width)
				}
			}
		}
		if got := (Style{}).Clip(line, width); Cells(got) > width {
			t.Errorf("%q has %d columns, more than %d", got, Cells(got), width)
		}
	})
}

func TestColoursAreWantedAsOthersDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env           string
		color, forced bool
	}{
		{"TERM=xterm", true, false},
		{"TERM=dumb", false, false},
		{"TERM=", false, false},
		{"TERM=xterm NO_COLOR=1", false, false},
		{"TERM=xterm CLICOLOR=0", false, false},
		{"TERM=xterm CLICOLOR=0 CLICOLOR_FORCE=1", true, true},
		{"TERM=xterm CLICOLOR_FORCE=1 NO_COLOR=1", false, false},
	} {
		env := func(name string) string {
			for _, kv := range strings.Fields(c.env) {
				if v, ok := strings.CutPrefix(kv, name+"="); ok {
					return v
				}
			}
			return ""
		}
		if got := wantsColor(env); got != c.color {
			t.Errorf("%s: colours %t, want %t", c.env, got, c.color)
		}
		if got := ForcesColor(env); got != c.forced {
			t.Errorf("%s: forced %t, want %t", c.env, got, c.forced)
		}
	}
}

// Blanks that do not fit at the end of a line end it: what they stand between stays apart.
func TestColumnsStayApartWhenALineIsBroken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"the network          a network": {"the network", "a network"},
		"one two":                        {"one two"},
		"twelve chars and a half":        {"twelve chars and a", "half"},
		"exactly twenty chars   ":        {"exactly twenty chars"},
		"exactly twenty chars x":         {"exactly twenty chars", "x"},
	} {
		if got := (Style{}).Wrap([]Span{{Text: text}}, 20, false); !slices.Equal(got, want) {
			t.Errorf("%q is broken into %q, want %q", text, got, want)
		}
	}
}
