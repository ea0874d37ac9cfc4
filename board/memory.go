package board

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"pawl/internal/text"
)

// A run takes its memory in the first seconds: one that began less than settling ago counts with
// runMemory, in bytes, which is what the programs of external agents take (Claude Code 2.1 about 300 MB, OpenCode
// 1.18 about 550 MB, measured 2026-11-27).
const (
	settling  = 15 * time.Second
	runMemory = 500e6
)

// memoryShort says, for a person, why no further run may begin beside those at work, of which recent have just
// begun; empty: one may. available is how much memory can be used, negative if that is not known, and least how much
// has to be left, 0 for none, in bytes.
func memoryShort(available, least int64, recent int) string {
	left := available - int64(recent)*runMemory
	if available < 0 || least == 0 || left >= least {
		return ""
	}
	return fmt.Sprintf("%s of memory are available, and min_memory is %s", text.Size(max(0, left)), text.Size(least))
}

// availableMemory returns how much memory this process and others can use, in bytes: what the kernel says of the
// machine, or less where a control group has a limit (version 2). It is negative where that is not known, as on macOS.
func availableMemory() int64 {
	own, _ := os.ReadFile("/proc/self/cgroup")
	return memoryOf(string(own), func(file string) string {
		b, _ := os.ReadFile(file) // what is not there sets no bound
		return string(b)
	})
}

// memoryOf is availableMemory of the groups in own, a file like /proc/self/cgroup.
func memoryOf(own string, read func(file string) string) int64 {
	left := int64(math.MaxInt64)
	if kB := member(read("/proc/meminfo"), "MemAvailable:"); kB >= 0 {
		left = kB << 10
	}
	_, group, _ := strings.Cut(strings.TrimSpace(own), "0::")
	for dir := path.Join("/", group); ; dir = path.Dir(dir) {
		file := func(name string) string { return read(path.Join("/sys/fs/cgroup", dir, name)) }
		limit, err := strconv.ParseInt(strings.TrimSpace(file("memory.max")), 10, 64)
		used, usedErr := strconv.ParseInt(strings.TrimSpace(file("memory.current")), 10, 64)
		if cmp.Or(err, usedErr) == nil {
			left = min(left, max(0, limit-used+max(0, member(file("memory.stat"), "inactive_file"))))
		}
		if dir == "/" {
			break
		}
	}
	if left == math.MaxInt64 {
		return -1
	}
	return left
}

// member returns the number behind a name at the beginning of a line; -1: there is none.
func member(content, name string) int64 {
	for line := range strings.Lines(content) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}
