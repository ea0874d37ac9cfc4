package main

import (
	"bufio"
	"bytes"
	"io"
)

// lines shows JSON Lines as one JSON array while it is read: the lines that are not
// blank, with commas between them.
type lines struct {
	in    *bufio.Reader
	queue [3][]byte // what is next, in this order
	some  bool      // a line was begun
	fresh bool      // what comes next from in is the beginning of a line
	ended bool
}

func newLines(in io.Reader) *lines {
	l := &lines{in: bufio.NewReaderSize(in, 128<<10), fresh: true}
	if head, _ := l.in.Peek(3); string(head) == "\uFEFF" { // an error comes again
		_, _ = l.in.Discard(len(head))
	}
	l.queue[0] = []byte{'['}
	return l
}

func (l *lines) Read(p []byte) (int, error) {
	for {
		for i, q := range l.queue {
			if len(q) > 0 {
				n := copy(p, q)
				l.queue[i] = q[n:]
				return n, nil
			}
		}
		if l.ended {
			return 0, io.EOF
		}
		if err := l.fill(); err != nil {
			return 0, err
		}
	}
}

// fill reads a line, or a part of a long one. It stays valid until the next.
func (l *lines) fill() error {
	part, err := l.in.ReadSlice('\n')
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return err
	}
	begins := l.fresh
	l.fresh = err == nil
	if blank := begins && err != bufio.ErrBufferFull && len(bytes.TrimSpace(part)) == 0; !blank {
		if begins && l.some {
			l.queue[0] = []byte{','}
		}
		l.some, l.queue[1] = true, part
	}
	if err == io.EOF {
		l.ended, l.queue[2] = true, []byte{']'}
	}
	return nil
}
