package helper

import (
	"runtime"
	"sync/atomic"
	"syscall"
)

// controlFD is the helper's end of the socket to its owner; before it come the
// usual three.
const controlFD = 3

// Linux numbers that package syscall lacks; prctl(2), linux/prctl.h, read
// 2026-11-20.
const (
	prSetChildSubreaper  = 36
	prCapAmbient         = 47
	prCapAmbientClearAll = 4
)

// The exit codes of a shell for a program that could not be started.
const (
	codeNotExecutable = 126
	codeKilled        = 128 + int(syscall.SIGKILL)
	codeTerminated    = 128 + int(syscall.SIGTERM)
)

func init() {
	// os.Args is not there yet.
	if start := readFile("/proc/self/cmdline", 64); !isHelper(start) {
		if startsRuns(start) {
			probeAhead()
		}
		return
	}
	args := split(readFile("/proc/self/cmdline", 0))
	if len(args) != 3 {
		exit(2)
	}
	help(args[2])
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
func help(mode string) {
	inNamespace := mode == Namespace
	switch {
	case mode == Resident:
		serve()
	case mode == Probe:
		probe()
	case inNamespace:
		if err := ownProc(); err != 0 {
			fail("cannot give the command a /proc of its own", err)
		}
	default:
		prctl(prSetChildSubreaper, 1)
	}
	outliveNobody(inNamespace)
	closeOnExec()
	o, files, ok := receive(controlFD)
	files, file := o.cut(files)
	if !ok || len(o.Argv) == 0 || len(files) == 0 {
		exit(codeKilled)
	}
	for _, std := range []int{1, 2} {
		if err := syscall.Dup3(files[0], std, 0); err != nil {
			exit(codeKilled)
		}
	}
	if o.Confine != nil {
		offerToEnd()
		if inNamespace {
			limitProcesses()
			limitWatches()
		}
		if o.Confine.Network == OwnNetwork {
			if err := loopbackUp(); err != 0 {
				fail("cannot give the command a network of its own", err)
			}
		}
	}
	// Nobody below looks into the helper or traces it, not even the same user.
	prctl(prSetDumpable, 0)
	code.Store(int32(codeTerminated))
	pid := launch(o, files, inNamespace)
	// The command's writers alone keep its pipes open.
	for _, fd := range files {
		syscall.Close(fd)
	}
	syscall.Close(1)
	syscall.Close(2)

	bounds := o.bounds(o.Confine != nil)
	(&beat{}).begin(file, func() {
		if what := bounds.exceeded(below(inNamespace, processes())); what != 0 {
			syscall.Write(controlFD, []byte{what})
			end(inNamespace)
		}
	}, func() bool { return false }) // it ends with the helper
	go obey(inNamespace)
	over := false // the command itself has ended
	for {
		var status syscall.WaitStatus
		reaped, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.ECHILD && !over:
			// Only if the sweep reaped the command; it is about to exit.
			select {}
		case err == syscall.ECHILD:
			finish(inNamespace) // what had to tidy up has done so
		case reaped != pid:
			continue // an orphan, or EINTR
		}
		if o.Confine != nil && o.Confine.Network == OwnNetwork && countNoRoutes() != (noRoutes{}) {
			syscall.Write(controlFD, []byte{NoRoute})
		}
		if over = true; status.Signaled() {
			code.Store(128 + int32(status.Signal()))
		} else {
			code.Store(int32(status.ExitStatus()))
		}
		if !stopping.Load() {
			finish(inNamespace)
		}
	}
}

// closeOnExec keeps the helper's descriptors from the command, those included that the
// owner inherited from the process that started it: Go marks only what it opens itself.
func closeOnExec() {
	const firstFD, closeRangeCloexec = 3, 4 // close_range(2) since Linux 5.11, read 2026-11-22
	if _, _, errno := syscall.RawSyscall(sysCloseRange, firstFD, ^uintptr(0)>>32, closeRangeCloexec); errno == 0 {
		return
	}
	for _, name := range names("/proc/self/fd") {
		if fd, ok := number(name); ok && fd >= firstFD {
			syscall.CloseOnExec(fd)
		}
	}
}

// code is how the helper exits: as the command did, once it has ended.
var code atomic.Int32

