package editor

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pawl/internal/lazy"
	"pawl/tui/keys"
)

// A unit stands in a text as one character of the last private use area, which no text
// from outside contains (see plain): moving, deleting, undoing and killing need not know
// about units.
const (
	firstUnit = 0x10f000
	lastUnit  = 0x10fffd
)

func isUnit(r rune) bool { return r >= firstUnit && r <= lastUnit }

// A unit is a paste or an image.
type unit struct {
	number  int
	label   string // how it is shown; printable ASCII
	text    string // of a paste
	image   bool
	payload any
}

func newPaste(text string, number int) *unit {
	label := fmt.Sprintf("[Pasted text #%d, %s characters]", number, thousands(utf8.RuneCountInString(text)))
	if lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1; lines > 1 {
		label = fmt.Sprintf("[Pasted text #%d, %s lines]", number, thousands(lines))
	}
	return &unit{number: number, label: label, text: text}
}

func newImage(payload any, number int) *unit {
	return &unit{number: number, label: fmt.Sprintf("[Image #%d]", number), image: true, payload: payload}
}

// thousands writes a number with a comma before every three digits.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plain returns text from outside as it can be part of the editor's text.
func plain(text string) string {
	text = keys.Clean(text)
	if strings.IndexFunc(text, isUnit) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isUnit(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// A buffer is a text with a cursor, and the units that it has or had.
type buffer struct {
	text  string
	at    int // the cursor, in bytes; at the start of a grapheme cluster
	units map[rune]*unit
	next  rune // the character that is tried first for a new unit
}

// add returns the character of a new unit; ok is false if there are too many.
func (b *buffer) add(u *unit) (r rune, ok bool) {
	if b.units == nil {
		b.units = map[rune]*unit{}
	}
	for range lastUnit - firstUnit + 1 {
		if !isUnit(b.next) {
			b.next = firstUnit
		}
		r = b.next
		b.next++
		if b.units[r] == nil {
			b.units[r] = u
			return r, true
		}
	}
	return 0, false
}

// number returns the number of the next paste, or image, of the text.
func (b *buffer) number(image bool) int {
	n := 0
	for _, r := range b.text {
		if u := b.units[r]; u != nil && u.image == image {
			n = max(n, u.number)
		}
	}
	return n + 1
}

// prune forgets the units that the text and the others do not have.
func (b *buffer) prune(others []string) {
	used := map[rune]bool{}
	for _, text := range append([]string{b.text}, others...) {
		for _, r := range text {
			if isUnit(r) {
				used[r] = true
			}
		}
	}
	for r := range b.units {
		if !used[r] {
			delete(b.units, r)
		}
	}
}

// draft returns a text of the buffer with the units that it has.
func (b *buffer) draft(text string) Draft {
	d := Draft{text: text}
	for _, r := range text {
		if u := b.units[r]; u != nil {
			if d.units == nil {
				d.units = map[rune]*unit{}
			}
			d.units[r] = u
		}
	}
	return d
}

// adopt returns the text of a draft with the characters that its units have here.
func (b *buffer) adopt(d Draft) string {
	return expand(d.text, func(r rune) string {
		u := d.units[r]
		switch {
		case u == nil:
			return ""
		case b.units[r] == u:
			return string(r)
		}
		for r, known := range b.units {
			if known == u {
				return string(r)
			}
		}
		if r, ok := b.add(u); ok {
			return string(r)
		}
		return u.label
	})
}

// expand replaces each unit in text.
func expand(text string, by func(r rune) string) string {
	if strings.IndexFunc(text, isUnit) < 0 {
		return text
	}
	var s strings.Builder
	for _, r := range text {
		if isUnit(r) {
			s.WriteString(by(r))
		} else {
			s.WriteRune(r)
		}
	}
	return s.String()
}

// A Draft is a text with its units, apart from the editor it was written in. The zero
// value is empty.
type Draft struct {
	text  string
	units map[rune]*unit
}

// Text returns the text with pastes expanded, and images as their labels.
func (d Draft) Text() string {
	return expand(d.text, func(r rune) string {
		switch u := d.units[r]; {
		case u == nil:
			return ""
		case u.image:
			return u.label
		default:
			return u.text
		}
	})
}

// Label returns the text with units as their labels, for showing it.
func (d Draft) Label() string {
	return expand(d.text, func(r rune) string {
		if u := d.units[r]; u != nil {
			return u.label
		}
		return ""
	})
}

// An Image is an image of a draft: its label, as the text has it, and its payload.
type Image struct {
	Label   string
	Payload any
}

// Images returns the images in the order of the text. One that the text has twice, because
// it was deleted and inserted twice, is there once.
func (d Draft) Images() []Image {
	var images []Image
	seen := map[*unit]bool{}
	for _, r := range d.text {
		if u := d.units[r]; u != nil && u.image && !seen[u] {
			seen[u] = true
			images = append(images, Image{u.label, u.payload})
		}
	}
	return images
}

// ImageLabels returns the labels of images that a text has, in its order.
func ImageLabels(text string) []string { return imageLabel().FindAllString(text, -1) }

var imageLabel = lazy.Regexp(`\[Image #\d+\]`)

// nextCluster returns where the grapheme cluster at i ends; a unit is one.
func nextCluster(text string, i int) int {
	if i >= len(text) {
		return len(text)
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	if isUnit(r) || r == '\n' {
		return i + n
	}
	if i+1 < len(text) && text[i] < utf8.RuneSelf && text[i+1] < utf8.RuneSelf {
		return i + 1
	}
	cluster, _ := ansi.FirstGraphemeCluster(text[i:], ansi.GraphemeWidth)
	if j := strings.IndexFunc(cluster, isUnit); j > 0 {
		cluster = cluster[:j]
	}
	return i + max(len(cluster), n)
}

// prevCluster returns where the grapheme cluster before i begins.
func prevCluster(text string, i int) int {
	if i <= 0 {
		return 0
	}
	// Between two characters of ASCII a cluster ends; from there it is read forward.
	start := i - 1
	for start > 0 && (text[start] >= utf8.RuneSelf || text[start-1] >= utf8.RuneSelf) {
		start--
	}
	for {
		next := nextCluster(text, start)
		if next >= i {
			return start
		}
		start = next
	}
}

// boundary returns i, or where the cluster ends that i is inside of.
func boundary(text string, i int) int {
	if i <= 0 || i >= len(text) {
		return min(max(i, 0), len(text))
	}
	return max(i, nextCluster(text, prevCluster(text, i)))
}
