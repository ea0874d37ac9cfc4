//go:build unix

package plugin

import (
	"os/exec"
	"syscall"
)

// grouped lets what a command has started end with it, when it is cancelled.
func grouped(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
