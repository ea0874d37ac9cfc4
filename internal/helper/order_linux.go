package helper

import "syscall"

// An Order tells a helper which command to run, or, without arguments, a resident helper
// which sandbox to build. It goes over a stream socket: the
// length of what follows in four bytes, least first, with the descriptors beside
// it (the command's output, then its extra files, then the file of Beats); then strings, each ended by a
// zero byte: the folder, the environment, the arguments, the bounds, and the confinement;
// lists have their length, in decimal, before them.
type Order struct {
	Dir     string
	Env     []string
	Argv    []string // the path of the program, then its arguments
	Beats   bool     // the last descriptor is of a file whose time is set each second while the command runs
	Memory  int      // bytes that its processes together may have; 0: any number
	Disk    int      // bytes of the disk with Dir that it has to leave free; 0: none
	Confine *Confinement
}

// maxOrder is more than execve(2) takes, and bounds what a broken owner can make
// the helper hold.
const maxOrder = 16 << 20

// maxFiles is how many descriptors an order may carry.
const maxFiles = 16

// Strings returns the order as it goes over the socket, behind its length.
func (o Order) Strings() []byte {
	var b []byte
	add := func(s string) { b = append(append(b, s...), 0) }
	list := func(l []string) {
		add(decimal(len(l)))
		for _, s := range l {
			add(s)
		}
	}
	add(o.Dir)
	list(o.Env)
	list(o.Argv)
	add(map[bool]string{true: "beats", false: ""}[o.Beats])
	add(decimal(o.Memory))
	add(decimal(o.Disk))
	c := o.Confine
	if c == nil {
		add("free")
		return b
	}
	add("confined")
	add(c.Network)
	add(map[bool]string{true: "read-only", false: ""}[c.ReadOnly])
	var mounts []string
	for _, m := range c.Mounts {
		mounts = append(mounts, m.Kind, m.Source, m.Target, m.Upper)
	}
	list(mounts)
	list(c.Read)
	list(c.List)
	list(c.Write)
	return b
}

// parseOrder is the inverse of Strings. It reports false for what is no order.
func parseOrder(b []byte) (Order, bool) {
	s := split(b)
	ok := true
	next := func() string {
		if len(s) == 0 {
			ok = false
			return ""
		}
		first := s[0]
		s = s[1:]
		return first
	}
	list := func() []string {
		n, isNumber := number(next())
		if !isNumber || n < 0 || n > len(s) {
			ok = false
			return nil
		}
		l := s[:n:n]
		s = s[n:]
		return l
	}
	bytes := func() int {
		n, isNumber := number(next())
		ok = ok && isNumber && n >= 0
		return n
	}
	o := Order{Dir: next(), Env: list(), Argv: list(), Beats: next() == "beats", Memory: bytes(), Disk: bytes()}
	if next() == "confined" {
		c := &Confinement{Network: next(), ReadOnly: next() == "read-only"}
		for m := list(); len(m) >= 4; m = m[4:] {
			c.Mounts = append(c.Mounts, Mount{m[0], m[1], m[2], m[3]})
		}
		c.Read, c.List, c.Write = list(), list(), list()
		o.Confine = c
	}
	return o, ok && (len(o.Argv) > 0 || o.Confine != nil)
}

// receive waits for an order, and the descriptors that come with it. It reports false
// when the owner is gone before it has sent one.
func receive(socket int) (o Order, files []int, ok bool) {
	var head [4]byte
	n, files := receiveFiles(socket, head[:])
	size := int(head[0]) | int(head[1])<<8 | int(head[2])<<16 | int(head[3])<<24
	if n != len(head) || size <= 0 || size > maxOrder {
		return o, files, false
	}
	b := make([]byte, size)
	for got := 0; got < size; {
		n, err := syscall.Read(socket, b[got:])
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 {
			return o, files, false
		}
		got += n
	}
	o, ok = parseOrder(b)
	return o, files, ok
}

// receiveRequest waits for a request to a resident helper: 0 when the owner is gone. That
// to run a command comes with the socket over which all about the command goes.
func receiveRequest() (request byte, fd int) {
	var b [1]byte
	n, files := receiveFiles(controlFD, b[:])
	if n != 1 || b[0] == Run && len(files) != 1 {
		return 0, -1
	}
	if len(files) == 1 {
		return b[0], files[0]
	}
	return b[0], -1
}

// receiveFiles fills b from a socket, and returns the descriptors that came with it.
func receiveFiles(socket int, b []byte) (n int, files []int) {
	oob := make([]byte, syscall.CmsgSpace(4*maxFiles))
	var oobn int
	var err error
	for {
		n, oobn, _, _, err = syscall.Recvmsg(socket, b, oob, syscall.MSG_WAITALL|syscall.MSG_CMSG_CLOEXEC)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		return 0, nil
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return n, nil
	}
	files, err = syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return n, nil
	}
	return n, files
}

// number reads a decimal number.
func number(s string) (int, bool) {
	n := 0
	for _, r := range s {
		if r < '0' || r > '9' {
			return 0, false
		}
		n = n*10 + int(r-'0')
	}
	return n, s != ""
}

func decimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
}
