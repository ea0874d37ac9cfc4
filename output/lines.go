package output

import (
	"bytes"
	"io"
)

// linesAsArray shows JSON Lines as one JSON array: a bracket before and after, and a
// comma for each line break between values. Everything else stays where it is, one byte
// further on, so that any part can be read without what is before it.
type linesAsArray struct {
	in   io.ReaderAt
	size int64 // of in
	end  int64 // of the last value, in in
	bom  int64 // bytes of a byte order mark at the beginning
}

func newLinesAsArray(in io.ReaderAt, size int64) (*linesAsArray, error) {
	l := &linesAsArray{in: in, size: size, end: size}
	head := make([]byte, min(size, 3))
	if _, err := in.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if string(head) == "\uFEFF" {
		l.bom = 3
	}
	buf := make([]byte, 4096)
	for l.end > 0 {
		from := max(0, l.end-int64(len(buf)))
		part := buf[:l.end-from]
		if _, err := in.ReadAt(part, from); err != nil && err != io.EOF {
			return nil, err
		}
		part = bytes.TrimRight(part, " \t\r\n")
		l.end = from + int64(len(part))
		if len(part) > 0 {
			break
		}
	}
	return l, nil
}

// length returns the size of the array's text.
func (l *linesAsArray) length() int64 { return l.size + 2 }

func (l *linesAsArray) ReadAt(p []byte, off int64) (int, error) {
	if off >= l.length() {
		return 0, io.EOF
	}
	n := 0
	if off == 0 && len(p) > 0 {
		p[0] = '['
		n, off = 1, 1
	}
	from := off - 1 // in l.in
	if want := min(int64(len(p)-n), l.size-from); want > 0 {
		part := p[n : n+int(want)]
		got, err := l.in.ReadAt(part, from)
		if int64(got) < want {
			return n + got, err
		}
		if err := l.join(part, from); err != nil {
			return n, err
		}
		n += got
	}
	if n < len(p) {
		p[n] = ']'
		n++
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// join puts commas between the values of a part that begins at offset from.
func (l *linesAsArray) join(part []byte, from int64) error {
	for i := from; i < l.bom && i-from < int64(len(part)); i++ {
		part[i-from] = ' '
	}
	at := 0
	for {
		i := bytes.IndexByte(part[at:], '\n')
		if i < 0 {
			return nil
		}
		at += i
		first, err := l.firstBreak(part[:at], from)
		if err != nil {
			return err
		}
		if first && from+int64(at) < l.end {
			part[at] = ','
		} else {
			part[at] = ' '
		}
		at++
	}
}

// firstBreak reports whether a line break is the first after a value; before is the
// part before it, which begins at offset from. Line breaks in it have become commas or
// blanks, and a comma that stood there before would be an error in any case.
func (l *linesAsArray) firstBreak(before []byte, from int64) (bool, error) {
	for i := len(before) - 1; i >= 0; i-- {
		if c := before[i]; c != ' ' && c != '\t' && c != '\r' {
			return c != ',', nil
		}
	}
	buf := make([]byte, 256)
	for from > l.bom {
		part := buf[:min(int64(len(buf)), from-l.bom)]
		from -= int64(len(part))
		if _, err := l.in.ReadAt(part, from); err != nil && err != io.EOF {
			return false, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			if c := part[i]; c != ' ' && c != '\t' && c != '\r' {
				return c != '\n', nil
			}
		}
	}
	return false, nil // nothing is before it
}
