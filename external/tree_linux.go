package external

import (
	"bytes"
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
		if tree(mark, 0).signal(sig) == 0 {
			return
		}
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if len(tree(mark, 0)) == 0 {
				return
			}
		}
	}
	killTree(mark, 0, nil)
}

// atWork returns the runs whose marks, which begin with prefix, processes carry.
func atWork(prefix string) []run.ID {
	entries, _ := os.ReadDir("/proc") // without it nothing is known
	found := map[run.ID]bool{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil {
			continue
		}
		for v := range bytes.SplitSeq(environ, []byte{0}) {
			id, ok := bytes.CutPrefix(v, []byte(prefix))
			if s, there := statOf(pid); ok && there && !s.ended {
				found[run.ID(id)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// isLeft reports whether a process carries a mark.
func isLeft(mark string) bool { return len(tree(mark, 0)) > 0 }

// members are processes with the time of their start, in ticks since the boot: the two
// together name a process for good.
type members map[int]string

// signal sends a signal to those that have not ended, and returns how many there are.
func (m members) signal(sig syscall.Signal) int {
	n := 0
	for pid, start := range m {
		p, err := os.FindProcess(pid) // by pidfd: the number may be given to another process
		if err != nil {
			continue
		}
		if s, ok := statOf(pid); ok && !s.ended && s.start == start && p.Signal(sig) == nil {
			n++
		}
		_ = p.Release()
	}
	return n
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
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
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

// marked reports whether a process carries a mark.
func marked(pid int, mark string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && (bytes.HasPrefix(b, []byte(mark+"\x00")) || bytes.Contains(b, []byte("\x00"+mark+"\x00")))
}

// tree returns the processes of a tree that have not ended. root is the program; 0: it is not
// known.
func tree(mark string, root int) members {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	all := map[int]stat{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := statOf(pid); ok {
				all[pid] = s
			}
		}
	}
	self := os.Getpid()
	belongs := map[int]bool{1: false, 0: false, self: false}
	var in func(pid int) bool
	in = func(pid int) bool {
		if known, ok := belongs[pid]; ok {
			return known
		}
		belongs[pid] = false // until it is known: what was read at several moments may have a loop
		s, ok := all[pid]
		belongs[pid] = ok && (root != 0 && (pid == root || s.session == root) || marked(pid, mark) || in(s.parent))
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
