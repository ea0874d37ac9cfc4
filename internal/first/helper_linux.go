package first

import (
	"syscall"
	"unsafe"
)

// The descriptors of the helper: the usual three, the control pipe, then those
// for the command.
const (
	controlFD = 3
	extraFD   = 4
)

// Linux numbers that package syscall lacks; prctl(2), linux/prctl.h, read
// 2026-11-20.
const (
	prSetChildSubreaper  = 36
	prCapAmbient         = 47
	prCapAmbientClearAll = 4
	pollIn               = 1
)

// The exit codes of a shell for a program that could not be started.
const (
	codeNotExecutable = 126
	codeKilled        = 128 + int(syscall.SIGKILL)
)

func init() {
	// os.Args is not there yet.
	if start := readFile("/proc/self/cmdline", 64); !isHelper(start) {
		return
	}
	args := split(readFile("/proc/self/cmdline", 0))
	if len(args) < 3 {
		exit(2)
	}
	help(args[2], args[3:])
}

// isHelper reports whether a command line, its arguments each ended by a zero
// byte, has Proc second.
func isHelper(cmdline []byte) bool {
	for i, b := range cmdline {
		if b == 0 {
			rest := cmdline[i+1:]
			return len(rest) > len(Proc) && string(rest[:len(Proc)]) == Proc && rest[len(Proc)] == 0
		}
	}
	return false
}

// help is the helper's whole life. It does not return.
func help(mode string, args []string) {
	inNamespace := mode != Sweep
	order := Order{}
	if inNamespace {
		if err := ownProc(); err != 0 {
			if mode == Probe {
				exit(1)
			}
			fail("cannot give the command a /proc of its own", err)
		}
		if mode == Probe {
			exit(0)
		}
	} else {
		prctl(prSetChildSubreaper, 1)
	}
	// What an unprivileged user was given to mount /proc is not the command's.
	prctl(prCapAmbient, prCapAmbientClearAll)

	syscall.CloseOnExec(controlFD)
	if mode == Ready {
		order = receive()
	} else {
		order.Env, order.Argv = syscall.Environ(), args[1:]
		for i := range count(args[0]) {
			order.files = append(order.files, extraFD+i)
		}
		if ownerGone() {
			exit(codeKilled)
		}
	}
	files := []uintptr{0, 1, 2}
	for _, fd := range order.files {
		files = append(files, uintptr(fd))
	}
	pid, err := syscall.ForkExec(order.Argv[0], order.Argv, &syscall.ProcAttr{
		Dir:   order.Dir,
		Env:   order.Env,
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		fail("cannot start "+order.Argv[0], errnoOf(err))
	}
	// The command's writers alone keep its pipes open.
	for _, fd := range order.files {
		syscall.Close(fd)
	}
	syscall.Close(1)
	syscall.Close(2)

	go obey(inNamespace)
	for {
		var status syscall.WaitStatus
		reaped, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.ECHILD {
			// Only if the sweep reaped the command; it is about to exit.
			select {}
		}
		if reaped != pid {
			continue // an orphan, or EINTR
		}
		if !inNamespace {
			sweep()
		}
		if status.Signaled() {
			exit(128 + int(status.Signal()))
		}
		exit(status.ExitStatus()) // in a namespace the kernel kills what is left
	}
}

// ownProc mounts a /proc that shows the helper's own pid namespace. With the old
// one /proc/self would lead nowhere, and with it a shell's <(…).
func ownProc() syscall.Errno {
	// Mounts made outside later still appear inside, none of ours outside.
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return errnoOf(err)
	}
	return errnoOf(syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NOEXEC|syscall.MS_NODEV, ""))
}

// obey does what the control pipe says. It does not return.
func obey(inNamespace bool) {
	var b [1]byte
	for {
		n, err := syscall.Read(controlFD, b[:])
		switch {
		case err == syscall.EINTR:
		case n == 1 && b[0] == Term && inNamespace:
			syscall.Kill(-1, syscall.SIGTERM) // to all of the namespace but its first process
		case n == 1 && b[0] == Term:
			signalDescendants(syscall.SIGTERM)
		case n == 1:
		default:
			if !inNamespace {
				sweep()
			}
			exit(codeKilled)
		}
	}
}

// ownerGone reports whether the control pipe has ended already.
func ownerGone() bool {
	p := struct {
		fd      int32
		events  int16
		revents int16
	}{fd: controlFD, events: pollIn}
	var now syscall.Timespec
	n, _, _ := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return n == 1 && p.revents&pollIn == 0
}

func prctl(option, arg uintptr) {
	syscall.RawSyscall6(syscall.SYS_PRCTL, option, arg, 0, 0, 0, 0)
}

func errnoOf(err error) syscall.Errno {
	errno, _ := err.(syscall.Errno)
	return errno
}

// fail says on the command's standard error why it does not run, as a shell
// would, and ends the helper.
func fail(what string, errno syscall.Errno) {
	syscall.Write(2, []byte("pawl: "+what+": "+errno.Error()+"\n"))
	exit(codeNotExecutable)
}

// exit ends the process at once, whatever its other threads do.
func exit(code int) {
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(code), 0, 0)
	}
}

// readFile returns at most limit bytes of a file, all of it if limit is 0, and
// nothing if it cannot be read.
func readFile(path string, limit int) []byte {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	size := limit
	if size == 0 {
		size = 4096
	}
	b := make([]byte, 0, size)
	for {
		n, err := syscall.Read(fd, b[len(b):cap(b)])
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 {
			return b
		}
		b = b[:len(b)+n]
		if len(b) == limit {
			return b
		}
		if len(b) == cap(b) {
			b = append(b, make([]byte, len(b))...)[:len(b)]
		}
	}
}

// split cuts a command line into its arguments.
func split(cmdline []byte) []string {
	var args []string
	from := 0
	for i, b := range cmdline {
		if b == 0 {
			args = append(args, string(cmdline[from:i]))
			from = i + 1
		}
	}
	return args
}
