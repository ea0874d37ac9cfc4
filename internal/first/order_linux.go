package first

import "syscall"

// An Order tells a helper that was started ahead which command to run. It goes
// over a stream socket: the length of what follows in four bytes, least first,
// with the descriptors beside it (the command's output, then its extra files);
// then the strings, each ended by a zero byte: the folder, the number of
// variables in decimal, the variables, the arguments.
type Order struct {
	Dir  string
	Env  []string
	Argv []string // the path of the program, then its arguments

	files []int
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
	add(o.Dir)
	add(decimal(len(o.Env)))
	for _, s := range o.Env {
		add(s)
	}
	for _, s := range o.Argv {
		add(s)
	}
	return b
}

// receive waits for the order, and makes its first descriptor the output. It ends
// the process when the owner is gone before it has sent one.
func receive() Order {
	var head [4]byte
	oob := make([]byte, syscall.CmsgSpace(4*maxFiles))
	var n, oobn int
	var err error
	for {
		n, oobn, _, _, err = syscall.Recvmsg(controlFD, head[:], oob, syscall.MSG_WAITALL|syscall.MSG_CMSG_CLOEXEC)
		if err != syscall.EINTR {
			break
		}
	}
	size := int(head[0]) | int(head[1])<<8 | int(head[2])<<16 | int(head[3])<<24
	if err != nil || n != len(head) || size <= 0 || size > maxOrder {
		exit(codeKilled)
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		exit(codeKilled)
	}
	files, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(files) == 0 {
		exit(codeKilled)
	}
	for _, std := range []int{1, 2} {
		if err := syscall.Dup3(files[0], std, 0); err != nil {
			exit(codeKilled)
		}
	}
	syscall.Close(files[0])

	b := make([]byte, size)
	for got := 0; got < size; {
		n, err := syscall.Read(controlFD, b[got:])
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 {
			exit(codeKilled)
		}
		got += n
	}
	s := split(b)
	if len(s) < 3 || len(s) < 3+count(s[1]) {
		exit(codeKilled)
	}
	vars := count(s[1])
	return Order{Dir: s[0], Env: s[2 : 2+vars], Argv: s[2+vars:], files: files[1:]}
}

func count(s string) int {
	n := 0
	for _, d := range s {
		n = n*10 + int(d-'0')
	}
	return n
}

func decimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
}
