package output

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

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
	Sum         Op = "sum" // exact
	Average     Op = "avg"
	Least       Op = "min" // of numbers, or of strings if there are no numbers
	Greatest    Op = "max"
	CountValues Op = "count"
	Distinct    Op = "distinct" // how many different values; estimated above 262,144
)

func (a *AggregateArgs) defaults() { a.Op = CountValues }

func (a *AggregateArgs) check() error {
	return oneOf("op", string(a.Op), string(Sum), string(Average), string(Least), string(Greatest), string(CountValues), string(Distinct))
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
	Missing   int64    `json:"missing,omitempty"`
	Skipped   int64    `json:"skipped,omitempty"`
	Cut       int64    `json:"cut,omitempty"` // groups that did not fit
	Estimated bool     `json:"estimated,omitempty"`
	Hints     []string `json:"hints,omitempty"`
}

// Figure is what was computed of a group.
type Figure struct {
	Group json.RawMessage `json:"group,omitempty"` // null for items without
	Value json.RawMessage `json:"value"`           // null if there was nothing to compute it of
	Count int64           `json:"count"`           // values it is computed of
}

// maxGroups is how many groups are told apart.
const maxGroups = 10_000

// A tally computes one figure.
type tally struct {
	group []byte
	n     int64
	sum   sum
	best  []byte  // least or greatest number
	text  *string // least or greatest string, its beginning
	texts int64
	set   int // of distinct
}

// An aggregation computes all figures of a question.
type aggregation struct {
	op     Op
	result *AggregateResult
	sets   distinct
	groups map[string]*tally
	order  []*tally
	all    *tally
	others *tally
}

func (g *aggregation) tally(group []byte) *tally {
	t := &tally{group: bytes.Clone(group)}
	if g.op == Distinct {
		t.set = g.sets.group()
	}
	return t
}

// of returns the tally of a group.
func (g *aggregation) of(key, shown []byte) *tally {
	t := g.groups[string(key)]
	switch {
	case t != nil:
	case len(g.groups) < maxGroups:
		t = g.tally(shown)
		g.groups[string(key)] = t
		g.order = append(g.order, t)
	default:
		if g.others == nil {
			g.others = g.tally(nil)
		}
		t = g.others
	}
	return t
}

// add adds a value, as written, to the tallies it belongs to.
func (g *aggregation) add(value []byte, to ...*tally) {
	k := kindOf(value[0])
	for i, t := range to {
		switch used := t.add(g, k, value); {
		case used:
			t.n++
		case i == 0:
			g.result.Skipped++
		}
	}
}

// add reports whether the op can use the value.
func (t *tally) add(g *aggregation, k kind, value []byte) bool {
	switch g.op {
	case Sum, Average:
		return k == isNumber && t.sum.add(value)
	case Distinct:
		g.sets.add(t.set, sameValue(k, value))
		return true
	case Least, Greatest:
		sign := 1
		if g.op == Greatest {
			sign = -1
		}
		switch k {
		case isNumber:
			if t.best == nil || sign*jsonpath.CompareNumbers(value, t.best) < 0 {
				t.best = bytes.Clone(value)
			}
			return true
		case isString:
			t.texts++
			if text := textOf(value); t.text == nil || sign*cmp.Compare(text, *t.text) < 0 {
				text = strings.Clone(firstChars(text, shownText))
				t.text = &text
			}
			return true
		}
		return false
	}
	return true
}

// sameValue writes a value as every equal one is written, but for blanks and the order
// of members.
func sameValue(k kind, raw []byte) []byte {
	switch k {
	case isNumber:
		return sameNumber(raw)
	case isString:
		return sameText(raw)
	}
	return raw
}

// Aggregate answers tool_outputs.aggregate.
func (d *Document) Aggregate(ctx context.Context, args AggregateArgs) (AggregateResult, error) {
	r := AggregateResult{Target: args.Target, Op: args.Op}
	err := d.prepare()
	if err == nil {
		err = d.aggregate(ctx, args, &r)
	}
	return r, d.explain("aggregate", err)
}

func (d *Document) aggregate(ctx context.Context, args AggregateArgs, r *AggregateResult) error {
	it, err := d.items(ctx, args.Path)
	if err != nil {
		return err
	}
	r.Path = it.shown
	g := &aggregation{op: args.Op, result: r, groups: map[string]*tally{}}
	g.all = g.tally(nil)
	if it.none {
		r.Hints = append(r.Hints, it.why)
	} else if err := g.read(ctx, d, it, args); err != nil {
		return err
	}
	g.finish(args)
	return nil
}

