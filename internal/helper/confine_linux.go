package helper

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Numbers of linux/prctl.h, linux/capability.h and asm-generic/resource.h, read
// 2026-11-20, and our own bound of processes.
const (
	prSetDumpable    = 4
	prCapBsetDrop    = 24
	prSetNoNewPrivs  = 38
	capVersion3      = 0x20080522
	capsPossible     = 64 // the kernel's own bound; linux/capability.h knows 41
	rlimitData       = 2
	rlimitCore       = 4
	rlimitProcesses  = 6
	maxProcesses     = 4096
	maxProcessesText = "4096"
)

// keptCaps are the capabilities that commands of root keep in a sandbox: those
// over files, which the sandbox bounds by itself, and over who they are. The
// others are over the machine, its devices, its network and other processes.
var keptCaps = []int{
	0,  // CAP_CHOWN
	1,  // CAP_DAC_OVERRIDE
	3,  // CAP_FOWNER
	4,  // CAP_FSETID
	5,  // CAP_KILL
	6,  // CAP_SETGID
	7,  // CAP_SETUID
	10, // CAP_NET_BIND_SERVICE
}

// What a process of a command that only reads may take of memory: a quarter of the machine's,
// between these. RLIMIT_DATA counts what is writable and private; address space that a runtime
// only reserves is not counted (getrlimit(2), read 2026-11-23). Other commands are not bounded
// like this: the shadow memory of sanitizers counts.
const (
	leastReading = 1 << 30
	mostReading  = 4 << 30
)

// memoryForReading returns how much that is on this machine.
func memoryForReading() uint64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return mostReading
	}
	return min(max(uint64(info.Totalram)*uint64(info.Unit)/4, leastReading), mostReading)
}

// An enclosure is a confinement made ready for threads to enter.
type enclosure struct {
	inNamespace       bool
	landlock          int // its ABI; 0: there is none
	read, list, write []string
	covered           []string // of what is read, the paths that something is laid over
	closeTCP          bool
	readOnly          bool
	filter            []bpf // of system calls
	listens           []bpf // the same where the helper can be asked about connections; empty: it need not be
	mustFilter        bool
}

// enclosureOf makes a confinement ready. What it returns with an error is the part that
// failed.
func enclosureOf(c *Confinement, inNamespace bool) (e *enclosure, what string, err syscall.Errno) {
	tree := inNamespace && len(c.Mounts) > 0
	e = &enclosure{inNamespace: inNamespace, landlock: landlockABI(), read: c.Read, list: c.List, write: c.Write, closeTCP: c.Network == ClosedNetwork, readOnly: c.ReadOnly}
	// Where memory runs out, the kernel ends a command before it ends pawl or programs of the person.
	writeFile("/proc/self/oom_score_adj", "500")
	if tree {
		// Nothing is there that may not be read, so few rules say it all.
		e.read, e.write = []string{"/"}, nil
		for _, m := range c.Mounts {
			switch m.Kind {
			case Writable, Memory, Devices, Temporary, Overlay:
				e.write = append(e.write, m.Target)
			case Empty, NoFile:
				if m.Source != "" {
					e.covered = append(e.covered, m.Target)
				}
			}
		}
	}
	// Each of the two bounds the files by itself; without either nothing does.
	if e.landlock == 0 && !tree {
		return nil, "Landlock", syscall.ENOSYS
	}
	// A namespace closes the network better than the filter: it leaves the
	// loopback, and sockets between processes of the command.
	plan := filterPlan{sockets: c.Network != ClosedNetwork, readOnly: c.ReadOnly && !tree}
	e.filter = filter(plan) // on a kernel before 5.0 without sockets of the unix family
	if plan.sockets {
		plan.unix = true
		e.listens = filter(plan)
	}
	e.mustFilter = !plan.sockets || !inNamespace
	return e, "", 0
}

// enter takes from the calling thread, and from what it starts, all that the sandbox
// does not give. noRoute, if it is not nil, is set when a connection that the helper
// makes in the command's place finds no route.
func (e *enclosure) enter(noRoute *atomic.Bool) (what string, err syscall.Errno) {
	limit(rlimitCore, 0)
	if e.readOnly {
		limit(rlimitData, memoryForReading())
	}
	if e.inNamespace {
		// Counted for each user namespace by itself (Linux 5.14), and so for the commands
		// of this helper; root has none and is not counted, but see limitProcesses.
		if syscall.Geteuid() != 0 {
			limit(rlimitProcesses, maxProcesses)
		}
	}
	if _, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); err != 0 {
		return "no new privileges", err
	}
	if err := dropCaps(); err != 0 {
		return "capabilities", err
	}
	if e.landlock > 0 {
		// The paths are opened by this thread: what a command gets anew is a file system of
		// its own, which rules for another do not allow.
		if err := landlock(e.landlock, e.read, e.list, e.write, e.covered, e.closeTCP); err != 0 {
			return "Landlock", err
		}
	}
	if len(e.listens) > 0 {
		if listener, err := seccompListening(e.listens); err == 0 {
			go answerConnects(listener, noRoute)
			return "", 0
		}
	}
	if err := seccomp(e.filter); err != 0 && e.mustFilter {
		return "seccomp", err
	}
	return "", 0
}

