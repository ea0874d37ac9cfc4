package helper

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A resident helper builds a sandbox once and starts many commands in it. It is the
// first process of a pid namespace, so its end is theirs. Each command gets its own pid
// namespace in that one, whose first process (see startInit) is a fork of the helper,
// its own mount namespace, a copy of the helper's in which what was to be its own is
// mounted anew, and its own IPC namespace. The network, if it is not the machine's, is
// shared by the commands of a resident helper.
//
// On the control socket the owner sends the [Confinement] as an [Order], then [Check]s
// and [Run]s.
type resident struct {
	confine   *Confinement
	sandbox   *enclosure
	fresh     []freshMount
	mountinfo int // reports changes of the helper's mount namespace

	mu       sync.Mutex
	broken   string // why there is no sandbox; empty: there is one
	running  map[*residentCommand]bool
	unrouted noRoutes        // as counted when the last command ended
	next     *preparedThread // for the next command; nil: none

	beat beat
}

// A residentCommand is one of the commands of a resident helper.
type residentCommand struct {
	control int // the socket to its owner; open at least until it was killed
	bounds  bounds

	mu       sync.Mutex
	init     *initProcess // of its pid namespace; nil: not started, or collected
	pid      int          // the command itself; 0: not started, or over
	killed   bool         // kill was called
	stopped  bool         // kill was called because nothing was left to wait for
	stopping bool         // it was asked to end

	mounts int           // its mount namespace, a descriptor
	ended  chan struct{} // closed when nothing of it is left to wait for after a stop

	// alone says that no other command ran at the same time, so that what the kernel
	// counted was this one's. Guarded by the resident's lock.
	alone   bool
	noRoute atomic.Bool // a connection that the helper made for it found no route
}

// serve is the life of a resident helper. It does not return.
func serve() {
	if err := ownProc(); err != 0 {
		exit(codeNotExecutable)
	}
	outliveNobody(true)
	closeOnExec()
	order, _, ok := receive(controlFD)
	if !ok || order.Confine == nil {
		exit(codeKilled)
	}
	r := &resident{confine: order.Confine, running: map[*residentCommand]bool{}}
	r.build()
	prctl(prSetDumpable, 0)
	r.prepareNext()
	for {
		request, fd := receiveRequest()
		switch request {
		case Check:
			syscall.Write(controlFD, []byte{r.state()})
		case Listen:
			r.listen()
		case Run:
			go r.run(fd)
		default:
			exit(codeKilled)
		}
	}
}

// build makes the sandbox.
func (r *resident) build() {
	offerToEnd()
	limitWatches()
	if r.confine.Network == OwnNetwork {
		if err := loopbackUp(); err != 0 {
			r.broken = "cannot give the command a network of its own: " + err.Error()
			return
		}
	}
	fresh, what, err := build(r.confine.Mounts)
	if err != 0 {
		r.broken = "cannot give the command its own file tree: " + what + ": " + err.Error()
		return
	}
	r.fresh = fresh
	var openErr error
	if r.mountinfo, openErr = syscall.Open("/proc/self/mountinfo", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); openErr != nil {
		r.broken = "cannot watch the file tree: " + openErr.Error()
		return
	}
	if r.sandbox, what, err = enclosureOf(r.confine, true); err != 0 {
		r.broken = "cannot confine the command: " + what + ": " + err.Error()
		return
	}
	r.unrouted = countNoRoutes()
}

// isIdle reports whether no command runs.
func (r *resident) isIdle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running) == 0
}

// isBroken returns why there is no sandbox; empty: there is one.
func (r *resident) isBroken() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// state answers a [Check]. A mount that was put over one of the file tree, or removed
// because a file was replaced in another namespace, makes it [Changed] for good.
func (r *resident) state() byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != "" || polled(r.mountinfo, pollPriority)&(pollPriority|pollError) != 0 {
		if r.broken == "" {
			r.broken = "the command's file tree has changed"
		}
		return Changed
	}
	return Intact
}

// listen answers a [Listen]. What listens belongs to the network that it was made in, whoever accepts from it.
func (r *resident) listen() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		defer syscall.Close(fd)
		if err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err == nil {
			err = syscall.Listen(fd, syscall.SOMAXCONN)
		}
	}
	if err != nil || r.confine.Network != OwnNetwork || r.isBroken() != "" {
		syscall.Write(controlFD, []byte{Changed})
		return
	}
	syscall.Sendmsg(controlFD, []byte{Listen}, syscall.UnixRights(fd), nil, 0)
}

