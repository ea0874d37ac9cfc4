package api_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

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
				} else if _, err := board.Of(other).Do(b.Context(), task.ID(id), "anna", task.Edited{Priority: &n}); err != nil {
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

// How long a browser takes until it paints a board with many tasks for the first time, until it has cards, and until it knows all of them.
func BenchmarkABoardOpens(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := serve(b, "")
			for i := range n {
				if _, err := board.Of(s.ws).Add(b.Context(), "anna", task.Created{Description: fmt.Sprintf("Task %d", i)}); err != nil {
					b.Fatal(err)
				}
			}
			page := s.browse(1400)
			since := func(expression string) float64 { // the page was asked for
				v, err := chromedp.Run(page.ctx, chromedp.Poll[float64]("("+expression+") && performance.now()", chromedp.WithPollingTimeout(0)))
				must(b, err)
				return v
			}
			var painted, drawn, known []float64
			for b.Loop() {
				page.do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.url+"/"))
				drawn = append(drawn, since(`document.querySelector(".card")`))
				known = append(known, since(fmt.Sprintf(`document.querySelector(".count")?.textContent === "%d"`, n)))
				first, err := chromedp.Run(page.ctx, chromedp.Poll[float64](`performance.getEntriesByName("first-contentful-paint")[0]?.startTime`, chromedp.WithPollingTimeout(0)))
				must(b, err)
				painted = append(painted, first)
			}
			slices.Sort(painted)
			slices.Sort(drawn)
			slices.Sort(known)
			b.ReportMetric(painted[len(painted)/2], "ms-paint")
			b.ReportMetric(drawn[len(drawn)/2], "ms-cards")
			b.ReportMetric(known[len(known)/2], "ms-all")
		})
	}
}

// A change until a page shows it, beside nineteen other streams.
func BenchmarkAChangeIsShown(b *testing.B) {
	s := serve(b, "")
	id := s.add("One.")
	for range 19 {
		stream := s.follow("/events", 0)
		go func() {
			for {
				if _, err := stream.next(); err != nil {
					return
				}
			}
		}()
	}
	page := s.browse(1400)
	page.sees("One.")
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		began := time.Now()
		s.do("PATCH", "/tasks/"+id, fmt.Sprintf(`{"labels":["l%d"]}`, n)).is(200)
		page.sees(fmt.Sprintf("l%d", n))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-max")
}

// A change until each of twenty pages of one browser shows it, by the clock of the machine that both have. The pages share
// one stream, and the processors.
func BenchmarkAChangeIsShownInTwentyPages(b *testing.B) {
	s := serve(b, "")
	id := s.add("One.")
	pages := []browser{s.browse(1400)}
	for len(pages) < 20 {
		page, _ := pages[0].tab(s.url + "/")
		pages = append(pages, page)
	}
	for _, page := range pages {
		page.sees("One.")
		page.do(chromedp.Evaluate[chromedp.Void](`window.shown = {}; new MutationObserver(() => { for (const e of document.querySelectorAll(".label")) shown[e.textContent] ??= Date.now(); })
			.observe(document.body, { childList: true, subtree: true, characterData: true }); undefined`))
	}
	var all, last []float64
	for n := 0; b.Loop(); n++ {
		began := float64(time.Now().UnixMilli())
		s.do("PATCH", "/tasks/"+id, fmt.Sprintf(`{"labels":["l%d"]}`, n)).is(200)
		slowest := 0.0
		for _, page := range pages {
			at, err := chromedp.Run(page.ctx, chromedp.Poll[float64](fmt.Sprintf(`window.shown["l%d"]`, n)))
			must(b, err)
			all, slowest = append(all, at-began), max(slowest, at-began)
		}
		last = append(last, slowest)
	}
	slices.Sort(all)
	slices.Sort(last)
	b.ReportMetric(all[len(all)/2], "ms-median")
	b.ReportMetric(last[len(last)/2], "ms-last-page")
	b.ReportMetric(last[len(last)-1], "ms-max")
}

// The memory of an open page's stream: of the server and of its client, which is in the same process.
func BenchmarkMemoryOfAnOpenPage(b *testing.B) {
	const pages = 100
	for b.Loop() {
		s := serve(b, "")
		for i := range 1000 {
			if _, err := board.Of(s.ws).Add(b.Context(), "anna", task.Created{Description: fmt.Sprintf("Task %d", i)}); err != nil {
				b.Fatal(err)
			}
		}
		used := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc + m.StackInuse
		}
		before := used()
		for range pages {
			stream := s.follow("/events", 0)
			if _, err := stream.next(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(used()-before)/pages/1024, "KB/page")
	}
}
