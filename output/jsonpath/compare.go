package jsonpath

import (
	"bytes"

	"pawl/internal/stable"
)

// equalValues reports whether two values are equal as == of a filter has it (RFC 9535
// section 2.3.5.2.2): numbers by value, strings by characters, arrays by elements,
// objects by members in any order. Of duplicate names the last counts. Nothing equals
// Nothing.
func equalValues(a, b Value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case Bool:
		return a.Bool() == b.Bool()
	case Number:
		return bytes.Equal(a.raw, b.raw) || CompareNumbers(a.raw, b.raw) == 0
	case String:
		return bytes.Equal(a.raw, b.raw) || !(a.plain && b.plain) && bytes.Equal(a.text(), b.text())
	case Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equalValues(a.box.items[i], b.box.items[i]) {
				return false
			}
		}
	case Object:
		// Every name of a has its equal in b, and b has no more names than a.
		inA, inB := a.distinct(), b.distinct()
		if inA != inB {
			return false
		}
		for i := range a.Len() {
			name := string(a.box.names[i])
			if a.find(name) != i {
				continue
			}
			if j := b.find(name); j < 0 || !equalValues(a.box.items[i], b.box.items[j]) {
				return false
			}
		}
	}
	return true
}

// distinct returns how many different names an object has.
func (v Value) distinct() int {
	n := 0
	for i := range v.Len() {
		if v.find(string(v.box.names[i])) == i {
			n++
		}
	}
	return n
}

// AppendCanonical appends v as every value that equals it is written: without blanks, with
// members in the order of their names, numbers as by [canonicalNumber] and strings as by
// [AppendString].
func (v Value) AppendCanonical(b []byte) []byte {
	switch v.kind {
	case Number:
		return append(b, canonicalNumber(v.raw)...)
	case String:
		if !v.plain {
			return AppendString(b, v.Text())
		}
	case Array:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.box.items[i].AppendCanonical(b)
		}
		return append(b, ']')
	case Object:
		var order []int
		for i := range v.Len() {
			if v.find(string(v.box.names[i])) == i {
				order = append(order, i)
			}
		}
		stable.Sort(order, func(i, j int) int { return bytes.Compare(v.box.names[i], v.box.names[j]) })
		b = append(b, '{')
		for k, i := range order {
			if k > 0 {
				b = append(b, ',')
			}
			b = v.box.items[i].AppendCanonical(append(AppendString(b, v.Name(i)), ':'))
		}
		return append(b, '}')
	}
	return append(b, v.raw...)
}

// lessValues is < of a filter: of two numbers or two strings, and false for all else.
// The order of UTF-8 bytes is that of code points.
func lessValues(a, b Value) bool {
	switch {
	case a.kind == Number && b.kind == Number:
		return CompareNumbers(a.raw, b.raw) < 0
	case a.kind == String && b.kind == String:
		return bytes.Compare(a.text(), b.text()) < 0
	}
	return false
}
