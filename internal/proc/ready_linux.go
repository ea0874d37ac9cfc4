package proc

import (
	"encoding/binary"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"pawl/internal/first"
)

// ready is a helper that was started ahead of its command. Starting one costs
// some 2.5 ms, more than most commands that agents run; one that waits in its
// namespace already costs them nothing. It ends with its owner as every helper
// does: its socket does.
var ready struct {
	sync.Mutex
	cmd     *exec.Cmd
	control *os.File
}

// prepare starts a helper for the next command, if there is none.
func prepare() {
	ready.Lock()
	defer ready.Unlock()
	if ready.cmd != nil {
		return
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return // the next command starts its own, and says what is wrong
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	cmd := helper(first.Ready)
	cmd.Env = []string{} // not nil, which would mean ours
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = namespaces()
	cmd.SysProcAttr.Setsid = true
	if err := cmd.Start(); err != nil {
		ours.Close()
		return
	}
	ready.cmd, ready.control = cmd, ours
}

// startReady gives the command to the helper that waits; nil if there is none, or
// it cannot take it: then the command starts its own.
func startReady(path string, c Command, print *os.File) *Process {
	if fi, err := os.Stat(c.Dir); c.Dir != "" && (err != nil || !fi.IsDir()) {
		return nil // who starts it the usual way says so
	}
	ready.Lock()
	cmd, control := ready.cmd, ready.control
	ready.cmd, ready.control = nil, nil
	ready.Unlock()
	if cmd == nil {
		return nil
	}
	if err := send(control, path, c, print); err != nil {
		control.Close()
		go cmd.Wait() // it is dead or dying
		return nil
	}
	return &Process{cmd: cmd, control: control, isolation: Namespace}
}

func send(control *os.File, path string, c Command, print *os.File) error {
	o := first.Order{Dir: c.Dir, Env: c.Env, Argv: append([]string{path}, c.Argv[1:]...)}
	if o.Dir == "" {
		// The helper's own folder is the owner's of some time ago.
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		o.Dir = dir
	}
	fds := []int{int(print.Fd())}
	for _, f := range c.Extra {
		fds = append(fds, int(f.Fd()))
	}
	strings := o.Strings()
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(strings)))
	if err := syscall.Sendmsg(int(control.Fd()), head, syscall.UnixRights(fds...), nil, syscall.MSG_NOSIGNAL); err != nil {
		return err
	}
	_, err := control.Write(strings)
	return err
}
