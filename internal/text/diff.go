package text

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Diff returns how before became after as a unified diff without file names, with two
// lines of context, and how many lines were added and removed. Each line is clipped, and
// the diff is cut after limit bytes with a mark; the counts are of all of it. With limit 0 nothing is cut.
func Diff(before, after string, limit int) (diff string, added, removed int) {
	const context, longest = 2, 200 // lines around a change; characters of a line
	u, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), context)
	if err != nil {
		panic(err) // unreachable: the edits were made from before
	}
	var out strings.Builder
	cut := false
	for _, h := range u.Hunks {
		var lines [3]int // by kind
		for _, l := range h.Lines {
			lines[l.Kind]++
		}
		added, removed = added+lines[udiff.Insert], removed+lines[udiff.Delete]
		if cut {
			continue
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", lineRange(h.FromLine, lines[udiff.Equal]+lines[udiff.Delete]), lineRange(h.ToLine, lines[udiff.Equal]+lines[udiff.Insert]))
		for _, l := range h.Lines {
			if cut = limit > 0 && out.Len() > limit; cut {
				out.WriteString(Mark + " (the difference continues)")
				break
			}
			out.WriteByte("-+ "[l.Kind])
			content := strings.TrimSuffix(strings.TrimSuffix(l.Content, "\n"), "\r")
			if content = strings.ToValidUTF8(content, "\uFFFD"); limit > 0 {
				content = Clip(content, longest)
			}
			out.WriteString(content + "\n")
		}
	}
	return strings.TrimSuffix(out.String(), "\n"), added, removed
}

// lineRange returns the range of n lines from a line number on, as unified diffs write it.
func lineRange(from, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", from-1)
	case 1:
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d,%d", from, n)
}
