package output

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

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
