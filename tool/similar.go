package tool

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/stable"
)

// numbered is how read numbers a line.
var numbered = lazy.Regexp(`(?m)^ *\d+\t`)

// notFound says why old is not in text, as far as that can be seen: the usual
// reasons are copied line numbers, other blanks, doubled escapes, and a file
// that is not what the model remembers.
func notFound(text []byte, old string) error {
	if stripped := numbered().ReplaceAllString(old, ""); stripped != old && bytes.Contains(text, []byte(stripped)) {
		return tell("old was not found as given. It has the line numbers of read in it: leave them out.")
	}
	if plain := unescape(old); plain != old && bytes.Contains(text, []byte(plain)) {
		return tell(`old was not found as given. It would be without its doubled escapes: write a line break for \n, " for \".`)
	}
	lines := bytes.Split(text, []byte("\n"))
	if from, n := ignoringBlanks(lines, old); n > 0 {
		return tell("old was not found as given. But for blanks it is at line %d%s:\n%s\nCopy it with the file's own indentation.",
			from+1, blankDifference(lines[from:from+n], old), show(lines, from, from+min(n, 12)))
	}
	near := similarLines(lines, old)
	if len(near) == 0 {
		return tell("old was not found, nor any line like it. Read the file again.")
	}
	var b strings.Builder
	for _, i := range near {
		b.WriteString("\n" + show(lines, i, i+1))
	}
	return tell("old was not found. The lines most like its own:%s\nRead around them and give old exactly.", b.String())
}

// show returns lines with their numbers, as read shows them; tabs stay tabs.
func show(lines [][]byte, from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		if i > from {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%6d\t%s", i+1, clipLine(lines[i], 200))
	}
	return b.String()
}

var unescaper = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`)

func unescape(s string) string { return unescaper.Replace(s) }

// ignoringBlanks finds old's lines among lines when only blanks differ.
func ignoringBlanks(lines [][]byte, old string) (from, n int) {
	var want []string
	for line := range strings.SplitSeq(strings.Trim(old, "\n"), "\n") {
		want = append(want, squeeze(line))
	}
	if strings.Join(want, "") == "" {
		return 0, 0
	}
	have := make([]string, len(lines))
	for i, line := range lines {
		have[i] = squeeze(string(line))
	}
	for i := 0; i+len(want) <= len(have); i++ {
		if slices.Equal(have[i:i+len(want)], want) {
			return i, len(want)
		}
	}
	return 0, 0
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// blankDifference says which blanks differ, where that is plain.
func blankDifference(have [][]byte, old string) string {
	h := string(bytes.Join(have, []byte("\n")))
	switch {
	case strings.Contains(h, "\t") && !strings.Contains(old, "\t"):
		return " (the file has tabs where old has spaces)"
	case !strings.Contains(h, "\t") && strings.Contains(old, "\t"):
		return " (the file has spaces where old has tabs)"
	}
	for i, line := range strings.Split(strings.Trim(old, "\n"), "\n") {
		if i < len(have) && strings.TrimRight(string(have[i]), " \t") == strings.TrimRight(line, " \t") && string(have[i]) != line {
			return fmt.Sprintf(" (the blanks at the end of line %d of old differ)", i+1)
		}
	}
	return ""
}

// similarLines returns the indices of at most three lines that are most like
// old's longest line, in the file's order.
func similarLines(lines [][]byte, old string) []int {
	const enough = 0.5 // a guess: of unrelated lines of code few score more
	longest := ""
	for line := range strings.SplitSeq(old, "\n") {
		if s := squeeze(line); len(s) > len(longest) {
			longest = s
		}
	}
	want := pairs(longest)
	if len(want) == 0 {
		return nil
	}
	type scored struct {
		line  int
		score float64
	}
	var best []scored
	for i, line := range lines {
		if i == 50_000 {
			break // a hint is not worth more time
		}
		if s := alike(want, pairs(squeeze(string(line[:min(len(line), 400)])))); s >= enough {
			best = append(best, scored{i, s})
		}
	}
	stable.Sort(best, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	var found []int
	for _, s := range best[:min(3, len(best))] {
		found = append(found, s.line)
	}
	slices.Sort(found)
	return found
}

// pairs returns the sorted pairs of neighbouring bytes of s.
func pairs(s string) []uint16 {
	s = s[:min(len(s), 400)]
	var p []uint16
	for i := 1; i < len(s); i++ {
		p = append(p, uint16(s[i-1])<<8|uint16(s[i]))
	}
	slices.Sort(p)
	return p
}

// alike is the Sørensen–Dice coefficient of two sorted lists: 1 for equal ones.
func alike(a, b []uint16) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	both, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			both, i, j = both+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return 2 * float64(both) / float64(len(a)+len(b))
}
