package command

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// smallHeap is the heap at which a collection begins as long as less than two thirds of
// it are in use.
const smallHeap = 8 << 20

// paceCollections sets how often garbage is collected from now on. pawl waits most of the
// time and shares the machine with what it starts, so that memory counts more than
// processor time: a collection begins when the heap has grown by half. (5,000 turns in a
// window of 200,000 tokens take 41 MB instead of 46.) A small heap may grow to 8 MB
// before: by half of 2 MB it grows with every turn, and 22 collections in 20 turns took a
// fifth of the processor time.
func paceCollections() {
	debug.SetGCPercent(growth(0))
	afterCollection(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(growth(live[0].Value.Uint64()))
	})
}

// growth returns by how many percent a heap of live bytes may grow.
func growth(live uint64) int {
	const least = 50
	const most = 100 * smallHeap / (4 << 20) // the runtime's least heap is 4 MB times this percentage
	if live == 0 {
		return most
	}
	return max(least, min(most, (smallHeap-int(min(live, smallHeap)))*100/int(live)))
}

// afterCollection calls f after each collection, on a goroutine of the runtime.
func afterCollection(f func()) {
	runtime.AddCleanup(new([16]byte), func(f func()) {
		afterCollection(f)
		f()
	}, f)
}
