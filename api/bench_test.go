package api_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pawl/board"
	"pawl/task"
)

// A change by the API, and one by another process, until all of fifty streams have it.
func BenchmarkAChangeReachesFiftyStreams(b *testing.B) {
	for _, who := range []string{"server", "other process"} {
		b.Run(who, func(b *testing.B) {
			s := serve(b, "")
			id := s.add("One.")
			other := s.open()
			var streams []*eventStream
			for range 50 {
				stream := s.follow("/events", 0)
				if _, err := stream.next(); err != nil {
					b.Fatal(err)
				}
				streams = append(streams, stream)
			}
			var took []time.Duration
			for n := 0; b.Loop(); n++ {
				began := time.Now()
				if who == "server" {
					s.do("PATCH", "/tasks/"+id, fmt.Sprintf(`{"priority":%d}`, n)).is(200)
				} else if _, err := board.Of(other).Do(b.Context(), task.ID(id), "anna", task.Edit{Edited: task.Edited{Priority: &n}}); err != nil {
					b.Fatal(err)
				}
				for _, stream := range streams {
					if _, err := stream.next(); err != nil {
						b.Fatal(err)
					}
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-max")
		})
	}
}
