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

const sysClone3 = 435

type bpf struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// filter returns the program. With sockets, those of the usual families can be
// made; the others are not there, as on a kernel without them: some (vsock) are in
// no namespace. Without, none can be made, for it cannot be told from here what
// they would reach; pairs of connected ones can.
func filter(sockets bool) []bpf {
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
	// The flags of clone3 are in memory, where a filter cannot look; C libraries
	// then use clone.
	number(sysClone3, refuse(syscall.ENOSYS))
	number(sysClone,
		bpf{bpfLoad, 0, 0, dataArgs},
		bpf{bpfIfBits, 0, 1, newNamespaces},
		refuse(syscall.EPERM),
		bpf{bpfReturn, 0, 0, resultAllow})
	number(sysIoctl,
		bpf{bpfLoad, 0, 0, dataArgs + 8},
		bpf{bpfIfEqual, 1, 0, tiocsti},
		bpf{bpfIfEqual, 0, 1, tioclinux},
		refuse(syscall.EPERM),
		bpf{bpfReturn, 0, 0, resultAllow})
	if !sockets {
		number(sysSocket,
			bpf{bpfLoad, 0, 0, dataArgs},
			bpf{bpfIfEqual, 2, 0, syscall.AF_INET},
			bpf{bpfIfEqual, 1, 0, syscall.AF_INET6},
			refuse(syscall.EPERM),
			refuse(syscall.ENETUNREACH))
	} else {
		number(sysSocket,
			bpf{bpfLoad, 0, 0, dataArgs},
			bpf{bpfIfEqual, 4, 0, syscall.AF_UNIX},
			bpf{bpfIfEqual, 3, 0, syscall.AF_INET},
			bpf{bpfIfEqual, 2, 0, syscall.AF_INET6},
			bpf{bpfIfEqual, 1, 0, syscall.AF_NETLINK},
			refuse(syscall.EAFNOSUPPORT),
			bpf{bpfReturn, 0, 0, resultAllow})
	}
	return append(f, bpf{bpfReturn, 0, 0, resultAllow})
}

// seccomp puts a filter on the calling thread and what it starts. The thread must
// have given up new privileges.
func seccomp(f []bpf) syscall.Errno {
	if auditArch == 0 {
		return syscall.ENOSYS
	}
	program := struct {
		length uint16
		filter *bpf
	}{uint16(len(f)), &f[0]}
	_, _, errno := syscall.Syscall(sysSeccomp, seccompSetFilter, 0, uintptr(unsafe.Pointer(&program)))
	return errno
}
