//go:build !linux && !darwin

package proc

import (
	"fmt"
	"os"
	"runtime"
)

func probed() Abilities { return Abilities{Isolation: NoCommands} }

// platform is what a [Process] is here: nothing.
type platform struct{ kind struct{} }

func start(string, Command, *os.File) (*Process, error) {
	return nil, fmt.Errorf("commands cannot be run on %s yet: their child processes could not be ended; use Linux, macOS or WSL", runtime.GOOS)
}

func readNow(uintptr, []byte) (int, error) { return 0, os.ErrInvalid }

func (p *Process) await() int { return -1 }
func (p *Process) terminate() {}
func (p *Process) kill()      {}
func (p *Process) after()     {}

func prepareSpare(struct{}) {}
