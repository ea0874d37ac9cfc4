package helper

import (
	"syscall"
	"unsafe"
)

const sysCloseRange = 436 // the same everywhere, asm-generic/unistd.h, read 2026-11-22

// A systemCall is one that an init makes. The layout is known to forkInit.
type systemCall struct {
	number uintptr
	args   [5]uintptr
	result int
	next   uintptr // how far away the next call is, in bytes
}

// An initProcess is the first process of a pid namespace. It adopts orphans, which the
// kernel collects for it, and does nothing else: it is there because its end ends the
// namespace.
//
// It is a fork of the helper that never runs another program, so it costs no start of
// one; and it shares the helper's memory, so that is not copied. All it does is make the
// system calls of a list, the last again and again. The list has to be kept until it has
// ended.
type initProcess struct {
	pid    int
	calls  []systemCall
	mounts []int  // the calls that have to succeed
	ready  [2]int // a pipe: a byte comes when the init is ready, the end of file when it is dead

	all, none    uint64    // sets of signals
	ignore       [4]uint64 // struct sigaction with SIG_IGN
	proc, pidMax *byte
	limit        []byte
}

// startInit starts the first process of the pid namespace that the calling thread has
// unshared, and mounts a /proc that shows it in the thread's mount namespace. The thread
// must be locked. The error is errInitDied if the process was killed before it was ready.
func startInit() (*initProcess, syscall.Errno) {
	p, errno := newInit()
	if errno == 0 {
		errno = p.start()
	}
	return p, errno
}

// newInit returns an init with its list of calls.
func newInit() (*initProcess, syscall.Errno) {
	p := &initProcess{all: ^uint64(0), ignore: [4]uint64{1}, limit: []byte(maxProcessesText)}
	p.proc, _ = syscall.BytePtrFromString("/proc")
	p.pidMax, _ = syscall.BytePtrFromString("/proc/sys/kernel/pid_max")
	kind := unsafe.Add(unsafe.Pointer(p.proc), 1) // "proc"
	if err := syscall.Pipe2(p.ready[:], syscall.O_CLOEXEC); err != nil {
		return nil, errnoOf(err)
	}

	call := func(number uintptr, args ...uintptr) (at int) {
		c := systemCall{number: number, next: unsafe.Sizeof(systemCall{})}
		copy(c.args[:], args)
		p.calls = append(p.calls, c)
		return len(p.calls) - 1
	}
	address := func(p unsafe.Pointer) uintptr { return uintptr(p) }
	// Signals are blocked until none has a handler any more.
	for signal := uintptr(1); signal <= 64; signal++ {
		call(syscall.SYS_RT_SIGACTION, signal, address(unsafe.Pointer(&p.ignore)), 0, 8)
	}
	call(syscall.SYS_RT_SIGPROCMASK, setMask, address(unsafe.Pointer(&p.none)), 0, 8)
	// The helper's descriptors would keep pipes of commands open.
	call(syscall.SYS_DUP3, uintptr(p.ready[1]), 0, 0)
	call(sysCloseRange, 1, ^uintptr(0))
	mounted := call(syscall.SYS_MOUNT, address(kind), address(unsafe.Pointer(p.proc)), address(kind), procFlags)
	if kernelAtLeast(6, 14) { // see limitProcesses
		cwd := atFDCWD
		call(syscall.SYS_OPENAT, uintptr(cwd), address(unsafe.Pointer(p.pidMax)), syscall.O_WRONLY) // descriptor 1
		call(syscall.SYS_WRITE, 1, address(unsafe.Pointer(unsafe.SliceData(p.limit))), uintptr(len(p.limit)))
		call(syscall.SYS_CLOSE, 1)
	}
	closed := call(syscall.SYS_MOUNT, 0, address(unsafe.Pointer(p.proc)), 0, procFlags|syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY)
	call(syscall.SYS_WRITE, 0, address(unsafe.Pointer(p.proc)), 1) // it is ready
	call(syscall.SYS_CLOSE, 0)
	p.calls[call(syscall.SYS_PPOLL)].next = 0
	p.mounts = []int{mounted, closed}
	return p, 0
}

const setMask = 2 // SIG_SETMASK

// start forks the process and waits until it is ready.
func (p *initProcess) start() syscall.Errno {
	defer syscall.Close(p.ready[0])
	var old uint64
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&p.all)), uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	p.pid = forkInit(&p.calls[0])
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&old)), 0, 8, 0, 0)
	syscall.Close(p.ready[1]) // only the init has it: its death is the end of file
	if p.pid < 0 {
		return syscall.Errno(-p.pid)
	}
	var b [1]byte
	n, err := 0, error(syscall.EINTR)
	for err == syscall.EINTR {
		n, err = syscall.Read(p.ready[0], b[:])
	}
	errno := errnoOf(err)
	for _, at := range p.mounts {
		if result := p.calls[at].result; result != 0 && errno == 0 {
			errno = syscall.Errno(-result)
		}
	}
	if n == 0 && errno == 0 {
		errno = errInitDied
	}
	if errno != 0 {
		p.kill()
		p.collect()
	}
	return errno
}

// errInitDied is that an init was killed before it was ready: by the OOM killer or by another
// process.
const errInitDied = syscall.ESRCH

// kill ends the namespace.
func (p *initProcess) kill() { syscall.Kill(p.pid, syscall.SIGKILL) }

// collect waits for its end. It ends as the last of its namespace.
func (p *initProcess) collect() { waitFor(p.pid) }

const procFlags = syscall.MS_NOSUID | syscall.MS_NOEXEC | syscall.MS_NODEV
