package helper

import (
	"syscall"
	"unsafe"
)

// A filter of system calls: what reaches past files and networks, and so past the
// rest of the sandbox. Instructions as in linux/bpf_common.h, results and the
// layout of seccomp_data as in linux/seccomp.h, read 2026-11-20.
const (
	bpfLoad    = 0x20 // BPF_LD | BPF_W | BPF_ABS
	bpfIfEqual = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	bpfIfBits  = 0x45 // BPF_JMP | BPF_JSET | BPF_K
	bpfReturn  = 0x06 // BPF_RET | BPF_K
	bpfAnd     = 0x54 // BPF_ALU | BPF_AND | BPF_K

	resultKill  = 0x80000000
	resultError = 0x00050000
	resultAllow = 0x7fff0000

	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16 // eight bytes each, the lower four first

	seccompSetFilter = 1
)

// The kernel's names of architectures, linux/audit.h, read 2026-11-20.
const (
	archAMD64 = 0xc000003e
	archARM64 = 0xc00000b7
)

// x32 is set in the numbers of an amd64 kernel's second set of system calls.
const x32 = 0x40000000

// newNamespaces are the flags of clone(2) that make namespaces (linux/sched.h,
// read 2026-11-20): in one of its own a command would have all capabilities.
const newNamespaces = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000

// ioctls that put characters into a terminal as if they were typed
// (asm-generic/ioctls.h, linux/tiocl.h, read 2026-11-20).
const (
	tiocsti   = 0x5412
	tioclinux = 0x541c
)

// The type is the second byte of an ioctl's number. Those of files ('f', of several
// file systems 'X') set flags, versions and keys of a file that is open for reading
// (linux/fs.h, linux/fscrypt.h, read 2026-11-22).
const (
	ioctlType  = 0xff00
	ioctlFiles = 'f' << 8
	ioctlXFS   = 'X' << 8
)

// A modeCall is a system call that gives a file its mode: the places among its
// arguments of the mode, and of the flags of open(2), -1 if it has none.
type modeCall struct {
	number      uint32
	flags, mode int
}

// asm-generic/fcntl.h and linux/stat.h, read 2026-11-22.
const (
	makesFile = 0o100 | 0o20000000 // O_CREAT | __O_TMPFILE
	setidBits = 0o6000             // S_ISUID | S_ISGID
)

// refusedEverywhere are numbers that are the same on all architectures.
var refusedEverywhere = []uint32{
	425, 426, 427, // io_uring_setup, _enter, _register: opens and connects past a filter
	sysOpenTree, sysMoveMount, sysFsopen, sysFsconfig, sysFsmount, 433, // fspick
	438, // pidfd_getfd
	440, // process_madvise
	sysMountSetattr,
	443, // quotactl_fd
	467, // open_tree_attr
}

const (
	sysClone3    = 435
	sysOpenat2   = 437
	sysFchmodat2 = 452
)

type bpf struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// A filterPlan says what a filter is to refuse beyond what every one does.
type filterPlan struct {
	// sockets: those of the usual families can be made; the others are not there, as
	// on a kernel without them: some (vsock) are in no namespace. Without it none can
	// be made, for it cannot be told from here what they would reach; pairs of
	// connected ones can.
	sockets bool
	// unix: with sockets, those of the unix family too, but for datagrams; what they
	// connect to is decided by the helper.
	unix bool
	// readOnly: the calls are refused by which a command that may write no file could
	// still change something.
	readOnly bool
}

