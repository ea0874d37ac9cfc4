package render

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/lazy"
	"pawl/view"
)

// hunkLine is the head of a part of a unified diff.
var hunkLine = lazy.Regexp(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// numbersFrom is the width from which on the lines of a diff have numbers.
const numbersFrom = 36

// diff returns the lines of a unified diff, at most n of them, with their numbers: of a removed line
// that before the change, of any other that after it. A diff without heads has no numbers.
func (s Style) diff(diff string, n, width int) []string {
	return s.diffLines(diff, n, width, false)
}

// wholeDiff is diff with long lines broken and not cut; at most n lines of the diff, 0: all.
func (s Style) wholeDiff(diff string, n, width int) []string {
	if n == 0 {
		n = len(diff)
	}
	return s.diffLines(diff, n, width, true)
}

func (s Style) diffLines(diff string, n, width int, whole bool) []string {
	type part struct {
		number int // 0: none
		text   string
	}
	var parts []part
	before, after, digits := 0, 0, 0
	head := false // of a file among several
	for line := range strings.SplitSeq(diff, "\n") {
		if _, name, ok := strings.Cut(line, " b/"); ok && strings.HasPrefix(line, "diff --git a/") {
			head, before, after = true, 0, 0
			parts = append(parts, part{text: name})
			continue
		}
		if head && (strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")) {
			continue
		}
		if m := hunkLine().FindStringSubmatch(line); m != nil {
			if len(parts) > 0 && !head {
				parts = append(parts, part{}) // lines that are the same are left out here
			}
			before, _ = strconv.Atoi(m[1])
			after, _ = strconv.Atoi(m[2])
			head = false
			continue
		}
		if line == "" || line[0] == '@' {
			continue
		}
		number := after
		switch line[0] {
		case '-':
			number = before
			before = next(before)
		case '+':
			after = next(after)
		default:
			before, after = next(before), next(after)
		}
		digits = max(digits, len(strconv.Itoa(number)))
		parts = append(parts, part{number, line})
	}
	total := len(parts)
	if total > n {
		parts = parts[:n]
	}
	var lines []string
	for _, p := range parts {
		margin := "    "
		if digits > 0 && width >= numbersFrom && before+after > 0 {
			number := strings.Repeat(" ", digits)
			if p.number > 0 {
				number = fmt.Sprintf("%*d", digits, p.number)
			}
			margin += s.Paint(Faint, number+" "+s.Glyph(GlyphGutter)) + " "
		}
		paint := Faint
		switch {
		case p.text == "":
			p.text = s.Glyph(GlyphCut)
		case p.text[0] == '+':
			paint = Good
		case p.text[0] == '-':
			paint = Bad
		}
		text, room := printable(p.text), width-1-Cells(margin)
		if !whole {
			lines = append(lines, margin+s.Paint(paint, s.Clip(text, room)))
			continue
		}
		for i, piece := range broken(text, max(1, room)) {
			if i > 0 {
				margin = strings.Repeat(" ", Cells(margin))
			}
			lines = append(lines, margin+s.Paint(paint, piece))
		}
	}
	return append(lines, s.more(total-n)...)
}

// next returns the number of the next line, if numbers are known.
func next(number int) int {
	if number == 0 {
		return 0
	}
	return number + 1
}

// changeOf returns the difference that a call has made: the one that is known of it, the one in
// the result of an edit, or the content of a new file.
func changeOf(c *view.Call) string {
	if c.Diff != "" {
		return c.Diff
	}
	first, diff, _ := strings.Cut(c.Result, "\n")
	if strings.HasPrefix(diff, "@@ ") {
		return diff
	}
	var args struct{ Content string }
	if strings.HasPrefix(first, "Made ") && json.Unmarshal([]byte(c.Arguments), &args) == nil && args.Content != "" {
		return "@@ -0,0 +1 @@\n+" + strings.ReplaceAll(strings.TrimSuffix(args.Content, "\n"), "\n", "\n+")
	}
	return ""
}
