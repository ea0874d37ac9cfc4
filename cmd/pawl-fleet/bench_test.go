//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl/forms"
	"pawl/store/postgres/pgtest"
	"pawl/task"
)

// ticks is how many of the units of /proc/PID/stat a second has.
const ticks = 100

// stat returns the parent of a process and the seconds that it, and children that it has waited for, have computed.
func stat(pid int) (parent int, own, children float64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // one that has gone has none
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 15 {
		return 0, 0, 0
	}
	number := func(i int) float64 { n, _ := strconv.ParseFloat(fields[i], 64); return n }
	return int(number(1)), (number(11) + number(12)) / ticks, (number(13) + number(14)) / ticks
}

// computed returns the seconds that a process and all below it have computed.
func computed(pid int) float64 {
	_, own, children := stat(pid)
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		child, _ := strconv.Atoi(filepath.Base(dir))
		if parent, _, _ := stat(child); parent == pid {
			own += computed(child)
		}
	}
	return own + children
}

// A bill is what a site has used.
type bill struct {
	workers, database, temporal float64 // seconds
	log, written, history       float64 // bytes: of the database, of its write-ahead log, of Temporal's database
}

func (s *site) bill(server *pgtest.Server) (b bill) {
	s.t.Helper()
	for _, all := range s.machines {
		for _, m := range all {
			b.workers += computed(m.cmd.Process.Pid)
		}
	}
	pid, err := os.ReadFile(filepath.Join(server.Data(), "postmaster.pid"))
	ok(s.t, err)
	postmaster, err := strconv.Atoi(strings.Fields(string(pid))[0])
	ok(s.t, err)
	b.database, b.temporal = computed(postmaster), computed(s.temporal.cmd.Process.Pid)
	conn, err := pgx.Connect(s.t.Context(), s.database)
	ok(s.t, err)
	defer conn.Close(s.t.Context())
	ok(s.t, conn.QueryRow(s.t.Context(), `SELECT pg_database_size(current_database())::float8, (pg_current_wal_lsn() - '0/0')::float8`).Scan(&b.log, &b.written))
	for _, name := range []string{s.temporal.file, s.temporal.file + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			b.history += float64(info.Size())
		}
	}
	return b
}

// count returns how many tasks fit.
func (s *site) count(is func(task.Summary) bool) (n int) {
	for _, sum := range s.tasks() {
		if is(sum) {
			n++
		}
	}
	return n
}

// BenchmarkTasksOnWorkers carries tasks on one worker and on three, four tasks at once on each. A task is a plan, three
// commands that wait for a second each, and a report; what it costs is counted of all processes.
func BenchmarkTasksOnWorkers(b *testing.B) {
	const tasks = 36
	var script strings.Builder
	script.WriteString(planned)
	for i := range tasks {
		for step := range 3 {
			fmt.Fprintf(&script, `{"when":{"first":"number-%d-"},"calls":[{"tool":"shell","args":{"command":"sleep 1; echo step %d >> file-%[1]d"}}]}`+"\n", i, step)
		}
		fmt.Fprintf(&script, `{"when":{"first":"number-%d-"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}`+"\n", i)
	}
	for _, workers := range []int{1, 3} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			for b.Loop() {
				server := pgtest.Start(b)
				s := newSite(b, server.Address(b))
				s.command("desk", script.String())
				for i := range tasks {
					s.add(fmt.Sprintf("write number-%d-", i))
				}
				for i := range workers {
					s.worker(fmt.Sprint("w", i), "", "--runs", "4")
				}
				before, began := s.bill(server), time.Now()
				for s.count(func(sum task.Summary) bool { return sum.Status == task.Completed }) < tasks {
					time.Sleep(200 * time.Millisecond)
				}
				took, after := time.Since(began), s.bill(server)
				b.ReportMetric(tasks/took.Seconds(), "tasks/s")
				for unit, spent := range map[string]float64{"worker-ms/task": after.workers - before.workers, "database-ms/task": after.database - before.database, "temporal-ms/task": after.temporal - before.temporal} {
					b.ReportMetric(spent*1000/tasks, unit)
				}
				for unit, grown := range map[string]float64{"database-KB/task": after.log - before.log, "wal-KB/task": after.written - before.written, "temporal-KB/task": after.history - before.history} {
					b.ReportMetric(grown/1000/tasks, unit)
				}
			}
		})
	}
}

// BenchmarkParkedTasks measures what a worker, the one that watches, computes while one task waits for a person, and while
// many do. PAWL_FLEET_PARKED says how many.
func BenchmarkParkedTasks(b *testing.B) {
	tasks := 50
	if n, err := strconv.Atoi(os.Getenv("PAWL_FLEET_PARKED")); err == nil {
		tasks = n
	}
	const script = planned + `{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"shell","args":{"command":"curl -s http://127.0.0.1:9/x"}}]}` + "\n"
	for b.Loop() {
		server := pgtest.Start(b)
		s := newSite(b, server.Address(b))
		m := s.worker("w", script, "--runs", "8")
		idle := func() float64 {
			before := s.bill(server)
			time.Sleep(10 * time.Second)
			return s.bill(server).workers - before.workers
		}
		park := func(tasks int) {
			for i := range tasks {
				s.add(fmt.Sprint("fetch ", i))
			}
			for held := true; held; time.Sleep(time.Second) {
				waits := s.count(func(sum task.Summary) bool { return sum.WaitsFor == "permission" })
				held = waits < tasks || slices.ContainsFunc(s.fleet().Tasks, func(h forms.HeldForm) bool { return h.By != "" })
			}
		}
		park(1)
		b.ReportMetric(idle()*100, "ms/s-one")
		park(tasks)
		b.ReportMetric(idle()*100, "ms/s-all")
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.cmd.Process.Pid))
		ok(b, err)
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		b.ReportMetric(kb/1000, "MB")
	}
}
