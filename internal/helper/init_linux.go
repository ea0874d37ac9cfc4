package helper

import (
	"syscall"
	"unsafe"
)

const sysCloseRange = 436 // the same everywhere, asm-generic/unistd.h, read 2026-11-22

// initPlan is all that a new init needs. It runs no Go but startInit, so whatever it
// uses has to be there before it is.
type initPlan struct {
	proc, procFS *byte
	pidMax       *byte // a file of /proc
	limit        []byte
	limits       bool // pidMax is of the namespace alone
	all, none    uint64
	old          uint64
	ignore       [4]uint64 // struct sigaction with SIG_IGN
	result       [1]byte
	forever      uintptr
}

// startInit starts the first process of the pid namespace that the calling thread has
// unshared, mounts a /proc that shows it in the thread's mount namespace, and returns
// its process id. The thread must be locked.
//
// It adopts orphans, which the kernel collects for it, and does nothing else: it is
// there because its end ends the namespace. It is a fork of the helper that never runs
// another program, so it costs no start of one. In it only this function runs, which
// calls the system and nothing of the Go runtime: no allocation, no growing stack, and
// no signal handler, as signals are blocked until all are ignored.
func startInit() (pid int, errno syscall.Errno) {
	plan := initPlan{all: ^uint64(0), limit: []byte(maxProcessesText), limits: kernelAtLeast(6, 14), forever: ^uintptr(0)}
	plan.proc, _ = syscall.BytePtrFromString("/proc")
	plan.procFS, _ = syscall.BytePtrFromString("proc")
	plan.pidMax, _ = syscall.BytePtrFromString("/proc/sys/kernel/pid_max")
	plan.ignore[0] = 1
	var ready [2]int
	if err := syscall.Pipe2(ready[:], syscall.O_CLOEXEC); err != nil {
		return 0, errnoOf(err)
	}
	defer syscall.Close(ready[0])
	pid, errno = forkInit(&plan, ready[1])
	syscall.Close(ready[1])
	if errno != 0 {
		return 0, errno
	}
	var result [1]byte
	n, err := 0, error(syscall.EINTR)
	for err == syscall.EINTR {
		n, err = syscall.Read(ready[0], result[:])
	}
	if n == 1 && result[0] == 0 {
		return pid, 0
	}
	syscall.Kill(pid, syscall.SIGKILL)
	waitFor(pid)
	if n == 1 {
		return 0, syscall.Errno(result[0])
	}
	return 0, syscall.ESRCH
}

// forkInit forks. In the child it does not return.
//
//go:norace
//go:noinline
//go:nosplit
func forkInit(plan *initPlan, ready int) (int, syscall.Errno) {
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, 2, uintptr(unsafe.Pointer(&plan.all)), uintptr(unsafe.Pointer(&plan.old)), 8, 0, 0) // SIG_SETMASK
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, 2, uintptr(unsafe.Pointer(&plan.old)), 0, 8, 0, 0)
		return int(pid), errno
	}
	// The child.
	for signal := uintptr(1); signal <= 64; signal++ {
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, signal, uintptr(unsafe.Pointer(&plan.ignore)), 0, 8, 0, 0)
	}
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, 2, uintptr(unsafe.Pointer(&plan.none)), 0, 8, 0, 0)
	_, _, errno = syscall.RawSyscall6(syscall.SYS_MOUNT, uintptr(unsafe.Pointer(plan.procFS)), uintptr(unsafe.Pointer(plan.proc)), uintptr(unsafe.Pointer(plan.procFS)), procFlags, 0, 0)
	if errno == 0 && plan.limits {
		fd, _, err := syscall.RawSyscall6(syscall.SYS_OPENAT, ^uintptr(99), uintptr(unsafe.Pointer(plan.pidMax)), syscall.O_WRONLY, 0, 0, 0) // AT_FDCWD
		if err == 0 {
			syscall.RawSyscall6(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(plan.limit))), uintptr(len(plan.limit)), 0, 0, 0)
			syscall.RawSyscall6(syscall.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
		}
	}
	if errno == 0 {
		_, _, errno = syscall.RawSyscall6(syscall.SYS_MOUNT, 0, uintptr(unsafe.Pointer(plan.proc)), 0, procFlags|syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, 0, 0)
	}
	plan.result[0] = byte(errno)
	syscall.RawSyscall6(syscall.SYS_WRITE, uintptr(ready), uintptr(unsafe.Pointer(&plan.result)), 1, 0, 0, 0)
	// What it has of the helper's descriptors would keep pipes of commands open.
	syscall.RawSyscall6(sysCloseRange, 0, plan.forever, 0, 0, 0, 0)
	for {
		syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}

const procFlags = syscall.MS_NOSUID | syscall.MS_NOEXEC | syscall.MS_NODEV
