package proc

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// sandboxExec confines a command to a profile; sandbox-exec(1), which Apple calls
// deprecated and uses itself, read 2026-11-20.
const sandboxExec = "/usr/bin/sandbox-exec"

var probed = sync.OnceValue(func() Abilities {
	_, err := os.Stat(sandboxExec)
	return Abilities{Isolation: Group, Profile: err == nil}
})

// platform is what a [Process] is on macOS.
type platform struct{ kind struct{} }

// start starts the command as the leader of a session, and so of a process group.
func start(path string, c Command, print *os.File) (*Process, error) {
	args := c.Argv
	if c.Confine != nil {
		args = append([]string{"sandbox-exec", "-p", c.Confine.Profile, path}, c.Argv[1:]...)
		path = sandboxExec
	}
	cmd := &exec.Cmd{
		Path: path, Args: args, Dir: c.Dir, Env: append([]string{}, c.Env...),
		Stdout: print, Stderr: print, ExtraFiles: c.Extra,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{cmd: cmd, isolation: Group}, nil
}

// await returns the exit code of the command when it is over.
func (p *Process) await() int {
	p.cmd.Wait() // its error says what ProcessState says
	return exitCode(p.cmd.ProcessState)
}

// terminate asks every process of the group to end.
func (p *Process) terminate() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }

// kill ends every process of the group.
func (p *Process) kill() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// after ends what the command left behind. The group keeps its id while it has a
// member, so the id can mean no other.
func (p *Process) after() { p.kill() }

// prepareSpare does nothing: there is no helper.
func prepareSpare(struct{}) {}
