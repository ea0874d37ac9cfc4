// Package printed makes text for a model of what commands print: without the sequences that
// command terminals, with the last state of lines that were printed over, and of long output
// the two ends. Its memory does not grow with what is printed.
package printed

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"pawl/internal/text"
	"pawl/output"
)

// maxPrinted is how many characters of what a command printed reach the model.
// It leaves room below what a result may have and still be delivered whole
// (spec/outputs.md: 32,768) for what is said beside it.
const maxPrinted = 30_000

// A Text takes what a command prints and keeps the beginning and the end of it
// as text. It is safe for concurrent use; the zero value is ready.
type Text struct {
	mu      sync.Mutex
	text    cleaner
	fresh   bool // something was printed since the last call of News
	begun   bool
	binary  bool // what is printed is not text: all of it is kept as it is, and nothing shown
	excerpt excerpt
}

// Kept returns a text of which all goes to a writer too, as long as it is no more than room
// bytes; full is called once, when it is more.
func Kept(to io.Writer, room int64, full func()) *Text {
	return &Text{excerpt: excerpt{all: to, room: room, full: full}}
}

// Write never fails.
func (t *Text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begun && len(b) > 0 {
		t.begun, t.binary = true, t.excerpt.all != nil && isBinaryOutput(b)
	}
	if t.binary {
		t.excerpt.keep(b)
		return len(b), nil
	}
	t.fresh = true
	t.text.clean(b, &t.excerpt)
	return len(b), nil
}

// isBinaryOutput reports whether what begins with b is no text. Text whose parts end with
// zero bytes, as find -print0 prints it, is text.
func isBinaryOutput(b []byte) bool {
	if !output.IsBinary(b) {
		return false
	}
	lines := bytes.ReplaceAll(b, []byte{0}, []byte("\n"))
	return output.IsBinary(lines) || bytes.ContainsFunc(lines, func(r rune) bool { return r < '\b' || '\r' < r && r < ' ' && r != 0x1b })
}

// Long reports whether what was printed since the last call of Take is too much for
// the context, or no text.
func (t *Text) Long() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.flush(&t.excerpt)
	return t.binary || t.excerpt.chars > maxPrinted
}

// Take returns what was printed since it was last called.
func (t *Text) Take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.flush(&t.excerpt)
	s := t.excerpt.String()
	t.excerpt = excerpt{}
	return s
}

// News returns the last lines, and whether there is anything new in them.
func (t *Text) News(lines int) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.fresh {
		return "", false
	}
	t.fresh = false
	end := bytes.TrimRight(append(t.excerpt.end(4096), t.text.line...), "\n")
	at := len(end)
	for range lines {
		if at = bytes.LastIndexByte(end[:at], '\n'); at < 0 {
			break
		}
	}
	return string(end[at+1:]), true
}

// A cleaner makes text of what programs print for terminals: escape sequences
// are left out, and of a line that was printed over and over (a progress bar)
// the last state is kept. What it passes on is valid UTF-8.
type cleaner struct {
	state   escape
	cr      bool   // a carriage return: the line begins anew unless a line end follows
	line    []byte // the current line, as it may still be printed over
	partial []byte // the beginning of a character
}

// escape says where in an escape sequence a cleaner is (ECMA-48, 5th edition,
// sections 5.3 to 5.6).
type escape int

const (
	plain   escape = iota
	escaped        // behind ESC
	csi            // ESC [ … up to a letter
	osc            // ESC ] … and other strings, up to BEL or ESC \
	oscEnd         // behind ESC in a string
	oneMore        // ESC ( and its like take one more
)

// maxOverprint is how long a line may get and still be printed over, in bytes.
const maxOverprint = 8 << 10

// clean takes in what was printed and passes finished lines on.
func (c *cleaner) clean(b []byte, to *excerpt) {
	if len(c.partial) > 0 {
		b = append(c.partial, b...)
		c.partial = nil
	}
	for len(b) > 0 {
		if c.state == plain {
			n := 0
			for n < len(b) && b[n] >= ' ' && b[n] < 0x7f {
				n++
			}
			if n > 0 {
				c.write(b[:n], to)
				b = b[n:]
				continue
			}
		}
		if b[0] < utf8.RuneSelf {
			c.control(b[0], to)
			b = b[1:]
			continue
		}
		if !utf8.FullRune(b) {
			c.partial = bytes.Clone(b)
			return
		}
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		// Between 0x80 and 0x9f are controls, ESC and a letter in one.
		if c.state == plain && r > 0x9f {
			c.write(utf8.AppendRune(nil, r), to)
		}
	}
}

