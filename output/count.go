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
	// ArrayLength counts the elements of the arrays that match. It is the default, and
	// as such counts the matches themselves where no array is among them: that is what
	// is meant by $.users[*] with a filter.
	ArrayLength CountType = "array_length"
	ObjectKeys  CountType = "object_keys"  // members of the objects that match, as written
	Matches     CountType = "matches"      // what the path selects
	NestedTotal CountType = "nested_total" // all values in what the path selects, at any depth
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
			if err := oneOf("count_type", string(c.Type), string(ArrayLength), string(ObjectKeys), string(Matches), string(NestedTotal)); err != nil {
				return err
			}
		}
	}
	return nil
}

// CountResult is the result of tool_outputs.count. Counts are exact.
type CountResult struct {
	Target
	Counts orderedCounts `json:"counts"`
	Total  int64         `json:"total"`
	Hints  []string      `json:"hints,omitempty"`
}

// orderedCounts is a JSON object in the order that was asked.
type orderedCounts []namedCount

type namedCount struct {
	Name string
	N    int64
}

// MarshalJSON writes the object.
func (o orderedCounts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, c := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, c.Name), ':')
		b = fmt.Appendf(b, "%d", c.N)
	}
	return append(b, '}'), nil
}

// Get returns a count by its name.
func (o orderedCounts) Get(name string) (n int64, ok bool) {
	for _, c := range o {
		if c.Name == name {
			return c.N, true
		}
	}
	return 0, false
}

// Count answers tool_outputs.count.
func (d *Document) Count(ctx context.Context, args CountArgs) (CountResult, error) {
	r := CountResult{Target: args.Target}
	if err := d.prepare(); err != nil {
		return r, d.explain("count", err)
	}
	for _, c := range args.Counts {
		n, hint, err := d.count(ctx, c)
		if err != nil {
			return r, d.explain("count", fmt.Errorf("%q: %w", c.Name, err))
		}
		r.Counts = append(r.Counts, namedCount{c.Name, n})
		r.Total += n
		if hint != "" {
			r.Hints = append(r.Hints, fmt.Sprintf("%q: %s", c.Name, hint))
		}
	}
	return r, nil
}

func (d *Document) count(ctx context.Context, c CountOf) (n int64, hint string, err error) {
	p, err := d.parse(c.Path)
	if err != nil {
		return 0, "", err
	}
	var where *jsonpath.Filter
	if c.Filter != "" {
		if where, err = jsonpath.ParseFilter(c.Filter); err != nil {
			return 0, "", err
		}
	}
	if where == nil {
		if n, arrays, ok := d.countShapes(p, c.Type); ok {
			if c.Type == "" && arrays == 0 && n > 0 {
				hint = "no array matches, so the matches are counted"
			}
			return n, d.hintIfNone(n, p, hint), nil
		}
	}
	defer func() {
		if err == nil {
			hint = d.hintIfNone(n, p, hint)
		}
		for _, w := range p.Warnings() {
			hint = strings.TrimPrefix(hint+"; "+w, "; ")
		}
		if where != nil {
			for _, w := range where.Warnings() {
				hint = strings.TrimPrefix(hint+"; "+w, "; ")
			}
		}
	}()
	switch c.Type {
	case Matches:
		n, err = d.number(ctx, p, where)
	case NestedTotal:
		n, err = d.number(ctx, behind(p, "..*"), where)
	case ObjectKeys:
		var all, elements int64
		if all, err = d.number(ctx, behind(p, "[*]"), where); err == nil {
			elements, err = d.number(ctx, behind(p, "[:]"), where)
		}
		n = all - elements
	default:
		if n, err = d.number(ctx, behind(p, "[:]"), where); err != nil || n > 0 || c.Type == ArrayLength {
			return n, "", err
		}
		arrays := false
		err = d.each(ctx, query{path: p}, func(n node) bool {
			arrays = n.kind == isArray
			return !arrays
		})
		if err != nil || arrays {
			return 0, "", err
		}
		if n, err = d.number(ctx, p, where); n > 0 {
			hint = "no array matches, so the matches are counted"
		}
	}
	return n, hint, err
}

func (d *Document) hintIfNone(n int64, p *jsonpath.Path, hint string) string {
	if s := d.shape(); n == 0 && hint == "" && s != nil {
		return s.nearest(p)
	}
	return hint
}

// behind returns the path with more behind it.
func behind(p *jsonpath.Path, more string) *jsonpath.Path {
	longer, err := jsonpath.Parse(p.String() + more)
	if err != nil {
		panic(fmt.Sprintf("output: %s%s: %v", p, more, err)) // unreachable: see longestPath
	}
	return longer
}

// number returns how many nodes a path selects.
func (d *Document) number(ctx context.Context, p *jsonpath.Path, where *jsonpath.Filter) (int64, error) {
	n, enough := int64(0), true
	done, err := d.jump(ctx, query{path: p, where: where, enough: &enough}, func(node) bool {
		n++
		return true
	})
	if done || err != nil {
		return n, err
	}
	return p.Count(ctx, d.source(), jsonpath.Options{Limit: memory, Where: where})
}

// countShapes counts by shapes alone. arrays is how many arrays match.
func (d *Document) countShapes(p *jsonpath.Path, t CountType) (n, arrays int64, ok bool) {
	s := d.shape()
	steps, _, whole := stepsOf(p)
	if s == nil || !whole {
		return 0, 0, false
	}
	all, known := s.follow(steps)
	if !known {
		return 0, 0, false
	}
	var matches int64
	for _, at := range all {
		matches += at.count()
		arrays += at.Kinds[isArray]
		switch t {
		case Matches:
			n += at.count()
		case ObjectKeys:
			n += at.Members
		case NestedTotal:
			f := at.figures()
			if !f.complete {
				return 0, 0, false
			}
			n += f.values - at.count()
		default:
			n += at.Elements
		}
	}
	if t == "" && arrays == 0 {
		n = matches
	}
	return n, arrays, true
}
