package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

type point struct{ x, y float64 }

func (p point) to(q point) point              { return point{q.x - p.x, q.y - p.y} }
func (p point) length() float64               { return math.Hypot(p.x, p.y) }
func (p point) dot(q point) float64           { return p.x*q.x + p.y*q.y }
func (p point) cross(q point) float64         { return p.x*q.y - p.y*q.x }
func (p point) near(q point, by float64) bool { return p.to(q).length() < by }

// A layout makes lines and words of characters that are put at places. A document
// has neither: what is a blank and what a new line shows only in the distances.
type layout struct {
	b       strings.Builder
	unknown int

	any       bool
	at, end   point // of the last character
	direction point // of its line, of length 1
	height    float64
	last      string
	blank     bool // the text so far ends in a blank or a new line
}

// The distances, in heights of the characters. Between letters of a word there is
// less than a tenth, between words a fifth to a third; superscripts are raised by
// a third, lines are apart by 1.2, paragraphs by more.
const (
	wordGap      = 0.17
	columnGap    = 1.5
	lineGap      = 0.5
	paragraphGap = 1.9
)

// add puts a character that goes from one point to another.
func (l *layout) add(s string, at, end point, height float64) {
	direction := l.direction
	if advance := at.to(end); advance.length() > 0 {
		n := advance.length()
		direction = point{advance.x / n, advance.y / n}
	}
	if l.any && s == l.last && at.near(l.at, 0.2*height) {
		return // printed twice to look bold
	}
	if l.any {
		l.separate(at, direction, max(height, l.height))
	}
	l.put(s)
	l.any, l.at, l.end, l.direction, l.height, l.last = true, at, end, direction, height, s
}

// separate writes what the distance from the last character means.
func (l *layout) separate(at, direction point, height float64) {
	if height == 0 {
		return
	}
	gap := l.end.to(at)
	along, across := l.direction.dot(gap)/height, l.direction.cross(gap)/height
	switch {
	case math.Abs(across) > lineGap || along < -1 || l.direction.dot(direction) < 0.7:
		l.newLine()
		if across < -paragraphGap || across > lineGap {
			l.newLine() // far below, or up again: another block
		}
	case along > columnGap:
		l.word("  ")
	case along > wordGap:
		l.word(" ")
	}
}

func (l *layout) newLine() {
	s := l.b.String()
	if s == "" || strings.HasSuffix(s, "\n\n") {
		return
	}
	l.b.WriteByte('\n')
	l.blank = true
}

func (l *layout) word(blank string) {
	if !l.blank {
		l.b.WriteString(blank)
		l.blank = true
	}
}

// put writes a character: ligatures as their letters, controls not at all.
func (l *layout) put(s string) {
	for _, r := range s {
		switch {
		case r == '\u00ad':
			r = '-' // a hyphen that shows, since the document draws it
		case r >= 0xfb00 && r <= 0xfb06:
			l.b.WriteString([]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}[r-0xfb00])
			l.blank = false
			continue
		case r == utf8.RuneError:
			l.unknown++
		}
		switch {
		case unicode.IsSpace(r):
			l.word(" ")
			continue
		case unicode.IsControl(r) || r == '\ufeff' || r == '\u200b':
			continue
		}
		l.b.WriteRune(r)
		l.blank = false
	}
	if l.b.Len() > maxText {
		tooMuch("a page of it has more than %d MB of text", maxText>>20)
	}
}

// text returns what was written, without blanks at the ends of lines.
func (l *layout) text() string {
	lines := strings.Split(strings.TrimSpace(l.b.String()), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	if s := strings.Join(lines, "\n"); s != "" {
		return s + "\n"
	}
	return ""
}
