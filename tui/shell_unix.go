//go:build unix

package tui

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// ownGroup makes a command the leader of a process group, which is killed as a whole.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// stopWait is how long it may take until the process stops: the signal is delivered to any of its
// threads. A process that no shell would continue is not stopped at all.
const stopWait = 200 * time.Millisecond

// stopSelf stops the process as Ctrl-Z does; it returns when the process is continued.
func stopSelf() error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	select {
	case <-continued:
	case <-time.After(stopWait):
	}
	return nil
}
