package proc

import (
	"bytes"
	"fmt"
	"os"
)

// State returns the state of a process as proc_pid_stat(5) has it: R, S, T, …; empty if
// unknown.
func State(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// 123 (name, which may have spaces and parentheses) S 1 …
	_, rest, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	if err != nil || !ok || len(rest) == 0 {
		return ""
	}
	return string(rest[:1])
}
