package main

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// values prints JSON values, each on a line of its own, however large they are.
type values struct {
	w   io.Writer
	raw bool // strings as they are, and nothing made visible

	buf              []byte
	quoted, escaping bool // where in a value the last piece has ended
}

const (
	// pieceSize is how much of a value is in memory at once, in bytes.
	pieceSize = 256 << 10
	// maxRawString is how large a string may be to be printed without its escapes,
	// for which it has to be in memory, in bytes.
	maxRawString = 16 << 20
)

// print prints a value of a size, behind its path if that is not empty.
func (v *values) print(path string, value io.Reader, size int64) error {
	if path != "" {
		if _, err := fmt.Fprintf(v.w, "%s\t", visible(path)); err != nil {
			return err
		}
	}
	v.quoted, v.escaping = false, false
	if v.buf == nil {
		v.buf = make([]byte, 4<<10)
	}
	kept := 0 // bytes of a character that the piece before has cut
	for first := true; size > 0; first = false {
		n := int(min(size, pieceSize-utf8.UTFMax))
		if len(v.buf) < kept+n {
			v.buf = append(v.buf, make([]byte, kept+n-len(v.buf))...)
		}
		if _, err := io.ReadFull(value, v.buf[kept:kept+n]); err != nil {
			return err
		}
		size -= int64(n)
		part := v.buf[:kept+n]
		if first && v.raw && part[0] == '"' {
			return v.text(part, value, size)
		}
		whole := part
		if size > 0 {
			whole = part[:len(part)-cutRune(part)]
		}
		if err := v.piece(whole); err != nil {
			return err
		}
		kept = copy(v.buf, part[len(whole):])
	}
	_, err := v.w.Write([]byte{'\n'})
	return err
}

// text prints a string as what it says.
func (v *values) text(begin []byte, rest io.Reader, size int64) error {
	if int64(len(begin))+size > maxRawString {
		return fmt.Errorf("a string of %s is too large for --raw: leave it out", sizeWords(int64(len(begin))+size))
	}
	whole := bytes.NewBuffer(bytes.Clone(begin))
	if _, err := io.CopyN(whole, rest, size); err != nil {
		return err
	}
	text, ok := plainString(whole.Bytes())
	if !ok {
		text = whole.String()
	}
	_, err := io.WriteString(v.w, text+"\n")
	return err
}

// piece prints a part of a value without the blanks between its tokens.
func (v *values) piece(p []byte) error {
	from := 0
	put := func(to int) error {
		part := p[from:to]
		if !v.raw {
			part = visibleJSON(part)
		}
		_, err := v.w.Write(part)
		return err
	}
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case v.escaping:
			v.escaping = false
		case v.quoted:
			v.escaping = c == '\\'
			v.quoted = c != '"'
		case c == '"':
			v.quoted = true
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			if err := put(i); err != nil {
				return err
			}
			from = i + 1
		}
	}
	return put(len(p))
}

// cutRune returns how many bytes at the end of p are the beginning of a character that
// goes on behind it.
func cutRune(p []byte) int {
	for n := 1; n < utf8.UTFMax && n < len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
