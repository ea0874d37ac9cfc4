package board

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatMemoryCanBeUsedIsTheLeastOfMachineAndGroups(t *testing.T) {
	t.Parallel()
	const machine = "MemTotal:       24000000 kB\nMemFree:          100000 kB\nMemAvailable:    2000000 kB\n"
	for name, c := range map[string]struct {
		own   string
		files map[string]string
		want  int64
	}{
		"nothing is known": {"", nil, -1},
		"the machine":      {"0::/user.slice\n", map[string]string{"/proc/meminfo": machine, "/sys/fs/cgroup/user.slice/memory.max": "max\n"}, 2000000 << 10},
		"a container, with files that can be dropped": {"0::/\n", map[string]string{"/proc/meminfo": machine,
			"/sys/fs/cgroup/memory.max": "1000\n", "/sys/fs/cgroup/memory.current": "900\n", "/sys/fs/cgroup/memory.stat": "anon 500\ninactive_file 50\n"}, 150},
		"a group above": {"0::/a/b\n", map[string]string{"/proc/meminfo": machine,
			"/sys/fs/cgroup/a/memory.max": "1000\n", "/sys/fs/cgroup/a/memory.current": "1200\n", "/sys/fs/cgroup/a/b/memory.max": "800\n", "/sys/fs/cgroup/a/b/memory.current": "100\n"}, 0},
		"groups of version 1": {"5:memory:/x\n", map[string]string{"/proc/meminfo": machine}, 2000000 << 10},
	} {
		if got := memoryOf(c.own, func(file string) string { return c.files[file] }); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := availableMemory(); got == 0 {
		t.Error("there is no memory on this machine")
	}
}

func TestARunThatHasJustBegunCountsWithTheMemoryThatItWillTake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		available, least int64
		recent           int
		want             string
	}{
		{-1, 512e6, 3, ""},
		{2e9, 512e6, 2, ""},
		{2e9, 512e6, 3, "500.0 MB of memory are available, and min_memory is 512.0 MB"},
		{100e6, 512e6, 1, "0 B of memory are available, and min_memory is 512.0 MB"},
		{100e6, 0, 3, ""},
	} {
		if got := memoryShort(c.available, c.least, c.recent); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// The first run always begins. A further one waits while memory is short, is told why, and begins by itself when it
// is not.
func TestRunsWaitForMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := int64(100e6)
		s := newSlots(3, 512e6, func() int64 { return free })
		var told []string
		held := func(h *hold) { told = append(told, h.why) }
		if !s.take(t.Context(), 0, nil, held) || len(told) != 0 {
			t.Fatalf("the first waits: %q", told)
		}
		got := make(chan bool)
		go func() { got <- s.take(t.Context(), 0, nil, held) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("it began")
		default:
		}
		if len(told) != 1 || told[0] != "0 B of memory are available, and min_memory is 512.0 MB" {
			t.Errorf("it was told %q", told)
		}
		s.mu.Lock()
		free = 8e9
		s.mu.Unlock()
		if !<-got {
			t.Error("it did not begin")
		}
		told = nil
		if !s.take(t.Context(), 0, nil, held) {
			t.Error("the third did not begin")
		}
		go func() { got <- s.take(t.Context(), 0, nil, held) }()
		synctest.Wait()
		s.mu.Lock()
		free = 0
		s.mu.Unlock()
		s.give()
		synctest.Wait()
		if len(told) != 2 || told[0] != "at most 3 may work at once" || told[1] != "0 B of memory are available, and min_memory is 512.0 MB" {
			t.Errorf("a fourth was told %q", told)
		}
		s.give()
		s.give()
		if !<-got {
			t.Error("the fourth did not begin")
		}
	})
}
