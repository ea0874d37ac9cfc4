package output

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// csvJSON reads CSV as a JSON array of objects by the names of the first line. What is
// written as JSON writes numbers, true or false is one, everything else a string; a
// field that is missing at the end of a line is a member that is missing.
type csvJSON struct {
	in    *csv.Reader
	names [][]byte // quoted, with the colon
	out   []byte
	begun bool
	rows  int64
	err   error
}

func newCSV(r io.Reader) *csvJSON {
	const peeked = 16 << 10
	b := bufio.NewReaderSize(r, peeked)
	head, _ := b.Peek(peeked)
	if bytes.HasPrefix(head, []byte("\uFEFF")) {
		b.Discard(3)
		head = head[3:]
	}
	lines := strings.Split(string(head), "\n")
	if len(head) == peeked && len(lines) > 1 {
		lines = lines[:len(lines)-1]
	}
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	for len(lines) > 1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	in := csv.NewReader(b)
	in.ReuseRecord, in.LazyQuotes, in.FieldsPerRecord = true, true, -1
	if comma := csvComma(lines); comma != 0 {
		in.Comma = rune(comma)
	}
	return &csvJSON{in: in}
}

func (c *csvJSON) Read(p []byte) (int, error) {
	const chunk = 64 << 10
	for len(c.out) == 0 && c.err == nil {
		c.out = c.out[:0]
		for len(c.out) < chunk && c.err == nil {
			c.row()
		}
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	if n == 0 && c.err != nil {
		return 0, c.err
	}
	return n, nil
}

func (c *csvJSON) row() {
	fields, err := c.in.Read()
	if !c.begun {
		c.begun = true
		c.out = append(c.out, '[')
		if err == nil {
			for _, f := range fields {
				c.names = append(c.names, append(appendText(nil, strings.TrimSpace(f)), ':'))
			}
			return
		}
	}
	if err == io.EOF {
		c.out = append(c.out, ']')
		c.err = io.EOF
		return
	}
	if err != nil {
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			err = fmt.Errorf("not CSV at line %d: %w", bad.Line, bad.Err)
		}
		c.err = err
		return
	}
	if c.rows > 0 {
		c.out = append(c.out, ',')
	}
	c.rows++
	c.out = append(c.out, '{')
	for i, f := range fields {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		if i < len(c.names) {
			c.out = append(c.out, c.names[i]...)
		} else {
			c.out = fmt.Appendf(c.out, `"column %d":`, i+1)
		}
		if f == "true" || f == "false" || len(f) > 0 && (f[0] == '-' || f[0]-'0' <= 9) && isNumeral([]byte(f)) {
			c.out = append(c.out, f...)
		} else {
			c.out = appendText(c.out, f)
		}
	}
	c.out = append(c.out, '}', '\n')
}

// appendText appends s as a JSON string.
func appendText(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			plain = false
			break
		}
	}
	if plain {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // unreachable: it is a string
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}
