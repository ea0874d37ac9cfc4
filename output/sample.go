package output

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

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

// rank is a number that looks random and depends on seed and index only, so that the
// items with the lowest ranks are a random sample that is the same on every machine
// and however the items are come by. It is the finalizer of SplitMix64 (Steele, Lea,
// Flood: Fast splittable pseudorandom number generators, 2014).
func rank(seed uint64, index int64) uint64 {
	mix := func(x uint64) uint64 {
		x += 0x9E3779B97F4A7C15
		x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
		x = (x ^ x>>27) * 0x94D049BB133111EB
		return x ^ x>>31
	}
	return mix(mix(seed) ^ uint64(index))
}

// lowest keeps the indices with the lowest ranks.
type lowest struct {
	most  int
	items rankHeap
}

type ranked struct {
	index int64
	rank  uint64
}

func (l *lowest) offer(index int64, rank uint64) {
	switch {
	case len(l.items) < l.most:
		heap.Push(&l.items, ranked{index, rank})
	case l.most > 0 && rank < l.items[0].rank:
		l.items[0] = ranked{index, rank}
		heap.Fix(&l.items, 0)
	}
}

// take returns the n lowest.
func (l *lowest) take(n int) []int64 {
	all := slices.Clone(l.items)
	slices.SortFunc(all, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	var indices []int64
	for _, r := range all[:min(n, len(all))] {
		indices = append(indices, r.index)
	}
	return indices
}

func (l *lowest) indices() []int64 {
	all := l.take(len(l.items))
	slices.Sort(all)
	return all
}

// rankHeap has the highest rank on top.
type rankHeap []ranked

func (h rankHeap) Len() int           { return len(h) }
func (h rankHeap) Less(i, j int) bool { return h[i].rank > h[j].rank }
func (h rankHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *rankHeap) Push(x any)        { *h = append(*h, x.(ranked)) }
func (h *rankHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// maxStrata bounds the groups of a stratified sample.
const maxStrata = 1000

// stratify chooses by groups.
func (d *Document) stratify(ctx context.Context, items items, args SampleArgs, seed uint64, r *SampleResult) ([]int64, error) {
	by, err := d.relative(args.StrataPath)
	if err != nil {
		return nil, err
	}
	type group struct {
		Stratum
		lowest
	}
	groups := map[string]*group{}
	var order []*group
	pick := newPicker(by)
	var failed error
	err = d.each(ctx, query{path: items.path, most: memory}, func(n node) bool {
		index := r.TotalItems
		r.TotalItems++
		if n.raw == nil {
			failed = fmt.Errorf("item %d has %s, more than is looked into", index, byteSize(n.size))
			return false
		}
		var value []byte
		if value, failed = pick.first(ctx, n.raw); failed != nil {
			return false
		}
		if value != nil {
			value = sameValue(kindOf(value[0]), value)
		}
		g := groups[string(value)]
		if g == nil {
			if len(groups) == maxStrata {
				failed = fmt.Errorf("strata_path %s has more than %s different values: choose one with fewer, or strategy random", args.StrataPath, thousands(maxStrata))
				return false
			}
			g = &group{Stratum: Stratum{Value: slices.Clone(value)}, lowest: lowest{most: args.Size}}
			groups[string(value)] = g
			order = append(order, g)
		}
		g.Items++
		g.offer(index, rank(seed, index))
		return true
	})
	if err = errors.Join(failed, err); err != nil {
		return nil, err
	}
	slices.SortStableFunc(order, func(a, b *group) int { return cmp.Compare(b.Items, a.Items) })
	sizes := make([]int64, len(order))
	for i, g := range order {
		sizes[i] = g.Items
	}
	var chosen []int64
	for i, n := range apportion(sizes, int64(args.Size)) {
		g := order[i]
		chosen = append(chosen, g.take(n)...)
		g.Sampled = n
		const shown = 50
		if i < shown {
			if len(g.Value) == 0 {
				g.Value = json.RawMessage("null")
			}
			r.Strata = append(r.Strata, g.Stratum)
		} else if i == shown {
			r.Hints = append(r.Hints, fmt.Sprintf("%d of %d strata are listed", shown, len(order)))
		}
	}
	slices.Sort(chosen)
	return chosen, nil
}

// apportion says how many of size items to take from groups, largest first: one of
// each while there is room, the others by the largest remainder.
func apportion(sizes []int64, size int64) []int {
	var total int64
	for _, s := range sizes {
		total += s
	}
	size = min(size, total)
	taken := make([]int, len(sizes))
	left := size
	for i := range taken {
		if left == 0 {
			return taken
		}
		taken[i] = 1
		left--
	}
	// What is a group's due beyond what it has; groups are never larger than fits.
	for left > 0 {
		best, due := -1, 0.0
		for i, s := range sizes {
			want := float64(s)*float64(size)/float64(total) - float64(taken[i])
			if int64(taken[i]) < s && (best < 0 || want > due) {
				best, due = i, want
			}
		}
		taken[best]++
		left--
	}
	return taken
}

// items is what a question about items goes over.
type items struct {
	path  *jsonpath.Path // that selects them
	shown string         // what the model calls it: the array, or the path
	array bool           // shown is the normalized path of an array
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
		p = jsonpath.MustParse(known)
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
		return items{path: jsonpath.MustParse(array + "[:]"), shown: array, array: true}, nil
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
	if it.array && d.analysis != nil {
		if p := d.analysis.Marks.at(it.shown); p != nil {
			return p.Len, nil
		}
	}
	if it.array {
		if n, _, ok := d.countShapes(jsonpath.MustParse(it.shown), ArrayLength); ok {
			return n, nil
		}
	} else if n, _, ok := d.countShapes(it.path, Matches); ok {
		return n, nil
	}
	return d.number(ctx, it.path, nil)
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

// pick calls add for the items with the indices.
func (d *Document) pick(ctx context.Context, items items, chosen []int64, add func(int64, node)) error {
	if len(chosen) == 0 {
		return nil
	}
	const most = 4 * maxResult
	if d.analysis != nil && items.array {
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