// filter returns the program of a plan. No program lets a file become setuid or
// setgid: outside, where its file system is mounted without nosuid, it would be.
func filter(plan filterPlan) []bpf {
	f := []bpf{
		{bpfLoad, 0, 0, dataArch},
		{bpfIfEqual, 1, 0, auditArch},
		{bpfReturn, 0, 0, resultKill}, // 32-bit programs: another set of numbers
		{bpfLoad, 0, 0, dataNumber},
	}
	if auditArch == archAMD64 {
		f = append(f, bpf{bpfIfBits, 0, 1, x32}, bpf{bpfReturn, 0, 0, resultKill})
	}
	number := func(nr uint32, then ...bpf) {
		f = append(f, bpf{bpfIfEqual, 0, uint8(len(then)), nr})
		f = append(f, then...)
	}
	refuse := func(e syscall.Errno) bpf { return bpf{bpfReturn, 0, 0, resultError | uint32(e)} }
	for _, nr := range append(refusedEverywhere, refusedHere...) {
		number(nr, refuse(syscall.EPERM))
	}
	if plan.readOnly {
		for _, nr := range changesHere {
			number(nr, refuse(syscall.EPERM))
		}
		number(sysPrlimit, // of another process
			bpf{bpfLoad, 0, 0, dataArgs},
			bpf{bpfIfEqual, 1, 0, 0},
			refuse(syscall.EPERM),
			bpf{bpfReturn, 0, 0, resultAllow})
	}
	for _, c := range setsModeHere {
		var check []bpf
		if c.flags >= 0 { // the mode counts only where a file is made
			check = []bpf{
				{bpfLoad, 0, 0, uint32(dataArgs + 8*c.flags)},
				{bpfIfBits, 1, 0, makesFile},
				{bpfReturn, 0, 0, resultAllow},
			}
		}
		number(c.number, append(check,
			bpf{bpfLoad, 0, 0, uint32(dataArgs + 8*c.mode)},
			bpf{bpfIfBits, 0, 1, setidBits},
			refuse(syscall.EPERM),
			bpf{bpfReturn, 0, 0, resultAllow})...)
	}
	// Its mode is in memory, where a filter cannot look; programs then use openat.
	number(sysOpenat2, refuse(syscall.ENOSYS))
	// The flags of clone3 are in memory, where a filter cannot look; C libraries
	// then use clone.
	number(sysClone3, refuse(syscall.ENOSYS))
	number(sysClone,
		bpf{bpfLoad, 0, 0, dataArgs},
		bpf{bpfIfBits, 0, 1, newNamespaces},
		refuse(syscall.EPERM),
		bpf{bpfReturn, 0, 0, resultAllow})
	ioctls := []bpf{
		{bpfLoad, 0, 0, dataArgs + 8},
		{bpfIfEqual, 1, 0, tiocsti},
		{bpfIfEqual, 0, 1, tioclinux},
		refuse(syscall.EPERM),
	}
	if plan.readOnly {
		ioctls = append(ioctls,
			bpf{bpfAnd, 0, 0, ioctlType},
			bpf{bpfIfEqual, 1, 0, ioctlFiles},
			bpf{bpfIfEqual, 0, 1, ioctlXFS},
			refuse(syscall.ENOTTY))
	}
	number(sysIoctl, append(ioctls, bpf{bpfReturn, 0, 0, resultAllow})...)
	if !plan.sockets {
		number(sysSocket,
			bpf{bpfLoad, 0, 0, dataArgs},
			bpf{bpfIfEqual, 2, 0, syscall.AF_INET},
			bpf{bpfIfEqual, 1, 0, syscall.AF_INET6},
			refuse(syscall.EPERM),
			refuse(syscall.ENETUNREACH))
	} else {
		unixFamily := bpf{bpfReturn, 0, 0, resultAllow}
		if !plan.unix {
			unixFamily = refuse(syscall.EAFNOSUPPORT)
		}
		number(sysSocket,
			bpf{bpfLoad, 0, 0, dataArgs},
			bpf{bpfIfEqual, 8, 0, syscall.AF_INET},
			bpf{bpfIfEqual, 7, 0, syscall.AF_INET6},
			bpf{bpfIfEqual, 6, 0, syscall.AF_NETLINK},
			bpf{bpfIfEqual, 1, 0, syscall.AF_UNIX},
			refuse(syscall.EAFNOSUPPORT),
			bpf{bpfLoad, 0, 0, dataArgs + 8},
			bpf{bpfAnd, 0, 0, socketType},
			bpf{bpfIfEqual, 2, 0, syscall.SOCK_DGRAM},
			bpf{bpfIfEqual, 1, 2, syscall.SOCK_RAW}, // to the kernel the same
			bpf{bpfReturn, 0, 0, resultAllow},
			refuse(syscall.EPROTONOSUPPORT),
			unixFamily)
		if plan.unix {
			number(sysConnect, bpf{bpfReturn, 0, 0, resultNotify})
		}
	}
	// A pair of these sends to any path as well.
	number(sysSocketpair,
		bpf{bpfLoad, 0, 0, dataArgs + 8},
		bpf{bpfAnd, 0, 0, socketType},
		bpf{bpfIfEqual, 1, 0, syscall.SOCK_DGRAM},
		bpf{bpfIfEqual, 0, 1, syscall.SOCK_RAW},
		refuse(syscall.EPROTONOSUPPORT),
		bpf{bpfReturn, 0, 0, resultAllow})
	return append(f, bpf{bpfReturn, 0, 0, resultAllow})
}

// socketType are the bits of a socket's type that say which it is; the others are
// flags.
const socketType = 0xf

// seccomp puts a filter on the calling thread and what it starts. The thread must
// have given up new privileges.
func seccomp(f []bpf) syscall.Errno {
	_, errno := seccompWith(f, 0)
	return errno
}

// seccompListening does the same with a filter that notifies, and returns where the
// notifications come from.
func seccompListening(f []bpf) (listener int, errno syscall.Errno) {
	listener, errno = seccompWith(f, filterNewListener|filterWaitKillable)
	if errno == syscall.EINVAL {
		listener, errno = seccompWith(f, filterNewListener)
	}
	return listener, errno
}

func seccompWith(f []bpf, flags uintptr) (int, syscall.Errno) {
	if auditArch == 0 {
		return -1, syscall.ENOSYS
	}
	program := struct {
		length uint16
		filter *bpf
	}{uint16(len(f)), &f[0]}
	result, _, errno := syscall.Syscall(sysSeccomp, seccompSetFilter, flags, uintptr(unsafe.Pointer(&program)))
	return int(result), errno
}
