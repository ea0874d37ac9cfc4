package output

import (
	"context"
	"fmt"
	"io"
	"strings"

	"pawl/output/jsonpath"
)

// jump answers a query from where the index knows its nodes to be. done is false if
// that cannot be.
func (d *Document) jump(ctx context.Context, q query, found func(node) bool) (done bool, err error) {
	if d.analysis == nil || d.view.at == nil || len(d.analysis.Marks.Places) == 0 {
		return false, nil
	}
	if strings.Contains(q.path.String()[1:], "$") || q.where != nil && strings.Contains(q.where.String(), "$") {
		return false, nil // a filter looks at the whole document
	}
	steps, rests, whole := stepsOf(q.path)
	at := d.analysis.Marks.at("$")
	path, rest := "$", q.path.String()[1:]
	for i, st := range steps {
		if at == nil {
			return false, nil
		}
		if st.kind == toAll || st.kind == toSlice && st.to-st.from > fewElements {
			whole = false
			break
		}
		rest = rests[i]
		switch {
		case st.kind == toName && !at.Object, st.kind != toName && at.Object:
			return true, nil // nothing is selected
		case st.kind == toName:
			offset, has, known := at.offsetOf(st.name)
			if !known {
				return false, nil
			}
			if !has {
				return true, nil
			}
			path += "[" + quoteName(st.name) + "]"
			if at = d.analysis.Marks.at(path); at == nil { // smaller than a place
				return true, d.children(ctx, offset, 0, func(_, from, size int64) (bool, error) {
					_, err := d.inside(ctx, q, path, rest, from, size, found)
					return false, err
				})
			}
		default:
			from, to := st.from, st.to
			if st.kind == toIndex {
				if from < 0 {
					from += at.Len
				}
				to = from + 1
			}
			return true, d.elements(ctx, at, from, to, func(index, offset, size int64) (bool, error) {
				return d.inside(ctx, q, path+indexStep(index), rest, offset, size, found)
			})
		}
	}
	if at == nil || path == "$" && !whole {
		return false, nil
	}
	_, err = d.inside(ctx, q, path, rest, at.Offset, at.End-at.Offset, found)
	return true, err
}

// fewElements is up to how many elements are looked into one by one. Of more, it is
// faster to read the whole array.
const fewElements = 1000

// inside runs the rest of a query over one value, whose path and place are known.
func (d *Document) inside(ctx context.Context, q query, path, rest string, from, size int64, found func(node) bool) (more bool, err error) {
	if rest == "" && q.where == nil {
		n := node{path: path, size: size, from: from}
		want := size
		if q.quiet() || size > q.most {
			want = 1
		}
		n.raw = make([]byte, want)
		if _, err := d.view.at.ReadAt(n.raw, from); err != nil && err != io.EOF {
			return false, err
		}
		if n.kind = kindOf(n.raw[0]); want < size {
			n.raw = nil
		}
		return found(n), nil
	}
	p, err := jsonpath.Parse("$" + rest)
	if err != nil {
		return false, err // unreachable: it is a part of what was parsed
	}
	part := &Document{Name: d.Name, format: JSON}
	part.view.Do(func() {})
	part.view.at, part.view.size = io.NewSectionReader(d.view.at, from, size), size
	if size <= walkWindow { // a window would be as large
		part.view.data = make([]byte, size)
		if _, err := d.view.at.ReadAt(part.view.data, from); err != nil && err != io.EOF {
			return false, err
		}
	}
	more = true
	q.path = p
	err = part.scan(ctx, q, func(n node) bool {
		if n.path != "" {
			n.path = path + n.path[1:]
		}
		n.from += from
		more = found(n)
		return more
	})
	return more, err
}

// elements calls found for the elements of a place from index on and before to, until
// it returns false.
func (d *Document) elements(ctx context.Context, p *place, from, to int64, found func(index, offset, size int64) (bool, error)) error {
	to = min(to, p.Len)
	if from < 0 || from >= to {
		return nil
	}
	m, ok := p.before(from)
	if !ok {
		return fmt.Errorf("%w: its index has no place for element %d", errDamaged, from)
	}
	return d.children(ctx, m.Offset, from-m.Index, func(k, offset, size int64) (bool, error) {
		index := m.Index + k
		if index >= to {
			return false, nil
		}
		more, err := found(index, offset, size)
		return more && index+1 < to, err
	})
}

var anyElement = jsonpath.MustParse("$[*]")

// children calls found for the values from offset on, where one begins that commas may
// follow, until it returns false; the first skip of them are passed over.
func (d *Document) children(ctx context.Context, offset, skip int64, found func(k, offset, size int64) (bool, error)) error {
	// A bracket in front makes it an array, which nobody reads to its end.
	array := &bracketed{d.view.at, offset}
	var failed error
	k := int64(0)
	stopped := false
	err := anyElement.Stream(ctx, jsonpath.ReaderAt(array, d.view.size-offset+1), jsonpath.Options{Limit: memory, NoRaw: true}, func(m jsonpath.Match) bool {
		more := true
		if k >= skip {
			more, failed = found(k, m.Offset-1+offset, m.Size)
		}
		k++
		stopped = !more || failed != nil
		return !stopped
	})
	if failed != nil {
		return failed
	}
	if stopped {
		return nil
	}
	return err
}

// bracketed is a [ and what stands in a text from an offset on.
type bracketed struct {
	in     io.ReaderAt
	offset int64
}

func (b *bracketed) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	if off == 0 && len(p) > 0 {
		p[0] = '['
		n = 1
	}
	got, err := b.in.ReadAt(p[n:], b.offset+off+int64(n)-1)
	return n + got, err
}
