package golden

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"pawl/internal/text"
)

const (
	maxLines = 80  // that are shown of a difference; git diff after UPDATE=1 shows all
	longest  = 200 // characters that are shown of a line
	before   = 60  // of them before the first that differs
)

// difference returns the lines in which want and got differ, with two lines around each place.
func difference(want, got string) string {
	u, err := udiff.ToUnifiedDiff("", "", want, udiff.Lines(want, got), 2)
	if err != nil {
		panic(err) // unreachable: the edits were made from want
	}
	var out []string
	var lines [3]int // by kind
	for _, h := range u.Hunks {
		out = append(out, fmt.Sprintf("line %d:", h.FromLine))
		for i := 0; i < len(h.Lines); {
			// What was removed and added at one place.
			var changed [3][]string
			for ; i < len(h.Lines) && h.Lines[i].Kind != udiff.Equal; i++ {
				l := h.Lines[i]
				changed[l.Kind] = append(changed[l.Kind], l.Content)
				lines[l.Kind]++
			}
			out = append(out, shown("- ", changed[udiff.Delete], changed[udiff.Insert])...)
			out = append(out, shown("+ ", changed[udiff.Insert], changed[udiff.Delete])...)
			if i < len(h.Lines) {
				out = append(out, shown("  ", []string{h.Lines[i].Content}, nil)...)
				i++
			}
		}
	}
	if more := len(out) - maxLines; more > 0 {
		out = append(out[:maxLines], fmt.Sprintf("%s %d more lines of the difference", text.Mark, more))
	}
	return fmt.Sprintf("%s\nlines removed: %d, added: %d", strings.Join(out, "\n"), lines[udiff.Delete], lines[udiff.Insert])
}

// shown returns lines behind a mark. A long one is shown from shortly before the first character in which it differs
// from the line of others at its place. A line without its end, or with characters that cannot be seen, is quoted.
func shown(mark string, lines, others []string) []string {
	var out []string
	for i, line := range lines {
		other := ""
		if i < len(others) {
			other = others[i]
		}
		content, ended := strings.CutSuffix(line, "\n")
		hidden := func(r rune) bool { return r == utf8.RuneError || r != '\t' && !unicode.IsPrint(r) }
		quoted := !ended || strings.ContainsFunc(content, hidden) || strings.TrimRight(content, " \t") == strings.TrimRight(other, " \t\n")
		if utf8.RuneCountInString(content) > longest {
			same := 0
			for same < min(len(content), len(other)) && content[same] == other[same] {
				same++
			}
			if cut := text.Last(text.Prefix(content, same), before); len(cut) < same {
				content = text.Mark + cut + content[len(text.Prefix(content, same)):]
			}
			content = text.Clip(content, longest)
		}
		if quoted {
			content = strconv.Quote(content)
		}
		if !ended {
			content += " without a line end"
		}
		out = append(out, mark+content)
	}
	return out
}
