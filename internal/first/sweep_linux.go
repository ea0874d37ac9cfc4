package first

import "syscall"

// sweep kills every descendant of the helper and returns when none is left.
//
// A process whose parent dies becomes the child of the nearest ancestor that is
// a subreaper: the helper. So whatever they do - new sessions, double forks,
// cleared environments - descendants stay descendants, and when the helper has
// no child there is none. A round may miss what was forked during it; the next
// finds it.
func sweep() {
	pause := syscall.Timespec{Nsec: 500_000} // half a millisecond: dying takes about that
	for {
		signalDescendants(syscall.SIGKILL)
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err == syscall.ECHILD {
				return
			}
			if pid == 0 {
				break
			}
		}
		syscall.Nanosleep(&pause, nil)
	}
}

// signalDescendants sends sig to every process below this one, once.
func signalDescendants(sig syscall.Signal) {
	parents := processes()
	self := syscall.Getpid()
	for pid := range parents {
		// The bound is against a circle, which pids used again while we read
		// could make.
		at := pid
		for range 10_000 {
			parent, ok := parents[at]
			if !ok {
				break
			}
			if parent == self {
				syscall.Kill(pid, sig)
				break
			}
			at = parent
		}
	}
}

// processes returns the parent of every process in /proc.
func processes() map[int]int {
	parents := map[int]int{}
	dir, err := syscall.Open("/proc", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return parents
	}
	defer syscall.Close(dir)
	buf := make([]byte, 32<<10)
	for {
		n, err := syscall.ReadDirent(dir, buf)
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 {
			return parents
		}
		_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if pid, ok := number(name); ok {
				if parent, ok := parentOf(name); ok {
					parents[pid] = parent
				}
			}
		}
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

func number(s string) (int, bool) {
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' {
			return 0, false
		}
		n = n*10 + int(r-'0')
	}
	return n, s != ""
}
