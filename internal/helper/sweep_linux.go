package helper

import (
	"syscall"
	"unsafe"
)

// sweep kills every descendant of the helper and returns when none is left.
//
// A process whose parent dies becomes the child of the nearest ancestor that is
// a subreaper: the helper. So whatever they do - new sessions, double forks,
// cleared environments - descendants stay descendants, and when the helper has
// no child there is none. A round may miss what was forked during it; the next
// finds it.
//
// What forks and ends at once, again and again, is gone from a round's list before
// the round is over. But each of them is, for a moment, the helper's own child:
// between the rounds the short list of those is asked for and killed as fast as it
// can be read.
func sweep() {
	const tight = 200 // reads of the short list between two rounds, a few milliseconds at most
	pause := syscall.Timespec{Nsec: 20_000}
	for {
		killDescendants()
		for range tight {
			for _, pid := range children() {
				forbidForks(pid)
				syscall.Kill(pid, syscall.SIGKILL)
			}
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			for pid > 0 {
				pid, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			}
			if err == syscall.ECHILD {
				return
			}
			syscall.Nanosleep(&pause, nil)
		}
	}
}

// children returns the helper's own children. It is quick: one file for each
// thread, whose list is of the processes which that thread started or adopted;
// proc_pid_children(5), read 2026-11-20. Where the kernel lacks the file there are
// none, and the rounds have to do.
func children() []int {
	var pids []int
	for _, tid := range names("/proc/self/task") {
		n := 0
		for _, b := range readFile("/proc/self/task/"+tid+"/children", 64<<10) {
			if b != ' ' {
				n = n*10 + int(b-'0')
				continue
			}
			pids = append(pids, n)
			n = 0
		}
	}
	return pids
}

// forbidForks takes from a process the right to start others, as far as a limit
// can: it does not count for root.
func forbidForks(pid int) {
	none := [2]uint64{}
	syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitProcesses, uintptr(unsafe.Pointer(&none)), 0, 0, 0)
}

// killDescendants kills every process below this one, once.
func killDescendants() {
	parents := processes()
	for pid := range parents {
		if isDescendant(pid, syscall.Getpid(), parents) {
			forbidForks(pid)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// isDescendant reports whether a process is below another.
func isDescendant(pid, ancestor int, parents map[int]int) bool {
	// The bound is against a circle, which pids used again while we read could make.
	for range 10_000 {
		parent, ok := parents[pid]
		if !ok || parent == ancestor {
			return ok
		}
		pid = parent
	}
	return false
}

// processes returns the parent of every process in /proc.
func processes() map[int]int {
	parents := map[int]int{}
	for _, name := range names("/proc") {
		if pid, ok := number(name); ok {
			if parent, ok := parentOf(name); ok {
				parents[pid] = parent
			}
		}
	}
	return parents
}

// names returns what is in a folder.
func names(folder string) []string {
	dir, err := syscall.Open(folder, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(dir)
	var all []string
	buf := make([]byte, 32<<10)
	for {
		n, err := syscall.ReadDirent(dir, buf)
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 {
			return all
		}
		_, _, all = syscall.ParseDirent(buf[:n], -1, all)
	}
}

// parentOf reads the fourth field of /proc/<pid>/stat. The second is the
// program's name in parentheses and may hold anything, parentheses too.
func parentOf(pid string) (int, bool) {
	stat := readFile("/proc/"+pid+"/stat", 512)
	for i := len(stat) - 1; i >= 0; i-- {
		if stat[i] != ')' {
			continue
		}
		// ") S 123 …"
		if i+4 >= len(stat) {
			return 0, false
		}
		from := i + 4
		to := from
		for to < len(stat) && stat[to] != ' ' {
			to++
		}
		return number(string(stat[from:to]))
	}
	return 0, false
}