// run runs one command to its end. Its owner has the other end of control.
func (r *resident) run(control int) {
	order, files, ok := receive(control)
	files, file := order.cut(files)
	if !ok || len(order.Argv) == 0 || len(files) == 0 {
		syscall.Close(control)
		return
	}
	thread := r.take()
	c := thread.command
	c.control, c.bounds = control, order.bounds(true)
	r.begin(c)
	r.beat.begin(file, r.look, r.isIdle)
	pid, what, err := r.launch(thread, order, files)
	if what != "" {
		syscall.Write(files[0], []byte("pawl: "+what+": "+err.Error()+"\n"))
	}
	for _, fd := range files {
		syscall.Close(fd)
	}
	if pid != 0 {
		r.prepareNext()
	}
	obeyed := make(chan struct{})
	go func() {
		defer close(obeyed)
		c.obey()
	}()
	code := codeNotExecutable
	if pid != 0 {
		code = c.wait(pid)
	}
	report := []byte{Ended, byte(code)}
	if r.end(c) {
		report = []byte{NoRoute, Ended, byte(code)}
	}
	syscall.Write(control, report)
	syscall.Shutdown(control, syscall.SHUT_RDWR)
	<-obeyed
	syscall.Close(control)
	syscall.Close(c.mounts)
}

// wait returns the exit code of a command when nothing of it is left.
func (c *residentCommand) wait(pid int) int {
	awaitEnd(pid)
	c.mu.Lock()
	c.pid = 0 // from now on the number may be another's
	stopping, stopped := c.stopping, c.stopped
	c.mu.Unlock()
	status := waitFor(pid)
	if stopping {
		<-c.ended // what tidies up is waited for though the command is over
	}
	c.kill(false)
	c.collect()
	switch {
	case !status.Signaled():
		return status.ExitStatus()
	case stopped && status.Signal() == syscall.SIGKILL:
		return codeTerminated // TERM was on its way
	}
	return 128 + int(status.Signal())
}

// kill ends every process of the command. stopped says that it was asked to end and
// nothing is left to wait for.
func (c *residentCommand) kill(stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed {
		return
	}
	c.killed, c.stopped = true, stopped
	close(c.ended)
	if c.init != nil {
		c.init.kill()
	}
}

// collect waits for the first process of the namespace, which ends as the last.
func (c *residentCommand) collect() {
	c.mu.Lock()
	init := c.init
	c.mu.Unlock()
	if init == nil {
		return
	}
	init.collect()
	c.mu.Lock()
	c.init = nil
	c.mu.Unlock()
}

// look ends the commands that are over their bounds.
func (r *resident) look() {
	r.mu.Lock()
	var commands []*residentCommand
	for c := range r.running {
		commands = append(commands, c)
	}
	r.mu.Unlock()
	parents := processes()
	for _, c := range commands {
		pids, over := c.members(parents)
		if over {
			continue
		}
		if what := c.bounds.exceeded(pids); what != 0 {
			c.exceed(what)
		}
	}
}

// exceed ends a command and tells its owner why.
func (c *residentCommand) exceed(what byte) {
	c.mu.Lock()
	if !c.killed {
		syscall.Write(c.control, []byte{what})
	}
	c.mu.Unlock()
	c.kill(false)
}

// obey does what the owner of a command says, until there is no more.
func (c *residentCommand) obey() {
	var b [1]byte
	for {
		n, err := syscall.Read(c.control, b[:])
		switch {
		case err == syscall.EINTR:
		case n == 1 && b[0] == Term:
			c.stop()
		case n == 1:
		default:
			c.kill(false)
			return
		}
	}
}

// stop asks the processes of a command to end, once.
func (c *residentCommand) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping || c.killed || c.init == nil {
		return
	}
	c.stopping = true
	go stop(c.members, func() { c.kill(true) })
}

// members returns which processes are of the command. Those whose parent has ended are
// below the first process of its namespace; the command itself is a child of the helper.
func (c *residentCommand) members(parents map[int]int) (pids []int, over bool) {
	c.mu.Lock()
	init, command, over := c.init, c.pid, c.killed
	c.mu.Unlock()
	if over || init == nil {
		return nil, true
	}
	for pid := range parents {
		if isDescendant(pid, init.pid, parents) || command != 0 && (pid == command || isDescendant(pid, command, parents)) {
			pids = append(pids, pid)
		}
	}
	return pids, false
}

// begin counts a command in.
func (r *resident) begin(c *residentCommand) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.alone = len(r.running) == 0
	for other := range r.running {
		other.alone = false
	}
	r.running[c] = true
}

// end counts a command out, and reports whether it tried to reach a network that it
// does not have. What the kernel counts is of all commands together: with others beside
// it only the connections count which the helper made in its place.
func (r *resident) end(c *residentCommand) (noRoute bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, c)
	if r.confine.Network != OwnNetwork {
		return false
	}
	now := countNoRoutes()
	counted := now != r.unrouted
	r.unrouted = now
	return c.noRoute.Load() || c.alone && counted
}

// A preparedThread is a thread in the namespaces of one command, confined for good, that waits
// for the command to start. It is made when the sandbox is built, and while the command before
// it runs: then the helper and its owner have nothing else to do.
//
// As in the helper of a single command, the thread ends with what it was made for: it
// moves to the namespaces and confines itself, and the others do not.
type preparedThread struct {
	command *residentCommand // without its socket
	start   chan start       // closed when it is not needed
	ready   chan struct{}    // closed when it waits, or what says why it does not
	what    string
	errno   syscall.Errno
}

