package helper

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A socket in a folder is reached by its path alone, whatever network namespace who
// asks is in; and neither mounts nor Landlock (to ABI 7) can tell connecting from
// reading. So the filter hands every connect of the command to the helper, which
// connects in the command's place, by a copy of the address: to a socket of the unix
// family only if a process of the command is at its other end. Nothing the command
// does to its memory or its files meanwhile changes where that leads.
// seccomp_unotify(2), read 2026-11-22.
//
// Datagrams, which need no connect, are not there for the family at all.

// linux/seccomp.h, linux/sock_diag.h, linux/unix_diag.h, linux/netlink.h, read
// 2026-11-22.
const (
	filterNewListener  = 1 << 3
	filterWaitKillable = 1 << 5 // Linux 5.19; without it a signal starts a connect again
	resultNotify       = 0x7fc00000

	notifyReceive = 0xc0502100
	notifySend    = 0xc0182101
	notifyValid   = 0x40082102

	sysPidfdOpen  = 434
	sysPidfdGetfd = 438

	soDomain        = 39
	netlinkSockDiag = 4
	sockDiagFamily  = 20
	tcpListen       = 10 // the state, also of unix sockets
	showName        = 1
	showFile        = 2
	attributeName   = 0
	attributeFile   = 1
	sizeofUnixDiag  = 16
)

// A notification is a system call that waits for an answer.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	data  struct {
		number int32
		arch   uint32
		at     uint64
		args   [6]uint64
	}
}

// maxConnects bounds the connections that a command waits for at the same time: each takes
// a thread of the helper, which all commands of a workspace share.
const maxConnects = 64

// answerConnects answers the calls of connect that come from a listener, until there is
// no process that could ask. It sets noRoute, if that is not nil, when there is no route for
// one.
func answerConnects(listener int, noRoute *atomic.Bool) {
	var asked sync.WaitGroup
	slots := make(chan struct{}, maxConnects)
	defer func() {
		asked.Wait() // it still uses the listener
		syscall.Close(listener)
	}()
	for {
		if ready := poll(listener, pollIn, nil); ready&pollIn == 0 {
			return // Linux 5.9; before, the helper waits below until it ends
		}
		var n notification
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), notifyReceive, uintptr(unsafe.Pointer(&n)))
		switch errno {
		case 0:
			slots <- struct{}{}
			asked.Go(func() { // a connect may last
				defer func() { <-slots }()
				err := connectFor(listener, &n)
				if noRoute != nil && err == syscall.ENETUNREACH {
					noRoute.Store(true)
				}
				answer := struct {
					id    uint64
					value int64
					errno int32
					flags uint32
				}{id: n.id, errno: -int32(err)}
				syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), notifySend, uintptr(unsafe.Pointer(&answer)))
			})
		case syscall.EINTR, syscall.ENOENT: // who asked is gone
		default:
			return // everyone who could ask is
		}
	}
}

// connectFor connects a socket of another process as it asked for.
func connectFor(listener int, n *notification) syscall.Errno {
	pid := decimal(int(n.pid))
	size := n.data.args[2]
	var address [128]byte // sockaddr_storage
	if size < 2 || size > uint64(len(address)) {
		return syscall.EINVAL
	}
	memory, err := syscall.Open("/proc/"+pid+"/mem", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return syscall.EPERM
	}
	read, err := syscall.Pread(memory, address[:size], int64(n.data.args[1]))
	syscall.Close(memory)
	if err != nil || read != int(size) {
		return syscall.EFAULT
	}
	socket, errno := socketOf(pid, int(n.data.args[0]))
	if errno != 0 {
		return errno
	}
	defer syscall.Close(socket)
	// The process was the one that asks all the time.
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), notifyValid, uintptr(unsafe.Pointer(&n.id))); errno != 0 {
		return syscall.EPERM
	}
	domain, err := syscall.GetsockoptInt(socket, syscall.SOL_SOCKET, soDomain)
	if err != nil {
		return errnoOf(err)
	}
	if domain == syscall.AF_NETLINK {
		// The kernel would look at the helper's capabilities. What is sent over a socket that
		// is connected to a group reaches programs outside that take it for the kernel's.
		return syscall.EPERM
	}
	family := uint16(address[0]) | uint16(address[1])<<8 // both architectures are little-endian
	if domain != syscall.AF_UNIX || family != syscall.AF_UNIX || size == 2 {
		return connectTo(socket, address[:size])
	}
	if address[2] == 0 {
		if !isOwnListener(func(d diagnosed) bool { return d.name == string(address[2:size]) }) {
			return syscall.ECONNREFUSED
		}
		return connectTo(socket, address[:size])
	}
	path := address[2:size]
	for i, b := range path {
		if b == 0 {
			path = path[:i]
			break
		}
	}
	at, errno := openFrom(pid, string(path))
	if errno != 0 {
		return errno
	}
	defer syscall.Close(at)
	var stat syscall.Stat_t
	if err := syscall.Fstat(at, &stat); err != nil {
		return errnoOf(err)
	}
	device := deviceOf(pid, at)
	if device == 0 || !isOwnListener(func(d diagnosed) bool { return d.device == device && d.inode == uint32(stat.Ino) && d.inode != 0 }) {
		return syscall.ECONNREFUSED
	}
	// By the descriptor it can lead nowhere else.
	exact := append([]byte{syscall.AF_UNIX, 0}, "/proc/self/fd/"+decimal(at)+"\x00"...)
	return connectTo(socket, exact)
}

