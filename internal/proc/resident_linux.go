package proc

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"pawl/internal/helper"
)

// A Resident is a helper that has built a sandbox and starts commands in it
// ([Command.Resident]), so that each costs no more than namespaces of its own. Its
// commands see none of the others' processes, share the file tree and, if it is not the
// machine's, the network. It ends with its owner, and they with it.
//
// Its methods may be called from several goroutines.
type Resident struct {
	helper  *helperProcess
	network string

	mu   sync.Mutex // for one request after the other
	gone chan struct{}
}

// NewResident starts a helper for a sandbox with a file tree. It does not wait until the
// sandbox is built: [Resident.Intact] does, and a command started in one that could not
// be built says so and exits with 126.
func NewResident(c *helper.Confinement) (*Resident, error) {
	k := helperKind{isolation: Namespace, confined: true, resident: true}
	confine := *c
	if confine.Network == helper.ClosedNetwork && !confine.ReadOnly && probed().Network {
		confine.Network, k.network = helper.OwnNetwork, true
	}
	h, err := newHelper(k)
	if err != nil {
		return nil, err
	}
	if err := sendOrder(h.control, helper.Order{Confine: &confine}, nil); err != nil {
		h.discard()
		return nil, err
	}
	r := &Resident{helper: h, network: confine.Network, gone: make(chan struct{})}
	go func() {
		h.cmd.Wait()
		close(r.gone)
	}()
	return r, nil
}

// Intact reports whether commands can be started in the sandbox: it was built, and no
// part of its file tree has been covered since, or lost because its file was replaced.
// While the helper looks, Intact calls meanwhile, and reports false if that does.
func (r *Resident) Intact(meanwhile func() bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.helper.control.Write([]byte{helper.Check}); err != nil {
		return false
	}
	holds := meanwhile()
	r.helper.control.SetReadDeadline(time.Now().Add(maxBuild))
	var answer [1]byte
	_, err := io.ReadFull(r.helper.control, answer[:])
	return err == nil && answer[0] == helper.Intact && holds
}

// Listen returns a listener on a free port of 127.0.0.1 in the network that the commands of the helper have of their
// own: they connect, and the owner of the helper accepts. It is an error where they have none.
func (r *Resident) Listen() (net.Listener, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	errNone := errors.New("the commands have no network of their own")
	if _, err := r.helper.control.Write([]byte{helper.Listen}); err != nil {
		return nil, err
	}
	r.helper.control.SetReadDeadline(time.Now().Add(maxBuild))
	f, err := receiveFile(r.helper.control, helper.Listen)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errNone
	}
	defer f.Close()
	return net.FileListener(f)
}

// maxBuild is how long a helper may take to build its sandbox, or to look at it, before
// another is started in its place: somebody may have stopped it.
const maxBuild = 10 * time.Second

// Close ends the helper and the commands that run in it.
func (r *Resident) Close() { r.helper.control.Close() }

// Done is closed when the helper has ended, and all its commands with it.
func (r *Resident) Done() <-chan struct{} { return r.gone }

// start starts a command, and returns the socket over which all about it goes.
func (r *Resident) start(o helper.Order, files []*os.File) (control *os.File, err error) {
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	r.mu.Lock()
	err = sendFiles(r.helper.control, []byte{helper.Run}, theirs)
	r.mu.Unlock()
	if err == nil {
		err = sendOrder(ours, o, files)
	}
	if err != nil {
		ours.Close()
		return nil, err
	}
	return ours, nil
}

// await returns the exit code of a command when nothing of it is left, what the helper told of it, and whether it was
// lost with the helper.
func (r *Resident) await(control *os.File) (code int, told []byte, lost bool) {
	told, _ = io.ReadAll(control)
	if i := bytes.IndexByte(told, helper.Ended); i >= 0 && i+1 < len(told) {
		return int(told[i+1]), told[:i], false
	}
	<-r.gone // it was killed, and the kernel has ended its namespace
	return 128 + int(syscall.SIGKILL), told, true
}

// kill ends a command. A helper that does not do it - an unconfined command of root's
// may have stopped it - is killed with all of its commands.
func (r *Resident) kill(p *Process) {
	if raw, err := p.control.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { syscall.Shutdown(int(fd), syscall.SHUT_WR) })
	}
	time.AfterFunc(killDelay, func() { p.signal(func() { r.helper.cmd.Process.Kill() }) })
}
