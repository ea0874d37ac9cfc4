package proc

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"pawl/internal/first"
)

// A helper is a started helper that waits for its order.
type helper struct {
	kind    kind
	cmd     *exec.Cmd
	control *os.File // our end of the socket to it
}

// A kind is what a helper is given when it starts; the rest comes with the order.
type kind struct {
	isolation string
	confined  bool
	network   bool // one of its own
}

// newHelper starts a helper.
func newHelper(k kind) (*helper, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	mode := first.Sweep
	if k.isolation == Namespace {
		mode = first.Namespace
	}
	cmd := helperCommand(mode, k.flags())
	cmd.ExtraFiles = []*os.File{theirs}
	// Without a session of its own the command could read the person's keys from
	// /dev/tty.
	cmd.SysProcAttr.Setsid = true
	started := make(chan error)
	nursery() <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		ours.Close()
		return nil, err
	}
	return &helper{k, cmd, ours}, nil
}

// nursery runs functions on one thread that lives as long as the program. Helpers
// have it as their parent: to the kernel a parent is a thread, and they are told of
// its death; prctl(2), PR_SET_PDEATHSIG, read 2026-11-20.
var nursery = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// send gives the helper its order. What it cannot take is refused before anything
// is sent.
func (h *helper) send(o first.Order, print *os.File, extra []*os.File) error {
	for _, s := range slices.Concat([]string{o.Dir}, o.Env, o.Argv) {
		if strings.ContainsRune(s, 0) {
			return errors.New("an argument, a variable or the folder has a zero byte in it")
		}
	}
	fds := []int{int(print.Fd())}
	for _, f := range extra {
		fds = append(fds, int(f.Fd()))
	}
	text := o.Strings()
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	if err := syscall.Sendmsg(int(h.control.Fd()), head, syscall.UnixRights(fds...), nil, syscall.MSG_NOSIGNAL); err != nil {
		return err
	}
	_, err := h.control.Write(text)
	return err
}

// dismiss ends a helper that has had no order.
func (h *helper) dismiss() {
	h.control.Close()
	go h.cmd.Wait()
}

// ready is a helper that was started ahead of its command. Starting one costs
// some 2.5 ms, more than most commands that agents run; one that waits in its
// namespace already costs them nothing. It ends with its owner as every helper
// does: its socket does.
var ready struct {
	sync.Mutex
	*helper
}

// prepare starts a helper for the next command, of the kind of the last.
func prepare(k kind) {
	ready.Lock()
	defer ready.Unlock()
	if ready.helper != nil {
		if ready.kind == k {
			return
		}
		ready.dismiss()
		ready.helper = nil
	}
	if h, err := newHelper(k); err == nil { // else the next command starts its own, and says what is wrong
		ready.helper = h
	}
}

// takeReady returns the helper that waits, if it is of that kind, else nil.
func takeReady(k kind) *helper {
	ready.Lock()
	defer ready.Unlock()
	if ready.helper == nil || ready.kind != k {
		return nil
	}
	h := ready.helper
	ready.helper = nil
	return h
}
