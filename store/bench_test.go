package store_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pawl/run"
	"pawl/store"
)

// step is what one step of a run appends with a call in it: about 1 KB.
func step(n int) []run.Event {
	id := run.CallID(fmt.Sprint("c_", n))
	now := time.Unix(1_795_000_000, int64(n))
	answer := run.Replied{
		Parts: []run.Part{
			run.Text("I look at the file first."),
			{Type: run.CallPart, Call: &run.Call{ID: id, ProviderID: "toolu_01AbCdEf", Tool: "read", Arguments: `{"path":"store/store.go"}`}},
		},
		Stop: run.StopToolUse, Model: "claude-x", Usage: run.Usage{Input: 100, CacheRead: 20000, Output: 60, Cost: 0.01, Priced: true},
	}
	return []run.Event{
		{At: now, Payload: answer},
		{At: now, Payload: run.CallInspected{Call: id, Tool: "read", Class: run.Reads, Key: strings.Repeat("0f", 32)}},
		{At: now, Payload: run.CallDecided{Call: id, Decision: run.Decision{Answer: run.Allow, Rule: "read(**)", Source: "default"}}},
		{At: now, Payload: run.CallStarted{Call: id, Attempt: 1}},
		{At: now, Payload: run.CallSettled{Call: id, Outcome: run.OK, Content: []run.Part{run.Text(strings.Repeat("a line of the file\n", 20))}, Key: strings.Repeat("f0", 32)}},
		{At: now, Payload: run.RequestStarted{Purpose: run.ForStep, Attempt: 1, Model: "claude-x"}},
	}
}

func BenchmarkAppendOfFourEvents(b *testing.B) {
	st := open(b, b.TempDir())
	var seq int64
	for b.Loop() {
		if err := st.Append(b.Context(), "r", seq, step(int(seq))[:4]); err != nil {
			b.Fatal(err)
		}
		seq += 4
	}
}

// Eight runs of one process: the sync is shared, so this is the time per append.
func BenchmarkAppendOfFourEventsToEightRunsAtOnce(b *testing.B) {
	st := open(b, b.TempDir())
	var runs atomic.Int64
	b.SetParallelism(4) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		id := run.ID(fmt.Sprint("r", runs.Add(1)))
		var seq int64
		for pb.Next() {
			if err := st.Append(b.Context(), id, seq, step(int(seq))[:4]); err != nil {
				b.Error(err)
				return
			}
			seq += 4
		}
	})
}

// fill makes a run of 50,000 events.
func fill(b *testing.B, st store.Store) int {
	b.Helper()
	const total = 50_000
	var all []run.Event
	for n := 0; len(all) < total; n++ {
		all = append(all, step(n)...)
	}
	all = all[:total]
	for from := 0; from < total; from += 5000 {
		if err := st.Append(b.Context(), "r", int64(from), all[from:from+5000]); err != nil {
			b.Fatal(err)
		}
	}
	return total
}

func BenchmarkLoad50000Events(b *testing.B) {
	st := open(b, b.TempDir())
	total := fill(b, st)
	for b.Loop() {
		n := 0
		for _, err := range st.Events(b.Context(), "r", 0) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != total {
			b.Fatalf("got %d events, want %d", n, total)
		}
	}
}

func BenchmarkVerify50000Events(b *testing.B) {
	st := open(b, b.TempDir())
	fill(b, st)
	for b.Loop() {
		if err := st.Verify(b.Context(), "r"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListOf10000Runs(b *testing.B) {
	st := open(b, b.TempDir())
	var making sync.WaitGroup
	for part := range 100 { // many at once share a commit
		making.Go(func() {
			for n := range 100 {
				id := run.ID(fmt.Sprintf("20261122-1530-%03d%03d", part, n))
				created := run.Created{Run: id, Workspace: "/home/user/project", Config: run.Config{Model: "anthropic/claude-x"}}
				prompted := run.Prompted{Parts: []run.Part{run.Text("repair the test that fails since yesterday")}}
				at := time.Unix(1_795_000_000, int64(n))
				if err := st.Append(b.Context(), id, 0, []run.Event{{At: at, Payload: created}, {At: at, Payload: prompted}}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	making.Wait()
	for name, limit := range map[string]int{"last": 1, "all": 0} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if all, err := st.Runs(b.Context(), limit); err != nil || len(all) != max(limit, 1) && len(all) != 10_000 {
					b.Fatal(len(all), err)
				}
			}
		})
	}
}

func BenchmarkOpenExisting(b *testing.B) {
	dir := b.TempDir()
	st := open(b, dir)
	fill(b, st)
	for b.Loop() {
		again, err := store.Open(dir, store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkOwnAndRelease(b *testing.B) {
	st := open(b, b.TempDir())
	for b.Loop() {
		lease, err := st.Own(b.Context(), "r", "/run/user/0/pawl/1-abcdef.sock")
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			b.Fatal(err)
		}
	}
}

// A page of a list of 10,000 tasks, by status.
func BenchmarkListOfTenThousandTasks(b *testing.B) {
	st := open(b, b.TempDir())
	var wait sync.WaitGroup
	slots := make(chan struct{}, 64) // they share the syncs
	for i := range 10_000 {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			row := store.TaskRow{Status: []string{"pending", "planned", "active", "completed"}[i%4], Agent: "developer", Priority: i % 3, Labels: []string{fmt.Sprint("l", i%20)}, Summary: strings.Repeat("x", 400)}
			err := st.AppendTask(b.Context(), store.TaskAppend{Task: fmt.Sprint("t", i), Row: row, Events: []store.TaskEvent{{At: time.Unix(int64(i), 0), Type: "task_created", Version: 1, Data: "{}"}}})
			if err != nil {
				b.Error(err)
			}
		})
	}
	wait.Wait()
	for _, q := range []store.TaskQuery{{Limit: 100}, {Status: []string{"active", "planned"}, Limit: 100}, {Label: "l7", Limit: 100}, {Agent: "developer", Limit: 500}, {}} {
		b.Run(fmt.Sprintf("%v,%s,%s,%d", q.Status, q.Label, q.Agent, q.Limit), func(b *testing.B) {
			for b.Loop() {
				rows, _, err := st.Tasks(b.Context(), q)
				if err != nil || len(rows) == 0 {
					b.Fatal(len(rows), err)
				}
			}
		})
	}
}

// Submissions of many runs at once, each durable in one transaction with its task.
func BenchmarkSubmissions(b *testing.B) {
	st := open(b, b.TempDir())
	var n atomic.Int64
	b.SetParallelism(25) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := n.Add(1)
			r, k := run.ID(fmt.Sprint("r", id)), fmt.Sprint("t", id)
			err := st.AppendWithTask(b.Context(), r, 0, step(int(id))[:4], store.TaskAppend{Task: k, Row: store.TaskRow{Status: "planned", Summary: "{}"},
				Events:     []store.TaskEvent{{At: time.Now(), Type: "planner_output_submitted", Version: 1, Run: r, Data: "{}"}, {At: time.Now(), Type: "status_changed", Version: 1, Data: "{}"}},
				Submission: &store.Submission{Run: r, Tool: "planner-output", Assignment: 1, Value: "{}", At: time.Now()}})
			if err != nil {
				b.Error(err)
			}
		}
	})
}
