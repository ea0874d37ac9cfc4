package proc

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"pawl/internal/helper"
)

// A helperProcess is a helper that was started and has had no order yet.
type helperProcess struct {
	kind    helperKind
	cmd     *exec.Cmd
	control *os.File // our end of the socket to it
}

// A helperKind is what a helper is given when it starts; the rest comes with the
// order.
type helperKind struct {
	isolation string
	confined  bool
	network   bool // one of its own
	resident  bool // for many commands
}

// newHelper starts a helper.
func newHelper(k helperKind) (*helperProcess, error) {
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	mode := helper.Sweep
	switch {
	case k.resident:
		mode = helper.Resident
	case k.isolation == Namespace:
		mode = helper.Namespace
	}
	cmd := helperCommand(mode, k.flags())
	cmd.ExtraFiles = []*os.File{theirs}
	// Without a session of its own the command could read the person's keys from
	// /dev/tty.
	cmd.SysProcAttr.Setsid = true
	started := make(chan error)
	spawner() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		ours.Close()
		return nil, err
	}
	return &helperProcess{k, cmd, ours}, nil
}

// controlPair returns the two ends of a control socket. A helper's blocks.
func controlPair() (ours, theirs *os.File, err error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	syscall.SetNonblock(pair[0], true) // so that to wait for it takes no thread
	return os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control"), nil
}

// spawner runs functions on one thread that lives as long as the program. Helpers
// have it as their parent: to the kernel a parent is a thread, and they are told of
// its death; prctl(2), PR_SET_PDEATHSIG, read 2026-11-20.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// sendOrder sends an order with the files that go with it: the command's output, then its
// extra files. What a helper cannot take is refused before anything is sent.
func sendOrder(control *os.File, o helper.Order, files []*os.File) error {
	for _, s := range slices.Concat([]string{o.Dir}, o.Env, o.Argv) {
		if strings.ContainsRune(s, 0) {
			return errors.New("an argument, a variable or the folder has a zero byte in it")
		}
	}
	text := o.Strings()
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	if err := sendFiles(control, head, files...); err != nil {
		return err
	}
	_, err := control.Write(text)
	return err
}

// sendFiles sends a few bytes and descriptors.
func sendFiles(control *os.File, b []byte, files ...*os.File) error {
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = syscall.UnixRights(fds...)
	}
	raw, err := control.SyscallConn()
	if err != nil {
		return err
	}
	var sendErr error
	err = raw.Write(func(fd uintptr) bool {
		sendErr = syscall.Sendmsg(int(fd), b, rights, nil, syscall.MSG_NOSIGNAL)
		return sendErr != syscall.EAGAIN
	})
	return errors.Join(err, sendErr)
}

// receiveFile waits for the one byte of an answer and the file that comes with it; nil if it is another byte.
func receiveFile(control *os.File, with byte) (*os.File, error) {
	raw, err := control.SyscallConn()
	if err != nil {
		return nil, err
	}
	var b [1]byte
	oob := make([]byte, syscall.CmsgSpace(4))
	var n, oobn int
	var receiveErr error
	err = raw.Read(func(fd uintptr) bool {
		n, oobn, _, _, receiveErr = syscall.Recvmsg(int(fd), b[:], oob, syscall.MSG_CMSG_CLOEXEC)
		return receiveErr != syscall.EAGAIN
	})
	if err := errors.Join(err, receiveErr); err != nil {
		return nil, err
	}
	if n != 1 {
		return nil, io.ErrUnexpectedEOF
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return nil, err
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 || b[0] != with {
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "listener"), nil
}

// discard ends a helper that has had no order.
func (h *helperProcess) discard() {
	h.control.Close()
	go h.cmd.Wait()
}

// maxSpares is how many helpers wait for a command at most: commands that read and
// commands that write want different kinds, and most runs have both.
const maxSpares = 2

// spares are helpers that were started ahead of their commands. Starting one costs
// some 2.5 ms, more than most commands that agents run; one that waits in its
// namespaces already costs them nothing. They end with their owner as every helper
// does: their socket does.
var spares struct {
	sync.Mutex
	waiting []*helperProcess // the kind that was wanted last comes last
}

// prepareSpare starts a helper for the next command of the kind.
func prepareSpare(k helperKind) {
	spares.Lock()
	defer spares.Unlock()
	if slices.ContainsFunc(spares.waiting, func(h *helperProcess) bool { return h.kind == k }) {
		return
	}
	if len(spares.waiting) == maxSpares {
		spares.waiting[0].discard()
		spares.waiting = spares.waiting[1:]
	}
	if h, err := newHelper(k); err == nil { // else the next command starts its own, and says what is wrong
		spares.waiting = append(spares.waiting, h)
	}
}

// takeSpare returns a helper of that kind that waits; nil if there is none.
func takeSpare(k helperKind) *helperProcess {
	spares.Lock()
	defer spares.Unlock()
	for i, h := range spares.waiting {
		if h.kind == k {
			spares.waiting = slices.Delete(spares.waiting, i, i+1)
			return h
		}
	}
	return nil
}
