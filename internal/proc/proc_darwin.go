package proc

import (
	"os"
	"os/exec"
	"syscall"
)

// Isolation returns how commands are held together on this machine.
func Isolation() string { return Group }

// start starts the command as the leader of a session, and so of a process group.
func start(path string, c Command, print *os.File) (*Process, error) {
	cmd := &exec.Cmd{
		Path: path, Args: c.Argv, Dir: c.Dir, Env: append([]string{}, c.Env...),
		Stdout: print, Stderr: print, ExtraFiles: c.Extra,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{cmd: cmd, isolation: Group}, nil
}

// terminate asks every process of the group to end.
func (p *Process) terminate() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }

// kill ends every process of the group.
func (p *Process) kill() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// clean ends what the command left behind. The group keeps its id while it has
// a member, so the id can mean no other.
func (p *Process) clean() { p.kill() }

// prepare does nothing: there is no helper.
func prepare() {}
