package helper

import "syscall"

// Bits of capabilities(7), linux/capability.h, read 2026-11-20: an unprivileged
// user's helper mounts, and switches its loopback on, in its own user namespace.
const (
	capNetAdmin    = 12
	capSysAdmin    = 21
	capSysResource = 24
)

// AllNamespaces are those of a helper that can be given what a sandbox is made of.
const AllNamespaces = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET

// Namespaces asks for namespaces for a helper. Who is not root needs a user namespace too, in
// which they stay who they are.
func Namespaces(flags uintptr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: flags}
	if flags != 0 && syscall.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: syscall.Geteuid(), HostID: syscall.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: syscall.Getegid(), HostID: syscall.Getegid(), Size: 1}}
		attr.AmbientCaps = []uintptr{capNetAdmin, capSysAdmin, capSysResource}
	}
	return attr
}

// ahead is the [Probe] that was started before the program initializes, which takes as long;
// its process is 0 if there is none.
var ahead struct{ pid, output int }

// TakeAhead returns the process of a [Probe] with [AllNamespaces] that was started before the
// program initialized, and the end of the pipe that its words come from. It reports false if
// there is none, or it was taken.
func TakeAhead() (pid, output int, ok bool) {
	pid, output = ahead.pid, ahead.output
	ahead.pid = 0
	return pid, output, pid != 0
}

// startsRuns reports whether a command line is that of a program that will ask for a probe: it
// has no arguments, or run first.
func startsRuns(cmdline []byte) bool {
	args := split(cmdline)
	return len(args) == 1 || len(args) > 1 && args[1] == "run"
}

// probeAhead starts the probe. Without one it is started when it is asked for.
func probeAhead() {
	var output [2]int
	if syscall.Pipe2(output[:], syscall.O_CLOEXEC) != nil {
		return
	}
	defer syscall.Close(output[1])
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err == nil {
		defer syscall.Close(null)
		ahead.pid, err = syscall.ForkExec("/proc/self/exe", []string{"pawl", Proc, Probe}, &syscall.ProcAttr{
			Dir: "/", Env: []string{}, Files: []uintptr{uintptr(null), uintptr(output[1]), uintptr(null)}, Sys: Namespaces(AllNamespaces),
		})
	}
	if err != nil {
		syscall.Close(output[0])
		ahead.pid = 0
		return
	}
	ahead.output = output[0]
}
