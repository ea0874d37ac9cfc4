package helper

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
)

// execute runs a filter as the kernel does, on one system call.
func execute(t *testing.T, f []bpf, arch, number uint32, args ...uint64) uint32 {
	t.Helper()
	load := func(at uint32) uint32 {
		switch {
		case at == dataNumber:
			return number
		case at == dataArch:
			return arch
		case at >= dataArgs && at%4 == 0:
			i := int(at-dataArgs) / 8
			if i >= len(args) {
				return 0
			}
			return uint32(args[i] >> (8 * ((at - dataArgs) % 8)))
		}
		t.Fatalf("loads at %d", at)
		return 0
	}
	var acc uint32
	for at := 0; at < len(f); at++ {
		i := f[at]
		jump := func(is bool) {
			if is {
				at += int(i.jt)
			} else {
				at += int(i.jf)
			}
		}
		switch i.code {
		case bpfLoad:
			acc = load(i.k)
		case bpfIfEqual:
			jump(acc == i.k)
		case bpfIfBits:
			jump(acc&i.k != 0)
		case bpfAnd:
			acc &= i.k
		case bpfReturn:
			return i.k
		default:
			t.Fatalf("instruction %#x", i.code)
		}
	}
	t.Fatal("runs off its end")
	return 0
}

func TestTheFilterRefusesWhatItSaysAndNothingElse(t *testing.T) {
	t.Parallel()
	if auditArch == 0 {
		t.Skip("needs amd64 or arm64")
	}
	const (
		sigchld  = 17
		cloneFS  = 0x200
		newUser  = 0x10000000
		vsock    = 40
		loopback = 127
	)
	refusal := func(e syscall.Errno) uint32 { return resultError | uint32(e) }
	for _, plan := range []filterPlan{{sockets: true, unix: true}, {sockets: true}, {}, {readOnly: true}} {
		sockets := plan.sockets
		f := filter(plan)
		check := func(want uint32, arch, number uint32, args ...uint64) {
			t.Helper()
			if got := execute(t, f, arch, number, args...); got != want {
				t.Errorf("plan %+v, arch %#x, call %d(%x): %#x, want %#x", plan, arch, number, args, got, want)
			}
		}
		check(resultKill, 0x40000003, 1) // i386
		check(resultKill, archAMD64^archARM64^auditArch, 1)
		if runtime.GOARCH == "amd64" {
			check(resultKill, auditArch, x32|1)
		}
		all := append(slices.Clone(refusedEverywhere), refusedHere...)
		for nr := range uint32(600) {
			switch {
			case slices.Contains(all, nr):
				check(refusal(syscall.EPERM), auditArch, nr)
			case nr == sysClone3, nr == sysOpenat2:
				check(refusal(syscall.ENOSYS), auditArch, nr)
			case nr == sysSocket:
			case nr == sysConnect && plan.unix:
				check(resultNotify, auditArch, nr)
			case plan.readOnly && slices.Contains(changesHere, nr):
				check(refusal(syscall.EPERM), auditArch, nr)
			default:
				check(resultAllow, auditArch, nr)
			}
		}
		check(resultAllow, auditArch, sysClone, sigchld|cloneFS)
		check(refusal(syscall.EPERM), auditArch, sysClone, sigchld|newUser)
		check(refusal(syscall.EPERM), auditArch, sysClone, 1<<40|newUser)
		check(resultAllow, auditArch, sysIoctl, 0, syscall.TIOCGWINSZ)
		check(refusal(syscall.EPERM), auditArch, sysIoctl, 0, tiocsti)
		check(refusal(syscall.EPERM), auditArch, sysIoctl, 0, 1<<32|tiocsti) // the kernel looks at 32 bits
		check(refusal(syscall.EPERM), auditArch, sysIoctl, 0, tioclinux)
		for _, flags := range []uint64{0x40086602, 0x401c5820} { // FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR
			want := uint32(resultAllow)
			if plan.readOnly {
				want = refusal(syscall.ENOTTY)
			}
			check(want, auditArch, sysIoctl, 3, flags)
		}
		if plan.readOnly {
			check(resultAllow, auditArch, sysPrlimit, 0)
			check(refusal(syscall.EPERM), auditArch, sysPrlimit, 7)
		}
		for _, c := range setsModeHere {
			args := make([]uint64, 4)
			args[c.mode] = 0o4755
			if c.flags >= 0 { // the mode of what is only opened is what the register held
				check(resultAllow, auditArch, c.number, args...)
				args[c.flags] = 0o101
			}
			check(refusal(syscall.EPERM), auditArch, c.number, args...)
			if args[c.mode] = 0o2755; c.flags >= 0 {
				args[c.flags] = 0o20000000 | 2
			}
			check(refusal(syscall.EPERM), auditArch, c.number, args...)
			if args[c.mode] = 0o1777; !plan.readOnly || !slices.Contains(changesHere, c.number) {
				check(resultAllow, auditArch, c.number, args...)
			}
		}
		for _, family := range []uint64{syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6, syscall.AF_NETLINK} {
			want := uint32(resultAllow)
			if family == syscall.AF_UNIX && !plan.unix {
				want = refusal(syscall.EAFNOSUPPORT)
			}
			if !sockets {
				want = refusal(syscall.EPERM)
				if family == syscall.AF_INET || family == syscall.AF_INET6 {
					want = refusal(syscall.ENETUNREACH)
				}
			}
			check(want, auditArch, sysSocket, family)
			check(want, auditArch, sysSocket, 1<<32|family)
		}
		const cloexec = 0x80000
		for _, number := range []uint32{sysSocket, sysSocketpair} {
			want := refusal(syscall.EPROTONOSUPPORT)
			if number == sysSocket && !sockets {
				want = refusal(syscall.EPERM)
			}
			check(want, auditArch, number, syscall.AF_UNIX, syscall.SOCK_DGRAM|cloexec)
			check(want, auditArch, number, syscall.AF_UNIX, syscall.SOCK_RAW|cloexec)
		}
		check(resultAllow, auditArch, sysSocketpair, syscall.AF_UNIX, syscall.SOCK_SEQPACKET|cloexec)
		for _, family := range []uint64{syscall.AF_PACKET, vsock, 38 /* AF_ALG */, loopback} {
			want := refusal(syscall.EAFNOSUPPORT)
			if !sockets {
				want = refusal(syscall.EPERM)
			}
			check(want, auditArch, sysSocket, family)
		}
	}
}

func TestAnAttemptToLeaveIsReadFromTheKernelsCounters(t *testing.T) {
	t.Parallel()
	const head = "Ip: Forwarding OutRequests OutNoRoutes ReasmTimeout\n"
	for text, want := range map[string]string{
		head + "Ip: 2 7 0 0\nIcmp: OutNoRoutes\nIcmp: 1\n": "",
		head + "Ip: 2 7 3 0\n":                             "3",
		"Udp: OutNoRoutes\nUdp: 1\n" + head:                "",
		head + "Ip: 2\n":                                   "",
		"":                                                 "",
	} {
		if got := counted([]byte(text), "Ip:", "OutNoRoutes"); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"Ip6InReceives  \t4\nIp6OutNoRoutes                  \t0\n": "",
		"Ip6OutNoRoutes                  \t12\n":                    "12",
		"Ip6OutNoRoutes":                                            "",
	} {
		if got := counted6([]byte(text), "Ip6OutNoRoutes"); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
