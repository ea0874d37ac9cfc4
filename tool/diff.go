package tool

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// maxDistance bounds the search for the shortest difference, whose time and
// memory grow with its square; past it the differing middle is shown as replaced
// whole, which is right, only longer.
const maxDistance = 500

// An opKind says what a line of a difference is.
type opKind byte

const (
	same   opKind = ' '
	gone   opKind = '-'
	gained opKind = '+'
)

// A hunkLine is one line of a difference, by its index in both versions.
type hunkLine struct {
	kind   opKind
	before int
	after  int
}

// unified returns how before became after, as a unified diff without file
// names, with two lines around each change, cut after limit bytes with a mark;
// and how many lines came and went.
func unified(before, after []byte, limit int) (text string, added, removed int) {
	a, b := splitLines(before), splitLines(after)
	ops := diffLines(a, b)
	for _, op := range ops {
		switch op.kind {
		case gained:
			added++
		case gone:
			removed++
		}
	}
	var out strings.Builder
	for _, h := range hunks(ops, 2) {
		nb, na := 0, 0
		for _, op := range h {
			if op.kind != gained {
				nb++
			}
			if op.kind != gone {
				na++
			}
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", span(h[0].before, nb), span(h[0].after, na))
		for _, op := range h {
			line := b
			i := op.after
			if op.kind == gone {
				line, i = a, op.before
			}
			if out.Len() > limit {
				return out.String() + "… (the difference goes on)", added, removed
			}
			out.WriteByte(byte(op.kind))
			out.WriteString(clipLine(bytes.TrimSuffix(line[i], []byte("\n")), 200))
			out.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(out.String(), "\n"), added, removed
}

// span writes a range of lines as unified diffs do.
func span(from, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", from)
	}
	if n == 1 {
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, n)
}

// splitLines splits content into lines, each with its end.
func splitLines(content []byte) [][]byte {
	return slices.Collect(bytes.Lines(content))
}

// diffLines returns the lines of both versions in order, each once.
func diffLines(a, b [][]byte) []hunkLine {
	head := 0
	for head < len(a) && head < len(b) && bytes.Equal(a[head], b[head]) {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && bytes.Equal(a[len(a)-1-tail], b[len(b)-1-tail]) {
		tail++
	}
	var ops []hunkLine
	for i := range head {
		ops = append(ops, hunkLine{same, i, i})
	}
	ops = append(ops, myers(a[head:len(a)-tail], b[head:len(b)-tail], head)...)
	for i := tail; i > 0; i-- {
		ops = append(ops, hunkLine{same, len(a) - i, len(b) - i})
	}
	return ops
}

// myers is the greedy algorithm of E. Myers, "An O(ND) difference algorithm and
// its variations" (1986), figure 2. The indices it returns begin at base.
func myers(a, b [][]byte, base int) []hunkLine {
	n, m := len(a), len(b)
	var trace [][]int // v before each round, for finding the way back
	v := make([]int, 2*maxDistance+3)
	mid := maxDistance + 1
	d := 0
search:
	for ; ; d++ {
		if d > maxDistance {
			return replacedWhole(n, m, base)
		}
		trace = append(trace, slices.Clone(v[mid-d-1:mid+d+2]))
		for k := -d; k <= d; k += 2 {
			x := v[mid+k-1] + 1
			if k == -d || k != d && v[mid+k-1] < v[mid+k+1] {
				x = v[mid+k+1]
			}
			for x < n && x-k < m && bytes.Equal(a[x], b[x-k]) {
				x++
			}
			v[mid+k] = x
			if x >= n && x-k >= m {
				break search
			}
		}
	}
	var ops []hunkLine // last first
	x, y := n, m
	for ; d > 0; d-- {
		was := trace[d] // was[k+d+1] is the furthest x on diagonal k
		k := x - y
		from := k - 1
		if k == -d || k != d && was[k-1+d+1] < was[k+1+d+1] {
			from = k + 1
		}
		px := was[from+d+1]
		py := px - from
		for x > px && y > py {
			x, y = x-1, y-1
			ops = append(ops, hunkLine{same, base + x, base + y})
		}
		if from == k+1 {
			y--
			ops = append(ops, hunkLine{gained, base + x, base + y})
		} else {
			x--
			ops = append(ops, hunkLine{gone, base + x, base + y})
		}
	}
	for x > 0 && y > 0 {
		x, y = x-1, y-1
		ops = append(ops, hunkLine{same, base + x, base + y})
	}
	slices.Reverse(ops)
	return ops
}

func replacedWhole(n, m, base int) []hunkLine {
	var ops []hunkLine
	for i := range n {
		ops = append(ops, hunkLine{gone, base + i, base})
	}
	for i := range m {
		ops = append(ops, hunkLine{gained, base + n, base + i})
	}
	return ops
}

// hunks groups the changes with the lines around them.
func hunks(ops []hunkLine, around int) [][]hunkLine {
	var groups [][]hunkLine
	start, end := -1, 0 // of the group being made
	for i, op := range ops {
		if op.kind == same {
			continue
		}
		if start >= 0 && i-end > 2*around {
			groups = append(groups, ops[start:min(end+around, len(ops))])
			start = -1
		}
		if start < 0 {
			start = max(0, i-around)
		}
		end = i + 1
	}
	if start >= 0 {
		groups = append(groups, ops[start:min(end+around, len(ops))])
	}
	return groups
}
