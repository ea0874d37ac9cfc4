package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// The largest event and the largest stream that are read. The longest answer
// there is, 128,000 tokens one to an event, is some 20 MB; one recorded search
// result is 100 kB. The limits bound the memory that a faulty server can use.
const (
	maxEvent  = 32 << 20
	maxStream = 64 << 20
)

// headSize is how much of a body is kept to quote it if it is not an event stream.
const headSize = 4 << 10

var errTooBig = errors.New("the stream is too large")

// An events reads server-sent events (html.spec.whatwg.org, section 9.2, read
// 2026-11-20): lines end in LF, CRLF or CR, a blank line ends an event, unknown
// fields and comments are skipped. Unlike there, a last event without its blank line
// counts: some proxies lose the last bytes.
type events struct {
	lines lineReader
	name  string
	data  []byte
}

// next returns the next event with data. Both slices are valid until the next
// call. At the end of the stream it returns io.EOF.
func (e *events) next() (name string, data []byte, err error) {
	e.name, e.data = "", e.data[:0]
	has := false
	for {
		line, err := e.lines.next()
		if err != nil {
			if err == io.EOF && has {
				return e.name, e.data, nil
			}
			return "", nil, err
		}
		if len(line) == 0 {
			if has {
				return e.name, e.data, nil
			}
			e.name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.name = string(value)
		case "data":
			if has {
				e.data = append(e.data, '\n')
			}
			has = true
			e.data = append(e.data, value...)
			if len(e.data) > maxEvent {
				return "", nil, errTooBig
			}
		}
	}
}

// A lineReader splits what it reads into lines.
type lineReader struct {
	r        io.Reader
	buf      []byte
	from     int // the rest of buf starts here
	scanned  int // no line ends before here
	total    int
	head     []byte // the first bytes of the stream
	started  bool
	skipLF   bool // the last line ended in CR: a following LF belongs to it
	finished error
}

// next returns the next line without its end, valid until the next call; a last
// line without an end is a line too.
func (l *lineReader) next() ([]byte, error) {
	for {
		if l.skipLF && l.from < len(l.buf) {
			if l.buf[l.from] == '\n' {
				l.from++
			}
			l.skipLF = false
		}
		l.scanned = max(l.scanned, l.from)
		if i := bytes.IndexAny(l.buf[l.scanned:], "\r\n"); i >= 0 {
			end := l.scanned + i
			line := l.buf[l.from:end]
			l.skipLF = l.buf[end] == '\r'
			l.from, l.scanned = end+1, end+1
			return l.withoutMark(line), nil
		}
		l.scanned = len(l.buf)
		if l.finished != nil {
			if l.finished == io.EOF && l.from < len(l.buf) {
				line := l.buf[l.from:]
				l.from = len(l.buf)
				return l.withoutMark(line), nil
			}
			return nil, l.finished
		}
		l.fill()
	}
}

// fill reads once. It invalidates what was returned before.
func (l *lineReader) fill() {
	if l.from > 0 {
		l.buf = l.buf[:copy(l.buf, l.buf[l.from:])]
		l.scanned -= l.from
		l.from = 0
	}
	if len(l.buf) > maxEvent || l.total > maxStream {
		l.finished = errTooBig
		return
	}
	const piece = 16 << 10
	if cap(l.buf)-len(l.buf) < piece/2 {
		grown := make([]byte, len(l.buf), 2*cap(l.buf)+piece)
		copy(grown, l.buf)
		l.buf = grown
	}
	for range 100 {
		n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
		read := l.buf[len(l.buf) : len(l.buf)+n]
		l.head = append(l.head, read[:min(n, headSize-len(l.head))]...)
		l.buf = l.buf[:len(l.buf)+n]
		l.total += n
		if err != nil {
			l.finished = err
			return
		}
		if n > 0 {
			return
		}
	}
	l.finished = fmt.Errorf("reading the stream: %w", io.ErrNoProgress)
}

// withoutMark removes a byte order mark from the first line.
func (l *lineReader) withoutMark(line []byte) []byte {
	if !l.started {
		l.started = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line
}

// foreign reports whether the body cannot be the beginning of an event stream.
func (l *lineReader) foreign() bool {
	head := bytes.TrimLeft(bytes.TrimPrefix(l.head, []byte("\ufeff")), "\r\n")
	if len(head) == 0 || head[0] == ':' {
		return false
	}
	for _, field := range []string{"event:", "data:", "id:", "retry:"} {
		n := min(len(field), len(head))
		if string(head[:n]) == field[:n] {
			return false
		}
	}
	return true
}
