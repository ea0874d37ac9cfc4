package output

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/output/jsonpath"
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
	randomly   Strategy = "random"
	fromFirst  Strategy = "first"
	fromLast   Strategy = "last"
	systematic Strategy = "systematic" // every stride-th
	// stratified takes of each group as many as it has of all, at least one while there
	// is room, by chance.
	stratified Strategy = "stratified"
)

func (a *SampleArgs) defaults() { a.Size, a.Strategy = 10, randomly }

func (a *SampleArgs) check() error {
	err := errors.Join(between("size", a.Size, 1, 1000), oneOf("strategy", a.Strategy, randomly, fromFirst, fromLast, systematic, stratified))
	if a.Stride < 0 {
		err = errors.Join(err, fmt.Errorf("stride must not be negative, got %d", a.Stride))
	}
	if a.Strategy == stratified && a.StrataPath == "" {
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

// items is what a question about items goes over.
type items struct {
	path  *jsonpath.Path // that selects them
	shown string         // what the model calls it: the array, or the path
	none  string         // why there are none, if so
}

// items finds the items that a path means: the elements of the first array that it
// selects and that is not empty, or else what it selects. An empty path means the first
// such array of the document.
func (d *Document) items(ctx context.Context, path string) (items, error) {
	p, firstElement := jsonpath.MustParse("$"), jsonpath.MustParse("$..[:1]")
	if path != "" {
		var err error
		if p, err = d.parse(path); err != nil {
			return items{}, err
		}
		firstElement = p.Then("[:1]")
	}
	array := ""
	err := d.each(ctx, firstElement, jsonpath.Options{NoRaw: true, AnyOrder: path == ""}, func(m jsonpath.Match) bool {
		array = string(m.Path())
		array = array[:len(array)-len(jsonpath.Element(0))]
		return false
	})
	if err != nil {
		return items{}, err
	}
	if array != "" {
		p, err := d.parse(array)
		if err != nil {
			return items{}, err
		}
		return items{path: p.Then("[:]"), shown: array}, nil
	}
	it := items{path: p, shown: p.String(), none: d.missing(p, p.String())}
	err = d.each(ctx, p, jsonpath.Options{NoRaw: true}, func(m jsonpath.Match) bool {
		if it.none = ""; m.Kind == jsonpath.Array {
			it.none = "the array is empty"
		}
		return false
	})
	return it, err
}

// eachItem calls found for each of the items that a path means, until it returns false.
// It calls restart if it has to begin anew.
func (d *Document) eachItem(ctx context.Context, path string, opt jsonpath.Options, restart func(), found func(jsonpath.Match) bool) (items, error) {
	if path != "" { // mostly it selects arrays first or not at all: then one reading is enough
		p, err := d.parse(path)
		if err != nil {
			return items{}, err
		}
		n, once := 0, opt
		once.NoArrays = true
		err = d.each(ctx, p, once, func(m jsonpath.Match) bool { n++; return found(m) })
		if err == nil && n > 0 || err != nil && err != jsonpath.ErrArray {
			return items{path: p, shown: p.String()}, err
		}
	}
	it, err := d.items(ctx, path)
	if err != nil || it.none != "" {
		return it, err
	}
	restart()
	return it, d.each(ctx, it.path, opt, found)
}

// Sample answers tool_outputs.sample.
func (d *Document) Sample(ctx context.Context, args SampleArgs) (SampleResult, error) {
	r := SampleResult{Target: args.Target, Sample: []json.RawMessage{}, Indices: []int64{}}
	return r, d.explain("sample", d.sample(ctx, args, &r))
}

func (d *Document) sample(ctx context.Context, args SampleArgs, r *SampleResult) error {
	it, err := d.items(ctx, args.Path)
	if err != nil {
		return err
	}
	if r.Path = it.shown; it.none != "" {
		r.Hints = append(r.Hints, it.none)
		return nil
	}
	seed := rand.Uint64() >> 12 // JSON readers keep 53 bits
	if args.Seed != nil {
		seed = *args.Seed
	}
	if args.Strategy == randomly || args.Strategy == stratified {
		r.Seed = &seed
	}
	var chosen []int64
	if args.Strategy == stratified {
		chosen, err = d.stratify(ctx, it, args, seed, r)
	} else if n, plain, known := d.countShapes(it.path, matches); known && !plain {
		r.TotalItems = n
	} else {
		r.TotalItems, err = d.count(ctx, it.path, nil)
	}
	if err != nil {
		return err
	}
	if args.Strategy != stratified {
		chosen = choose(args, seed, r.TotalItems)
	}
	return d.pick(ctx, it, chosen, r)
}

// choose returns the indices of a sample that needs no look at the items, ascending.
func choose(args SampleArgs, seed uint64, total int64) (all []int64) {
	n := min(int64(args.Size), total)
	from, stride := int64(0), int64(1)
	switch args.Strategy {
	case randomly:
		r := reservoir{most: int(n)}
		for i := range total {
			r.offer(i, seed)
		}
		all = r.take(int(n))
		slices.Sort(all)
		return all
	case fromLast:
		from = total - n
	case systematic:
		if stride = int64(args.Stride); stride == 0 {
			stride = max(1, total/int64(args.Size))
		}
	}
	for i := from; i < total && len(all) < args.Size; i += stride {
		all = append(all, i)
	}
	return all
}

// pick reads the items with the indices, which ascend.
func (d *Document) pick(ctx context.Context, it items, chosen []int64, r *SampleResult) error {
	b := budget{room: maxResult}
	index, k := int64(0), 0
	if len(chosen) == 0 {
		return nil
	}
	err := d.each(ctx, it.path, jsonpath.Options{MaxRaw: maxRaw}, func(m jsonpath.Match) bool {
		if index == chosen[k] {
			k++
			if value, ok := b.put(m, it.shown+jsonpath.Element(index)); ok {
				r.Sample = append(r.Sample, value)
				r.Indices = append(r.Indices, index)
			} else {
				r.Cut++
			}
		}
		index++
		return k < len(chosen)
	})
	if r.Cut > 0 {
		r.Hints = append(r.Hints, fmt.Sprintf("%d items are left out because they do not fit: ask for a smaller size, or extract parts of items", r.Cut))
	}
	r.SampleSize = len(r.Sample)
	return err
}

// stratify chooses by groups.
func (d *Document) stratify(ctx context.Context, it items, args SampleArgs, seed uint64, r *SampleResult) ([]int64, error) {
	const most, shown = 1000, 50 // groups that are told apart; that are listed
	by, err := d.relative("strata_path", args.StrataPath)
	if err != nil {
		return nil, err
	}
	type group struct {
		Stratum
		reservoir
	}
	groups := map[string]*group{}
	var order []*group
	var failed error
	var key []byte
	err = d.each(ctx, it.path, jsonpath.Options{NoRaw: true, Pick: []*jsonpath.Path{by}}, func(m jsonpath.Match) bool {
		key, err = groupOf(m, 0, key)
		g := groups[string(key)]
		switch {
		case err == nil && g == nil && len(groups) == most:
			err = fmt.Errorf("strata_path %s has more than %s different values: choose one with fewer, or strategy random", args.StrataPath, text.Commas(most))
		case err == nil && g == nil:
			g = &group{Stratum: Stratum{Value: slices.Clone(key)}, reservoir: reservoir{most: args.Size}}
			groups[string(key)] = g
			order = append(order, g)
		}
		if failed = err; err != nil {
			return false
		}
		g.Items++
		g.offer(r.TotalItems, seed)
		r.TotalItems++
		return true
	})
	if err = errors.Join(failed, err); err != nil {
		return nil, err
	}
	stable.Sort(order, func(a, b *group) int { return cmp.Compare(b.Items, a.Items) })
	sizes := make([]int64, len(order))
	for i, g := range order {
		sizes[i] = g.Items
	}
	var chosen []int64
	for i, n := range apportion(sizes, r.TotalItems, int64(args.Size)) {
		g := order[i]
		chosen = append(chosen, g.take(n)...)
		if g.Sampled = n; i < shown {
			r.Strata = append(r.Strata, g.Stratum)
		} else if i == shown {
			r.Hints = append(r.Hints, fmt.Sprintf("%d of %d strata are listed", shown, len(order)))
		}
	}
	slices.Sort(chosen)
	return chosen, nil
}

// groupOf returns the first value that a picked path selects of an item, as every equal
// one is written; null if there is none. It uses the memory of scratch.
func groupOf(m jsonpath.Match, pick int, scratch []byte) (key []byte, err error) {
	const longest = 4 << 10 // bytes
	v := m.PickedFirst(pick)
	if v.Kind() == jsonpath.Nothing {
		return append(scratch[:0], "null"...), nil
	}
	if key = v.AppendCanonical(scratch[:0]); len(key) > longest {
		err = fmt.Errorf("the value at byte %d has %s, too much to group by: choose a path to something smaller", m.Offset, text.Size(int64(len(key))))
	}
	return key, err
}

// apportion says how many of size items to take from groups, largest first, of total
// items: one of each while there is room, the others by the largest remainder.
func apportion(sizes []int64, total, size int64) []int {
	left := min(size, total)
	share := float64(left) / float64(total)
	taken := make([]int, len(sizes))
	for i := range taken {
		if left == 0 {
			return taken
		}
		taken[i] = 1
		left--
	}
	for ; left > 0; left-- {
		best, due := -1, 0.0
		for i, s := range sizes {
			if want := float64(s)*share - float64(taken[i]); int64(taken[i]) < s && (best < 0 || want > due) {
				best, due = i, want
			}
		}
		taken[best]++
	}
	return taken
}

// A reservoir keeps the items with the lowest ranks, which are a random sample.
type reservoir struct {
	most  int
	items []ranked // up to twice as many
	bound uint64   // those of a rank from it on are not among them; 0: not known
}

type ranked struct {
	index int64
	rank  uint64
}

// rank is a number that looks random and depends on seed and index only, so that a sample
// is the same on every machine. It is the finalizer of SplitMix64 (Steele, Lea, Flood:
// Fast splittable pseudorandom number generators, 2014).
func rank(seed uint64, index int64) uint64 {
	mix := func(x uint64) uint64 {
		x += 0x9E3779B97F4A7C15
		x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
		x = (x ^ x>>27) * 0x94D049BB133111EB
		return x ^ x>>31
	}
	return mix(mix(seed) ^ uint64(index))
}

func (r *reservoir) offer(index int64, seed uint64) {
	x := ranked{index, rank(seed, index)}
	if r.bound > 0 && x.rank >= r.bound {
		return
	}
	if r.items = append(r.items, x); len(r.items) > 2*r.most {
		r.cut()
	}
}

// cut leaves the items with the lowest ranks, in the order of their ranks.
func (r *reservoir) cut() {
	stable.Sort(r.items, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	if len(r.items) > r.most {
		r.bound = r.items[r.most].rank
		r.items = r.items[:r.most]
	}
}

// take returns the indices with the n lowest ranks.
func (r *reservoir) take(n int) (indices []int64) {
	r.cut()
	for _, x := range r.items[:min(n, len(r.items))] {
		indices = append(indices, x.index)
	}
	return indices
}