// control takes in an ASCII character that is a control or within an escape
// sequence.
func (c *cleaner) control(b byte, to *excerpt) {
	if b == '\n' { // ends a sequence that was never finished, too
		c.state = plain
		c.cr = false
		c.line = append(c.line, '\n')
		to.add(c.line)
		c.line = c.line[:0]
		return
	}
	switch c.state {
	case escaped:
		switch {
		case b == '[':
			c.state = csi
		case strings.IndexByte("]PX^_", b) >= 0:
			c.state = osc
		case b >= ' ' && b <= '/':
			c.state = oneMore
		default:
			c.state = plain
		}
	case csi:
		if b >= '@' && b <= '~' {
			c.state = plain
		}
	case osc, oscEnd:
		switch {
		case b == 0x07, c.state == oscEnd && b == '\\':
			c.state = plain
		case b == 0x1b:
			c.state = oscEnd
		default:
			c.state = osc
		}
	case oneMore:
		c.state = plain
	case plain:
		switch b {
		case 0x1b:
			c.state = escaped
		case '\r':
			c.cr = true
		case '\b':
			if _, n := utf8.DecodeLastRune(c.line); len(c.line) > 0 {
				c.line = c.line[:len(c.line)-n]
			}
		case '\t':
			c.write([]byte{b}, to)
		}
	}
}

// write puts text on the current line.
func (c *cleaner) write(b []byte, to *excerpt) {
	if c.cr {
		c.cr = false
		c.line = c.line[:0]
	}
	c.line = append(c.line, b...)
	if len(c.line) > maxOverprint {
		to.add(c.line)
		c.line = c.line[:0]
	}
}

// flush passes on the line that has no end yet.
func (c *cleaner) flush(to *excerpt) {
	if len(c.partial) > 0 {
		c.write([]byte("\uFFFD"), to)
		c.partial = nil
	}
	to.add(c.line)
	c.line = c.line[:0]
}

// An excerpt keeps the first and the last characters of a text, half of
// maxPrinted each, and counts the rest.
type excerpt struct {
	head      []byte
	headChars int
	tail      []byte    // all behind the head, cut at its beginning now and then
	chars     int       // of the whole text
	all       io.Writer // gets all of it; nil: nobody does
	room      int64     // how many bytes all may still get
	full      func()    // is told, once, that there is no more room
	failed    bool      // all did not take it, or may take no more
}

const (
	halfPrinted = maxPrinted / 2
	tailBytes   = halfPrinted * utf8.UTFMax
)

// keep writes b where all of it is kept.
func (e *excerpt) keep(b []byte) {
	if e.all != nil && !e.failed {
		if e.room -= int64(len(b)); e.room < 0 {
			e.failed = true
			e.full()
		} else {
			_, err := e.all.Write(b)
			e.failed = err != nil // whoever made it knows why, and says so
		}
	}
}

// add appends valid UTF-8.
func (e *excerpt) add(b []byte) {
	e.keep(b)
	e.chars += utf8.RuneCount(b)
	for e.headChars < halfPrinted && len(b) > 0 {
		_, n := utf8.DecodeRune(b)
		e.head = append(e.head, b[:n]...)
		e.headChars++
		b = b[n:]
	}
	if len(e.tail)+len(b) > 2*tailBytes && len(e.tail) > tailBytes {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-tailBytes:]...)
	}
	e.tail = append(e.tail, b...)
}

// String returns the text, or its ends with a mark between them.
func (e *excerpt) String() string {
	if e.chars <= maxPrinted {
		return string(e.head) + string(e.tail)
	}
	at := len(e.tail)
	for range halfPrinted {
		_, n := utf8.DecodeLastRune(e.tail[:at])
		at -= n
	}
	left := e.chars - e.headChars - halfPrinted
	return string(e.head) + "\n[… " + text.Commas(int64(left)) + " characters left out …]\n" + string(e.tail[at:])
}

// end returns at most the last n bytes.
func (e *excerpt) end(n int) []byte {
	all := e.tail
	if len(all) < n {
		all = append(bytes.Clone(e.head), e.tail...)
	}
	if len(all) > n {
		all = all[len(all)-n:]
		for len(all) > 0 && !utf8.RuneStart(all[0]) {
			all = all[1:]
		}
	}
	return bytes.Clone(all)
}
