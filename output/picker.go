package output

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"

	"pawl/output/jsonpath"
)

// A picker finds in each of many items what a path selects.
type picker struct {
	path  *jsonpath.Path
	names [][]byte // if the path has names only: each as it is written without escapes
	quick bool
}

func newPicker(path *jsonpath.Path) *picker {
	p := &picker{path: path}
	steps, _, whole := stepsOf(path)
	p.quick = whole && len(steps) > 0
	for _, st := range steps {
		// U+FFFD is also what bytes that are not UTF-8 are taken for.
		p.quick = p.quick && st.kind == toName && !strings.ContainsRune(st.name, utf8.RuneError)
		p.names = append(p.names, []byte(st.name))
	}
	return p
}

// each calls found for all that the path selects of an item, until it returns false.
// Items have been passed by a scanner, so they are JSON.
func (p *picker) each(ctx context.Context, item []byte, found func(raw []byte) bool) error {
	if p.quick {
		if _, ok := pick(item, p.names, found); ok {
			return nil
		}
	}
	return p.path.Stream(ctx, jsonpath.Bytes(item), jsonpath.Options{Limit: memory}, func(m jsonpath.Match) bool { return found(m.Raw) })
}

// maxPicked bounds a value that names a group, in bytes.
const maxPicked = 4 << 10

// first returns the first value that the path selects of an item; nil if there is none.
func (p *picker) first(ctx context.Context, item []byte) (value []byte, err error) {
	err = p.each(ctx, item, func(raw []byte) bool {
		value = raw
		return false
	})
	if err == nil && len(value) > maxPicked {
		err = fmt.Errorf("%s selects a value of %s, too large to group by: choose a path to something smaller", p.path, byteSize(int64(len(value))))
	}
	return value, err
}

// pick follows names into a value, and calls found for what it comes to. It is what a
// path of names does, without the cost of setting out. ok is false, and found has not
// been called, if a name has an escape: then the names cannot be compared as they are
// written.
func pick(raw []byte, names [][]byte, found func([]byte) bool) (more, ok bool) {
	if len(names) == 0 {
		return found(raw), true
	}
	if raw[0] != '{' {
		return true, true
	}
	var hits [4][]byte
	all := hits[:0]
	i := blanksFrom(raw, 1)
	for raw[i] == '"' {
		end := stringEnd(raw, i)
		name := raw[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			return true, false
		}
		i = blanksFrom(raw, blanksFrom(raw, end)+1) // the colon
		end = valueEnd(raw, i)
		if bytes.Equal(name, names[0]) {
			all = append(all, raw[i:end])
		}
		if i = blanksFrom(raw, end); raw[i] == ',' {
			i = blanksFrom(raw, i+1)
		}
	}
	if len(all) > 1 && len(names) > 1 {
		return true, false // the second might have an escape when the first was handed out
	}
	for _, hit := range all {
		if more, ok := pick(hit, names[1:], found); !more || !ok {
			return more, ok
		}
	}
	return true, true
}

func blanksFrom(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the place behind the string at b[i].
func stringEnd(b []byte, i int) int {
	for i++; ; {
		for i+8 <= len(b) {
			if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
		i++
	}
}

// valueEnd returns the place behind the value at b[i].
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		for depth := 0; ; {
			switch b[i] {
			case '"':
				i = stringEnd(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i
}

// sameText writes a string as every equal one is written.
func sameText(raw []byte) []byte {
	for _, c := range raw {
		if c == '\\' || c >= 0x80 {
			return appendText(nil, textOf(raw))
		}
	}
	return raw
}

// textOf returns the text of a string, given with its quotes.
func textOf(raw []byte) string { return plainName(raw[1:len(raw)-1], true) }
