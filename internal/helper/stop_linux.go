package helper

import (
	"sync/atomic"
	"syscall"
)

// stopping says that the command is being ended. Then the helper waits for what
// tidies up, though the command itself may be over.
var stopping atomic.Bool

// A disposition is what a process does about TERM.
type disposition int

const (
	endsOnTerm  disposition = iota // it has no handler
	handlesTerm                    // it has one: it may have to tidy up
	deafToTerm                     // it ignores it, or cannot act on it now
)

// stop ends a command. Processes that handle TERM get it, and what they start from
// then on to tidy up is left to them; all others end at once. When none is left that
// handles TERM it calls finish, which ends the rest. It bounds no time: the owner does,
// by closing the socket or killing the helper. members returns the processes of the
// command, and whether it is over already.
func stop(members func(parents map[int]int) (pids []int, over bool), finish func()) {
	pause := syscall.Timespec{Nsec: 1_000_000}
	const longestPause = 8_000_000
	told, first := map[int]bool{}, true
	for {
		waitFor := 0
		parents := processes()
		pids, over := members(parents)
		if over {
			return
		}
		parentsFirst(pids, parents) // a shell would say of its child that it was killed
		for _, pid := range pids {
			switch d, state := dispositionOf(pid); {
			case state == 'Z' || state == 0:
			case told[pid]:
				waitFor++
			case !first && belowAny(pid, told, parents):
				// It was started since, to tidy up; before it runs its own program it seems
				// to handle TERM as who started it does.
			case d == handlesTerm:
				told[pid] = true
				waitFor++
				syscall.Kill(pid, syscall.SIGTERM)
				if state == 'T' {
					syscall.Kill(pid, syscall.SIGCONT)
				}
			case d == endsOnTerm && state != 'T' && state != 't':
				syscall.Kill(pid, syscall.SIGTERM)
			default:
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		first = false
		if waitFor == 0 {
			finish()
			return
		}
		syscall.Nanosleep(&pause, nil)
		pause.Nsec = min(2*pause.Nsec, longestPause)
	}
}

// parentsFirst sorts processes so that each comes after those that it is below.
func parentsFirst(pids []int, parents map[int]int) {
	depths := make([]int, len(pids))
	for i, pid := range pids {
		at := i
		for ; parents[pid] != 0 && depths[i] < 10_000; pid = parents[pid] {
			depths[i]++
		}
		for ; at > 0 && depths[at-1] > depths[at]; at-- {
			pids[at-1], pids[at], depths[at-1], depths[at] = pids[at], pids[at-1], depths[at], depths[at-1]
		}
	}
}

// belowAny reports whether a process is below one of those that were told.
func belowAny(pid int, told map[int]bool, parents map[int]int) bool {
	for range 10_000 {
		parent, ok := parents[pid]
		if !ok {
			return false
		}
		if told[parent] {
			return true
		}
		pid = parent
	}
	return false
}

// dispositionOf reads /proc/PID/status: the state of a process, 0 if it is gone, and
// the signals that it blocks, ignores and handles; proc_pid_status(5), read
// 2026-11-22.
func dispositionOf(pid int) (d disposition, state byte) {
	const term = 1 << (syscall.SIGTERM - 1)
	for _, line := range pieces(string(readFile("/proc/"+decimal(pid)+"/status", 8192)), "\n") {
		fields := pieces(line, " \t")
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "State:":
			state = fields[1][0]
		case "SigBlk:", "SigIgn:":
			if hexadecimal(fields[1])&term != 0 {
				d = deafToTerm
			}
		case "SigCgt:":
			if hexadecimal(fields[1])&term != 0 {
				d = handlesTerm // also while it blocks it, as shells do for a moment
			}
		}
	}
	return d, state
}

func hexadecimal(s string) uint64 {
	n := uint64(0)
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			n = n<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint64(c-'a'+10)
		}
	}
	return n
}
