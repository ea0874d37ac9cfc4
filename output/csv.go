package output

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"pawl/internal/text"
	"pawl/output/jsonpath"
)

// csvJSON reads CSV as a JSON array of objects by the names of the first line. What is
// written as JSON writes numbers, true or false is one, everything else a string; a
// field that is missing at the end of a line is a member that is missing.
//
// A record may have maxRecord bytes: with a quote that is not closed, the rest of the text
// would be one field.
type csvJSON struct {
	in    *csv.Reader
	guard *recordGuard
	names [][]byte // quoted, with the colon
	out   []byte
	begun bool
	rows  int64
	err   error
}

// maxRecord is how long a record of CSV may be, about, in bytes.
const maxRecord = 1 << 20

// A recordGuard ends the reading of a record that is too long.
type recordGuard struct {
	r    io.Reader
	left int // bytes of the record
}

func (g *recordGuard) Read(p []byte) (int, error) {
	if g.left <= 0 {
		return 0, fmt.Errorf("a record has more than %s: is a quote not closed?", text.Size(maxRecord))
	}
	n, err := g.r.Read(p)
	g.left -= n
	return n, err
}

func newCSV(r io.Reader) *csvJSON {
	const peeked = 16 << 10
	b := bufio.NewReaderSize(r, peeked)
	head, _ := b.Peek(peeked)
	complete := len(head) < peeked
	if bytes.HasPrefix(head, []byte("\uFEFF")) {
		b.Discard(3)
		head = head[3:]
	}
	guard := &recordGuard{r: b}
	in := csv.NewReader(guard)
	in.ReuseRecord, in.LazyQuotes, in.FieldsPerRecord = true, true, -1
	if comma := csvComma(firstLines(head, complete)); comma != 0 {
		in.Comma = rune(comma)
	}
	return &csvJSON{in: in, guard: guard}
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
	c.guard.left = maxRecord
	fields, err := c.in.Read()
	if !c.begun {
		c.begun = true
		c.out = append(c.out, '[')
		if err == nil {
			for _, f := range fields {
				c.names = append(c.names, append(jsonpath.AppendString(nil, strings.TrimSpace(f)), ':'))
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
		c.err = fmt.Errorf("not CSV after record %d: %w", c.rows, err)
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
		if f == "true" || f == "false" || len(f) > 0 && (f[0] == '-' || f[0]-'0' <= 9) && jsonpath.IsNumber(f) {
			c.out = append(c.out, f...)
		} else {
			c.out = jsonpath.AppendString(c.out, f)
		}
	}
	c.out = append(c.out, '}', '\n')
}
