package output

import (
	"cmp"
	"container/heap"
	"slices"
)

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
