//go:build unix

package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/run"
	"pawl/store"
	"pawl/store/postgres"
	"pawl/store/postgres/pgtest"
)

// BenchmarkAppend appends two events of 600 bytes each, as a step does, to as many runs at once: by turns in
// a database of this machine, through a socket, and in SQLite. runs/s is how many runs of 40 such appends that is.
func BenchmarkAppend(b *testing.B) {
	address := pgtest.Shared(b).Address(b)
	text := strings.Repeat("x", 500)
	for _, runs := range []int{1, 8} {
		for _, kind := range []string{"sqlite", "postgres"} {
			b.Run(fmt.Sprintf("%s/%d", kind, runs), func(b *testing.B) {
				var st store.Store
				var err error
				if kind == "sqlite" {
					st, err = store.Open(b.TempDir(), store.Options{})
				} else {
					st, err = postgres.Open(b.Context(), address, postgres.Options{})
				}
				if err != nil {
					b.Fatal(err)
				}
				defer st.Close()
				took := make([][]time.Duration, runs)
				b.ResetTimer()
				var wait sync.WaitGroup
				for i := range runs {
					id := run.ID(fmt.Sprintf("%d-%d-%d", runs, i, time.Now().UnixNano()))
					wait.Go(func() {
						for n := range b.N {
							began := time.Now()
							if err := st.Append(b.Context(), id, int64(2*n), append(note(text), note(text)...)); err != nil {
								b.Error(err)
								return
							}
							took[i] = append(took[i], time.Since(began))
						}
					})
				}
				wait.Wait()
				all := slices.Sorted(slices.Values(slices.Concat(took...)))
				b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
				b.ReportMetric(float64(len(all))/b.Elapsed().Seconds()/40, "runs/s")
			})
		}
	}
}
