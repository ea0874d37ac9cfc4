package output

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pawl/output/jsonpath"
)

// CountArgs are the arguments of tool_outputs.count.
type CountArgs struct {
	Target
	Counts []CountOf `json:"counts"`
}

// CountOf is one thing to be counted.
type CountOf struct {
	Name   string    `json:"name"` // in the result; the path if left out
	Path   string    `json:"path"`
	Filter string    `json:"filter"` // tested on each thing that would be counted
	Type   CountType `json:"count_type"`
}

// A CountType says what is counted.
type CountType string

const (
	// arrayLength counts the elements of the arrays that match. It is the default, and
	// as such counts the matches themselves where no array is among them: that is what
	// is meant by $.users[*] with a filter.
	arrayLength CountType = "array_length"
	objectKeys  CountType = "object_keys"  // members of the objects that match, as written
	matches     CountType = "matches"      // what the path selects
	nestedTotal CountType = "nested_total" // all values in what the path selects, at any depth
)

func (a *CountArgs) defaults() {}

func (a *CountArgs) check() error {
	if len(a.Counts) == 0 {
		return errors.New(`counts is empty: say what to count, such as [{"path": "$.users"}]`)
	}
	if len(a.Counts) > maxPaths {
		return fmt.Errorf("counts may be %d at most, got %d", maxPaths, len(a.Counts))
	}
	seen := map[string]bool{}
	for i := range a.Counts {
		c := &a.Counts[i]
		if c.Path == "" {
			return fmt.Errorf("counts[%d] has no path", i)
		}
		if c.Name == "" {
			c.Name = c.Path
		}
		if seen[c.Name] {
			return fmt.Errorf("counts[%d]: the name %q is there twice", i, c.Name)
		}
		seen[c.Name] = true
		if c.Type != "" {
			if err := oneOf("count_type", c.Type, arrayLength, objectKeys, matches, nestedTotal); err != nil {
				return err
			}
		}
	}
	return nil
}

// CountResult is the result of tool_outputs.count. Counts are exact.
type CountResult struct {
	Target
	Counts ordered[int64] `json:"counts"` // in the order that was asked
	Total  int64          `json:"total"`
	Hints  []string       `json:"hints,omitempty"`
}

// Count answers tool_outputs.count.
func (d *Document) Count(ctx context.Context, args CountArgs) (CountResult, error) {
	r := CountResult{Target: args.Target}
	if _, err := d.source(); err != nil {
		return r, d.explain("count", err)
	}
	for _, c := range args.Counts {
		n, hints, err := d.countOne(ctx, c)
		if err != nil {
			return r, d.explain("count", fmt.Errorf("%q: %w", c.Name, err))
		}
		r.Counts = append(r.Counts, member[int64]{c.Name, n})
		r.Total += n
		if len(hints) > 0 {
			r.Hints = append(r.Hints, fmt.Sprintf("%q: %s", c.Name, strings.Join(hints, "; ")))
		}
	}
	return r, nil
}

const countsMatches = "no array matches, so the matches are counted"

func (d *Document) countOne(ctx context.Context, c CountOf) (n int64, hints []string, err error) {
	p, err := d.parse(c.Path)
	if err != nil {
		return 0, nil, err
	}
	hints = p.Warnings()
	var where *jsonpath.Filter
	if c.Filter != "" {
		if where, err = jsonpath.ParseFilter(c.Filter); err != nil {
			return 0, nil, err
		}
		hints = append(hints, where.Warnings()...)
	}
	known := false
	if where == nil {
		var plain bool
		if n, plain, known = d.countShapes(p, c.Type); plain && n > 0 {
			hints = append(hints, countsMatches)
		}
	}
	switch {
	case known:
	case c.Type == matches:
		n, err = d.count(ctx, p, where)
	case c.Type == nestedTotal:
		n, err = d.count(ctx, p.Then("..*"), where)
	case c.Type == objectKeys:
		var elements int64
		if n, err = d.count(ctx, p.Then("[*]"), where); err == nil {
			elements, err = d.count(ctx, p.Then("[:]"), where)
		}
		n -= elements
	default:
		n, err = d.count(ctx, p.Then("[:]"), where)
		if err == nil && n == 0 && c.Type == "" {
			arrays := false
			err = d.each(ctx, p, jsonpath.Options{NoRaw: true, AnyOrder: true}, func(m jsonpath.Match) bool {
				arrays = m.Kind == jsonpath.Array
				return !arrays
			})
			if err == nil && !arrays {
				if n, err = d.count(ctx, p, where); n > 0 {
					hints = append(hints, countsMatches)
				}
			}
		}
	}
	if near := d.shape().nearest(p); n == 0 && near != "" {
		hints = append(hints, near)
	}
	return n, hints, err
}

// countShapes counts by shapes alone, if they are enough. plain says that no array is
// among the matches, so that these are counted.
func (d *Document) countShapes(p *jsonpath.Path, t CountType) (n int64, plain, known bool) {
	s := d.shape()
	steps, whole := p.Steps()
	if s == nil || !whole {
		return 0, false, false
	}
	all, known := s.follow(steps)
	if !known {
		return 0, false, false
	}
	var selected, arrays int64
	for _, at := range all {
		selected += at.total()
		arrays += at.Kinds.of(jsonpath.Array)
		switch t {
		case matches:
			n += at.total()
		case objectKeys:
			n += at.Members
		case nestedTotal:
			below, exact := at.inside()
			if !exact {
				return 0, false, false
			}
			n += below - at.total()
		default:
			n += at.Elements
		}
	}
	if t == "" && arrays == 0 {
		return selected, true, true
	}
	return n, false, true
}
