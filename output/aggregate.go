package output

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"math/big"
	"strings"

	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/output/jsonpath"
)

// AggregateArgs are the arguments of tool_outputs.aggregate.
type AggregateArgs struct {
	Target
	// Path selects the items: an array stands for its elements. Left out, it is the
	// first array of the document.
	Path      string `json:"path"`
	ValuePath string `json:"value_path"` // within an item, such as @.price; the item itself if left out
	GroupBy   string `json:"group_by"`   // within an item; one group of all if left out
	Op        Op     `json:"op"`
}

// An Op is what is computed of the values of a group.
type Op string

const (
	sumOf    Op = "sum" // exact
	average  Op = "avg"
	least    Op = "min" // of numbers, or of strings if there are no numbers
	greatest Op = "max"
	countOf  Op = "count"
	distinct Op = "distinct" // how many different values; see maxDistinct
)

func (a *AggregateArgs) defaults() { a.Op = countOf }

func (a *AggregateArgs) check() error {
	return oneOf("op", a.Op, sumOf, average, least, greatest, countOf, distinct)
}

// AggregateResult is the result of tool_outputs.aggregate.
type AggregateResult struct {
	Target
	Path        string   `json:"path"`
	Op          Op       `json:"op"`
	Groups      []Figure `json:"groups,omitempty"` // greatest first, for min least first
	TotalGroups int64    `json:"total_groups,omitempty"`
	Others      *Figure  `json:"others,omitempty"` // of all groups beyond the first 10,000 together
	All         Figure   `json:"all"`
	Items       int64    `json:"items"`
	// Missing items have no value; skipped values are of a kind that the op cannot use,
	// or beyond 1e400.
	Missing int64 `json:"missing,omitempty"`
	Skipped int64 `json:"skipped,omitempty"`
	Cut     int64 `json:"cut,omitempty"` // groups that did not fit
	// Estimated: there are more different values than are told apart.
	Estimated bool     `json:"estimated,omitempty"`
	Hints     []string `json:"hints,omitempty"`
}

// Figure is what was computed of a group.
type Figure struct {
	Group json.RawMessage `json:"group,omitempty"` // null for items without
	Value json.RawMessage `json:"value"`           // null if there was nothing to compute it of
	Count int64           `json:"count"`           // values it is computed of
}

const (
	// maxGroups is how many groups are told apart.
	maxGroups = 10_000

	// maxDistinct is how many different values are told apart, of all groups together, in
	// some 20 MB. Beyond, a figure is the least that it can be, and estimated is true.
	maxDistinct = 1 << 18
)

// A tally computes one figure.
type tally struct {
	group []byte // as every equal one is written
	n     int64
	sum   sum
	best  []byte  // least or greatest number
	text  *string // least or greatest string, its beginning
	texts int64
	set   map[uint64]struct{} // hashes of different values
}

// An aggregation computes all figures of a question.
type aggregation struct {
	op     Op
	result *AggregateResult
	seed   maphash.Seed
	kept   int // hashes
	groups map[string]*tally
	order  []*tally
	all    *tally
	others *tally

	// Of the item:
	to        []*tally
	none      bool                      // it has no value
	found     func(jsonpath.Value) bool // value
	key       []byte                    // its group
	canonical []byte                    // scratch of value
}

// Aggregate answers tool_outputs.aggregate.
func (d *Document) Aggregate(ctx context.Context, args AggregateArgs) (AggregateResult, error) {
	r := AggregateResult{Target: args.Target, Op: args.Op}
	return r, d.explain("aggregate", d.aggregate(ctx, args, &r))
}

func (d *Document) aggregate(ctx context.Context, args AggregateArgs, r *AggregateResult) error {
	value, err := d.relative("value_path", args.ValuePath)
	if err != nil {
		return err
	}
	opt := jsonpath.Options{NoRaw: true, AnyOrder: true, Pick: []*jsonpath.Path{value}}
	if args.GroupBy != "" {
		by, err := d.relative("group_by", args.GroupBy)
		if err != nil {
			return err
		}
		opt.Pick = append(opt.Pick, by)
	}
	g := &aggregation{}
	var failed error
	empty := *r
	start := func() {
		*r = empty
		*g = aggregation{op: args.Op, result: r, groups: map[string]*tally{}, all: &tally{}, seed: maphash.MakeSeed(), found: g.value}
	}
	start()
	it, err := d.eachItem(ctx, args.Path, opt, start, func(m jsonpath.Match) bool {
		failed = g.item(m, len(opt.Pick) > 1)
		return failed == nil
	})
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	if r.Path = it.shown; it.none != "" {
		r.Hints = append(r.Hints, it.none)
	}
	g.finish(args)
	return nil
}

// item adds the values of one item.
func (g *aggregation) item(m jsonpath.Match, grouped bool) error {
	g.result.Items++
	g.to = append(g.to[:0], g.all)
	if grouped {
		var err error
		if g.key, err = groupOf(m, 1, g.key); err != nil {
			return err
		}
		g.to = append(g.to, g.of(g.key))
	}
	g.none = true
	m.Picked(0, g.found)
	if g.none {
		g.result.Missing++
	}
	return nil
}

