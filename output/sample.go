package output

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
)

// SampleArgs are the arguments of tool_outputs.sample.
type SampleArgs struct {
	Target
	// Path is an array, or what to choose from if it selects no array. Left out, it is
	// the first array of the document.
	Path     string   `json:"path"`
	Size     int      `json:"size"`
	Strategy Strategy `json:"strategy"`
	// Seed makes a random choice the same every time and on every machine.
	Seed *uint64 `json:"seed"`
	// Stride is how far the items of a systematic sample are apart; left out, so far
	// that the sample goes over the whole array.
	Stride int `json:"stride"`
	// StrataPath is what of each item says to which group it belongs, such as @.type.
	StrataPath string `json:"strata_path"`
}

// A Strategy is a way to choose.
type Strategy string

const (
	Random     Strategy = "random"
	First      Strategy = "first"
	Last       Strategy = "last"
	Systematic Strategy = "systematic" // every stride-th
	// Stratified takes of each group as many as it has of all, at least one while there
	// is room, by chance.
	Stratified Strategy = "stratified"
)

func (a *SampleArgs) defaults() { a.Size, a.Strategy = 10, Random }

func (a *SampleArgs) check() error {
	err := errors.Join(
		between("size", a.Size, 1, 1000),
		oneOf("strategy", string(a.Strategy), string(Random), string(First), string(Last), string(Systematic), string(Stratified)),
	)
	if a.Stride < 0 {
		err = errors.Join(err, fmt.Errorf("stride must not be negative, got %d", a.Stride))
	}
	if a.Strategy == Stratified && a.StrataPath == "" {
		err = errors.Join(err, errors.New("strategy stratified needs strata_path, such as @.type"))
	}
	return err
}

// SampleResult is the result of tool_outputs.sample.
type SampleResult struct {
	Target
	Path       string            `json:"path"`
	Sample     []json.RawMessage `json:"sample"` // in the order of the array
	TotalItems int64             `json:"total_items"`
	SampleSize int               `json:"sample_size"`
	Indices    []int64           `json:"indices"`
	Seed       *uint64           `json:"seed,omitempty"`   // that was used
	Strata     []Stratum         `json:"strata,omitempty"` // largest first
	// Cut is how many of the items that were chosen did not fit.
	Cut   int      `json:"cut,omitempty"`
	Hints []string `json:"hints,omitempty"`
}

// A Stratum is one group of a stratified sample.
type Stratum struct {
	Value   json.RawMessage `json:"value"` // null too if the item has none
	Items   int64           `json:"items"`
	Sampled int             `json:"sampled"`
}

// Sample answers tool_outputs.sample.
func (d *Document) Sample(ctx context.Context, args SampleArgs) (SampleResult, error) {
	r := SampleResult{Target: args.Target, Sample: []json.RawMessage{}, Indices: []int64{}}
	err := d.prepare()
	if err == nil {
		err = d.sample(ctx, args, &r)
	}
	return r, d.explain("sample", err)
}

func (d *Document) sample(ctx context.Context, args SampleArgs, r *SampleResult) error {
	items, err := d.items(ctx, args.Path)
	if err != nil {
		return err
	}
	r.Path = items.shown
	if items.none {
		r.Hints = append(r.Hints, items.why)
		return nil
	}
	seed := rand.Uint64() >> 12 // JSON readers keep 53 bits
	if args.Seed != nil {
		seed = *args.Seed
	}
	var chosen []int64
	switch args.Strategy {
	case Stratified:
		if chosen, err = d.stratify(ctx, items, args, seed, r); err != nil {
			return err
		}
	default:
		if r.TotalItems, err = d.length(ctx, items); err != nil {
			return err
		}
		chosen = choose(args, seed, r.TotalItems)
	}
	if args.Strategy == Random || args.Strategy == Stratified {
		r.Seed = &seed
	}
	return d.fetch(ctx, items, chosen, r)
}

// choose returns the indices of a sample that needs no look at the items, ascending.
func choose(args SampleArgs, seed uint64, total int64) []int64 {
	n := min(int64(args.Size), total)
	var all []int64
	switch args.Strategy {
	case First:
		for i := range n {
			all = append(all, i)
		}
	case Last:
		for i := total - n; i < total; i++ {
			all = append(all, i)
		}
	case Systematic:
		stride := int64(args.Stride)
		if stride == 0 {
			stride = max(1, total/int64(args.Size))
		}
		for i := int64(0); i < total && len(all) < args.Size; i += stride {
			all = append(all, i)
		}
	default:
		l := lowest{most: int(n)}
		for i := range total {
			l.offer(i, rank(seed, i))
		}
		all = l.indices()
	}
	return all
}

// fetch reads the items with the indices, which ascend.
func (d *Document) fetch(ctx context.Context, items items, chosen []int64, r *SampleResult) error {
	b := basket{room: maxResult}
	add := func(index int64, n node) {
		if value, ok := b.put(n, items.shown+indexStep(index)); ok {
			r.Sample = append(r.Sample, value)
			r.Indices = append(r.Indices, index)
		} else {
			r.Cut++
		}
	}
	if err := d.pick(ctx, items, chosen, add); err != nil {
		return err
	}
	if r.Cut > 0 {
		r.Hints = append(r.Hints, fmt.Sprintf("%d items are left out because they do not fit: ask for a smaller size, or extract parts of items", r.Cut))
	}
	r.SampleSize = len(r.Sample)
	return nil
}
