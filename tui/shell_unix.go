//go:build unix

package tui

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command the leader of a process group, which is killed as a whole.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// stopSelf stops the process as Ctrl-Z does; it returns when the process is continued.
func stopSelf() error { return syscall.Kill(0, syscall.SIGTSTP) }