// value adds a value of the item.
func (g *aggregation) value(v jsonpath.Value) bool {
	g.none = false
	for i, t := range g.to {
		if g.add(t, v) {
			t.n++
		} else if i == 0 {
			g.result.Skipped++
		}
	}
	return true
}

// of returns the tally of a group.
func (g *aggregation) of(key []byte) *tally {
	t := g.groups[string(key)]
	switch {
	case t != nil:
	case len(g.groups) < maxGroups:
		t = &tally{group: bytes.Clone(key)}
		g.groups[string(key)] = t
		g.order = append(g.order, t)
	default:
		if g.others == nil {
			g.others = &tally{}
		}
		t = g.others
	}
	return t
}

// add adds a value to a tally. It reports whether the op can use the value.
func (g *aggregation) add(t *tally, v jsonpath.Value) bool {
	raw := v.Raw()
	switch g.op {
	case sumOf, average:
		return v.Kind() == jsonpath.Number && t.sum.add(raw)
	case distinct:
		g.canonical = v.AppendCanonical(g.canonical[:0])
		h := maphash.Bytes(g.seed, g.canonical)
		if _, known := t.set[h]; known {
			return true
		}
		if g.kept >= maxDistinct {
			g.result.Estimated = true
			return true
		}
		if t.set == nil {
			t.set = map[uint64]struct{}{}
		}
		t.set[h] = struct{}{}
		g.kept++
		return true
	case least, greatest:
		sign := 1
		if g.op == greatest {
			sign = -1
		}
		switch v.Kind() {
		case jsonpath.Number:
			if t.best == nil || sign*jsonpath.CompareNumbers(raw, t.best) < 0 {
				t.best = bytes.Clone(raw)
			}
			return true
		case jsonpath.String:
			t.texts++
			if s := v.Text(); t.text == nil || sign*cmp.Compare(s, *t.text) < 0 {
				s = strings.Clone(text.First(s, shownText))
				t.text = &s
			}
			return true
		}
		return false
	}
	return true
}

// finish makes the figures.
func (g *aggregation) finish(args AggregateArgs) {
	r := g.result
	r.All = g.figure(g.all)
	if g.all.best != nil {
		r.Skipped += g.all.texts
	}
	if g.others != nil {
		f := g.figure(g.others)
		r.Others = &f
		r.Hints = append(r.Hints, fmt.Sprintf("there are more than %s groups; the others are one figure", text.Commas(maxGroups)))
	}
	if r.Skipped > 0 {
		r.Hints = append(r.Hints, fmt.Sprintf("skipped: %s that %s cannot use", text.Plural(r.Skipped, "value"), args.Op))
	}
	if r.Estimated {
		r.Hints = append(r.Hints, fmt.Sprintf("more than %s different values: the figures are the least that there are", text.Commas(maxDistinct)))
	}
	if args.GroupBy == "" {
		return
	}
	r.TotalGroups = int64(len(g.order))
	figures := make([]Figure, len(g.order))
	for i, t := range g.order {
		figures[i] = g.figure(t)
		figures[i].Group = t.group
	}
	stable.Sort(figures, func(a, b Figure) int {
		c := compareValues(b.Value, a.Value)
		if args.Op == least {
			c = -c
		}
		return c
	})
	b := budget{room: maxResult}
	for i := range figures {
		f := &figures[i]
		var fits bool
		if f.Group, fits = b.fit(f.Group, len(f.Value)+32); !fits {
			r.Cut = int64(len(figures) - i)
			r.Hints = append(r.Hints, text.Plural(r.Cut, "group")+" did not fit")
			figures = figures[:i]
			break
		}
	}
	r.Groups = figures
}

// compareValues compares numbers and strings; anything else is less.
func compareValues(a, b json.RawMessage) int {
	ka, kb := jsonpath.KindOf(a[0]), jsonpath.KindOf(b[0])
	if ka == kb && ka == jsonpath.Number {
		return jsonpath.CompareNumbers(a, b)
	}
	return cmp.Or(cmp.Compare(ka, kb), bytes.Compare(a, b))
}

func (g *aggregation) figure(t *tally) Figure {
	f := Figure{Count: t.n, Value: json.RawMessage("null")}
	switch g.op {
	case countOf:
		f.Value = fmt.Appendf(nil, "%d", t.n)
	case distinct:
		f.Value = fmt.Appendf(nil, "%d", len(t.set))
	case sumOf:
		f.Value = decimal(t.sum.value(), 60)
	case average:
		if t.n > 0 {
			mean := new(big.Rat).Quo(t.sum.value(), new(big.Rat).SetInt64(t.n))
			f.Value = decimal(mean, 15)
		}
	default:
		if t.best != nil {
			f.Value = t.best
			f.Count = t.n - t.texts // strings beside numbers do not count
		} else if t.text != nil {
			f.Value = jsonpath.AppendString(nil, *t.text)
		}
	}
	return f
}
