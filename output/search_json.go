package output

import (
	"bytes"
	"context"
	"fmt"

	"pawl/output/jsonpath"
)

// finder is a visitor that looks for matches.
type finder struct {
	m      *matcher
	args   SearchArgs
	result *SearchResult
	basket basket
	stack  []spot
	names  []byte          // of the objects that are open, see spot
	seen   map[string]bool // names, and whether they match
	text   []byte          // scratch
}

// A spot is an array or object that is open.
type spot struct {
	object bool
	offset int64
	index  int64 // of the child that is open or was last
	name   int   // where in finder.names the name of the child begins
	end    int   // and ends
}

func (f *finder) open(object bool, offset int64) {
	f.next()
	at := len(f.names)
	f.stack = append(f.stack, spot{object, offset, -1, at, at})
}

func (f *finder) close(int64) {
	f.names = f.names[:f.stack[len(f.stack)-1].name]
	f.stack = f.stack[:len(f.stack)-1]
}

// next goes on to the next element, if it is one.
func (f *finder) next() {
	if n := len(f.stack); n > 0 && !f.stack[n-1].object {
		f.stack[n-1].index++
	}
}

func (f *finder) name(raw []byte, escaped bool) {
	s := &f.stack[len(f.stack)-1]
	f.names = append(f.names[:s.name], raw...)
	s.end = len(f.names)
	hit, known := f.seen[string(raw)]
	if !known {
		hit = f.m.match([]byte(plainName(raw, escaped)))
		const most = 10_000
		if len(f.seen) < most {
			f.seen[string(raw)] = hit
		}
	}
	if hit {
		f.found(Found{Name: true, offset: s.offset}, nil)
	}
}

func (f *finder) scalar(k kind, raw []byte, offset int64) {
	f.next()
	text := raw
	if k == isString && bytes.IndexByte(raw, '\\') >= 0 {
		f.text = unescape(f.text[:0], raw)
		text = f.text
	}
	if !f.m.match(text) {
		return
	}
	hit := Found{offset: offset}
	if n := len(f.stack); n > 0 {
		hit.offset = f.stack[n-1].offset
	}
	value := raw
	if k == isString {
		value = appendText(nil, f.m.around(string(text)))
	}
	f.found(hit, value)
}

func (f *finder) found(hit Found, value []byte) {
	f.result.Total++
	if f.result.Total > int64(f.args.Limit) || f.basket.cut {
		return
	}
	hit.Path = f.path()
	if value == nil {
		f.basket.room -= len(hit.Path) + 24
		f.basket.cut = f.basket.room < 0
	} else {
		var fits bool
		hit.Value, fits = f.basket.fit(value, len(hit.Path)+24)
		f.basket.cut = !fits
	}
	if f.basket.cut {
		return
	}
	f.result.Matches = append(f.result.Matches, hit)
}

// path returns where the finder is.
func (f *finder) path() string {
	b := []byte{'$'}
	for _, s := range f.stack {
		if s.object {
			b = append(b, stepTo(plainName(f.names[s.name:s.end], true))...)
		} else {
			b = append(b, indexStep(s.index)...)
		}
		const most = 2000
		if len(b) > most {
			return string(b) + "…"
		}
	}
	return string(b)
}

func (d *Document) searchJSON(ctx context.Context, m *matcher, args SearchArgs, r *SearchResult) error {
	f := &finder{m: m, args: args, result: r, basket: basket{room: maxResult}, seen: map[string]bool{}}
	in, err := d.reader()
	if err != nil {
		return err
	}
	defer in.Close()
	w := newWalker(ctx, in)
	w.begin()
	if _, err := w.next(f); err != nil {
		return err
	}
	if w.tooBig {
		r.Hint = fmt.Sprintf("of texts longer than %s only the beginning was searched", byteSize(longText))
	}
	if w.blanks(); !w.atEnd() {
		return w.fail("nothing more")
	}
	if args.Context == 0 {
		return nil
	}
	for i := range r.Matches {
		const small = 2000 // bytes
		hit := &r.Matches[i]
		raw, err := d.smallValue(ctx, hit.offset, small)
		if err != nil {
			return err
		}
		if within, ok := f.basket.fit(raw, 12); ok {
			hit.Within = within
		}
	}
	return nil
}

// smallValue returns the value at an offset of the view if it has at most so many bytes,
// else nil.
func (d *Document) smallValue(ctx context.Context, offset, most int64) (value []byte, err error) {
	// A bracket before it makes it the first element of an array whose rest is missing.
	text := make([]byte, 1+min(most, d.view.size-offset))
	text[0] = '['
	if n, err := d.view.at.ReadAt(text[1:], offset); n < len(text)-1 {
		return nil, err
	}
	_ = anyElement.Stream(ctx, jsonpath.Bytes(text), jsonpath.Options{}, func(m jsonpath.Match) bool {
		value = m.Raw
		return false
	})
	return value, nil
}
