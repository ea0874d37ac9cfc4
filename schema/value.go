package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pawl/internal/text"
)

// What a schema may be at most. Schemas of people have a few kilobytes and some ten
// levels; these bounds only keep a hostile one from costing time.
const (
	maxBytes = 1 << 20
	maxDepth = 100    // of JSON, two levels to one of the schema
	maxNodes = 20_000 // JSON values, after references were followed
)

// A value is a piece of JSON with its members in the order in which they were
// written. encoding/json's maps have no order, and models go by it.
type value struct {
	kind    jsontext.Kind // '{' '[' '"' '0' 't' 'f' 'n'
	raw     []byte        // as it was written; of objects and arrays nil when made here
	text    string        // of a string, decoded
	members []member      // of an object
	items   []*value      // of an array
}

type member struct {
	name  string
	raw   []byte // the name as it was written, with its quotes
	value *value
}

// parseSchema reads a schema, within the bounds.
func parseSchema(b []byte) (*value, error) {
	if len(b) > maxBytes {
		return nil, fmt.Errorf("it has %d bytes; at most %d are read", len(b), maxBytes)
	}
	v, err := parse(b, maxDepth)
	if err != nil {
		return nil, err
	}
	if n := v.size(); n > maxNodes {
		return nil, fmt.Errorf("it has %d values; at most %d are read", n, maxNodes)
	}
	return v, nil
}

// parse reads one JSON text of at most depth levels. A name twice in an object is
// an error: nobody can say which of the two counts.
func parse(b []byte, depth int) (*value, error) {
	p := parser{source: b, dec: jsontext.NewDecoder(bytes.NewReader(b)), depth: depth}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if rest := bytes.TrimLeft(b[p.dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, fmt.Errorf("there is something after the JSON: %s", clip(string(rest), 20))
	}
	return v, nil
}

type parser struct {
	source []byte
	dec    *jsontext.Decoder
	depth  int
}

func (p *parser) value() (*value, error) {
	kind := p.dec.PeekKind()
	if kind != '{' && kind != '[' {
		raw, err := p.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		v := &value{kind: kind, raw: slices.Clone(raw)}
		if kind == '"' {
			text, err := jsontext.AppendUnquote(nil, raw)
			if err != nil {
				return nil, err
			}
			v.text = string(text)
		}
		return v, nil
	}
	if p.dec.StackDepth() >= p.depth {
		return nil, fmt.Errorf("it is nested more than %d levels deep", p.depth)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	start := p.dec.InputOffset() - 1
	v := &value{kind: kind}
	for {
		switch p.dec.PeekKind() {
		case '}', ']':
			if _, err := p.dec.ReadToken(); err != nil {
				return nil, err
			}
			v.raw = p.source[start:p.dec.InputOffset()]
			return v, nil
		}
		var m member
		if kind == '{' {
			raw, err := p.dec.ReadValue()
			if err != nil {
				return nil, err
			}
			m.raw = slices.Clone(raw)
			name, err := jsontext.AppendUnquote(nil, raw)
			if err != nil {
				return nil, err
			}
			m.name = string(name)
		}
		child, err := p.value()
		if err != nil {
			return nil, err
		}
		if kind == '[' {
			v.items = append(v.items, child)
			continue
		}
		m.value = child
		v.members = append(v.members, m)
	}
}

// append writes v compactly.
func (v *value) append(dst []byte) []byte { return v.write(dst, false) }

// write writes v. If asIs, what was not made here is written as it stood, white space and
// all; else scalars and names are.
func (v *value) write(dst []byte, asIs bool) []byte {
	switch {
	case asIs && v.raw != nil:
		return append(dst, v.raw...)
	case v.kind == '{':
		dst = append(dst, '{')
		for i, m := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, m.raw...), ':')
			dst = m.value.write(dst, asIs)
		}
		return append(dst, '}')
	case v.kind == '[':
		dst = append(dst, '[')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.write(dst, asIs)
		}
		return append(dst, ']')
	}
	return append(dst, v.raw...)
}