func connectTo(socket int, address []byte) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_CONNECT, uintptr(socket), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
	return errno
}

// socketOf returns a descriptor of another process.
func socketOf(pid string, fd int) (int, syscall.Errno) {
	leader := pid // of its threads
	for _, line := range pieces(string(readFile("/proc/"+pid+"/status", 8192)), "\n") {
		if fields := pieces(line, " \t"); len(fields) == 2 && fields[0] == "Tgid:" {
			leader = fields[1]
		}
	}
	id, _ := number(leader)
	process, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(id), 0, 0)
	if errno != 0 {
		return -1, syscall.EPERM
	}
	defer syscall.Close(int(process))
	socket, _, errno := syscall.Syscall(sysPidfdGetfd, process, uintptr(fd), 0)
	return int(socket), errno
}

// openFrom takes hold of a path as another process names it, in its file tree and links
// followed.
func openFrom(pid, path string) (int, syscall.Errno) {
	root, err := syscall.Open("/proc/"+pid+"/root", oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, errnoOf(err)
	}
	defer syscall.Close(root)
	if path[0] != '/' {
		var folder [4096]byte
		n, err := syscall.Readlink("/proc/"+pid+"/cwd", folder[:])
		if err != nil {
			return -1, errnoOf(err)
		}
		path = string(folder[:n]) + "/" + path
	}
	return openResolving(root, path, resolveInRoot)
}

// deviceOf returns the device of the file system that a descriptor is on, as the
// kernel has it: what stat(2) says of some (btrfs) is another. 0: not known. The file
// is in the file tree of the process.
func deviceOf(pid string, fd int) uint32 {
	mount := ""
	for _, line := range pieces(string(readFile("/proc/self/fdinfo/"+decimal(fd), 4096)), "\n") {
		if fields := pieces(line, " \t"); len(fields) == 2 && fields[0] == "mnt_id:" {
			mount = fields[1]
		}
	}
	for _, line := range pieces(string(readFile("/proc/"+pid+"/mountinfo", 0)), "\n") {
		fields := pieces(line, " ")
		if len(fields) < 3 || fields[0] != mount {
			continue
		}
		if numbers := pieces(fields[2], ":"); len(numbers) == 2 {
			major, _ := number(numbers[0])
			minor, _ := number(numbers[1])
			return uint32(major)<<20 | uint32(minor)
		}
	}
	return 0
}

// diagnosed is a listening socket of the unix family.
type diagnosed struct {
	socket        uint32 // its own inode, as in /proc/PID/fd
	device, inode uint32 // the file it is bound to; 0: none
	name          string // the name it is bound to; an abstract one begins with a zero byte
}

// isOwnListener reports whether a socket that fits is held by a process below the
// helper. The kernel tells of all in the helper's network namespace.
func isOwnListener(fits func(diagnosed) bool) bool {
	var sockets []uint32
	for _, d := range listeners() {
		if fits(d) {
			sockets = append(sockets, d.socket)
		}
	}
	if len(sockets) == 0 {
		return false
	}
	parents := processes()
	for pid := range parents {
		if !isDescendant(pid, syscall.Getpid(), parents) {
			continue
		}
		folder := "/proc/" + decimal(pid) + "/fd"
		for _, fd := range names(folder) {
			var to [64]byte
			n, err := syscall.Readlink(folder+"/"+fd, to[:])
			if err != nil {
				continue
			}
			for _, s := range sockets {
				if string(to[:n]) == "socket:["+decimal(int(s))+"]" {
					return true
				}
			}
		}
	}
	return false
}

// listeners asks the kernel for the listening sockets of the unix family;
// sock_diag(7), read 2026-11-22.
func listeners() []diagnosed {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	request := struct {
		header           syscall.NlMsghdr
		family, protocol uint8
		_                uint16
		states           uint32
		inode            uint32
		show             uint32
		cookie           [2]uint32
	}{
		header: syscall.NlMsghdr{Type: sockDiagFamily, Flags: syscall.NLM_F_REQUEST | syscall.NLM_F_DUMP},
		family: syscall.AF_UNIX, states: 1 << tcpListen, show: showName | showFile,
	}
	request.header.Len = uint32(unsafe.Sizeof(request))
	bytes := (*[unsafe.Sizeof(request)]byte)(unsafe.Pointer(&request))[:]
	if err := syscall.Sendto(fd, bytes, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return nil
	}
	var all []diagnosed
	buf := make([]byte, 64<<10)
	for {
		n, _, err := syscall.Recvfrom(fd, buf, 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return all
		}
		messages, err := syscall.ParseNetlinkMessage(buf[:n])
		if err != nil {
			return all
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == syscall.NLMSG_DONE || m.Header.Type == syscall.NLMSG_ERROR:
				return all
			case len(m.Data) >= sizeofUnixDiag:
				all = append(all, diagnose(m.Data))
			}
		}
	}
}

// diagnose reads one answer: a struct unix_diag_msg and its attributes.
func diagnose(b []byte) diagnosed {
	word := func(b []byte) uint32 {
		return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	}
	d := diagnosed{socket: word(b[4:])}
	for b = b[sizeofUnixDiag:]; len(b) >= 4; {
		size, kind := int(b[0])|int(b[1])<<8, int(b[2])|int(b[3])<<8
		if size < 4 || size > len(b) {
			break
		}
		switch value := b[4:size]; {
		case kind == attributeName:
			d.name = string(value)
		case kind == attributeFile && len(value) >= 8:
			d.inode, d.device = word(value), word(value[4:])
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return d
}
