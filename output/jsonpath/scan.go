package jsonpath

import (
	"context"
	"fmt"
	"io"
	"unicode/utf8"
)

// MaxDepth is how many arrays and objects may stand in one another. It bounds the
// stack of everything here, and is what jsontext of the Go team allows
// (github.com/go-json-experiment/json/jsontext, maxNestingDepth, read 2026-11-20).
const MaxDepth = 10_000

const (
	// windowSize is how much of a document is read at a time: it fits the second-level
	// cache, and a larger one was not faster.
	windowSize = 128 << 10
)

// A scanner passes over the text of one document and checks it as it goes. It shows
// a window of it: bytes buf, which begin at offset base.
//
// Two things keep bytes in the window that have been passed: the pin, for a token that
// has to be in one piece, and the marks, for values that may be needed again. See more.
type scanner struct {
	feed   feed
	ctx    context.Context
	limit  int64 // bytes that a value which is kept may have
	window int   // bytes to read at a time

	buf  []byte
	base int64 // offset of buf[0]
	pos  int   // of the next byte, within buf
	eof  bool  // there is nothing after buf
	err  error // why there is nothing after buf, if it is not the end of the document

	pin   int64   // bytes from this offset on are kept, or noPin
	marks []int64 // ascending; the bytes from marks[live] on are kept
	live  int     // those before it were too long to keep
	keep  int64   // bytes to keep after a mark at most

	depth int    // arrays and objects that have been entered and not left
	kinds []bool // scratch of skip

	nameEnd int64 // of the name that begins at pin, see nextMember
	nameOdd bool  // see skipString

	lines bool   // a line break was passed outside of strings since this was last false
	long  int64  // bytes of a string that are kept, and no error if there are more; 0: all
	head  []byte // the beginning of a string of more than long bytes
}

const noPin = -1

func newScanner(ctx context.Context, src Source, limit int64) *scanner {
	s := &scanner{feed: feed{src: src}, ctx: ctx, limit: limit, window: windowSize, pin: noPin}
	if src.window > 0 {
		s.window = src.window
	}
	if src.data != nil { // all of it is in the window
		s.buf, s.eof = src.data, true
	}
	s.keep = limit + int64(s.window) // a window may continue after the end of a value
	if src.readerAt != nil {
		// It could be read again, but without this each candidate that crosses the end of
		// a window would cost a second window.
		s.keep = min(limit, int64(s.window/2))
	}
	return s
}

// offset returns the place of the next byte in the document.
func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

// more brings more of the document into the window, which may move: an index into buf
// is then void, and so is a slice of it. It reports whether there was more; if not, err
// says whether that is the end.
func (s *scanner) more() bool {
	if s.eof || s.err != nil {
		return false
	}
	if s.long > 0 && s.pin != noPin && s.offset()-s.pin > s.long {
		if len(s.head) == 0 {
			s.head = append(s.head, s.buf[s.pin-s.base:][:s.long]...)
		}
		s.pin = s.offset()
	}
	kept := s.buf[s.keptFrom():]
	s.base += int64(len(s.buf) - len(kept))
	s.pos -= len(s.buf) - len(kept)
	if int64(len(kept)) > s.limit+int64(s.window) {
		s.buf = kept
		s.err = &LimitError{Need: int64(len(kept)), AtLeast: true, Limit: s.limit, Offset: s.base, Why: "a name or a scalar that is looked at"}
		return false
	}
	// It grows by a quarter: the old and the new buffer exist together for a moment.
	if room := max(s.window, len(kept)/4); cap(s.buf)-len(kept) < (room+1)/2 {
		s.buf = append(make([]byte, 0, len(kept)+room), kept...)
	} else {
		s.buf = append(s.buf[:0], kept...)
	}
	const patience = 100 // empty readings in a row
	for range patience {
		n, err := s.feed.read(s.ctx, s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if err == io.EOF {
			s.eof = true
		} else {
			s.err = err
		}
		if n > 0 || err != nil {
			return n > 0
		}
	}
	s.err = io.ErrNoProgress
	return false
}

// keptFrom returns where in buf that begins which must stay. A mark with more than
// s.keep bytes after it is given up: whether that matters shows when they are needed.
func (s *scanner) keptFrom() int {
	from := s.offset()
	for s.live < len(s.marks) && s.base+int64(len(s.buf))-s.marks[s.live] > s.keep {
		s.live++
	}
	if s.live < len(s.marks) {
		from = min(from, s.marks[s.live])
	}
	if s.pin != noPin {
		from = min(from, s.pin)
	}
	return int(from - s.base)
}

// mark asks to keep what comes next, until release. Marks are released in the reverse
// order.
func (s *scanner) mark() {
	if s.feed.src.data == nil {
		s.marks = append(s.marks, s.offset())
	}
}

func (s *scanner) release() {
	if s.feed.src.data == nil {
		s.marks = s.marks[:len(s.marks)-1]
		s.live = min(s.live, len(s.marks))
	}
}

// rewind goes back to offset, or forward to an offset that has been seen. If anything
// is there, it is in the window.
func (s *scanner) rewind(offset int64) error {
	if s.base <= offset && offset < s.base+int64(len(s.buf)) {
		s.pos = int(offset - s.base)
		return nil
	}
	if offset == s.base+int64(len(s.buf)) {
		s.pos = len(s.buf)
		s.more()
		return s.err
	}
	if err := s.feed.seek(offset); err != nil {
		return err
	}
	s.buf, s.base, s.pos, s.eof, s.err = s.buf[:0], offset, 0, false, nil
	s.more()
	return s.err
}

// bytes returns what stands from one offset to another, which has been passed. It is
// valid until the scanner moves on.
func (s *scanner) bytes(from, to int64) ([]byte, error) {
	if (to-from > s.limit || from < s.base && s.feed.src.readerAt == nil) && s.feed.src.data == nil {
		return nil, &LimitError{Need: to - from, Limit: s.limit, Offset: from, Why: "a value"}
	}
	if r := s.feed.src.readerAt; r != nil && (from < s.base || to > s.base+int64(len(s.buf))) {
		b := make([]byte, to-from)
		if n, err := r.ReadAt(b, from); n < len(b) {
			return nil, fmt.Errorf("read bytes %d to %d again: %w", from, to, err)
		}
		return b, nil
	}
	s.pin = from
	defer func() { s.pin = noPin }()
	for to > s.base+int64(len(s.buf)) { // after going back to from
		if !s.more() {
			return nil, s.unexpected("what was there before")
		}
	}
	return s.buf[from-s.base : to-s.base], nil
}

// begin passes over a byte order mark, if there is one.
func (s *scanner) begin() error {
	for len(s.buf) < 3 && s.more() {
	}
	if len(s.buf) >= 3 && string(s.buf[:3]) == "\uFEFF" {
		s.pos = 3
	}
	c, err := s.peek()
	if err == nil && c == 0 && s.eof && s.pos == len(s.buf) {
		err = &DocumentError{Offset: s.offset(), Problem: "the document is empty", Truncated: true}
	}
	return err
}

// end fails if anything but blanks is left.
func (s *scanner) end() error {
	if _, err := s.peek(); err != nil || s.pos == len(s.buf) {
		return err
	}
	problem := s.found() + " after the end of the value"
	if c := s.buf[s.pos]; c == '{' || c == '[' {
		problem = "a second value after the first; are these JSON Lines?"
	}
	return &DocumentError{Offset: s.offset(), Problem: problem}
}

// peek passes over blanks and returns the byte after them, 0 at the end of the
// document. The error is that of the source, or nil.
func (s *scanner) peek() (byte, error) {
	for {
		for s.pos < len(s.buf) {
			c := s.buf[s.pos]
			if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				return c, nil
			}
			s.lines = s.lines || c == '\n'
			s.pos++
		}
		if !s.more() {
			return 0, s.err
		}
	}
}