func (v *value) String() string { return string(v.append(nil)) }

func (v *value) isObject() bool { return v != nil && v.kind == '{' }

// is reports whether v is this literal: true, false, null, a number as written.
func (v *value) is(literal string) bool { return v != nil && string(v.raw) == literal }

func equal(a, b *value) bool { return bytes.Equal(a.append(nil), b.append(nil)) }

// get returns the member of that name, nil when there is none.
func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// list returns the members of an object, none of anything else.
func (v *value) list() []member {
	if v == nil {
		return nil
	}
	return v.members
}

// elements returns the items of an array, none of anything else.
func (v *value) elements() []*value {
	if v == nil {
		return nil
	}
	return v.items
}

func (v *value) has(name string) bool { return v.get(name) != nil }

// set puts a member in the place of the one of that name, or last.
func (v *value) set(name string, to *value) {
	for i := range v.members {
		if v.members[i].name == name {
			v.members[i].value = to
			return
		}
	}
	v.members = append(v.members, newMember(name, to))
}

// setAfter is set, but a new member comes right after the one named before.
func (v *value) setAfter(before, name string, to *value) {
	i := slices.IndexFunc(v.members, func(m member) bool { return m.name == before })
	if i < 0 || v.has(name) {
		v.set(name, to)
		return
	}
	v.members = slices.Insert(v.members, i+1, newMember(name, to))
}

func (v *value) del(name string) {
	v.members = slices.DeleteFunc(v.members, func(m member) bool { return m.name == name })
}

// rename gives the member another name, in its place.
func (v *value) rename(from, to string) {
	for i := range v.members {
		if v.members[i].name == from {
			v.members[i] = newMember(to, v.members[i].value)
		}
	}
}

// names returns the names of an object's members, the strings of an array, or a
// lone string as one.
func (v *value) names() []string {
	if v == nil {
		return nil
	}
	var names []string
	for _, m := range v.members {
		names = append(names, m.name)
	}
	for _, item := range v.items {
		names = append(names, item.text)
	}
	if v.kind == '"' {
		names = append(names, v.text)
	}
	return names
}

// number returns v as a number; ok is false when it is none.
func (v *value) number() (n float64, ok bool) {
	if v == nil || v.kind != '0' {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(v.raw), 64)
	return n, err == nil
}

func (v *value) clone() *value {
	c := *v
	c.members = slices.Clone(v.members)
	for i := range c.members {
		c.members[i].value = c.members[i].value.clone()
	}
	c.items = slices.Clone(v.items)
	for i := range c.items {
		c.items[i] = c.items[i].clone()
	}
	return &c
}

// size returns the number of values in v.
func (v *value) size() int {
	n := 1
	for _, m := range v.members {
		n += m.value.size()
	}
	for _, item := range v.items {
		n += item.size()
	}
	return n
}

func newMember(name string, v *value) member { return member{name, quote(name), v} }

func newObject(members ...member) *value { return &value{kind: '{', members: members} }

func newArray(items ...*value) *value { return &value{kind: '[', items: items} }

func newString(s string) *value { return &value{kind: '"', raw: quote(s), text: s} }

func newStrings(list []string) *value {
	v := newArray()
	for _, s := range list {
		v.items = append(v.items, newString(s))
	}
	return v
}

// newLiteral returns true, false or null.
func newLiteral(s string) *value { return &value{kind: jsontext.Kind(s[0]), raw: []byte(s)} }

// quote writes a JSON string; what is not UTF-8 is replaced.
func quote(s string) []byte {
	b, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		panic(fmt.Sprintf("schema: quote %q: %v", s, err)) // unreachable: it is UTF-8
	}
	return b
}

// clip returns the first n characters of s on one line, with a mark where it was
// cut.
func clip(s string, n int) string {
	return text.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), n)
}
