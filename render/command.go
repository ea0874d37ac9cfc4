package render

import (
	"encoding/json"
	"strings"

	"pawl/internal/text"
	"pawl/view"
)

const (
	foldedOutput  = 5  // lines of what a command has printed that succeeded, with the mark
	foldedError   = 20 // lines of what a call has printed that failed, with the mark
	foldedCommand = 6  // lines of a command
	leastCommand  = 24 // columns of a command that shares its first line with how it came out
)

// Command returns the whole command that a call runs; empty if it runs none.
func Command(c *view.Call) string {
	if c.Tool == "shell_output" {
		return ""
	}
	var args struct{ Command any }
	if json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return ""
	}
	command, _ := args.Command.(string) // external agents have tools with lists of words
	return strings.TrimSpace(command)
}

// prints reports whether the result of a call is what a command has printed.
func prints(c *view.Call) bool { return c.Tool == "shell_output" || Command(c) != "" }

// commandLines returns a command below itself, in at most rows lines of at most width columns.
func (s Style) commandLines(command string, rows, width int) []string {
	var lines []string
	colours := code{syntax: syntaxOf("sh")}
	for line := range strings.SplitSeq(command, "\n") {
		line = printable(line)
		spans := []Span{{Text: line, Paint: Accent}}
		if s.Color && len(line) <= maxMarkup {
			spans = shellSpans(colours.spans(line))
		}
		if lines = append(lines, s.Wrap(spans, width, true)...); len(lines) > rows {
			break
		}
	}
	if len(lines) > rows {
		lines = append(lines[:rows-1], s.Paint(Faint, s.Glyph(GlyphCut)))
	}
	return lines
}

// shellSpans tells the programs and the operators of a line of a shell from its other words.
func shellSpans(spans []Span) []Span {
	var all []Span
	program := true // the next word is one
	for _, sp := range joined(spans) {
		switch sp.Paint {
		case Keyword:
			program = strings.Contains(" if then elif else while until do ", " "+sp.Text+" ")
			all = append(all, sp)
			continue
		case Literal, Faint:
			program = false
			all = append(all, sp)
			continue
		}
		for rest := sp.Text; rest != ""; {
			operator := func(b byte) bool { return strings.IndexByte("|&;<>(){}", b) >= 0 }
			n, p := span(rest, func(b byte) bool { return b == ' ' }), Plain
			switch {
			case n > 0:
			case operator(rest[0]):
				n, p = span(rest, operator), Keyword
				program = !strings.ContainsAny(rest[:n], "<>")
			default:
				n = span(rest, func(b byte) bool { return b != ' ' && !operator(b) })
				if program && !strings.Contains(rest[:n], "=") {
					p, program = Accent, false
				}
			}
			all = append(all, Span{Text: rest[:n], Paint: p})
			rest = rest[n:]
		}
	}
	return all
}

// joined returns spans of which those that tell nothing in a shell are plain: numbers, and keywords where
// no command begins.
func joined(spans []Span) []Span {
	var all []Span
	before := "" // the end of the command so far
	for _, sp := range spans {
		begins := strings.TrimSpace(before) == "" || strings.HasSuffix(before, " ") && strings.ContainsAny(before[len(strings.TrimRight(before, " "))-1:], ";|&(")
		if sp.Paint == Number || sp.Paint == Keyword && !begins {
			sp.Paint = Plain
		}
		before = sp.Text
		if sp.Paint == Keyword {
			before = "; " // another may follow
		}
		if n := len(all) - 1; n >= 0 && sp.Paint == Plain && all[n].Paint == Plain {
			all[n].Text += sp.Text
			continue
		}
		all = append(all, sp)
	}
	return all
}

// An excerpt is the first and the last lines of what was printed.
type excerpt struct {
	first, last []string
	cut         int64 // lines between them
}

// excerptOf returns at most n lines of a text, one of which says how many were left out. Blank
// lines are not counted.
func excerptOf(printed string, n int) excerpt {
	var all []string
	for line := range strings.SplitSeq(printed, "\n") {
		if strings.TrimSpace(line) != "" {
			all = append(all, line)
		}
	}
	if len(all) <= n {
		return excerpt{first: all}
	}
	return excerpt{first: all[:headOf(n)], last: all[len(all)-(n-1-headOf(n)):], cut: int64(len(all) - n + 1)}
}

// headOf returns how many of n lines are the first of a text: of few the half, of many a quarter,
// because what has failed says why at its end.
func headOf(n int) int {
	if n <= foldedOutput {
		return n / 2
	}
	return n / 4
}

// excerptOfCall returns what is shown of the output of a settled call: of a command that succeeded a
// few lines, of a call that failed more. It has no lines for other calls.
func excerptOfCall(c *view.Call) excerpt {
	n := foldedOutput
	switch {
	case c.Failed():
		n = foldedError
	case !prints(c):
		return excerpt{}
	}
	if stored, ok := envelopeOf(c); ok {
		return stored.excerpt(n)
	}
	e := excerptOf(c.Printed(), n)
	if len(e.first) == 0 {
		e.first = []string{"(no output)"}
	}
	return e
}

// excerpt returns at most n of the first and last lines of a stored output; none of one that is data.
func (e envelope) excerpt(n int) excerpt {
	first, last := e.Metadata.First, e.Metadata.Last
	first, last = first[:min(len(first), headOf(n))], last[max(0, len(last)-(n-1-headOf(n))):]
	cut := e.Metadata.Lines - int64(len(first)+len(last))
	if cut < 0 { // the same lines are in both
		last = last[min(len(last), int(-cut)):]
	}
	return excerpt{first: first, last: last, cut: max(0, cut)}
}

// lines returns the lines of an excerpt, with a mark for those that were left out.
func (e excerpt) lines(s Style) []string {
	lines := make([]string, 0, len(e.first)+len(e.last)+1)
	for _, l := range e.first {
		lines = append(lines, printable(l))
	}
	if e.cut > 0 {
		mark := s.Glyph(GlyphCut) + " " + text.Plural(e.cut, "more line")
		if s.Expands != "" {
			mark += " (" + s.Expands + ")"
		}
		lines = append(lines, mark)
	}
	for _, l := range e.last {
		lines = append(lines, printable(l))
	}
	return lines
}

// gutter puts the margin of what a call has printed before lines.
func (s Style) gutter(lines []string, width int) []string {
	for i, l := range lines {
		mark := "  "
		if g := s.Glyph(GlyphGutter); g != "" {
			mark += s.Paint(Faint, g) + " "
		} else {
			mark += "  "
		}
		lines[i] = mark + s.Paint(Faint, s.Clip(l, width-5))
	}
	return lines
}

// OutputLines returns the first and the last lines of what the command of a settled call has
// printed, or a call that failed, safe to print and without margins; none for other calls.
func (s Style) OutputLines(c *view.Call) []string { return excerptOfCall(c).lines(s) }
