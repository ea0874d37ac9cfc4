//go:build !unix

package keys

import (
	"errors"
	"os"
)

// A Reader reads a terminal. There is none on this system.
type Reader struct{}

// Start returns an error: terminals of this system are not supported.
func Start(in, out *os.File) (*Reader, error) {
	return nil, errors.New("the terminal agent is not supported on this system; use pawl run")
}

func (*Reader) Events() <-chan Event { return nil }
func (*Reader) Err() error           { return nil }
func (*Reader) Slow()                {}
func (*Reader) Patient(bool)         {}
func (*Reader) Ask(...Query) error   { return nil }
func (*Reader) Pause() error         { return nil }
func (*Reader) Resume() error        { return nil }
func (*Reader) Close() error         { return nil }
func (*Reader) Restore() error       { return nil }
