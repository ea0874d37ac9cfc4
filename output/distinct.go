package output

import "hash/fnv"

// distinct counts different values of many groups in bounded memory: exactly up to
// maxDistinct in all groups together, beyond that by adaptive sampling (M. Wegman;
// described by P. Flajolet, On adaptive sampling, 1990): of all hashes only those that
// end in level zeros are kept, and each stands for 2^level.
type distinct struct {
	level int
	kept  int
	sets  []map[uint64]struct{}
}

// maxDistinct hashes take about 10 MB.
const maxDistinct = 1 << 18

// group returns the number of a new group.
func (d *distinct) group() int {
	d.sets = append(d.sets, nil)
	return len(d.sets) - 1
}

func (d *distinct) add(group int, value []byte) {
	h := fnv.New64a()
	h.Write(value)
	x := rank(0, int64(h.Sum64())) // FNV's last bits alone are not random enough
	if x&(1<<d.level-1) != 0 {
		return
	}
	if d.sets[group] == nil {
		d.sets[group] = map[uint64]struct{}{}
	}
	if _, ok := d.sets[group][x]; ok {
		return
	}
	d.sets[group][x] = struct{}{}
	if d.kept++; d.kept > maxDistinct {
		d.thin()
	}
}

func (d *distinct) thin() {
	d.level++
	d.kept = 0
	for _, set := range d.sets {
		for x := range set {
			if x&(1<<d.level-1) != 0 {
				delete(set, x)
			}
		}
		d.kept += len(set)
	}
}

func (d *distinct) count(group int) (n int64, estimated bool) {
	return int64(len(d.sets[group])) << d.level, d.level > 0
}
