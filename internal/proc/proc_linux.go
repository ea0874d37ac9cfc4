package proc

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pawl/internal/helper"
	"pawl/internal/text"
)

// markName is the environment variable by which what escaped a sweep is found:
// its value is unique for each command.
const markName = "PAWL_PROC"

// platform is what a [Process] is on Linux.
type platform struct {
	kind helperKind
	mark string // in the environment of the command, for the sweep
	// resident is the helper of many commands; nil: the command has one of its own.
	resident *Resident
	told     []byte // by the resident helper
	lost     bool   // the resident helper ended before it
}

// start gives the command to a helper.
func start(path string, c Command, print *os.File) (*Process, error) {
	dir := c.Dir
	if dir == "" {
		// A helper's own folder is the owner's of some time ago.
		var err error
		if dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	files := append([]*os.File{print}, c.Extra...)
	if c.Beat != nil {
		files = append(files, c.Beat)
	}
	o := helper.Order{Dir: dir, Env: c.Env, Argv: append([]string{path}, c.Argv[1:]...), Beats: c.Beat != nil, Memory: int(c.Memory), Disk: int(c.Disk), Confine: c.Confine}
	if c.Resident != nil {
		control, err := c.Resident.start(o, files)
		if err != nil {
			return nil, fmt.Errorf("in its sandbox: %w", err)
		}
		return &Process{control: control, isolation: Namespace, platform: platform{resident: c.Resident}}, nil
	}
	if c.Confine != nil && len(c.Confine.Mounts) > 0 {
		return nil, errors.New("a command gets a file tree of its own from a resident helper alone")
	}
	k := helperKind{isolation: cmp.Or(c.Isolation, probed().Isolation)}
	if c.Confine != nil {
		k.confined = true
		if k.isolation == Namespace && c.Confine.Network == helper.ClosedNetwork && !c.Confine.ReadOnly && probed().Network {
			own := *c.Confine
			own.Network = helper.OwnNetwork
			o.Confine, k.network = &own, true
		}
	}
	var mark string
	if k.isolation == Sweeping {
		mark = markName + "=" + rand.Text()
		o.Env = append(slices.Clone(o.Env), mark)
	}

	h := takeSpare(k)
	if h != nil && sendOrder(h.control, o, files) != nil {
		h.discard() // it is dead or dying
		h = nil
	}
	if h == nil {
		var err error
		if h, err = newHelper(k); err != nil {
			if k.isolation != Namespace || c.Isolation != "" || k.confined {
				return nil, err
			}
			// They were to be had a moment ago: a limit on their number, most likely
			// (user.max_pid_namespaces).
			c.Isolation = Sweeping
			return start(path, c, print)
		}
		if err := sendOrder(h.control, o, files); err != nil {
			h.discard()
			return nil, err
		}
	}
	return &Process{cmd: h.cmd, control: h.control, isolation: k.isolation, platform: platform{kind: k, mark: mark}}, nil
}

// await returns the exit code of the command when it is over.
func (p *Process) await() (code int) {
	if r := p.platform.resident; r != nil {
		code, p.platform.told, p.platform.lost = r.await(p.control)
		return code
	}
	p.cmd.Wait() // its error says what ProcessState says
	return exitCode(p.cmd.ProcessState)
}

// terminate asks every process of the command to end.
func (p *Process) terminate() {
	p.control.Write([]byte{helper.Term}) // a helper that is gone needs no asking
}

// kill ends every process of the command.
func (p *Process) kill() {
	if r := p.platform.resident; r != nil {
		r.kill(p)
		return
	}
	if p.isolation == Namespace {
		p.cmd.Process.Kill() // the first process of its namespace
		return
	}
	// Closing the socket makes the helper sweep. If the command has managed to
	// stop the helper (unconfined it can, being the same user's), what is below the
	// helper is looked for from here.
	p.control.Close()
	time.AfterFunc(killDelay, func() { p.signal(func() { p.cmd.Process.Kill() }) })
}

// after is called when the helper is gone. It reads what the helper had to tell,
// and finds what outlived it: only a sweeping helper can die before what it
// watches, when a command kills its own parent.
func (p *Process) after() {
	if p.platform.resident != nil {
		p.hear(p.platform.told)
		p.status.Lost = p.platform.lost && p.status.Stopped == ""
		p.control.Close()
		return
	}
	told := make([]byte, 8) // more than it has to tell
	n, _ := p.control.Read(told)
	p.hear(told[:n])
	p.control.Close()
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && !status.Signaled() {
		return
	}
	p.status.Lost = p.status.Stopped == ""
	if p.isolation != Sweeping {
		return
	}
	for deadline := time.Now().Add(killDelay); time.Now().Before(deadline); {
		left := p.leftBehind()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
}

// MachineMemory returns how many bytes of memory the machine has; 0 if that is unknown.
func MachineMemory() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// hear notes what the helper has told of the command.
func (p *Process) hear(told []byte) {
	for _, b := range told {
		why := ""
		switch b {
		case helper.NoRoute:
			p.status.NoRoute = true
		case helper.OverMemory:
			why = fmt.Sprintf("its processes had more than %s of memory together; the setting command_memory bounds it", text.Size(p.memory))
		case helper.OverDisk:
			why = fmt.Sprintf("it left less than %s of the disk free; the setting min_disk bounds it", text.Size(p.disk))
		case helper.OverProcesses:
			why = "it had 3,000 processes, the most that the sandbox allows"
		}
		p.status.Stopped = cmp.Or(p.status.Stopped, why)
	}
}

// leftBehind returns the processes that were below a helper which is gone, as far
// as they can be told: by the mark in their environment, or by the session that
// the helper led. What has changed both is not found.
func (p *Process) leftBehind() []int {
	var pids []int
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, f := range folders {
		pid, err := strconv.Atoi(filepath.Base(f))
		if err != nil {
			continue
		}
		env, _ := os.ReadFile(f + "/environ")
		stat, _ := os.ReadFile(f + "/stat")
		if strings.Contains("\x00"+string(env), "\x00"+p.platform.mark+"\x00") || sessionOf(string(stat)) == p.cmd.Process.Pid {
			pids = append(pids, pid)
		}
	}
	return pids
}

// sessionOf reads the sixth field of /proc/<pid>/stat, behind the name in
// parentheses; 0 for what is dead and waits to be collected.
func sessionOf(stat string) int {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 || fields[0] == "Z" || fields[0] == "X" {
		return 0
	}
	session, _ := strconv.Atoi(fields[3])
	return session
}

// helperCommand returns this program as its own helper. /proc/self/exe is this
// very file even if another has taken its name since.
func helperCommand(mode string, flags uintptr) *exec.Cmd {
	env := []string{} // not nil, which would mean ours
	if mode == helper.Resident {
		// Most of its goroutines wait in system calls, and the scheduler is slow to see
		// that one does. And what control groups allow is not looked for then.
		env = append(env, "GOMAXPROCS=16", "GODEBUG=containermaxprocs=0")
	}
	return &exec.Cmd{
		Path: "/proc/self/exe",
		Args: []string{"pawl", helper.Proc, mode},
		Env:  env,
		// What it starts in: its /proc/1/cwd is nobody's business.
		Dir:         "/",
		SysProcAttr: helper.Namespaces(flags),
	}
}

// flags are the namespaces of a kind of helper: for all one of process ids, and one
// of mounts for the /proc that goes with it.
func (k helperKind) flags() uintptr {
	if k.isolation != Namespace {
		return 0
	}
	flags := uintptr(syscall.CLONE_NEWPID | syscall.CLONE_NEWNS)
	if k.confined && !k.resident { // its commands have one each
		flags |= syscall.CLONE_NEWIPC
	}
	if k.network {
		flags |= syscall.CLONE_NEWNET
	}
	return flags
}