func (g *aggregation) read(ctx context.Context, d *Document, it items, args AggregateArgs) error {
	var group, value *picker
	if args.GroupBy != "" {
		p, err := d.relative(args.GroupBy)
		if err != nil {
			return fmt.Errorf("group_by: %w", err)
		}
		group = newPicker(p)
	}
	if args.ValuePath != "" {
		p, err := d.relative(args.ValuePath)
		if err != nil {
			return fmt.Errorf("value_path: %w", err)
		}
		value = newPicker(p)
	}
	var failed error
	err := d.each(ctx, query{path: it.path, most: memory}, func(n node) bool {
		if n.raw == nil {
			failed = fmt.Errorf("item %d has %s, more than is looked into: choose a path to something smaller", g.result.Items, byteSize(n.size))
			return false
		}
		failed = g.item(ctx, n.raw, group, value)
		return failed == nil
	})
	return errors.Join(failed, err)
}

// item adds the values of one item.
func (g *aggregation) item(ctx context.Context, raw []byte, group, value *picker) error {
	g.result.Items++
	to := append(make([]*tally, 0, 2), g.all)
	if group != nil {
		picked, err := group.first(ctx, raw)
		if err != nil {
			return err
		}
		if picked == nil {
			picked = []byte("null")
		}
		to = append(to, g.of(sameValue(kindOf(picked[0]), picked), picked))
	}
	if value == nil {
		g.add(raw, to...)
		return nil
	}
	n := 0
	err := value.each(ctx, raw, func(v []byte) bool {
		n++
		g.add(v, to...)
		return true
	})
	if n == 0 {
		g.result.Missing++
	}
	return err
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
		r.Hints = append(r.Hints, fmt.Sprintf("there are more than %s groups; the others are one figure", thousands(maxGroups)))
	}
	if r.Skipped > 0 {
		r.Hints = append(r.Hints, fmt.Sprintf("skipped: %s that %s cannot use", plural(r.Skipped, "value"), args.Op))
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
	slices.SortStableFunc(figures, func(a, b Figure) int {
		c := compareRaw(b.Value, a.Value)
		if args.Op == Least {
			c = -c
		}
		return c
	})
	b := basket{room: maxResult}
	for i := range figures {
		f := &figures[i]
		var fits bool
		if f.Group, fits = b.fit(f.Group, len(f.Value)+32); !fits {
			r.Cut = int64(len(figures) - i)
			r.Hints = append(r.Hints, fmt.Sprintf("%s did not fit", plural(r.Cut, "group")))
			figures = figures[:i]
			break
		}
	}
	r.Groups = figures
}

// compareRaw compares numbers and strings; anything else is less.
func compareRaw(a, b json.RawMessage) int {
	ka, kb := kindOf(a[0]), kindOf(b[0])
	switch {
	case ka == isNumber && kb == isNumber:
		return jsonpath.CompareNumbers(a, b)
	case ka == isString && kb == isString:
		return cmp.Compare(textOf(a), textOf(b))
	}
	return cmp.Compare(ka, kb)
}

func (g *aggregation) figure(t *tally) Figure {
	f := Figure{Count: t.n, Value: json.RawMessage("null")}
	switch g.op {
	case CountValues:
		f.Value = fmt.Appendf(nil, "%d", t.n)
	case Distinct:
		n, estimated := g.sets.count(t.set)
		g.result.Estimated = g.result.Estimated || estimated
		f.Value = fmt.Appendf(nil, "%d", n)
	case Sum:
		f.Value = exactly(t.sum.total())
	case Average:
		if t.n > 0 {
			mean := t.sum.total()
			mean.Quo(mean, new(big.Rat).SetInt64(t.n))
			f.Value = average(mean)
		}
	default:
		if t.best != nil {
			f.Value = t.best
			f.Count = t.n - t.texts // strings beside numbers do not count
		} else if t.text != nil {
			f.Value = appendText(nil, *t.text)
		}
	}
	return f
}

// average writes a mean in full if it is short.
func average(r *big.Rat) []byte {
	const short = 15 // decimal places
	if places, exact := r.FloatPrec(); exact && places <= short {
		return []byte(r.FloatString(places))
	}
	return rounded(r)
}
