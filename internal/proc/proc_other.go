//go:build !linux && !darwin

package proc

import (
	"fmt"
	"os"
	"runtime"
)

// Isolation returns how commands are held together on this machine.
func Isolation() string { return NoCommands }

func start(string, Command, *os.File) (*Process, error) {
	return nil, fmt.Errorf("commands cannot be run on %s yet: their child processes could not be ended; use Linux, macOS or WSL", runtime.GOOS)
}

func (p *Process) terminate() {}
func (p *Process) kill()      {}
func (p *Process) clean()     {}

func prepare() {}