// dropCaps gives up the capabilities that are not kept.
func dropCaps() syscall.Errno {
	prctl(prCapAmbient, prCapAmbientClearAll)
	kept := uint64(0)
	if syscall.Geteuid() == 0 {
		for _, c := range keptCaps {
			kept |= 1 << c
		}
		// What is not in the bounding set does not come back when a program starts.
		for c := range uintptr(capsPossible) {
			if kept&(1<<c) == 0 {
				prctl(prCapBsetDrop, c)
			}
		}
	}
	header := struct {
		version uint32
		pid     int32
	}{version: capVersion3}
	var data [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, err := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data)), 0); err != 0 {
		return err
	}
	for i := range data {
		data[i].permitted &= uint32(kept >> (32 * i))
		data[i].effective &= data[i].permitted
		data[i].inheritable = 0
	}
	_, _, err := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data)), 0)
	return err
}

// limit sets a resource limit, downwards only.
func limit(resource int, most uint64) {
	var now syscall.Rlimit
	if syscall.Getrlimit(resource, &now) != nil {
		return
	}
	now.Cur, now.Max = min(now.Cur, most), min(now.Max, most)
	syscall.Setrlimit(resource, &now)
}

// limitProcesses bounds the processes of the helper's pid namespace, root's too:
// a fork bomb stays in its namespace and ends with it. Before Linux 6.14 the
// setting was the whole machine's (commit "pid: allow pid_max to be set per pid
// namespace", read 2026-11-20) and is left alone.
func limitProcesses() {
	if kernelAtLeast(6, 14) {
		writeFile("/proc/sys/kernel/pid_max", maxProcessesText)
	}
}

// limitWatches leaves at least half of what a user may have of the kernel's means to watch
// files to the programs outside. The settings are those of the helper's user namespace, in
// which all of its commands are (user_namespaces(7), read 2026-11-22); root has none of its
// own, and the settings of the machine are left alone.
func limitWatches() {
	if syscall.Geteuid() == 0 {
		return
	}
	for _, l := range [][2]string{
		{"fs/inotify/max_user_instances", "user/max_inotify_instances"},
		{"fs/inotify/max_user_watches", "user/max_inotify_watches"},
		{"fs/fanotify/max_user_groups", "user/max_fanotify_groups"},
		{"fs/fanotify/max_user_marks", "user/max_fanotify_marks"},
	} {
		if fields := pieces(string(readFile("/proc/sys/"+l[0], 32)), " \t\n"); len(fields) == 1 {
			if n, ok := number(fields[0]); ok {
				writeFile("/proc/sys/"+l[1], decimal(n/2))
			}
		}
	}
}

// kernelAtLeast reports whether the running kernel is of that version or newer.
func kernelAtLeast(major, minor int) bool {
	release := readFile("/proc/sys/kernel/osrelease", 64)
	var version [2]int
	at := 0
	for _, b := range release {
		switch {
		case b >= '0' && b <= '9':
			version[at] = version[at]*10 + int(b-'0')
		case b == '.' && at == 0:
			at = 1
		default:
			return version[0] > major || version[0] == major && version[1] >= minor
		}
	}
	return false
}

// offerToEnd makes the command the first to be ended when memory is short, and
// not its owner. Anyone may make itself that.
func offerToEnd() {
	writeFile("/proc/self/oom_score_adj", "500")
}

// loopbackUp switches the loopback of the helper's network on: tests of servers
// need one. It is the command's own.
func loopbackUp() syscall.Errno {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return errnoOf(err)
	}
	defer syscall.Close(fd)
	// struct ifreq, linux/if.h, read 2026-11-20.
	request := struct {
		name  [16]byte
		flags int16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], "lo")
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	return errno
}

// noRoutes is how often something in a network namespace was sent where no route leads,
// as the kernel counts it.
type noRoutes struct{ ip, ip6 string }

func countNoRoutes() noRoutes {
	return noRoutes{
		counted(readFile("/proc/self/net/snmp", 0), "Ip:", "OutNoRoutes"),
		counted6(readFile("/proc/self/net/snmp6", 0), "Ip6OutNoRoutes"),
	}
}

// counted reads /proc/net/snmp: a line of names and a line of values for each
// protocol, both beginning with its name; proc_net_snmp(5), read 2026-11-20. Nothing
// counted is an empty text.
func counted(snmp []byte, protocol, name string) string {
	column := -1
	for _, line := range pieces(string(snmp), "\n") {
		fields := pieces(line, " \t")
		if len(fields) == 0 || fields[0] != protocol {
			continue
		}
		if column < 0 {
			for i, f := range fields {
				if f == name {
					column = i
				}
			}
			continue
		}
		if column < len(fields) && fields[column] != "0" {
			return fields[column]
		}
	}
	return ""
}

// counted6 reads /proc/net/snmp6: a name and a value on each line.
func counted6(snmp6 []byte, name string) string {
	for _, line := range pieces(string(snmp6), "\n") {
		fields := pieces(line, " \t")
		if len(fields) > 1 && fields[0] == name && fields[1] != "0" {
			return fields[1]
		}
	}
	return ""
}
