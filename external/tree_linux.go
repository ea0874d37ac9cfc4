package external

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pawl/run"
)

// The processes of a turn are found in /proc: those whose environment has the mark of its
// run, and the descendants of those and of the program. A process group or session does not
// do: agents start their commands in sessions of their own, which outlive a kill of the group
// (observed for Claude Code, OpenCode and Gemini CLI). A process is missed only if it has
// left the tree and has dropped its environment too.

// ownSession starts a process in a session of its own: it has no terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// interrupt sends SIGINT to the group of a program, as Ctrl-C does.
func interrupt(pid int) { _ = syscall.Kill(-pid, syscall.SIGINT) }

// terminateTree sends SIGTERM to the tree.
func terminateTree(mark string, pid int) { tree(mark, pid).signal(syscall.SIGTERM) }

// killTree kills the tree, and what was seen of it before, until none is left. A process that cannot be killed, because
// the kernel holds it, is waited for at most killPatience.
func killTree(mark string, pid int, seen members) {
	// Stopped first, so that none of them starts another that is not seen.
	known := members{}
	maps.Copy(known, seen)
	for range 10 {
		added := tree(mark, pid).without(known)
		if len(added) == 0 {
			break
		}
		added.signal(syscall.SIGSTOP)
		maps.Copy(known, added)
	}
	for end := time.Now().Add(killPatience); known.signal(syscall.SIGKILL) > 0 && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
		maps.Copy(known, tree(mark, pid))
	}
}

const killPatience = 3 * time.Second

// endTree ends what carries a mark: SIGINT, SIGTERM, SIGKILL, with patience between them.
func endTree(mark string, patience time.Duration) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if tree(mark, unknown).signal(sig) == 0 {
			return
		}
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if len(tree(mark, unknown)) == 0 {
				return
			}
		}
	}
	killTree(mark, unknown, nil)
}

// atWork returns the processes that carry marks which begin with prefix, by the run that the mark names.
func atWork(prefix string) map[run.ID]members {
	found := map[run.ID]members{}
	for pid, s := range processes() {
		if pid == os.Getpid() { // an agent has started this pawl
			continue
		}
		for v := range bytes.SplitSeq(environ(pid), []byte{0}) {
			if id, ok := bytes.CutPrefix(v, []byte(prefix)); ok {
				if found[run.ID(id)] == nil {
					found[run.ID(id)] = members{}
				}
				found[run.ID(id)][pid] = s.start
			}
		}
	}
	return found
}

// memory returns how much memory they take, in bytes. What several processes share counts with each for its part.
func (m members) memory() (n int64) {
	for pid := range m {
		rollup, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup") // it may have ended, or be another user's
		_, after, _ := bytes.Cut(rollup, []byte("\nPss:"))
		if f := bytes.Fields(after); len(f) > 0 {
			kB, _ := strconv.ParseInt(string(f[0]), 10, 64)
			n += kB << 10
		}
	}
	return n
}

// isLeft reports whether a process carries a mark.
func isLeft(mark string) bool { return len(tree(mark, unknown)) > 0 }

// members are processes with the time of their start, in ticks since the boot: the two
// together name a process for good.
type members map[int]string

// signal sends a signal to those that have not ended, and returns how many there are. A parent gets it before its children:
// one whose child is ended first may go on, and end by itself, before its own signal comes.
func (m members) signal(sig syscall.Signal) int {
	n := 0
	for _, pid := range m.oldestFirst() {
		p, _ := os.FindProcess(pid) // by pidfd: the number may be given to another process. It always succeeds on Unix
		if s, ok := statOf(pid); ok && !s.ended && s.start == m[pid] && p.Signal(sig) == nil {
			n++
		}
		_ = p.Release()
	}
	return n
}

func (m members) oldestFirst() []int {
	return slices.SortedFunc(maps.Keys(m), func(a, b int) int {
		return cmp.Or(cmp.Compare(len(m[a]), len(m[b])), cmp.Compare(m[a], m[b]), cmp.Compare(a, b)) // ticks, as digits
	})
}

func (m members) without(known members) members {
	rest := maps.Clone(m)
	maps.DeleteFunc(rest, func(pid int, start string) bool { return known[pid] == start })
	return rest
}

// A stat is what /proc says of a process.
type stat struct {
	parent  int
	session int
	start   string
	ended   bool // it only waits to be collected
}

func statOf(pid int) (s stat, ok bool) {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")         // it may have ended
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // from the third on: state, ppid, pgrp, session
	if len(fields) < 20 {
		return s, false
	}
	s.ended = fields[0] == "Z" || fields[0] == "X"
	s.parent, _ = strconv.Atoi(fields[1])
	s.session, _ = strconv.Atoi(fields[3])
	s.start = fields[19]
	return s, true
}

// processes returns all processes.
func processes() map[int]stat {
	entries, _ := os.ReadDir("/proc") // without it nothing is known
	all := map[int]stat{}
	for _, e := range entries {
		pid, _ := strconv.Atoi(e.Name())
		if s, ok := statOf(pid); ok {
			all[pid] = s
		}
	}
	return all
}

// environ returns the environment that a process was started with, as far as it can be read.
func environ(pid int) []byte {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ") // it may have ended, or be another user's
	return b
}

// marked reports whether a process carries a mark.
func marked(pid int, mark string) bool {
	return bytes.Contains(append([]byte{0}, environ(pid)...), []byte("\x00"+mark+"\x00"))
}

// unknown stands for the program of a tree of which the mark alone is known.
const unknown = -1

// tree returns the processes of a tree that have not ended: those of the session of its program,
// those that carry its mark, and their descendants.
func tree(mark string, root int) members {
	all := processes()
	belongs := map[int]bool{os.Getpid(): false}
	var in func(pid int) bool
	in = func(pid int) bool {
		if known, ok := belongs[pid]; ok {
			return known
		}
		belongs[pid] = false // until it is known: what was read at several moments may have a loop
		s, ok := all[pid]
		belongs[pid] = ok && (s.session == root || marked(pid, mark) || in(s.parent))
		return belongs[pid]
	}
	found := members{}
	for pid, s := range all {
		if !s.ended && in(pid) {
			found[pid] = s.start
		}
	}
	return found
}