// A start is what a prepared thread is told to start, and what came of it.
type start struct {
	order Order
	files []int
	done  chan<- started
}

type started struct {
	pid   int
	errno syscall.Errno
}

// prepare makes a thread for one command.
func (r *resident) prepare() *preparedThread {
	t := &preparedThread{
		command: &residentCommand{control: -1, mounts: -1, ended: make(chan struct{})},
		start:   make(chan start), ready: make(chan struct{}),
	}
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		t.what, t.errno = r.confineThread(t.command)
		close(t.ready)
		if t.what != "" {
			return
		}
		s, ok := <-t.start
		if !ok {
			return
		}
		var done started
		done.pid, done.errno = forkExec(s.order, s.files, &syscall.SysProcAttr{Setsid: true})
		s.done <- done
	}()
	return t
}

// confineThread gives the calling thread the namespaces of a command, starts their first
// process, and takes from the thread what the sandbox does not give. With an error it returns
// the part that failed.
func (r *resident) confineThread(c *residentCommand) (what string, errno syscall.Errno) {
	if broken := r.isBroken(); broken != "" {
		return broken, syscall.EPERM
	}
	if errno := unshareForCommand(); errno != 0 {
		return "cannot give the command namespaces of its own", errno
	}
	// To take the mounts apart takes until every processor has seen that they are gone:
	// the last process of the command is not to wait for that.
	c.mounts, _ = syscall.Open("/proc/thread-self/ns/mnt", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if what, errno := mountFresh(r.fresh); errno != 0 {
		return "cannot give the command its own file tree: " + what, errno
	}
	init, errno := startInit()
	if errno != 0 {
		return "cannot give the command a /proc of its own", errno
	}
	c.mu.Lock()
	c.init = init
	c.mu.Unlock()
	if what, errno := r.sandbox.enter(&c.noRoute); errno != 0 {
		return "cannot confine the command: " + what, errno
	}
	return "", 0
}

// take returns a thread for one command: the one that is prepared, or another.
func (r *resident) take() *preparedThread {
	r.mu.Lock()
	t := r.next
	r.next = nil
	r.mu.Unlock()
	if t == nil {
		t = r.prepare()
	}
	return t
}

// prepareNext makes a thread for the next command, if there is none. Where Landlock's rules
// name what is in a folder, as beside secrets, they are made when the command starts: what is
// made before then can be read by it.
func (r *resident) prepareNext() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil && r.broken == "" && len(r.sandbox.covered) == 0 {
		r.next = r.prepare()
	}
}

// launch starts a command in a thread's namespaces. What is prepared is what it would be if
// it were made now: a [Check] came before, and what changes the helper's mounts changes those
// of the thread too.
func (r *resident) launch(t *preparedThread, o Order, files []int) (pid int, what string, errno syscall.Errno) {
	<-t.ready
	broken := r.isBroken()
	switch {
	case t.what != "":
		what, errno = t.what, t.errno
	case broken != "":
		close(t.start)
		what, errno = broken, syscall.EPERM
	default:
		done := make(chan started)
		t.start <- start{o, files, done}
		s := <-done
		if pid, errno = s.pid, s.errno; errno != 0 {
			what = "cannot start " + o.Argv[0] + " in " + o.Dir
		}
	}
	c := t.command
	if what != "" {
		c.kill(false)
		c.collect()
		return 0, what, errno
	}
	c.mu.Lock()
	c.pid = pid
	c.mu.Unlock()
	return pid, "", 0
}

// unshareForCommand gives the calling thread the namespaces of one command. Of process
// ids it is the thread's children that are in the new one.
func unshareForCommand() syscall.Errno {
	return errnoOf(syscall.Unshare(syscall.CLONE_FS | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC))
}

// awaitEnd returns when a child has ended, and does not collect it.
func awaitEnd(pid int) {
	const justOne, exited, leave = 1, 4, 0x01000000 // P_PID, WEXITED, WNOWAIT; linux/wait.h, read 2026-11-22
	for {
		if _, _, err := syscall.Syscall6(syscall.SYS_WAITID, justOne, uintptr(pid), 0, exited|leave, 0, 0); err != syscall.EINTR {
			return
		}
	}
}

// waitFor collects a child.
func waitFor(pid int) (status syscall.WaitStatus) {
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			return status
		}
	}
}

// poll(2), asm-generic/poll.h, read 2026-11-22.
const (
	pollIn       = 0x1
	pollPriority = 0x2
	pollError    = 0x8
	pollHangup   = 0x10
)

// polled returns what is there of some events, now.
func polled(fd int, events int16) int16 { return poll(fd, events, &syscall.Timespec{}) }

// poll waits for events of a descriptor; without a limit for ever.
func poll(fd int, events int16, limit *syscall.Timespec) int16 {
	p := struct {
		fd              int32
		events, revents int16
	}{fd: int32(fd), events: events}
	for {
		_, _, err := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(limit)), 0, 0, 0)
		switch err {
		case 0:
			return p.revents
		case syscall.EINTR:
		default:
			return pollError
		}
	}
}
