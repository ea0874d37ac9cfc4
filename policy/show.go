package policy

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"pawl/internal/visible"
)

// Show returns a change for a person to read: the content of a new file, else the
// difference to what was trusted, with everything made visible (see [Visible]). At most
// lines of it are shown, and the beginnings of long ones (0: all); whole is false if
// that is not everything.
func (c Change) Show(lines int) (text string, whole bool) {
	switch {
	case c.Problem != "":
		return "does not count: " + Visible(c.Problem) + "\n", true
	case c.Was == nil && c.Removed, c.Removed && NotText(c.Was):
		return "was trusted and is not there any more\n", true
	}
	var out []string
	if c.Was == nil || NotText(c.Was) {
		for line := range bytes.Lines(c.Now) {
			out = append(out, shown("  ", line))
		}
		if len(out) == 0 {
			out = []string{"  (empty)\n"}
		}
	} else {
		out = difference(c.Was, c.Now)
	}
	out = countEmpty(out)
	whole = true
	if lines > 0 {
		for i, line := range out {
			if n := len(line); n > maxShown {
				whole = false
				out[i] = fmt.Sprintf("%s [%d more bytes of this line are not shown]\n", strings.ToValidUTF8(line[:maxShown], ""), n-maxShown)
			}
		}
		if rest := len(out) - lines; rest > 0 {
			whole = false
			out = append(out[:lines:lines], fmt.Sprintf("  [%d more lines are not shown]\n", rest))
		}
	}
	return strings.Join(out, ""), whole
}

// maxShown is how much of a line is shown where not everything is, in bytes.
const maxShown = 2_000

// NotText reports whether content is no text that could be shown: a third of it could
// not be seen. One odd byte makes no file binary, or a script could hide behind it.
// Such a file cannot be trusted.
func NotText(content []byte) bool {
	odd := 0
	for rest := content; len(rest) > 0; {
		c, n := utf8.DecodeRune(rest)
		if visible.Hidden(c) && c != '\r' || c == utf8.RuneError {
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

// difference returns how before became after, as the lines of a unified difference
// without file names.
func difference(before, after []byte) []string {
	var out []string
	header := 2 // "---", "+++"
	for line := range strings.Lines(udiff.Unified("before", "after", string(before), string(after))) {
		switch {
		case header > 0:
			header--
		case line[0] == '@':
			out = append(out, line)
		case line[0] == '\\': // no line end at the end, which belongs to the line before
			out[len(out)-1] = strings.TrimSuffix(out[len(out)-1], "\n") + " [no line break at the end]\n"
		default:
			out = append(out, shown(line[:1]+" ", []byte(line[1:])))
		}
	}
	if len(out) == 0 {
		return []string{"  (nothing but its name)\n"}
	}
	return out
}
