package output

import (
	"context"

	"pawl/output/jsonpath"
)

// items is what a question about items goes over.
type items struct {
	path  *jsonpath.Path // that selects them
	shown string         // what the model calls it: the array, or the path
	of    *jsonpath.Path // the array, nil if they are not the elements of one
	none  bool           // there are none
	why   string
}

// firstOfAny finds the first element of the first array that is not empty, without
// reading on to the array's end.
var firstOfAny = jsonpath.MustParse("$..[:1]")

// items finds the items that a path means: the elements of the first array that it
// selects, or else what it selects.
func (d *Document) items(ctx context.Context, path string) (items, error) {
	p, probe := jsonpath.MustParse("$"), firstOfAny
	if path != "" {
		var err error
		if p, err = d.parse(path); err != nil {
			return items{}, err
		}
		probe = behind(p, "[:1]")
	} else if known := d.firstArray(); known != "" {
		var err error
		if p, err = d.parse(known); err != nil {
			return items{}, err
		}
		probe = behind(p, "[:1]")
	}
	const firstStep = "[0]"
	array := ""
	if !d.hasNoArray(p, path) {
		err := d.each(ctx, query{path: probe, places: true}, func(n node) bool {
			array = n.path[:len(n.path)-len(firstStep)]
			return false
		})
		if err != nil {
			return items{}, err
		}
	}
	if array != "" {
		p, err := d.parse(array)
		if err != nil {
			return items{}, err
		}
		return items{path: behind(p, "[:]"), shown: array, of: p}, nil
	}
	it := items{path: p, shown: p.String(), none: true, why: "nothing is at " + p.String()}
	err := d.each(ctx, query{path: p}, func(n node) bool {
		if n.kind == isArray {
			it.why = "the array is empty"
		} else {
			it.none = false
		}
		return false
	})
	if s := d.shape(); it.none && s != nil {
		if near := s.nearest(p); near != "" && it.why != "the array is empty" {
			it.why += ": " + near
		}
	}
	return it, err
}

// hasNoArray reports whether the index knows that a path selects no array.
func (d *Document) hasNoArray(p *jsonpath.Path, asked string) bool {
	s := d.shape()
	steps, _, whole := stepsOf(p)
	if s == nil || !whole || asked == "" {
		return false
	}
	all, known := s.follow(steps)
	for _, at := range all {
		known = known && at.Kinds[isArray] == 0
	}
	return known
}

// firstArray returns the path of the first array if the index knows it: the root, or
// the array below objects that are there once.
func (d *Document) firstArray() string {
	s := d.shape()
	if s == nil {
		return ""
	}
	found := ""
	s.walk("$", 1, func(path string, _ int, s *shape) bool {
		if s.Kinds[isArray] == 1 && s.count() == 1 && s.Elements > 0 {
			found = path
			return false
		}
		return s.count() == 1 && s.Any == nil && s.Elements == 0 // else it is not known which comes first
	})
	return found
}

// length returns how many items there are.
func (d *Document) length(ctx context.Context, it items) (int64, error) {
	if it.of != nil && d.analysis != nil {
		if p := d.analysis.Marks.at(it.shown); p != nil {
			return p.Len, nil
		}
	}
	if it.of != nil {
		if n, _, ok := d.countShapes(it.of, ArrayLength); ok {
			return n, nil
		}
	} else if n, _, ok := d.countShapes(it.path, Matches); ok {
		return n, nil
	}
	return d.number(ctx, it.path, nil)
}

// pick calls add for the items with the indices.
func (d *Document) pick(ctx context.Context, items items, chosen []int64, add func(int64, node)) error {
	if len(chosen) == 0 {
		return nil
	}
	const most = 4 * maxResult
	if d.analysis != nil && items.of != nil {
		if p := d.analysis.Marks.at(items.shown); p != nil && !p.Object {
			for _, index := range chosen {
				err := d.elements(ctx, p, index, index+1, func(_, from, size int64) (bool, error) {
					return d.inside(ctx, query{path: items.path, most: most}, "$", "", from, size, func(n node) bool {
						add(index, n)
						return false
					})
				})
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	index, k := int64(0), 0
	skip := chosen[0] != 0 // of what is not chosen only the number is of interest
	return d.each(ctx, query{path: items.path, most: most, enough: &skip}, func(n node) bool {
		if index == chosen[k] {
			add(index, n)
			k++
		}
		index++
		skip = k < len(chosen) && chosen[k] != index
		return k < len(chosen)
	})
}
