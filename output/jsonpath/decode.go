package jsonpath

import (
	"context"
	"math"
	"slices"
)

// Decode reads a document. The value points into data. The error is a
// [*DocumentError]. The value takes some 40 bytes for each value that is in it.
func Decode(data []byte) (Value, error) { return decode(data, math.MaxInt64) }

// decode is Decode with at most limit bytes for values.
func decode(data []byte, limit int64) (Value, error) {
	s := newScanner(context.Background(), Bytes(data), math.MaxInt64/2)
	if err := s.begin(); err != nil {
		return Value{}, err
	}
	d := decoder{scanner: s, limit: limit}
	v, err := d.value(&projection{whole: true})
	if err != nil {
		return Value{}, err
	}
	return v, s.end()
}

// decoder makes values of what a scanner passes. They are good until its reset. (Slabs are
// used again and not left to the garbage collector, for which one old value would hold all
// that were made after it: a slab holds values of several candidates, which hold the next.)
type decoder struct {
	*scanner
	limit int64 // bytes to use for values and texts

	arena  []byte
	used   int64
	values []Value  // of the arrays and objects that are open
	names  [][]byte // of the objects that are open

	valueSlab []Value
	nameSlab  [][]byte
	boxSlab   []box
}

// slab copies s into a part of a larger slice, which saves most allocations.
func slab[T any](free *[]T, s []T) []T {
	if len(s) == 0 {
		return nil
	}
	if cap(*free)-len(*free) < len(s) {
		const least, most = 16, 1024
		*free = make([]T, 0, max(len(s), min(max(2*cap(*free), least), most)))
	}
	from := len(*free)
	*free = append(*free, s...)
	return (*free)[from:len(*free):len(*free)]
}

// reset makes the memory of all values free for others.
func (d *decoder) reset() {
	d.arena, d.used = d.arena[:0], 0
	d.valueSlab, d.nameSlab, d.boxSlab = d.valueSlab[:0], d.nameSlab[:0], d.boxSlab[:0]
}

func (d *decoder) newBox() *box {
	const least, most = 4, 256
	n := len(d.boxSlab)
	if n == cap(d.boxSlab) {
		d.boxSlab, n = make([]box, 0, min(max(2*n, least), most)), 0
	}
	d.boxSlab = d.boxSlab[:n+1]
	b := &d.boxSlab[n]
	*b = box{}
	return b
}

// Sizes of what a value and a name occupy, on 64-bit machines.
const (
	valueBytes = 40
	nameBytes  = 24
)

func (d *decoder) use(n int64) error {
	if d.used += n; d.used > d.limit {
		return &LimitError{Need: d.used, AtLeast: true, Limit: d.limit, Offset: d.offset(), Why: "a value that is looked into"}
	}
	return nil
}

// value decodes the next value as far as it is wanted.
func (d *decoder) value(wants *projection) (Value, error) {
	c, err := d.ahead()
	if err != nil {
		return Value{}, err
	}
	if err := d.use(valueBytes); err != nil {
		return Value{}, err
	}
	if c == '[' || c == '{' {
		return d.container(KindOf(c), wants)
	}
	return d.scalar(c)
}

func (d *decoder) scalar(c byte) (Value, error) {
	v := Value{kind: KindOf(c)}
	from, pin := d.offset(), d.pin
	d.pin = from
	odd, err := false, error(nil)
	if c == '"' {
		odd, err = d.skipString()
	} else {
		err = d.skipScalar(c)
	}
	d.pin = pin
	if err != nil {
		return Value{}, err
	}
	raw := d.buf[from-d.base : d.pos]
	v.plain = c == '"' && isPlain(raw[1:len(raw)-1], odd)
	v.raw, err = d.own(raw)
	return v, err
}

// own returns b where it stays.
func (d *decoder) own(b []byte) ([]byte, error) {
	if d.feed.src.data != nil {
		return b, nil
	}
	if err := d.use(int64(len(b))); err != nil {
		return nil, err
	}
	n := len(d.arena)
	d.arena = append(d.arena, b...)
	return d.arena[n:], nil
}

// container decodes the array or object that comes next.
func (d *decoder) container(kind Kind, wants *projection) (Value, error) {
	if !wants.within(kind) {
		return Value{kind: kind}, d.skip()
	}
	from := d.offset()
	values, names := len(d.values), len(d.names)
	defer func() { d.values, d.names = d.values[:values], d.names[:names] }()
	var err error
	if kind == Array {
		err = d.elements(wants)
	} else {
		err = d.members(wants)
	}
	if err != nil {
		return Value{}, err
	}
	v := Value{kind: kind}
	if d.feed.src.data != nil {
		v.raw = d.buf[from-d.base : d.pos]
	}
	if len(d.values) > values {
		v.box = d.newBox()
		v.box.items, v.box.names = slab(&d.valueSlab, d.values[values:]), slab(&d.nameSlab, d.names[names:])
	}
	return v, nil
}

// elements decodes the wanted elements of the array that comes next. What is passed over
// before the last one that is wanted leaves a Nothing, so that the others have their index.
func (d *decoder) elements(wants *projection) error {
	return d.scanner.elements(func(i int64) error {
		sub := wants
		if !wants.whole {
			k := slices.Index(wants.indices, i)
			if k < 0 {
				if i < wants.last {
					d.values = append(d.values, Value{})
					if err := d.use(valueBytes); err != nil {
						return err
					}
				}
				return d.skip()
			}
			sub = wants.indexed[k]
		}
		v, err := d.value(sub)
		d.values = append(d.values, v)
		return err
	})
}

// members decodes the wanted members of the object that comes next.
func (d *decoder) members(wants *projection) error {
	if err := d.enter(); err != nil {
		return err
	}
	names, keys := wants.names, wants.keys
	if wants.whole {
		names, keys = nil, nil
	}
	for first := true; ; first = false {
		k, name, err := d.nextMember(first, names, keys)
		if err != nil || k < 0 {
			return err
		}
		sub := wants
		if !wants.whole {
			sub = wants.named[k]
		} else if err := d.use(nameBytes); err != nil {
			return err
		} else if name, err = d.own(name); err != nil {
			return err
		}
		v, err := d.value(sub)
		if err != nil {
			return err
		}
		d.values, d.names = append(d.values, v), append(d.names, name)
	}
}
