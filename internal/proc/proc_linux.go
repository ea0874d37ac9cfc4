package proc

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"pawl/internal/first"
)

// markName is the environment variable by which what escaped a sweep is found:
// its value is unique for each command.
const markName = "PAWL_PROC"

// capSysAdmin lets an unprivileged user's helper mount its own /proc in its own
// user namespace; linux/capability.h, read 2026-11-20.
const capSysAdmin = 21

// probed finds out once whether namespaces are to be had here: containers and
// hardened kernels forbid them, or allow them without a fresh /proc.
var probed = sync.OnceValue(func() string {
	cmd := helper(first.Probe)
	cmd.SysProcAttr = namespaces()
	if cmd.Run() == nil {
		return Namespace
	}
	return Sweeping
})

// Isolation returns how commands are held together on this machine.
func Isolation() string { return probed() }

// start starts the helper, which starts the command.
func start(path string, c Command, print *os.File) (*Process, error) {
	isolation := c.isolation
	if isolation == "" {
		isolation = probed()
	}
	if isolation == Namespace {
		if p := startReady(path, c, print); p != nil {
			return p, nil
		}
	}
	p, err := startHelper(isolation, path, c, print)
	if err != nil && isolation == Namespace && c.isolation == "" {
		// They were to be had a moment ago: a limit on their number, most likely
		// (user.max_pid_namespaces).
		if q, err := startHelper(Sweeping, path, c, print); err == nil {
			return q, nil
		}
	}
	return p, err
}

func startHelper(isolation, path string, c Command, print *os.File) (*Process, error) {
	mode := first.Sweep
	if isolation == Namespace {
		mode = first.Namespace
	}
	control, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer control.Close()

	cmd := helper(mode, append([]string{strconv.Itoa(len(c.Extra)), path}, c.Argv[1:]...)...)
	cmd.Dir = c.Dir
	cmd.Env = append([]string{}, c.Env...) // not nil, which would mean ours
	cmd.ExtraFiles = append([]*os.File{control}, c.Extra...)
	cmd.Stdout = print
	cmd.Stderr = print
	p := &Process{cmd: cmd, control: ours, isolation: isolation}
	if isolation == Namespace {
		cmd.SysProcAttr = namespaces()
	} else {
		p.mark = markName + "=" + rand.Text()
		cmd.Env = append(cmd.Env, p.mark)
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// Without a session of its own the command could read the person's keys from
	// /dev/tty.
	cmd.SysProcAttr.Setsid = true
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, err
	}
	return p, nil
}

// helper returns this program as its own helper. /proc/self/exe is this very
// file even if another has taken its name since.
func helper(mode string, args ...string) *exec.Cmd {
	return &exec.Cmd{
		Path: "/proc/self/exe",
		Args: append([]string{"pawl", first.Proc, mode}, args...),
	}
}

// namespaces asks for a pid namespace, and a mount namespace for the /proc that
// goes with it. Who is not root needs a user namespace for that, in which they
// stay who they are.
func namespaces() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		attr.AmbientCaps = []uintptr{capSysAdmin}
	}
	return attr
}

// terminate asks every process of the command to end.
func (p *Process) terminate() {
	p.control.Write([]byte{first.Term}) // a helper that is gone needs no asking
}

// kill ends every process of the command.
func (p *Process) kill() {
	if p.isolation == Namespace {
		p.cmd.Process.Kill() // the first process of its namespace
		return
	}
	// Closing the pipe makes the helper sweep. If the command has managed to
	// stop the helper (it can, being the same user's), it is swept by its mark.
	p.control.Close()
	time.AfterFunc(killDelay, func() { p.signal(func() { p.cmd.Process.Kill() }) })
}

// clean finds what outlived its helper. Only a sweeping helper can die before
// what it watches: a command may kill its own parent.
func (p *Process) clean() {
	if p.isolation != Sweeping {
		return
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && !status.Signaled() {
		return
	}
	for deadline := time.Now().Add(killDelay); time.Now().Before(deadline); {
		left := marked(p.mark)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
}

// marked returns the processes whose environment holds mark.
func marked(mark string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !strings.Contains("\x00"+string(env), "\x00"+mark+"\x00") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(f, "/proc/%d/environ", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
