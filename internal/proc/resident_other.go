//go:build !linux

package proc

import (
	"errors"
	"net"

	"pawl/internal/helper"
)

// A Resident is a helper that has built a sandbox and starts commands in it. There is
// none here.
type Resident struct{}

// NewResident returns an error: it takes namespaces.
func NewResident(*helper.Confinement) (*Resident, error) {
	return nil, errors.New("a file tree of a command's own takes namespaces, which only Linux has")
}

// Intact reports false.
func (*Resident) Intact(func() bool) bool { return false }

// Listen returns an error.
func (*Resident) Listen() (net.Listener, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Resident) Close() {}

// Done returns nil.
func (*Resident) Done() <-chan struct{} { return nil }

// MachineMemory returns 0: commands are not bounded here.
func MachineMemory() int64 { return 0 }