// ahead returns the first byte of the value that comes next.
func (s *scanner) ahead() (byte, error) {
	if s.pos < len(s.buf) && s.buf[s.pos] > ' ' {
		return s.buf[s.pos], nil
	}
	c, err := s.peek()
	if err == nil && s.pos == len(s.buf) {
		err = s.unexpected(following(false))
	}
	return c, err
}

// unexpected returns the error for what is at pos.
func (s *scanner) unexpected(expected string) error {
	switch {
	case s.pos < len(s.buf) || s.more():
		return &DocumentError{Offset: s.offset(), Problem: "expected " + expected + ", found " + s.found()}
	case s.err != nil:
		return s.err
	}
	return &DocumentError{Offset: s.offset(), Problem: "the document ends where " + expected + " was expected", Truncated: true}
}

// found says which character is at pos.
func (s *scanner) found() string {
	for len(s.buf)-s.pos < utf8.UTFMax && s.more() { // it may be cut by the end of the window
	}
	r, n := utf8.DecodeRune(s.buf[s.pos:])
	if r == utf8.RuneError && n <= 1 {
		return fmt.Sprintf("the byte %#02x", s.buf[s.pos])
	}
	return fmt.Sprintf("%q", r)
}

// enter passes over the [ or { that comes next.
func (s *scanner) enter() error {
	if s.depth == MaxDepth {
		return s.tooDeep()
	}
	s.depth++
	s.pos++
	return nil
}

func (s *scanner) tooDeep() error {
	return &DocumentError{Offset: s.offset(), Problem: fmt.Sprintf("more than %d arrays and objects in one another", MaxDepth)}
}

// elements passes over the array that comes next. It calls do for each element, with its
// index, to pass over the element.
func (s *scanner) elements(do func(i int64) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	for i := int64(0); ; i++ {
		c, err := s.peek()
		switch {
		case err != nil:
			return err
		case c == ']':
			s.pos++
			s.depth--
			return nil
		case i == 0 && s.pos == len(s.buf):
			return s.unexpected(opening(false))
		case i > 0 && c != ',':
			return s.unexpected(closing(false))
		case i > 0:
			s.pos++
		}
		if err := do(i); err != nil {
			return err
		}
	}
}

// nextMember goes to the value of the next member of the object that has been entered which
// has one of the names, or of the next member if names is nil. first says that no member has
// been passed. It returns which of the names it is, and the name without escapes, which of
// any member is valid until the scanner moves on; -1 if there is none left: the object is
// left then. keys are the names as bytes.
func (s *scanner) nextMember(first bool, names []string, keys [][]byte) (k int, name []byte, err error) {
	entry := atNext
	if first {
		entry = atFirst
	}
	k, err = s.pass(nil, names, entry)
	switch {
	case err != nil || k < 0:
		return k, nil, err
	case names != nil:
		return k, keys[k], nil
	}
	if _, err := s.ahead(); err != nil { // the window does not move after that
		return 0, nil, err
	}
	name = s.buf[s.pin+1-s.base : s.nameEnd-s.base]
	s.pin = noPin
	if !isPlain(name, s.nameOdd) {
		name = unescape(name)
	}
	return 0, name, nil
}
