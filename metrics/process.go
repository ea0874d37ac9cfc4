package metrics

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"time"
)

// began is when this process began, as nearly as it is of use.
var began = time.Now()

// clockTick is the unit of processor time in /proc: USER_HZ, which is 100 on every Linux.
const clockTick = 100

// Process returns the figures of this process, by the names that the libraries of Prometheus
// give them. What the operating system does not tell in /proc is left out.
func Process(version string) []Gauge {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	one := func(v float64) map[string]float64 { return map[string]float64{"": v} }
	all := []Gauge{
		{Name: "pawl_build_info", Help: "The version of pawl; the figure is always 1.", Label: "version", Values: map[string]float64{version: 1}},
		{Name: "process_start_time_seconds", Help: "When the process began, in seconds since 1970.", Values: one(float64(began.UnixMilli()) / 1000)},
		{Name: "go_goroutines", Help: "Goroutines that exist.", Values: one(float64(runtime.NumGoroutine()))},
		{Name: "go_memstats_heap_alloc_bytes", Help: "Bytes of the heap that are in use.", Values: one(float64(m.HeapAlloc))},
		{Name: "go_memstats_sys_bytes", Help: "Bytes of memory from the operating system.", Values: one(float64(m.Sys))},
	}
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		// proc(5): what follows the name in parentheses begins with field 3.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		const utime, stime, rss = 14 - 3, 15 - 3, 24 - 3
		if len(fields) > rss {
			figure := func(i int) float64 {
				v, _ := strconv.ParseFloat(string(fields[i]), 64) // the kernel writes numbers
				return v
			}
			all = append(all,
				Gauge{Name: "process_cpu_seconds_total", Help: "Processor time of the process in seconds.", Total: true, Values: one((figure(utime) + figure(stime)) / clockTick)},
				Gauge{Name: "process_resident_memory_bytes", Help: "Memory of the process that is in RAM, in bytes.", Values: one(figure(rss) * float64(os.Getpagesize()))})
		}
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		all = append(all, Gauge{Name: "process_open_fds", Help: "Open file descriptors.", Values: one(float64(len(open)))})
	}
	return all
}
