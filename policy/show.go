package policy

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Show returns a change for a person to read: the content of a new file, else the
// difference to what was trusted, with everything made visible (see [Visible]). At most
// lines of it are shown (0: all); whole is false if that is not everything.
func (c Change) Show(lines int) (text string, whole bool) {
	switch {
	case c.Problem != "":
		return "does not count: " + Visible(c.Problem) + "\n", true
	case binary(c.Now) || binary(c.Was):
		return fmt.Sprintf("no text: %d bytes, SHA-256 %s\n", len(c.Now), c.Sum), true
	case c.Was == nil && c.Removed:
		return "was trusted and is not there any more\n", true
	}
	var out []string
	if c.Was == nil {
		for line := range bytes.Lines(c.Now) {
			out = append(out, shown("  ", line))
		}
		if len(out) == 0 {
			out = []string{"  (empty)\n"}
		}
	} else {
		out = unified(c.Was, c.Now)
	}
	out = countEmpty(out)
	if whole = lines <= 0 || len(out) <= lines; !whole {
		rest := len(out) - lines
		out = append(out[:lines:lines], fmt.Sprintf("  [%d more lines are not shown]\n", rest))
	}
	return strings.Join(out, ""), whole
}

// binary reports whether content is no text to be shown: a third of it could not be
// seen. One odd byte makes no file binary, or a script could hide behind it.
func binary(content []byte) bool {
	odd := 0
	for rest := content; len(rest) > 0; {
		c, n := utf8.DecodeRune(rest)
		if unseen(c) && c != '\r' || c == utf8.RuneError {
			odd += n
		}
		rest = rest[n:]
	}
	return odd > len(content)/3
}

func shown(mark string, line []byte) string {
	text, ended := bytes.CutSuffix(line, []byte("\n"))
	end := "\n"
	if !ended {
		end = " [no line break at the end]\n"
	}
	return mark + Visible(string(text)) + end
}

// maxEmpty is how many empty lines in a row are shown as they are.
const maxEmpty = 3

// countEmpty counts long runs of empty lines of one kind, which push text off the
// screen as blanks do.
func countEmpty(lines []string) []string {
	var out []string
	for i := 0; i < len(lines); {
		n := i
		for n < len(lines) && lines[n] == lines[i] && strings.TrimSpace(lines[n][1:]) == "" {
			n++
		}
		if n-i > maxEmpty {
			out = append(out, fmt.Sprintf("%s[%d empty lines]\n", strings.TrimSuffix(lines[i], "\n"), n-i))
			i = n
			continue
		}
		out = append(out, lines[i])
		i++
	}
	return out
}

// around is how many lines of what stayed are shown around a difference.
const around = 3

// unified returns how before became after, as the lines of a unified difference
// without file names.
func unified(before, after []byte) []string {
	type line struct {
		mark string
		text []byte
		a, b int // how many lines of each stand before it
	}
	var all []line
	x, y := splitLines(before), splitLines(after)
	a, b := 0, 0
	emit := func(mark string, text []byte) {
		all = append(all, line{mark, text, a, b})
		if mark != "+" {
			a++
		}
		if mark != "-" {
			b++
		}
	}
	for _, m := range append(matches(x, y), [2]int{len(x), len(y)}) {
		for a < m[0] {
			emit("-", x[a])
		}
		for b < m[1] {
			emit("+", y[b])
		}
		if a < len(x) && b < len(y) {
			emit(" ", x[a])
		}
	}
	near := make([]bool, len(all))
	for i, l := range all {
		if l.mark == " " {
			continue
		}
		for j := max(0, i-around); j <= min(len(all)-1, i+around); j++ {
			near[j] = true
		}
	}
	var out []string
	for i, l := range all {
		if !near[i] {
			continue
		}
		if i == 0 || !near[i-1] {
			out = append(out, fmt.Sprintf("@@ -%d +%d @@\n", l.a+1, l.b+1))
		}
		out = append(out, shown(l.mark+" ", l.text))
	}
	if len(out) == 0 {
		return []string{"  (nothing but its name)\n"}
	}
	return out
}

func splitLines(content []byte) [][]byte {
	var lines [][]byte
	for line := range bytes.Lines(content) {
		lines = append(lines, line)
	}
	return lines
}

// maxTable bounds the table of a comparison, in cells; what is larger is shown as
// replaced whole, which is right, only longer.
const maxTable = 4_000_000

// matches returns the pairs of lines that stay, by their index in both: a longest
// common subsequence.
func matches(x, y [][]byte) [][2]int {
	var head, tail [][2]int
	first := 0
	for first < len(x) && first < len(y) && bytes.Equal(x[first], y[first]) {
		head = append(head, [2]int{first, first})
		first++
	}
	n, m := len(x), len(y)
	for n > first && m > first && bytes.Equal(x[n-1], y[m-1]) {
		n, m = n-1, m-1
	}
	for i := n; i < len(x); i++ {
		tail = append(tail, [2]int{i, m + i - n})
	}
	if rows, columns := n-first+1, m-first+1; rows*columns <= maxTable {
		longest := make([]int32, rows*columns) // of what is behind row i and column j
		at := func(i, j int) *int32 { return &longest[i*columns+j] }
		same := func(i, j int) bool { return bytes.Equal(x[first+i], y[first+j]) }
		for i := rows - 2; i >= 0; i-- {
			for j := columns - 2; j >= 0; j-- {
				if same(i, j) {
					*at(i, j) = *at(i+1, j+1) + 1
				} else {
					*at(i, j) = max(*at(i+1, j), *at(i, j+1))
				}
			}
		}
		for i, j := 0, 0; i < rows-1 && j < columns-1; {
			switch {
			case same(i, j):
				head = append(head, [2]int{first + i, first + j})
				i, j = i+1, j+1
			case *at(i+1, j) >= *at(i, j+1):
				i++
			default:
				j++
			}
		}
	}
	return append(head, tail...)
}