// finish ends what is left of the command, and the helper.
func finish(inNamespace bool) {
	if !inNamespace {
		sweep()
	}
	exit(int(code.Load())) // in a namespace the kernel kills what is left
}

// outliveNobody is against commands that stop their helper (a signal where there is
// no namespace, root's tracing where there is), which then would not see its owner
// die: the kernel kills the namespace in its place, or wakes the helper for its
// sweep.
func outliveNobody(inNamespace bool) {
	signal := syscall.SIGCONT
	if inNamespace {
		signal = syscall.SIGKILL
	}
	prctl(syscall.PR_SET_PDEATHSIG, uintptr(signal))
}

// launch starts the command and returns its process id. It ends the helper when
// that fails.
//
// What confines a process is given up by none of its children, and each thread is
// confined by itself. So the command is started from a thread that confines
// itself and then ends; the helper's other threads remain free to end what the
// command started, wherever it hides.
func launch(o Order, files []int, inNamespace bool) (pid int) {
	var errno syscall.Errno
	done := make(chan string)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if o.Confine != nil {
			e, what, err := enclosureOf(o.Confine, inNamespace)
			if err == 0 {
				what, err = e.enter(nil)
			}
			if err != 0 {
				errno = err
				done <- "cannot confine the command: " + what
				return
			}
		} else {
			// What an unprivileged user was given to mount /proc is not the command's.
			prctl(prCapAmbient, prCapAmbientClearAll)
		}
		if pid, errno = forkExec(o, files, &syscall.SysProcAttr{Setpgid: true}); errno != 0 {
			done <- "cannot start " + o.Argv[0] + " in " + o.Dir
			return
		}
		done <- ""
	}()
	if what := <-done; what != "" {
		fail(what, errno)
	}
	return pid
}

// forkExec starts the program of an order. Its output is the first of files; its
// standard input is the helper's.
func forkExec(o Order, files []int, sys *syscall.SysProcAttr) (pid int, errno syscall.Errno) {
	fds := []uintptr{0, uintptr(files[0]), uintptr(files[0])}
	for _, fd := range files[1:] {
		fds = append(fds, uintptr(fd))
	}
	pid, err := syscall.ForkExec(o.Argv[0], o.Argv, &syscall.ProcAttr{Dir: o.Dir, Env: o.Env, Files: fds, Sys: sys})
	return pid, errnoOf(err)
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

// obey does what the control socket says. It does not return.
func obey(inNamespace bool) {
	var b [1]byte
	for {
		n, err := syscall.Read(controlFD, b[:])
		switch {
		case err == syscall.EINTR:
		case n == 1 && b[0] == Term:
			if !stopping.Swap(true) {
				go stop(func(parents map[int]int) (pids []int, over bool) {
					return below(inNamespace, parents), false
				}, func() { finish(inNamespace) })
			}
		case n == 1:
		default:
			end(inNamespace)
		}
	}
}

// below returns the processes of the command.
func below(inNamespace bool, parents map[int]int) (pids []int) {
	for pid := range parents {
		if inNamespace && pid != syscall.Getpid() || isDescendant(pid, syscall.Getpid(), parents) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// end kills the command. It does not return.
func end(inNamespace bool) {
	if !inNamespace {
		sweep()
	}
	exit(codeKilled)
}

func prctl(option, arg uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, arg, 0, 0, 0, 0)
	return errno
}

// errnoOf returns the number of a system call's error; 0 is none.
func errnoOf(err error) syscall.Errno {
	errno, ok := err.(syscall.Errno)
	if err != nil && !ok {
		return syscall.EINVAL
	}
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

// writeFile writes to a file that is there.
func writeFile(path, text string) syscall.Errno {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return errnoOf(err)
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte(text))
	return errnoOf(err)
}

// pieces cuts a text at each of the separators; empty pieces are left out.
func pieces(s, separators string) []string {
	var all []string
	from := 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || has(separators, s[i]) {
			if i > from {
				all = append(all, s[from:i])
			}
			from = i + 1
		}
	}
	return all
}

func has(set string, b byte) bool {
	for i := range len(set) {
		if set[i] == b {
			return true
		}
	}
	return false
}

// split cuts a text into the strings that end at its zero bytes.
func split(text []byte) []string {
	var args []string
	from := 0
	for i, b := range text {
		if b == 0 {
			args = append(args, string(text[from:i]))
			from = i + 1
		}
	}
	return args
}
